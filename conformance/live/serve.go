package live

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/spoke-peer/spoke-go/conformance/internal/wire"
)

// flight is how many requests are under way at once.
const flight = 100

// serveRules are the rules about how a peer serves requests; they share a session.
func serveRules() []rule {
	return []rule{
		{"an honest request is answered with its echo and a signature", 5, false, onSession((*conn).served)},
		{"a success carries a payload and no error", 5, false, onSession((*conn).success)},
		{"a failure carries an error and no payload", 5, false, onSession((*conn).failure)},
		{"a sequence ahead is refused and moves nothing", 5, false, refusal(5, "", "invalid_sequence")},
		{"the largest sequence is refused and moves nothing", 5, false, refusal(1<<53-1, "", "invalid_sequence")},
		{"a replayed request is refused and moves nothing", 5, false, onSession((*conn).replayed)},
		{"two requests that were swapped: the early one is refused, then both are served", 5, false, onSession((*conn).swapped)},
		{"a signature by another key is refused and moves nothing", 5, false, refusal(0, "other_key", authInvalid)},
		{"a request without a signature is refused and moves nothing", 3, false, refusal(0, "no_signature", "auth_failed/envelope_auth_missing")},
		{"a padded signature is refused and moves nothing", 3, false, refusal(0, "padded_signature", authInvalid)},
		{"a payload exchanged after signing is refused and moves nothing", 3, false, refusal(0, "payload", authInvalid)},
		{"an op exchanged after signing is refused and moves nothing", 3, false, refusal(0, "op", authInvalid)},
		{"an unknown member is refused and moves nothing", 3, false, refusal(0, "unknown_member", authInvalid)},
		{"the sequence is judged before the signature", 5, false, refusal(5, "other_key", "invalid_sequence")},
		{"extensions are not signed", 3, false, onSession((*conn).unsignedExtensions)},
		{"a request of another session is refused and moves nothing", 5, false, onSession((*conn).foreignSession)},
		{"every answer carries this session's id", 5, true, onSession((*conn).ownSessionID)},
		{"a sequence counts by value: 1.0 is 1", 1, true, onSession((*conn).sequenceByValue)},
		{"an op that nobody knows is refused and moves the counter", 5, false, denied("conformance.nobody", "op_unsupported")},
		{"a tool that was not negotiated is refused and moves the counter", 5, false, denied("tools.conformance.nobody", "op_unsupported")},
		{"arguments that are no object are refused", 6, true, onSession((*conn).listArguments)},
		{"a token that is null is judged though nobody asked for one", 8, true, onSession((*conn).nullToken)},
		{"frames of no class are ignored", 1, true, onSession((*conn).classless)},
		{fmt.Sprintf("%d requests in flight are all answered, each once", flight), 5, false, onSession((*conn).inFlight)},
	}
}

const authInvalid = "auth_failed/envelope_auth_invalid"

// onSession makes a check of one that needs a session.
func onSession(check func(*conn, context.Context) error) func(context.Context, *script) error {
	return func(ctx context.Context, s *script) error {
		c, err := s.honest(ctx)
		if err != nil {
			return err
		}
		waiting, cancel := s.reaction(ctx)
		defer cancel()
		return check(c, waiting)
	}
}

// op is the op of honest requests.
func (c *conn) op() string {
	if c.script.Tool == "" {
		return "conformance.nothing"
	}
	return c.script.Tool
}

// honestRequest is an unsigned request some way ahead of the next sequence.
func (c *conn) honestRequest(ahead uint64) wire.Object {
	args := c.script.Args
	if args == nil {
		args = json.RawMessage(`{}`)
	}
	sequence := c.Next + ahead
	if ahead >= 1<<53-1 {
		sequence = ahead
	}
	return c.Request(sequence, c.op(), wire.Object{"arguments": args})
}

// ask sends a request, changed on the way, and returns it with its answer.
func (c *conn) ask(ctx context.Context, doc wire.Object, change string) (request, answer wire.Frame, err error) {
	signed, err := wire.Sign(c.ID, doc)
	if err != nil {
		return signed, answer, err
	}
	if request, err = wire.Change(signed, change); err != nil {
		return request, answer, err
	}
	if err := c.Send(ctx, request); err != nil {
		return request, answer, fmt.Errorf("the peer hung up: %w", err)
	}
	answer, err = c.Answer(ctx, request)
	return request, answer, err
}

// moved reports whether an outcome means that the counter of the server moved.
func moved(outcome string) bool {
	return outcome != "invalid_sequence" && !strings.HasPrefix(outcome, "auth_failed/envelope_auth")
}

// proceed sends an honest request at the next sequence, which the peer must serve or
// deny for its own reasons.
func (c *conn) proceed(ctx context.Context, doc wire.Object, change string) (wire.Frame, error) {
	request, answer, err := c.ask(ctx, doc, change)
	if err != nil {
		return answer, err
	}
	if outcome := answer.Outcome(); !moved(outcome) {
		return answer, fmt.Errorf("answered %s", outcome)
	}
	c.Next++
	return answer, c.Verify(request, answer)
}

func (c *conn) served(ctx context.Context) error {
	_, err := c.proceed(ctx, c.honestRequest(0), "")
	return err
}

func (c *conn) success(ctx context.Context) error {
	if c.script.Tool == "" {
		return &skipped{why: "no tool was negotiated"}
	}
	answer, err := c.proceed(ctx, c.honestRequest(0), "")
	switch {
	case err != nil:
		return err
	case answer.Outcome() != "success":
		return &skipped{why: fmt.Sprintf("the tool answered %s to %s", answer.Outcome(), c.script.Args)}
	}
	var payload map[string]json.RawMessage
	if err := json.Unmarshal(answer.Members["payload"], &payload); err != nil || payload["result"] == nil || answer.Has("error") {
		return fmt.Errorf("a success without payload.result: %s", answer.Text)
	}
	return nil
}

func (c *conn) failure(ctx context.Context) error {
	answer, err := c.proceed(ctx, c.Request(c.Next, "conformance.nobody", wire.Object{}), "")
	if err != nil {
		return err
	}
	var failure struct {
		Code       *string                    `json:"code"`
		Message    *string                    `json:"message"`
		Extensions map[string]json.RawMessage `json:"extensions"`
	}
	err = json.Unmarshal(answer.Members["error"], &failure)
	if err != nil || failure.Code == nil || failure.Message == nil || failure.Extensions == nil || answer.Has("payload") {
		return fmt.Errorf("not an error of code, message and extensions: %s", answer.Text)
	}
	return nil
}

// refusal is a request that must be refused with an outcome and move nothing.
func refusal(ahead uint64, change, want string) func(context.Context, *script) error {
	return onSession(func(c *conn, ctx context.Context) error {
		return c.refused(ctx, c.honestRequest(ahead), change, want)
	})
}

func (c *conn) refused(ctx context.Context, doc wire.Object, change, want string) error {
	request, answer, err := c.ask(ctx, doc, change)
	if err != nil {
		return err
	}
	if outcome := answer.Outcome(); outcome != want {
		return acceptedf("answered %s, not %s", outcome, want)
	}
	if err := c.Verify(request, answer); err != nil {
		return fmt.Errorf("the refusal: %w", err)
	}
	if err := c.served(ctx); err != nil {
		return fmt.Errorf("the honest request behind it: %w", err)
	}
	return nil
}

// denied is a request that is verified and then denied.
func denied(op, want string) func(context.Context, *script) error {
	return onSession(func(c *conn, ctx context.Context) error {
		answer, err := c.proceed(ctx, c.Request(c.Next, op, wire.Object{"arguments": wire.Object{}}), "")
		if err != nil {
			return err
		}
		if outcome := answer.Outcome(); outcome != want {
			return acceptedf("answered %s, not %s", outcome, want)
		}
		return c.served(ctx)
	})
}

func (c *conn) replayed(ctx context.Context) error {
	request, _, err := c.ask(ctx, c.honestRequest(0), "")
	if err != nil {
		return err
	}
	c.Next++
	if err := c.Send(ctx, request); err != nil {
		return err
	}
	answer, err := c.Answer(ctx, request)
	if err != nil {
		return err
	}
	if outcome := answer.Outcome(); outcome != "invalid_sequence" {
		return acceptedf("answered %s, not invalid_sequence", outcome)
	}
	return c.served(ctx)
}

func (c *conn) swapped(ctx context.Context) error {
	request, answer, err := c.ask(ctx, c.honestRequest(1), "")
	if err != nil {
		return err
	}
	if outcome := answer.Outcome(); outcome != "invalid_sequence" {
		return acceptedf("answered %s to the early one", outcome)
	}
	if err := c.served(ctx); err != nil {
		return err
	}
	if err := c.Send(ctx, request); err != nil {
		return err
	}
	c.Next++
	if answer, err = c.Answer(ctx, request); err != nil {
		return err
	}
	if outcome := answer.Outcome(); !moved(outcome) {
		return fmt.Errorf("answered %s to the early one in its turn", outcome)
	}
	return c.Verify(request, answer)
}

func (c *conn) unsignedExtensions(ctx context.Context) error {
	_, err := c.proceed(ctx, c.honestRequest(0), "extensions")
	return err
}

const foreignID = "99999999-9999-4999-8999-999999999999"

// foreign asks under another session's id; what id the answer carries is another rule.
func (c *conn) foreign(ctx context.Context) (wire.Frame, error) {
	doc := c.honestRequest(0)
	doc["session_id"] = foreignID
	_, answer, err := c.ask(ctx, doc, "")
	return answer, err
}

func (c *conn) foreignSession(ctx context.Context) error {
	answer, err := c.foreign(ctx)
	if err != nil {
		return err
	}
	if outcome := answer.Outcome(); outcome != "auth_failed/envelope_auth_session_unbound" {
		return acceptedf("answered %s", outcome)
	}
	return c.served(ctx)
}

func (c *conn) ownSessionID(ctx context.Context) error {
	answer, err := c.foreign(ctx)
	if err != nil {
		return err
	}
	if id := answer.TextOf("session_id"); id != c.SessionID {
		return acceptedf("answers under the foreign id %s", id)
	}
	return nil
}

func (c *conn) sequenceByValue(ctx context.Context) error {
	doc := c.honestRequest(0)
	doc["sequence"] = json.RawMessage(fmt.Sprintf("%d.0", c.Next))
	_, answer, err := c.ask(ctx, doc, "")
	if err != nil {
		return acceptedf("takes it for no request: %v", err)
	}
	if outcome := answer.Outcome(); !moved(outcome) {
		return acceptedf("answered %s", outcome)
	}
	c.Next++
	return nil
}

func (c *conn) listArguments(ctx context.Context) error {
	if c.script.Tool == "" {
		return &skipped{why: "no tool was negotiated"}
	}
	answer, err := c.proceed(ctx, c.Request(c.Next, c.op(), wire.Object{"arguments": []int{1}}), "")
	if err != nil {
		return err
	}
	if outcome := answer.Outcome(); outcome != "INVALID_INPUT" {
		return acceptedf("answered %s", outcome)
	}
	return c.served(ctx)
}

func (c *conn) nullToken(ctx context.Context) error {
	doc := c.honestRequest(0)
	doc["auth"] = nil
	answer, err := c.proceed(ctx, doc, "")
	if err != nil {
		return err
	}
	if outcome := answer.Outcome(); outcome != "auth_failed/token_invalid" {
		return acceptedf("answered %s", outcome)
	}
	return c.served(ctx)
}

// classless sends frames that are neither requests nor responses. An honest request
// behind them is served, and nothing answers them.
func (c *conn) classless(ctx context.Context) error {
	for _, change := range []wire.Object{
		{"sequence": "0"}, {"sequence": -1}, {"sequence": 0.5}, {"op": nil}, {"session_id": 1},
		{"request_id": strings.Repeat("r", 129)}, {"op": strings.Repeat("o", 257)},
	} {
		doc := c.honestRequest(0)
		maps.Copy(doc, change)
		sent, err := c.SendSigned(ctx, doc)
		if err != nil {
			return fmt.Errorf("the peer hung up: %w", err)
		}
		if err := c.served(ctx); err != nil {
			return acceptedf("after %v: %v", clip(change), err)
		}
		if c.Early(sent) {
			return acceptedf("answers a frame with %v", clip(change))
		}
	}
	_, err := c.SendSigned(ctx, wire.Object{"hello": "world"})
	if err != nil {
		return fmt.Errorf("the peer hung up: %w", err)
	}
	return c.served(ctx)
}

// clip returns the beginning of a value's text, whole characters of it.
func clip(v any) string {
	const most = 48
	text := fmt.Sprint(v)
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

func (c *conn) inFlight(ctx context.Context) error {
	requests := make([]wire.Frame, flight)
	for i := range requests {
		f, err := c.SendSigned(ctx, c.honestRequest(uint64(i)))
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		requests[i] = f
	}
	c.Next += flight
	for i, request := range requests {
		answer, err := c.Answer(ctx, request)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		if outcome := answer.Outcome(); !moved(outcome) {
			return fmt.Errorf("request %d: answered %s", i, outcome)
		}
		if err := c.Verify(request, answer); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
	}
	if err := c.served(ctx); err != nil {
		return err
	}
	for i, request := range requests {
		if c.Early(request) {
			return fmt.Errorf("request %d was answered twice", i)
		}
	}
	return nil
}
