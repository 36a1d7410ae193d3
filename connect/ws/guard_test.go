package ws_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/internal/bench"
	"github.com/spoke-peer/spoke-go/internal/bench/benchtest"
)

// What the guards hold. Each is a ratio within one run, well off what a quiet machine
// measures: they notice a gain that was lost, not a busy machine.
const (
	leastOfFloorAt4  = 0.5
	leastOfFloorAt16 = 0.65
	leastOfFloorAt64 = 0.68
	mostP50OfFloor   = 2.5
	leastOfUnshared  = 1.05 // with 64 in flight, by messages that are each written alone
	leastOfHandshake = 0.18

	mostObjects = 14.0    // of a small round trip, both sides together
	mostBytes   = 2 * kib // likewise

	mostCostOfByte     = 2.0 // at 4 MiB, by that at 64 KiB
	mostPeak           = 8.0 // at 4 MiB, in payloads and per side
	mostCostOfSessions = 1.7 // at 1,000 sessions, by that at one; one call in flight
)

// guardCalls is how many calls a guard makes to measure.
const guardCalls = 3000

func TestGuardASessionIsNotFarFromTheCostOfItsSignatures(t *testing.T) {
	benchtest.Guarded(t)
	app, _ := newHandled(t, serverConfig(), nil).dial(t, dialConfig())
	defer hangUp(t, app.Session)
	for _, c := range []struct {
		name     string
		inFlight int
		least    float64
	}{
		{"with 4 in flight", 4, leastOfFloorAt4},
		{"with 16 in flight", 16, leastOfFloorAt16},
		{"with 64 in flight", 64, leastOfFloorAt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			benchtest.AtLeast(t, c.least, func() (float64, error) {
				return ofFloor(t, app, c.inFlight, guardCalls).OfFloor, nil
			})
		})
	}
	t.Run("with one in flight, by the time that half of the calls take", func(t *testing.T) {
		benchtest.AtMost(t, mostP50OfFloor, func() (float64, error) {
			return ofFloor(t, app, 1, guardCalls/3).P50OfFloor, nil
		})
	})
}

func TestGuardMessagesThatShareWritesAreFaster(t *testing.T) {
	benchtest.Guarded(t)
	app, _ := newHandled(t, serverConfig(), nil).dial(t, dialConfig())
	defer hangUp(t, app.Session)
	c := bench.Contest{
		Load: bench.Load{InFlight: 64},
		Work: bench.Invoke(echoTool, small, app), Floor: bench.Invoke(echoTool, small, unshared(t)),
	}
	benchtest.AtLeast(t, leastOfUnshared, func() (float64, error) {
		return outcomeOf(t, c, guardCalls).OfFloor, nil
	})
}

// unshared returns a session over connections that package websocket opened by itself.
func unshared(t *testing.T) *connect.RemoteAdapter {
	t.Helper()
	hosts := make(chan *connect.Responder, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
		if !assert.NoError(t, err) {
			return
		}
		host, err := connect.Accept(context.Background(), ws.New(conn), responderConfig())
		if assert.NoError(t, err) {
			hosts <- host
		}
	}))
	t.Cleanup(s.Close)
	conn, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http"), nil)
	require.NoError(t, err)
	app, err := connect.Dial(t.Context(), ws.New(conn), dialConfig())
	require.NoError(t, err)
	host := soon(t, hosts)
	t.Cleanup(func() { hangUp(t, app.Session); waitOf(t, host.Session) })
	return app
}

func ofFloor(t *testing.T, app bench.Invoker, inFlight, calls int) bench.Result {
	t.Helper()
	return outcomeOf(t, benchtest.Echo(t, echoTool, small, inFlight, app), calls)
}

// outcomeOf returns how the contest ends with so many calls.
func outcomeOf(t *testing.T, c bench.Contest, calls int) bench.Result {
	t.Helper()
	c.N = calls
	work, _, err := c.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return work
}

func TestGuardASmallRoundTripTakesLittleMemory(t *testing.T) {
	benchtest.Guarded(t)
	app, _ := newHandled(t, serverConfig(), nil).dial(t, dialConfig())
	defer hangUp(t, app.Session)
	benchtest.Allocates(t, mostObjects, mostBytes, bench.Invoke(echoTool, small, app))
}

func TestGuardAByteOfALargePayloadCostsWhatOneOfASmallPayloadCosts(t *testing.T) {
	benchtest.Guarded(t)
	app := largeSession(t)
	benchtest.AtMost(t, mostCostOfByte, func() (float64, error) { return costOfByte(t, app, 4*mib, 12), nil })
}

func TestGuardALargePayloadIsHeldInFewCopies(t *testing.T) {
	benchtest.Guarded(t)
	app := largeSession(t)
	benchtest.AtMost(t, mostPeak, func() (float64, error) { return peakOf(t, app, 4*mib), nil })
}

func TestGuardACallAmongManySessionsCostsWhatOneCosts(t *testing.T) {
	benchtest.Guarded(t)
	apps := openSessions(t, 1000)
	benchtest.AtMost(t, mostCostOfSessions, func() (float64, error) {
		return 1 / outcomeOf(t, amongSessions(apps, 1), guardCalls).OfFloor, nil
	})
}

func TestGuardAHandshakeIsNotFarFromTheCostOfItsSignatures(t *testing.T) {
	benchtest.Guarded(t)
	const calls = 1600
	door := newDoor(t)
	benchtest.AtLeast(t, leastOfHandshake, func() (float64, error) {
		c := door.contest(t, calls)
		c.InFlight = 16
		return outcomeOf(t, c, calls).OfFloor, nil
	})
}
