package connect_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestAnUnprovenPeerGetsAProbeBeforeRealArguments(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, p := newWirePeer(t, "host", dialConfig(), responderConfig())
		defer s.Wait()
		defer s.Close()
		var calls []*invocation
		for range 5 {
			calls = append(calls, start(t.Context(), s, otherTool))
		}
		synctest.Wait()
		probe := p.recv()
		assert.Equal(t, "tools.spoke.probe", probe["op"])
		assert.Equal(t, object{"arguments": object{}}, probe["payload"])
		p.respondError(probe, "op_unsupported", nil)
		for range calls {
			request := p.recv()
			assert.Equal(t, otherTool, request["op"])
			p.respond(request, "payload", object{"result": 1})
		}
		for _, call := range calls {
			_, err := call.wait()
			require.NoError(t, err)
		}
	})
}

func TestAReplayedHelloGetsNoArgumentsOutOfUs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, p := newWirePeer(t, "host", dialConfig(), responderConfig())
		defer s.Wait()
		defer s.Close()
		for range 2 { // a probe that failed is tried again by the next caller
			a, b := start(t.Context(), s, otherTool), start(t.Context(), s, otherTool)
			synctest.Wait() // both wait for one probe
			probe := p.recv()
			require.Equal(t, "tools.spoke.probe", probe["op"])
			replayer := *p
			replayer.id = strangerID // it has recorded a hello and holds no key
			replayer.respondError(probe, "op_unsupported", nil)
			for _, call := range []*invocation{a, b} {
				_, err := call.wait()
				requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "envelope_auth_invalid"})
			}
		}
		p.requireWorks()
		requireUsable(t, s, p)
	})
}

func TestAPeerThatSpokeFirstNeedsNoProbe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, p := newWirePeer(t, "host", dialConfig(), responderConfig())
		defer s.Wait()
		defer s.Close()
		p.send(edit(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)), func(d object) { d["signature"] = "" }))
		p.recv()
		waiting := start(t.Context(), s, otherTool)
		require.Equal(t, "tools.spoke.probe", p.recv()["op"], "a forged request proves nothing")
		p.send(p.sign(connect.RequestEnvelope, p.toolRequest(echoTool)))
		p.sequence++
		// The answer and the invoke that the proof set free come in any order.
		for range 2 {
			if frame := p.recv(); frame["op"] == otherTool {
				p.respond(frame, "payload", object{"result": 1})
			}
		}
		_, err := waiting.wait()
		require.NoError(t, err)
	})
}

func TestTheProbeCanBeTurnedOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		respond := responderConfig()
		respond.SkipProofOfPossession = true
		s, p := newWirePeer(t, "host", dialConfig(), respond)
		defer s.Wait()
		defer s.Close()
		requireUsable(t, s, p)
	})
}

func TestTheInvokeTimeoutCoversTheProbe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, p := newWirePeer(t, "host", dialConfig(), responderConfig())
		defer s.Wait()
		defer s.Close()
		began := time.Now()
		_, err := s.InvokeTool(connect.WithInvokeTimeout(t.Context(), time.Second), otherTool, nil)
		requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "timeout"})
		assert.Equal(t, time.Second, time.Since(began))
		require.Equal(t, "tools.spoke.probe", p.recv()["op"])
	})
}

func TestADialerNeedsNoProbe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, p := newWirePeer(t, "app", dialConfig(), responderConfig())
		defer s.Wait()
		defer s.Close()
		requireUsable(t, s, p)
	})
}

func TestACallerWithMorePatienceOutlivesTheProbe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, p := newWirePeer(t, "host", dialConfig(), responderConfig())
		defer s.Wait()
		defer s.Close()
		patient := start(connect.WithInvokeTimeout(t.Context(), time.Minute), s, otherTool)
		first := p.recv()
		require.Equal(t, "tools.spoke.probe", first["op"])
		second := p.recv() // five seconds later
		require.Equal(t, "tools.spoke.probe", second["op"])
		p.respondError(second, "op_unsupported", nil)
		p.respond(p.recv(), "payload", object{"result": 1})
		_, err := patient.wait()
		require.NoError(t, err)
	})
}
