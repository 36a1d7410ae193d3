package connect_test

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// stuffed returns an envelope with 3 MB of what is not signed.
func stuffed(signed json.RawMessage) json.RawMessage {
	return json.RawMessage(strings.Replace(string(signed), `"extensions":{}`, `"extensions":{"junk":"`+strings.Repeat("x", 3<<20)+`"}`, 1))
}

// heldBytes returns how much more memory there is after f.
func heldBytes(f func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

func TestAResultDoesNotKeepALargeFrame(t *testing.T) {
	eachProvenRole(t, func(t *testing.T, s *connect.Session, p *wirePeer) {
		var kept []json.RawMessage
		held := heldBytes(func() {
			for range 10 {
				call := start(t.Context(), s, otherTool)
				request := p.recv()
				p.send(stuffed(p.sign(connect.ResponseEnvelope, answerTo(request, "payload", object{"result": 1}))))
				got, err := call.wait()
				require.NoError(t, err)
				kept = append(kept, got)
			}
		})
		assert.Less(t, held, int64(8<<20))
		runtime.KeepAlive(kept)
	})
}

func TestArgumentsDoNotKeepALargeFrame(t *testing.T) {
	var kept []json.RawMessage
	respond := responderConfig()
	respond.Tools = spoke.ToolHandlers{echoTool: func(_ context.Context, args json.RawMessage) (any, error) {
		kept = append(kept, args)
		return nil, nil
	}}
	bubble(t, func(t *testing.T) {
		s, p := newWirePeer(t, "host", dialConfig(), respond)
		defer s.Wait()
		defer s.Close()
		held := heldBytes(func() {
			for range 10 {
				p.send(stuffed(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool))))
				p.sequence++
				p.recv()
			}
		})
		assert.Len(t, kept, 10)
		assert.Less(t, held, int64(8<<20))
	})
}
