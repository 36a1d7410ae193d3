package remotetool

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// session holds a SPOKE session whose app serves the provider, and returns both sides.
// Extra are the capabilities of the host beside the baseline.
func session(t testing.TB, p *Provider, extra ...string) (app, host *connect.Session) {
	t.Helper()
	return sessionWithin(t, connect.Limits{}, p, extra...)
}

// sessionWithin is session under limits.
func sessionWithin(t testing.TB, limits connect.Limits, p *Provider, extra ...string) (app, host *connect.Session) {
	t.Helper()
	config := func(seed byte, label string, capabilities ...string) (*connect.Identity, connect.Config) {
		id, err := connect.IdentityFromSeed(bytes.Repeat([]byte{seed}, 32))
		require.NoError(t, err)
		return id, connect.Config{Identity: id, Nonces: connect.NewNonceStore(0), Limits: limits, Manifest: spoke.HostCapabilityManifest{
			SchemaVersion: 1, HostID: label, Roles: []string{"input-source"},
			Capabilities: append([]string{connect.CapabilityBaseline}, capabilities...), Namespaces: []string{"test"},
		}}
	}
	appID, appCfg := config(1, "app", Capability)
	hostID, hostCfg := config(2, "host", extra...)
	appCfg.Allow, hostCfg.Allow = []connect.PeerID{hostID.PeerID()}, []connect.PeerID{appID.PeerID()}
	appCfg.Ops = Ops(p)
	a, b := connect.Pipe()
	accepted := make(chan *connect.Responder, 1)
	go func() {
		r, err := connect.Accept(context.Background(), b, connect.ResponderConfig{Config: hostCfg})
		assert.NoError(t, err)
		accepted <- r
	}()
	adapter, err := connect.Dial(t.Context(), a, connect.DialConfig{Config: appCfg, Remote: hostID.PeerID()})
	require.NoError(t, err)
	responder := <-accepted
	t.Cleanup(func() {
		adapter.Close()
		responder.Close()
		adapter.Wait()
		responder.Wait()
	})
	return adapter.Session, responder.Session
}

func TestTheSameHandlerAnswersInsideASession(t *testing.T) {
	p := providerOf(t, jsonEcho())
	_, host := session(t, p, Capability)
	for kind, payload := range map[string]string{
		TypeQuery: `{"detail":"definitions"}`, TypeCall: `{"toolId":"json.echo"}`,
		TypeBatch: `{"calls":[{"toolId":"json.echo"},{"toolId":"nope"}]}`,
	} {
		reply, err := host.Invoke(t.Context(), kind, json.RawMessage(payload))
		require.NoError(t, err)
		wantType, want := p.Handle(t.Context(), kind, json.RawMessage(payload))
		assert.JSONEq(t, string(raw(`{"type":%q,"payload":%s}`, wantType, want)), string(reply))
	}
	reply, err := host.Invoke(t.Context(), TypeCall, nil)
	require.NoError(t, err)
	assert.Contains(t, string(reply), string(CodeCallPayloadInvalid), "an error is a success payload")
}

func TestAClientWorksInsideASession(t *testing.T) {
	big := strings.Repeat("x", 100_000)
	_, host := session(t, providerOf(t, jsonEcho(), tool("tools.t.flat", "", "", echoing, tools.Metadata{FlattenedStrings: true})), Capability)
	client := NewClient(OverSession(host, 0), ClientConfig{})
	list, err := client.Tools(t.Context())
	require.NoError(t, err)
	assert.Len(t, list, 2)
	got, err := client.Call(t.Context(), Call{ID: "json.echo", Arguments: map[string]string{"big": big}})
	require.NoError(t, err)
	assert.Contains(t, string(got.Result), big)
	_, err = client.Call(t.Context(), Call{ID: "nope"})
	assertCode(t, CodeNotFound, err)
	got, err = client.Call(t.Context(), Call{ID: "t.flat"})
	require.NoError(t, err)
	var flat map[string]string
	require.NoError(t, json.Unmarshal(got.Result, &flat))
	assert.Equal(t, host.ID(), flat[flatSessionID])
	assert.NotEmpty(t, flat[flatRequestID])
	_, err = NewClient(OverSession(host, 1000), ClientConfig{}).Call(t.Context(), Call{ID: "json.echo", Arguments: map[string]string{"big": big}})
	assertCode(t, CodeProtocol, err)
}

func TestLargeAnswersAreWrappedInsideASession(t *testing.T) {
	_, host := session(t, providerOf(t, jsonEcho()), Capability)
	reply, err := host.Invoke(t.Context(), TypeCall, raw(`{"toolId":"json.echo","arguments":{"big":%q}}`, strings.Repeat("x", 100_000)))
	require.NoError(t, err)
	assert.Contains(t, string(reply), wrapperMarker)
}

func TestAPeerThatHasNotNegotiatedTheCapabilityIsDenied(t *testing.T) {
	_, host := session(t, providerOf(t, jsonEcho()))
	for _, op := range []string{TypeQuery, TypeCall, TypeBatch, opFrame} {
		_, err := host.Invoke(t.Context(), op, nil)
		assert.Equal(t, spoke.CodeCapabilityPortMissing, spoke.CodeOf(err), op)
	}
	_, err := NewClient(OverSession(host, 0), ClientConfig{}).Tools(t.Context())
	assertCode(t, CodeExecutionDenied, err)
}

func TestAFileIsDownloadedInsideASession(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 30_000)
	file := &closing{}
	_, host := session(t, providerOf(t, sending("tools.t.file", func(json.RawMessage) File {
		file = &closing{Reader: bytes.NewReader(content)}
		return File{Reader: file, Size: int64(len(content))}
	}), sending("tools.t.short", func(json.RawMessage) File {
		return File{Reader: strings.NewReader("abc"), Size: 4}
	})), Capability)
	client := NewClient(OverSession(host, 0), ClientConfig{})
	var sink bytes.Buffer
	_, _, err := client.Download(t.Context(), Call{ID: "t.file"}, &sink, nil)
	require.NoError(t, err)
	assert.Equal(t, content, sink.Bytes())
	assert.Equal(t, 1, file.closed)
	_, _, err = client.Download(t.Context(), Call{ID: "t.short"}, &sink, nil)
	assertCode(t, CodeStream, err)
	assert.ErrorContains(t, err, "the sender gave up")
	for _, payload := range []string{`{}`, `{"transferId":1}`, `{"transferId":"` + vectorID + `"}`} {
		_, err := host.Invoke(t.Context(), opFrame, json.RawMessage(payload))
		assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
	}
}

func TestFilesThatNobodyFetchesAreBoundedAndClosedWithTheSession(t *testing.T) {
	closed := make(chan struct{}, 2*maxOpenFiles)
	app, host := session(t, providerOf(t, sending("tools.t.file", func(json.RawMessage) File {
		return File{Reader: onClose{closed}, Size: 1}
	})), Capability)
	client := NewClient(OverSession(host, 0), ClientConfig{})
	for range maxOpenFiles + 1 {
		_, err := client.Call(t.Context(), Call{ID: "t.file"})
		require.NoError(t, err)
	}
	<-closed // the first made room for the last
	assert.Empty(t, closed)
	app.Close()
	for range maxOpenFiles {
		<-closed
	}
}

func TestDownloadsThatWereGivenUpMakeRoomForOthers(t *testing.T) {
	_, host := session(t, providerOf(t, sending("tools.t.file", func(json.RawMessage) File {
		return File{Reader: strings.NewReader("abcdef"), Size: 6}
	}), sending("tools.t.large", func(json.RawMessage) File {
		return File{Reader: io.LimitReader(zeros{}, 100_000), Size: 100_000, ChunkBytes: 1024}
	})), Capability)
	client := NewClient(OverSession(host, 0), ClientConfig{})
	giveUp := func() {
		_, _, err := client.Download(t.Context(), Call{ID: "t.file"}, io.Discard, &ReceiveOptions{MaxBytes: 2})
		assertCode(t, CodeStream, err)
	}
	for range maxOpenFiles {
		giveUp()
	}
	_, _, err := client.Download(t.Context(), Call{ID: "t.file"}, io.Discard, nil)
	require.NoError(t, err)
	_, _, err = client.Download(t.Context(), Call{ID: "t.large"}, io.Discard, &ReceiveOptions{Progress: func(int64, int64) { giveUp() }})
	require.NoError(t, err, "a file that is being fetched stays")
}

func TestARequestThatSendsTooManyFilesSendsNone(t *testing.T) {
	closed := make(chan struct{}, 2*maxOpenFiles)
	_, host := session(t, providerOf(t, tool("tools.t.many", "", "", func(ctx context.Context, _ json.RawMessage) (any, error) {
		for range maxOpenFiles + 1 {
			if _, err := StreamFile(ctx, File{Reader: onClose{closed}, Size: 1}); err != nil {
				return nil, err
			}
		}
		return 1, nil
	}, tools.Metadata{})), Capability)
	_, err := NewClient(OverSession(host, 0), ClientConfig{}).Call(t.Context(), Call{ID: "t.many"})
	assertCode(t, CodeStreamUnsupported, err)
	assert.Len(t, closed, maxOpenFiles+1)
}

func TestAFileThatPanicsInsideASessionIsClosed(t *testing.T) {
	var closed atomic.Int32
	files := sickFiles(&closed)
	list := []*tools.Tool{jsonEcho()}
	names := slices.Sorted(maps.Keys(files))
	for i, name := range names {
		list = append(list, sending(fmt.Sprintf("tools.t.f%d", i), func(json.RawMessage) File { return files[name] }))
	}
	app, host := session(t, providerOf(t, list...), Capability)
	client := NewClient(OverSession(host, 0), ClientConfig{})
	for i, name := range names {
		closed.Store(0)
		call := Call{ID: fmt.Sprintf("t.f%d", i)}
		_, _, err := client.Download(t.Context(), call, io.Discard, nil)
		require.Error(t, err, name)
		assert.NotContains(t, err.Error(), "secret", name)
		assert.Equal(t, int32(1), closed.Load(), name)
		_, err = client.Call(t.Context(), Call{ID: "json.echo"})
		require.NoError(t, err, name)
		_, err = client.Call(t.Context(), call)
		require.NoError(t, err, name)
	}
	closed.Store(0)
	app.Close()
	app.Wait()
	require.Eventually(t, func() bool { return closed.Load() == int32(len(names)) }, time.Minute, time.Millisecond)
}

func TestACallThatRanIsToldFromOneThatDidNot(t *testing.T) {
	ran := 0
	noise := make([]byte, 64<<10)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	_, host := sessionWithin(t, connect.Limits{FrameBytes: 32 << 10}, providerOf(t, tool("tools.t.big", "", "", func(context.Context, json.RawMessage) (any, error) {
		ran++
		return base64.StdEncoding.EncodeToString(noise), nil
	}, tools.Metadata{})), Capability)
	client := NewClient(OverSession(host, 0), ClientConfig{})
	_, err := client.Call(t.Context(), Call{ID: "t.big"})
	assertCode(t, CodeResultSchemaInvalid, err)
	assert.Equal(t, 1, ran)
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.True(t, e.Remote())
	_, err = client.Call(t.Context(), Call{ID: "t.big", Arguments: map[string]string{"a": strings.Repeat("x", 64<<10)}})
	assertCode(t, CodeInvalidRequest, err)
	assert.Equal(t, 1, ran)
}

// rejecting is a session whose peer answers every request with the same error.
type rejecting spoke.ErrorEnvelope

func (r rejecting) Invoke(context.Context, string, any) (json.RawMessage, error) {
	return nil, spoke.ErrorEnvelope(r).Reject()
}

func TestARejectOfThePeersSessionIsReadByItsCodeAndKind(t *testing.T) {
	kind := func(k string) map[string]any { return map[string]any{spoke.DetailKind: k} }
	for _, c := range []struct {
		name   string
		reject spoke.ErrorEnvelope
		want   Code
	}{
		{"an op that nobody serves", spoke.ErrorEnvelope{Code: spoke.WireOpUnsupported}, CodeExecutionDenied},
		{"a capability that was not negotiated", spoke.ErrorEnvelope{Code: spoke.WireCapabilityMissing}, CodeExecutionDenied},
		{"a token that does not count", spoke.ErrorEnvelope{Code: spoke.WireAuthFailed, Details: kind(spoke.KindTokenInvalid)}, CodeExecutionDenied},
		{"a signature that does not verify", spoke.ErrorEnvelope{Code: spoke.WireAuthFailed, Details: kind(spoke.KindEnvelopeAuthInvalid)}, CodeExecutionDenied},
		{"a wrong sequence", spoke.ErrorEnvelope{Code: spoke.WireInvalidSequence}, CodeExecutionDenied},
		{"no room", spoke.ErrorEnvelope{Code: "INTERNAL_ERROR", Details: kind(spoke.KindOverloaded)}, CodeOverloaded},
		{"an answer that cannot be sent", spoke.ErrorEnvelope{Code: "INTERNAL_ERROR", Details: kind(spoke.KindResult)}, CodeResultSchemaInvalid},
		{"a handler that failed", spoke.ErrorEnvelope{Code: "INTERNAL_ERROR"}, CodeExecutionFailed},
		{"a code of the peer's own", spoke.ErrorEnvelope{Code: "disk_full"}, CodeExecutionFailed},
	} {
		_, err := NewClient(OverSession(rejecting(c.reject), 0), ClientConfig{}).Call(t.Context(), Call{ID: "a"})
		assert.Equal(t, c.want, CodeOf(err), "%s: %v", c.name, err)
	}
}

type onClose struct{ closed chan struct{} }

func (onClose) Read(b []byte) (int, error) { return len(b), nil }

func (o onClose) Close() error { o.closed <- struct{}{}; return nil }
