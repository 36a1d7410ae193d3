package connect

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/spoke-peer/spoke-go/internal/jcs"
	"github.com/spoke-peer/spoke-go/spoke"
)

var (
	errTooLarge = errors.New("larger than a frame")
	errCrowded  = errors.New("too many large answers wait to be written")
	errHandler  = errors.New("the handler did not return")
	// errNoHandler is answered op_unsupported.
	errNoHandler = errors.New("no handler")
)

// overloaded is the failure of a request that there is no room for. Its handler did
// not run.
func overloaded(message string) spoke.ErrorEnvelope {
	return spoke.Rejectf(spoke.CodeInternalError, "%s", message).WithKind(spoke.KindOverloaded).Envelope()
}

// unsupported is the failure of an op that this session does not serve.
func unsupported(op string) spoke.ErrorEnvelope {
	const most = 64
	if len(op) > most {
		op = strings.ToValidUTF8(op[:most], "") + "…"
	}
	return wireError(spoke.WireOpUnsupported, "this session does not serve %s", op)
}

// resultReject is what the caller sees when a handler ran and its value cannot be
// sent.
func resultReject(err error) *spoke.Reject {
	return spoke.Rejectf(spoke.CodeInternalError, "the result cannot be sent: %w", err).WithKind(spoke.KindResult)
}

// asReject returns what the caller sees for a handler's error: the reject in its
// chain, else INTERNAL_ERROR without the error's text.
func asReject(err error) *spoke.Reject {
	if reject, ok := errors.AsType[*spoke.Reject](err); ok && reject != nil {
		return reject
	}
	return spoke.Rejectf(spoke.CodeInternalError, "the handler failed")
}

// failureBody returns the body of a handler's error.
func (s *Session) failureBody(err error) body {
	return body{signedFailure, content{json: s.failureJSON(asReject(err).Envelope())}}
}

// failureJSON returns the error member of a response, canonical and within this side's
// own limits. A detail that cannot travel is left out, and so are all of them when
// they do not fit.
func (s *Session) failureJSON(failure spoke.ErrorEnvelope) []byte {
	most := s.ep.Limits.FrameBytes - denialBytes
	failure.Message = strings.ToValidUTF8(failure.Message, "�")
	failure.Details = s.detailsThatTravel(failure.Details)
	raw := errorJSON(failure)
	if len(raw) <= most {
		return raw
	}
	failure.Details = nil
	if raw = errorJSON(failure); len(raw) <= most {
		return raw
	}
	failure.Message = "the error's text is larger than a frame"
	return errorJSON(failure)
}

// detailsThatTravel returns details with each member as canonical JSON.
func (s *Session) detailsThatTravel(details map[string]any) map[string]any {
	if details == nil {
		return nil
	}
	kept := make(map[string]any, len(details))
	for name, value := range details {
		raw, err := s.canonical(value, 3)
		if err != nil || !validText(name) {
			s.stripped.log(func(n uint64) {
				s.log.Warn("a detail of a reject cannot travel", "detail", name, "error", err, "count", n)
			})
			continue
		}
		kept[name] = json.RawMessage(raw)
	}
	return kept
}

// errorJSON encodes a failure whose members were judged.
func errorJSON(failure spoke.ErrorEnvelope) []byte {
	raw, err := json.Marshal(failure)
	if err == nil {
		raw, err = jcs.Canonical(raw)
	}
	if err != nil {
		return []byte(`{"code":"INTERNAL_ERROR","extensions":{},"message":"the error cannot be sent"}`)
	}
	return raw
}
