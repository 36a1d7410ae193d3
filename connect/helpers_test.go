package connect_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

const (
	echoTool  = "tools.test.echo"
	otherTool = "tools.test.other"
	slowTool  = "tools.test.slow"
)

// identityOf returns a fixed identity; equal numbers are equal identities.
func identityOf(n byte) *connect.Identity {
	id, err := connect.IdentityFromSeed(bytes.Repeat([]byte{n}, 32))
	if err != nil {
		panic(err)
	}
	return id
}

var (
	appID      = identityOf(0x63)
	hostID     = identityOf(0x51)
	strangerID = identityOf(0x73)
)

func testManifest(hostLabel string, tools ...string) spoke.HostCapabilityManifest {
	m := spoke.HostCapabilityManifest{
		SchemaVersion: 1,
		HostID:        hostLabel,
		Roles:         []string{"input-source"},
		Capabilities:  append([]string{connect.CapabilityBaseline, "test.ops"}, tools...),
		Namespaces:    []string{"test"},
	}
	for _, id := range tools {
		m.Tools = append(m.Tools, spoke.ToolDescriptor{SchemaVersion: 1, CapabilityID: id, Op: id, Description: "For tests."})
	}
	return m
}

func baseConfig(id *connect.Identity, peer *connect.Identity) connect.Config {
	return connect.Config{
		Identity: id,
		Manifest: testManifest("label", echoTool, otherTool, slowTool),
		Allow:    []connect.PeerID{peer.PeerID()},
		Tools:    spoke.ToolHandlers{echoTool: echo},
		Nonces:   connect.NewNonceStore(0), // tests share identities, but no memory
	}
}

func dialConfig() connect.DialConfig {
	return connect.DialConfig{Config: baseConfig(appID, hostID), Remote: hostID.PeerID()}
}

func responderConfig() connect.ResponderConfig {
	return connect.ResponderConfig{Config: baseConfig(hostID, appID)}
}

func echo(_ context.Context, args json.RawMessage) (any, error) { return args, nil }

// link is a session seen from both sides.
type link struct {
	app  *connect.RemoteAdapter
	host *connect.Responder
}

// connectPair holds a session over a pipe.
func connectPair(t testing.TB, dial connect.DialConfig, respond connect.ResponderConfig) link {
	t.Helper()
	a, b := connect.Pipe()
	return connectOver(t, a, b, dial, respond)
}

func connectOver(t testing.TB, a, b connect.Transport, dial connect.DialConfig, respond connect.ResponderConfig) link {
	t.Helper()
	var l link
	accepted := make(chan error, 1)
	go func() {
		var err error
		l.host, err = connect.Accept(t.Context(), b, respond)
		accepted <- err
	}()
	var err error
	l.app, err = connect.Dial(t.Context(), a, dial)
	require.NoError(t, err)
	require.NoError(t, <-accepted)
	return l
}

func (l link) close() {
	l.app.Close()
	l.host.Close()
	l.app.Wait()
	l.host.Wait()
}

// bubble runs f in a synctest bubble with virtual time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// bothWays runs f once for each side as the caller, each time over a fresh session.
func bothWays(t *testing.T, dial connect.DialConfig, respond connect.ResponderConfig, f func(t *testing.T, caller, server *connect.Session)) {
	t.Helper()
	for _, caller := range []string{"app", "host"} {
		t.Run(caller+" invokes", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := connectPair(t, dial, respond)
				defer l.close()
				if caller == "app" {
					f(t, l.app.Session, l.host.Session)
				} else {
					f(t, l.host.Session, l.app.Session)
				}
			})
		})
	}
}

// rejectOf asserts that err is a reject and returns it.
func rejectOf(t testing.TB, err error) *spoke.Reject {
	t.Helper()
	var reject *spoke.Reject
	require.ErrorAs(t, err, &reject)
	return reject
}

func requireReject(t testing.TB, err error, code spoke.Code, details map[string]any) *spoke.Reject {
	t.Helper()
	reject := rejectOf(t, err)
	assert.Equal(t, code, reject.Code, "%v", reject)
	assert.Equal(t, details, reject.Details, "%v", reject)
	return reject
}

func raw(format string, args ...any) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(format, args...))
}
