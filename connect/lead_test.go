package connect_test

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestNobodyWaitsLongForTheLead(t *testing.T) {
	bothWays(t, dialConfig(), responderConfig(), func(t *testing.T, caller, server *connect.Session) {
		ask := func() {
			_, err := caller.InvokeTool(t.Context(), echoTool, raw(`{}`))
			require.NoError(t, err)
			synctest.Wait()
		}
		for range 30 { // one request now and then
			ask()
			require.False(t, connect.LeadIsAwaited(server))
			<-time.After(600 * time.Millisecond)
		}
		for range 3 { // a session that was idle becomes busy again
			<-time.After(2 * time.Second)
			for n := range 10 * connect.BusyRequests {
				ask()
				busy := n+1 >= connect.BusyRequests
				require.Equal(t, busy, connect.LeadIsAwaited(server), "after %d requests", n+1)
				if busy {
					<-time.After(time.Second / (2 * connect.BusyRequests))
				}
			}
			<-time.After(2 * time.Second)
			synctest.Wait()
			require.False(t, connect.LeadIsAwaited(server), "an idle session has its reader only")
		}
	})
}

func TestOneGoroutineAtMostWaitsForTheLead(t *testing.T) {
	const calls = connect.BusyRequests + 10
	respond := responderConfig()
	respond.Tools = spoke.ToolHandlers{slowTool: func(ctx context.Context, _ json.RawMessage) (any, error) {
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
		}
		return nil, nil
	}}
	bubble(t, func(t *testing.T) {
		l := connectPair(t, dialConfig(), respond)
		defer l.close()
		var all []*invocation
		for range calls {
			all = append(all, start(connect.WithInvokeTimeout(t.Context(), time.Hour), l.app.Session, slowTool))
		}
		synctest.Wait()
		require.Equal(t, calls, goroutinesIn("(*Session).serveTool("))
		<-time.After(time.Minute)
		for _, call := range all {
			_, err := call.wait()
			require.NoError(t, err)
		}
		synctest.Wait()
		assert.Equal(t, 1, goroutinesIn("(*Session).awaitLead("), "the one that waits")
		assert.Equal(t, 3, goroutinesIn("(*Session).read("), "and the readers of both sides")
		assert.True(t, connect.LeadIsAwaited(l.host.Session))
	})
}

// goroutinesIn returns how many goroutines are inside a function that calls no other of its
// name. The number of all goroutines says less: the runtime's own come and go.
func goroutinesIn(function string) int {
	stacks := make([]byte, 8<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), function)
}

func TestAHandlerThatLeavesItsGoroutineDoesNotTakeTheLeadWithIt(t *testing.T) {
	respond := responderConfig()
	respond.Tools = spoke.ToolHandlers{
		echoTool:  echo,
		otherTool: func(context.Context, json.RawMessage) (any, error) { runtime.Goexit(); return nil, nil },
		slowTool:  func(context.Context, json.RawMessage) (any, error) { panic("boom") },
	}
	bubble(t, func(t *testing.T) {
		l := connectPair(t, dialConfig(), respond)
		defer l.close()
		for range connect.BusyRequests {
			for _, tool := range []string{otherTool, slowTool} {
				_, err := l.app.InvokeTool(t.Context(), tool, nil)
				require.Error(t, err)
			}
			_, err := l.app.InvokeTool(t.Context(), echoTool, nil)
			require.NoError(t, err)
		}
	})
}

func TestTheEndOfASessionSendsAwayWhoWaits(t *testing.T) {
	for name, end := range map[string]func(l link){
		"by this side": func(l link) { l.host.Close() },
		"by the peer":  func(l link) { l.app.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := connectPair(t, dialConfig(), responderConfig())
				for range connect.BusyRequests {
					_, err := l.app.InvokeTool(t.Context(), echoTool, nil)
					require.NoError(t, err)
				}
				synctest.Wait()
				require.True(t, connect.LeadIsAwaited(l.host.Session))
				end(l)
				l.app.Wait()
				l.host.Wait()
				<-time.After(5 * time.Second) // a timer that is left does nothing
			})
		})
	}
}
