package remotetool

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// opFrame is the op by which a file's next frame is fetched inside a SPOKE session,
// which has no binary messages: {transferId} is answered with {frame}, in base64.
const opFrame = "tool.frame"

// maxOpenFiles is how many announced files of one session wait to be fetched. A fetcher
// that gives a file up has no word for it, so the file that waited longest for its next
// frame makes room for another.
const maxOpenFiles = 64

// RouterOps returns the ops of this protocol inside sessions and the capability that they
// require, for RouterConfig.Ops: so a [connect.Router] sends them to a peer that lists
// [Capability]. The router must not spread calls: the frames of a file are at the peer
// that announced it.
func RouterOps() map[string]string {
	return map[string]string{TypeQuery: Capability, TypeCall: Capability, TypeBatch: Capability, opFrame: Capability}
}

// Ops serves the provider inside SPOKE sessions, as their Config.Ops: tool.query,
// tool.call and tool.batch, for peers that have negotiated [Capability], so it has to
// stand in both manifests. A reply is {type, payload}, a tool.error included. One more
// op, tool.frame, hands out the files that tools send.
//
// The result can serve any number of sessions.
//
// Source: remote tool spec, section 11.
func Ops(p *Provider) []connect.Op {
	files := &sessionFiles{open: make(map[string][]*sender)}
	ops := make([]connect.Op, 0, 4)
	for _, kind := range []string{TypeQuery, TypeCall, TypeBatch} {
		ops = append(ops, connect.Op{Name: kind, Capability: Capability, Handle: serveOp(p, files, kind)})
	}
	return append(ops, connect.Op{Name: opFrame, Capability: Capability, Handle: files.next})
}

func serveOp(p *Provider, files *sessionFiles, kind string) func(context.Context, json.RawMessage) (any, error) {
	return func(ctx context.Context, payload json.RawMessage) (any, error) {
		inner, box := withOutbox(ctx)
		defer func() { closeAll(box.take()) }() // none is left unless the handler did not return
		answerType, answer := p.Handle(inner, kind, present(payload))
		if fault := files.keep(ctx, box.take()); fault != nil {
			answerType, answer = failed(fault)
		}
		reply := appendText([]byte{'{'}, "type", answerType)
		return json.RawMessage(append(appendRaw(reply, "payload", wrap(answer)), '}')), nil
	}
}

// sessionFiles are the files that peers may fetch, by session, those that were asked for
// last at the end.
type sessionFiles struct {
	mu   sync.Mutex
	open map[string][]*sender
}

// keep holds files until they are fetched, others need the room or their session ends.
func (f *sessionFiles) keep(ctx context.Context, list []*sender) *Error {
	if len(list) == 0 {
		return nil
	}
	if len(list) > maxOpenFiles {
		closeAll(list)
		return errorf(CodeStreamUnsupported, "one request sends more than %d files", maxOpenFiles)
	}
	caller, _ := spoke.CallerFromContext(ctx)
	f.mu.Lock()
	if f.open[caller.SessionID] == nil {
		f.open[caller.SessionID] = []*sender{}
		context.AfterFunc(ctx, func() { f.drop(caller.SessionID) })
	}
	f.mu.Unlock()
	f.add(caller.SessionID, list...)
	return nil
}

// add puts files at the end, and gives up those that there is no room for. Those of a
// session that has ended are given up at once.
func (f *sessionFiles) add(session string, list ...*sender) {
	f.mu.Lock()
	files, live := f.open[session]
	tooMany := list
	if live {
		files = append(files, list...)
		most := max(len(files)-maxOpenFiles, 0)
		tooMany = slices.Clone(files[:most])
		f.open[session] = slices.Delete(files, 0, most)
	}
	f.mu.Unlock()
	closeAll(tooMany)
}

// drop closes the files of a session that has ended.
func (f *sessionFiles) drop(session string) {
	f.mu.Lock()
	files := f.open[session]
	delete(f.open, session)
	f.mu.Unlock()
	closeAll(files)
}

// closeAll gives files up for which no request is being served: a panic of one is not
// to keep the others open, nor to end the process.
func closeAll(list []*sender) {
	for _, s := range list {
		func() {
			defer func() { _ = recover() }()
			s.close()
		}()
	}
}

// take takes a file out while one frame of it is made: one request at a time gets it.
// Nil is no such file.
func (f *sessionFiles) take(session, id string) *sender {
	f.mu.Lock()
	defer f.mu.Unlock()
	files := f.open[session]
	at := slices.IndexFunc(files, func(s *sender) bool { return s.id == id })
	if at < 0 {
		return nil
	}
	s := files[at]
	f.open[session] = slices.Delete(files, at, at+1)
	return s
}

// next serves tool.frame. A file that panics is closed; the session tells the peer that
// the request failed.
func (f *sessionFiles) next(ctx context.Context, payload json.RawMessage) (any, error) {
	m, err := membersOf(payload)
	id, ok := textOf(m["transferId"])
	if err != nil || !ok {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "transferId must be a text").WithDetail(spoke.DetailField, "transferId")
	}
	caller, _ := spoke.CallerFromContext(ctx)
	s := f.take(caller.SessionID, id)
	if s == nil {
		return nil, spoke.Rejectf(spoke.CodeInvalidInput, "no such transfer").WithDetail(spoke.DetailField, "transferId")
	}
	kept := false
	defer func() {
		if !kept {
			s.close()
		}
	}()
	b, last, err := s.next()
	if s.file.Progress != nil && err == nil {
		s.file.Progress(s.offset, s.file.Size)
	}
	reply, encodeErr := json.Marshal(map[string][]byte{"frame": b})
	if kept = !last; kept {
		f.add(caller.SessionID, s)
	}
	return json.RawMessage(reply), encodeErr
}
