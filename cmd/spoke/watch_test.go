package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

func TestNoMoreCallsAreLetThroughThanWereAskedFor(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]int{0: 3, 1: 1, 2: 2} {
		noted := 0
		offered := &offer{lines: []string{"tools.a.b=cat"}, timeout: defaultExecTimeout}
		offered.begin(t.Context(), io.Discard)
		own, err := offered.registry(baseManifest("x", "a"), nil, func(call) { noted++ }, atMost(most))
		require.NoError(t, err)
		handler, ok := own.ToolHandler("tools.a.b")
		require.True(t, ok)
		for i := range 3 {
			_, err := handler(t.Context(), json.RawMessage("{}"))
			assert.Equal(t, i >= want, spoke.KindOf(err) == spoke.KindOverloaded, "call %d of %d: %v", i, most, err)
		}
		assert.Equal(t, want, noted)
	}
}

func TestTheExitStatusTellsARefusalFromALostConnection(t *testing.T) {
	t.Parallel()
	me, err := connect.GenerateIdentity()
	require.NoError(t, err)
	cfg := connect.DialConfig{Config: connect.Config{Identity: me}, Remote: "host"}
	failure := func(kind connect.HandshakeKind, code string, err error) error {
		return &connect.HandshakeError{Kind: kind, Code: code, Err: err}
	}
	hungUp := failure(connect.HandshakeFailed, connect.CodeTransport, io.EOF)
	for name, c := range map[string]struct {
		err    error
		met    connect.PeerID
		status int
		next   string
	}{
		"the peer hung up":                     {hungUp, "", 1, "--allow " + string(me.PeerID())},
		"the peer hung up time after time":     {fmt.Errorf("%w: 5 times: %w", connect.ErrRefused, hungUp), "", 1, "--allow " + string(me.PeerID())},
		"the peer said nothing":                {failure(connect.HandshakeTimeout, connect.CodeTimeout, errors.New("late")), "", 4, "--allow"},
		"the peer began and then said no more": {failure(connect.HandshakeTimeout, connect.CodeTimeout, errors.New("late")), "host", 4, ""},
		"the peer speaks another version":      {failure(connect.HandshakeVersionMismatch, connect.CodeVersionMismatch, errors.New("2")), "host", 1, "the older one"},
		"another peer answered":                {failure(connect.HandshakeFailed, connect.CodeHandshakeFailed, errors.New("x")), "other", 1, "--peer other"},
		"the peer signed wrongly":              {failure(connect.HandshakeFailed, connect.CodeHelloSignature, errors.New("x")), "host", 1, ""},
		"the connection broke":                 {failure(connect.HandshakeFailed, connect.CodeTransport, io.ErrUnexpectedEOF), "", 3, ""},
		"the host is full":                     {failure(connect.HandshakeFailed, connect.CodeTransport, fmt.Errorf("1013: %w", connect.ErrTryLater)), "", 3, "later"},
		"the host is full before the upgrade":  {fmt.Errorf("503: %w", connect.ErrTryLater), "", 3, "later"},
		"nobody was reached":                   {errors.New("refused"), "", 3, "see that the host runs"},
		"the key is wrong":                     {failure(connect.HandshakeConfig, connect.CodeInvalidConfig, errors.New("x")), "", 2, "the key of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := new(link).advise(c.err, cfg, c.met)
			assert.ErrorIs(t, err, c.err)
			assert.Equal(t, c.status, statusOf(err))
			advised, ok := errors.AsType[*advisedError](err)
			require.Equal(t, c.next != "", ok)
			if ok {
				assert.Contains(t, advised.next, c.next)
			}
		})
	}
}

func TestACallIsShownAsItBeginsAndWithItsOutcome(t *testing.T) {
	t.Parallel()
	begun := call{ID: "tools.a.b", Args: json.RawMessage(`{"x":"\u001b"}`)}
	over := begun
	over.Result = json.RawMessage(`1`)
	for _, asJSON := range []bool{false, true} {
		var out, said bytes.Buffer
		l := &link{output: output{json: asJSON, out: &out, err: &said}}
		require.NoError(t, l.called(seen{begun, false}))
		require.NoError(t, l.called(seen{over, true}))
		const first = `^\d\d:\d\d:\d\d → tools.a.b {"x":"\\u001b"}\n`
		if asJSON {
			assert.Regexp(t, first+"$", said.String())
			assert.Regexp(t, `^{.*"result":1,.*}\n$`, out.String())
			continue
		}
		assert.Regexp(t, first+`\d\d:\d\d:\d\d tools.a.b {"x":"\\u001b"} = 1\n$`, out.String())
		assert.Empty(t, said.String())
	}
}

func TestAWatcherThatEndsItsSessionDoesNotCallItLost(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	w := &watcher{link: &link{output: output{err: &said}}, flags: &watchFlags{}, met: true, up: true, lost: io.EOF}
	w.running, w.stop = context.WithCancel(t.Context())
	w.delay(time.Second)
	assert.Equal(t, "lost the session: the peer said goodbye; dialing again in 1s\n", said.String())
	assert.NoError(t, w.running.Err())
	said.Reset()
	w.up, w.lost = false, &connect.HandshakeError{Kind: connect.HandshakeFailed, Code: connect.CodeTransport, Err: io.EOF}
	me, err := connect.GenerateIdentity()
	require.NoError(t, err)
	w.dialed.Identity = me
	for range 2 {
		w.delay(time.Second)
	}
	refused := "no session: connect: handshake failed (transport): EOF; dialing again in 1s\n"
	assert.Regexp(t, "^"+regexp.QuoteMeta(refused)+"next: .*--allow "+string(me.PeerID())+"\n"+regexp.QuoteMeta(refused)+"$", said.String())
	said.Reset()
	w.closing.Store(true)
	w.delay(time.Second)
	assert.Empty(t, said.String())
	assert.Error(t, w.running.Err())
}
