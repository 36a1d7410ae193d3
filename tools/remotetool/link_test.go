package remotetool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/tools"
)

// opened is Open of a config that is in order.
func opened(t testing.TB, conn Conn, cfg LinkConfig) *Link {
	t.Helper()
	link, err := Open(conn, cfg)
	require.NoError(t, err)
	return link
}

// linked holds the protocol between a client and a provider, in memory.
func linked(t testing.TB, p *Provider, host LinkConfig, cfg ClientConfig) (*Client, *Link, *Link) {
	t.Helper()
	a, b := connect.Pipe()
	app := opened(t, OverTransport(a), LinkConfig{Provider: p})
	peer := opened(t, OverTransport(b), host)
	t.Cleanup(func() {
		app.Close()
		peer.Close()
		app.Wait()
		peer.Wait()
	})
	return NewClient(peer, cfg), app, peer
}

// scripted is a peer that the test speaks for: it gets each message and sends what it
// wants.
type scripted struct {
	transport connect.Transport
	t         testing.TB
}

func script(t testing.TB, host LinkConfig, cfg ClientConfig) (*Client, *Link, *scripted) {
	a, b := connect.Pipe()
	link := opened(t, OverTransport(a), host)
	t.Cleanup(func() {
		link.Close()
		b.Close()
		link.Wait()
	})
	return NewClient(link, cfg), link, &scripted{b, t}
}

func (s *scripted) next() envelope {
	text, err := s.transport.Recv(context.Background())
	assert.NoError(s.t, err)
	e, ours, fault := parseEnvelope(text)
	assert.True(s.t, ours)
	assert.Nil(s.t, fault)
	return e
}

func (s *scripted) send(format string, args ...any) {
	assert.NoError(s.t, s.transport.Send(context.Background(), raw(format, args...)))
}

func (s *scripted) answer(e envelope, kind, payload string) {
	s.send(`{"type":%q,"id":"other","replyTo":%q,"payload":%s}`, kind, e.id, payload)
}

func (s *scripted) frame(f frame) {
	assert.NoError(s.t, s.transport.Send(context.Background(), appendFrame(nil, f)))
}

// streamed is the announcement of a file that comes as frames.
func streamed(size int) string {
	return fmt.Sprintf(`{"deliveryMode":"websocket_binary","wireProtocol":"ansight.file-transfer.v1","transferId":%q,"sizeBytes":%d}`, vectorID, size)
}

const echoPayload = `{"toolId":"json.echo","success":true,"result":%s}`

func TestAClientCallsOverALink(t *testing.T) {
	client, _, _ := linked(t, providerOf(t, jsonEcho()), LinkConfig{}, ClientConfig{})
	got, err := client.Call(t.Context(), Call{ID: "json.echo", Arguments: map[string]int{"a": 1}})
	require.NoError(t, err)
	assert.Equal(t, &Result{ToolID: "json.echo", Result: raw(`{"a":1}`)}, got)
	_, err = client.Call(t.Context(), Call{ID: "json.nope"})
	assertCode(t, CodeNotFound, err)
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.True(t, e.Remote())
}

func TestBothSidesMayAskAndAnswer(t *testing.T) {
	_, app, peer := linked(t, providerOf(t, jsonEcho()), LinkConfig{Provider: providerOf(t, jsonEcho())}, ClientConfig{})
	for _, link := range []*Link{app, peer} {
		_, err := NewClient(link, ClientConfig{}).Call(t.Context(), Call{ID: "json.echo"})
		require.NoError(t, err)
	}
}

func TestALinkWithoutAProviderOffersNothing(t *testing.T) {
	client, _, _ := linked(t, nil, LinkConfig{}, ClientConfig{})
	_, err := client.Tools(t.Context())
	assertCode(t, CodeDiscoveryDisabled, err)
	_, err = client.Call(t.Context(), Call{ID: "json.echo"})
	assertCode(t, CodeNotFound, err)
}

func TestALargeAnswerArrivesWhole(t *testing.T) {
	client, _, _ := linked(t, providerOf(t, jsonEcho()), LinkConfig{}, ClientConfig{})
	big := strings.Repeat("é<", 100_000)
	got, err := client.Call(t.Context(), Call{ID: "json.echo", Arguments: map[string]string{"big": big}})
	require.NoError(t, err)
	var back map[string]string
	require.NoError(t, json.Unmarshal(got.Result, &back))
	assert.Equal(t, big, back["big"])
}

func TestAnswersThatBreakTheProtocolFailTheirRequestAtOnce(t *testing.T) {
	for _, c := range []struct{ name, kind, payload string }{
		{"a wrapper that cannot be opened", TypeResult, `{"$ansightEncoding":"zip","data":""}`},
		{"an answer of another type", TypeCatalog, `{}`},
		{"no payload", TypeResult, `null`},
		{"a list", TypeResult, `[]`},
		{"an error without a code", TypeError, `{"message":"x"}`},
		{"an error that is no object", TypeError, `"x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, _, peer := script(t, LinkConfig{}, ClientConfig{})
				go func() { peer.answer(peer.next(), c.kind, c.payload) }()
				started := time.Now()
				_, err := client.Call(t.Context(), Call{ID: "json.echo"})
				assertCode(t, CodeProtocol, err)
				assert.Zero(t, time.Since(started))
			})
		})
	}
}

func TestAnAnswerThatCannotBeReadFailsItsRequestAtOnce(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct{ name, text string }{
		{"a payload that is too deep", `{"type":"tool.result","replyTo":%[1]q,"payload":{"result":` + deep(300) + `}}`},
		{"a payload that is far too deep", `{"type":"tool.result","replyTo":%[1]q,"payload":{"result":` + deep(20_000) + `}}`},
		{"a payload before its replyTo", `{"payload":{"result":` + deep(300) + `},"replyTo":%[1]q,"type":"tool.result"}`},
		{"a name twice", `{"type":"tool.result","replyTo":%[1]q,"payload":{"a":1,"a":2}}`},
		{"a text that is cut off", `{"type":"tool.error","replyTo":%[1]q,"payload":{"code":`},
		{"a text with more after it", `{"type":"tool.result","replyTo":%[1]q,"payload":{}} x`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, link, peer := script(t, LinkConfig{}, ClientConfig{})
				go func() { peer.send(c.text, peer.next().id) }()
				started := time.Now()
				_, _, err := client.Download(t.Context(), Call{ID: "json.echo"}, io.Discard, nil)
				assertCode(t, CodeProtocol, err)
				assert.ErrorContains(t, err, "the answer cannot be read")
				assert.Zero(t, time.Since(started))
				assert.Empty(t, link.pending)
			})
		})
	}
}

func TestABrokenTextThatIsNoAnswerIsSomebodyElses(t *testing.T) {
	got := make(chan string, 4)
	_, _, peer := script(t, LinkConfig{Other: func(_ int, data []byte) { got <- string(data) }}, ClientConfig{})
	for _, text := range []string{
		`{"type":"x.result","replyTo":"a","a":`, `{"type":"tool.result","replyTo":"a","capability":"other","a":1,"a":2}`,
		`["replyTo"`, `{"replyTo" "replyTo"`,
	} {
		peer.send("%s", text)
		assert.Equal(t, text, <-got)
	}
	peer.send(`{"type":"tool.result","replyTo":"nobody","a":`)
	peer.send("end")
	assert.Equal(t, "end", <-got, "an answer that nobody waits for is dropped")
}

func TestErrorsAreReadInEveryShape(t *testing.T) {
	for _, payload := range []string{
		`{"code":"c","message":"m","retryable":true,"details":{"a":1}}`,
		`{"errorCode":"c","message":"m","retryable":true,"details":{"a":1}}`,
		`{"error":{"code":"c","message":"m","retryable":true,"details":{"a":1}}}`,
	} {
		e := readError(raw("%s", payload))
		assert.Equal(t, &Error{Code: "c", Message: "m", Retryable: true, Details: raw(`{"a":1}`), remote: true}, e)
	}
}

func TestAnAnswerNobodyAskedForIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _, peer := script(t, LinkConfig{}, ClientConfig{})
		go func() {
			e := peer.next()
			peer.send(`{"type":"tool.result","id":"x","replyTo":"nobody","payload":{}}`)
			peer.send(`{"type":"tool.result","id":%q,"payload":{}}`, e.id+".response") // correlation is by replyTo alone
			peer.answer(e, TypeResult, string(raw(echoPayload, "1")))
			peer.answer(e, TypeResult, string(raw(echoPayload, "2")))
			peer.answer(peer.next(), TypeResult, string(raw(echoPayload, "3")))
		}()
		for _, want := range []string{"1", "3"} {
			got, err := client.Call(t.Context(), Call{ID: "json.echo"})
			require.NoError(t, err)
			assert.Equal(t, want, string(got.Result))
		}
	})
}

func TestAnswersMayComeInAnyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _, peer := script(t, LinkConfig{}, ClientConfig{})
		go func() {
			first, second := peer.next(), peer.next()
			peer.answer(second, TypeResult, string(raw(`{"toolId":"x","success":true,"result":%q}`, text(must(membersOf(second.payload)), "toolId"))))
			peer.answer(first, TypeResult, string(raw(`{"toolId":"x","success":true,"result":%q}`, text(must(membersOf(first.payload)), "toolId"))))
		}()
		var wg sync.WaitGroup
		for _, id := range []string{"a", "b"} {
			wg.Go(func() {
				got, err := client.Call(t.Context(), Call{ID: id})
				if assert.NoError(t, err) {
					assert.Equal(t, `"`+id+`"`, string(got.Result))
				}
			})
		}
		wg.Wait()
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestARequestIsBoundedByTheTimeoutAndTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, link, peer := script(t, LinkConfig{}, ClientConfig{})
		started := time.Now()
		_, err := client.Call(t.Context(), Call{ID: "x"})
		assertCode(t, CodeTimeout, err)
		assert.Equal(t, 20*time.Second, time.Since(started))
		late := peer.next()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = client.Call(ctx, Call{ID: "x"})
		assertCode(t, CodeCanceled, err)
		assert.ErrorIs(t, err, context.Canceled)
		peer.answer(late, TypeResult, "{}")
		peer.next()
		go func() { peer.answer(peer.next(), TypeResult, string(raw(echoPayload, "1"))) }()
		_, err = client.Call(t.Context(), Call{ID: "x"})
		require.NoError(t, err, "the link stays usable")
		assert.Empty(t, link.pending)
	})
}

func TestTheEndOfTheLinkFailsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, link, peer := script(t, LinkConfig{}, ClientConfig{})
		go func() {
			peer.next()
			peer.transport.Close()
		}()
		_, err := client.Call(t.Context(), Call{ID: "x"})
		assertCode(t, CodeClosed, err)
		assert.ErrorIs(t, link.Wait(), io.EOF)
		_, err = client.Call(t.Context(), Call{ID: "x"})
		assertCode(t, CodeClosed, err)
	})
}

func TestANegativeLimitIsRefusedByItsName(t *testing.T) {
	for name, cfg := range map[string]LinkConfig{
		"MaxMessageBytes": {MaxMessageBytes: -1}, "MaxInflatedBytes": {MaxInflatedBytes: -1}, "MaxRequests": {MaxRequests: -1},
		"MaxTransfers": {MaxTransfers: -1}, "WriteTimeout": {WriteTimeout: -1},
	} {
		a, b := connect.Pipe()
		link, err := Open(OverTransport(a), cfg)
		assert.ErrorContains(t, err, "LinkConfig."+name+" is negative")
		assert.Nil(t, link)
		_, err = b.Recv(t.Context())
		assert.ErrorIs(t, err, io.EOF, "the connection is closed")
	}
}

func TestAMessageThatIsTooLargeEndsTheLink(t *testing.T) {
	_, link, peer := script(t, LinkConfig{MaxMessageBytes: 100}, ClientConfig{})
	peer.send(`{"type":"x","pad":%q}`, strings.Repeat("x", 100))
	assertCode(t, CodeProtocol, link.Wait())
}

func TestMessagesOfSomebodyElseAreHandedOn(t *testing.T) {
	got := make(chan string, 3)
	_, _, peer := script(t, LinkConfig{Other: func(kind int, data []byte) { got <- string(data) }}, ClientConfig{})
	peer.send(`{"type":"ping"}`)
	peer.send(`no JSON`)
	assert.Equal(t, `{"type":"ping"}`, <-got)
	assert.Equal(t, `no JSON`, <-got)
}

func TestFramesThatNobodyWaitsForAreNotHandedOn(t *testing.T) {
	got := make(chan string, 3)
	_, _, peer := script(t, LinkConfig{Other: func(_ int, data []byte) { got <- string(data) }}, ClientConfig{})
	peer.frame(frame{kind: frameChunk, id: vectorID, payload: []byte("abc")})
	peer.frame(frame{kind: 9, id: vectorID})
	peer.send(frameMagic + " of another kind")
	assert.Equal(t, frameMagic+" of another kind", <-got)
}

func TestMoreRequestsThanTheLimitAreRefusedAndRetryable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := providerOf(t, tool("tools.t.slow", "", "", func(context.Context, json.RawMessage) (any, error) { <-release; return 1, nil }, tools.Metadata{}))
		_, _, peer := script(t, LinkConfig{Provider: p, MaxRequests: 2}, ClientConfig{})
		for _, id := range []string{"a", "b", "c"} {
			peer.send(`{"type":"tool.call","id":%q,"payload":{"toolId":"t.slow"}}`, id)
		}
		refused := peer.next()
		assert.Equal(t, "c", refused.replyTo)
		e := readError(refused.payload)
		assert.Equal(t, CodeOverloaded, e.Code)
		assert.True(t, e.Retryable)
		close(release)
		assert.ElementsMatch(t, []string{"a", "b"}, []string{peer.next().replyTo, peer.next().replyTo})
	})
}

func TestAPeerThatAsksAndDoesNotReadLosesTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, link, peer := script(t, LinkConfig{Provider: providerOf(t, jsonEcho()), MaxRequests: 4, WriteTimeout: time.Hour}, ClientConfig{})
		for range 200 {
			if peer.transport.Send(t.Context(), raw(`{"type":"tool.query","id":"a"}`)) != nil {
				break
			}
		}
		assertCode(t, CodeOverloaded, link.Wait())
	})
}

func TestAWriteThatIsStuckEndsTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, link, _ := script(t, LinkConfig{WriteTimeout: time.Second}, ClientConfig{})
		var wg sync.WaitGroup
		for range 20 { // more than the pipe holds
			wg.Go(func() {
				_, err := client.Call(t.Context(), Call{ID: "x"})
				assertCode(t, CodeClosed, err)
			})
		}
		wg.Wait()
		assert.ErrorIs(t, link.Wait(), context.DeadlineExceeded)
	})
}

// stuckConn is a WebSocket whose peer does not read: a write and a control message after
// it wait, the latter until its deadline.
type stuckConn struct {
	Conn
	closed chan struct{}
}

func (c stuckConn) ReadMessage() (int, []byte, error) { <-c.closed; return 0, nil, io.EOF }
func (c stuckConn) WriteMessage(int, []byte) error    { <-c.closed; return io.ErrClosedPipe }
func (c stuckConn) Close() error                      { close(c.closed); return nil }

func (c stuckConn) WriteControl(_ int, _ []byte, deadline time.Time) error {
	<-time.After(time.Until(deadline))
	return context.DeadlineExceeded
}

func TestCloseDoesNotWaitForAWriteThatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := opened(t, stuckConn{closed: make(chan struct{})}, LinkConfig{})
		go func() { _, _ = NewClient(link, ClientConfig{}).Call(t.Context(), Call{ID: "x"}) }()
		synctest.Wait()
		started := time.Now()
		link.Close()
		assert.Zero(t, time.Since(started))
		assert.NoError(t, link.Wait())
		assert.Equal(t, closeGrace, time.Since(started))
	})
}

func TestALinksPolicyIsEnforcedWhereItIsServed(t *testing.T) {
	a, b := connect.Pipe()
	app := opened(t, OverTransport(a), LinkConfig{Provider: providerOf(t, jsonEcho(), tool("tools.t.write", "", "", echoing, tools.Metadata{Policy: tools.PolicyWrite})), MaxToolPolicy: tools.PolicyRead})
	peer := opened(t, OverTransport(b), LinkConfig{})
	defer func() { app.Close(); peer.Close(); app.Wait(); peer.Wait() }()
	client := NewClient(peer, ClientConfig{})
	list, err := client.Tools(t.Context())
	require.NoError(t, err)
	assert.Len(t, list, 1)
	_, err = client.Call(t.Context(), Call{ID: "t.write"})
	assertCode(t, CodeExecutionDenied, err)
}

func TestACodeOfTheApplicationThatPanicsFailsWhatItWasFor(t *testing.T) {
	ceiling := tools.NewRegistry(tools.Config{Guard: tools.FullAccess(), Ceiling: func(context.Context) tools.Policy { panic("secret") }})
	client, _, _ := linked(t, NewProvider(ceiling, ProviderConfig{}), LinkConfig{}, ClientConfig{})
	_, err := client.Tools(t.Context())
	assertCode(t, CodeExecutionException, err)
	assert.NotContains(t, err.Error(), "secret")

	client, _, _ = linked(t, providerOf(t, jsonEcho(), sending("tools.t.file", func(json.RawMessage) File {
		return File{Reader: strings.NewReader("abc"), Size: 3}
	})), LinkConfig{}, ClientConfig{})
	_, _, err = client.Download(t.Context(), Call{ID: "t.file"}, writerFunc(func([]byte) (int, error) { panic("secret") }), nil)
	assertCode(t, CodeStream, err)
	_, _, err = client.Download(t.Context(), Call{ID: "t.file"}, io.Discard, &ReceiveOptions{Progress: func(int64, int64) { panic("secret") }})
	assertCode(t, CodeStream, err)
	_, err = client.Call(t.Context(), Call{ID: "json.echo"})
	require.NoError(t, err)

	seen := make(chan string, 2)
	_, _, peer := script(t, LinkConfig{Other: func(_ int, data []byte) { seen <- string(data); panic("secret") }}, ClientConfig{})
	peer.send("one")
	peer.send("two")
	assert.Equal(t, []string{"one", "two"}, []string{<-seen, <-seen})
}

func TestAToolThatLeavesItsGoroutineIsAnswered(t *testing.T) {
	file := &closing{Reader: strings.NewReader("abc")}
	p := providerOf(t, tool("tools.t.gone", "", "", func(ctx context.Context, _ json.RawMessage) (any, error) {
		_, err := StreamFile(ctx, File{Reader: file, Size: 3})
		assert.NoError(t, err)
		runtime.Goexit()
		return nil, nil
	}, tools.Metadata{}))
	client, app, _ := linked(t, p, LinkConfig{MaxRequests: 1}, ClientConfig{})
	_, err := client.Call(t.Context(), Call{ID: "t.gone"})
	assertCode(t, CodeExecutionException, err)
	app.Close()
	app.Wait()
	assert.Equal(t, 1, file.closed)
	assert.Zero(t, app.serving)
}
