package connect_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/spoke"
)

// lockedBuffer is a text that several goroutines write.
type lockedBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

func fmtObject(doc object) string {
	text, _ := json.Marshal(doc)
	return string(text)
}

// mint is a source of tokens that last for a while.
type mint struct {
	t     testing.TB
	lasts time.Duration
	calls atomic.Int32
	fail  atomic.Pointer[error]
	hold  chan struct{} // closed to let calls return; nil does not hold them
}

func (m *mint) token(ctx context.Context) (connect.Token, error) {
	m.calls.Add(1)
	if m.hold != nil {
		select {
		case <-m.hold:
		case <-ctx.Done():
			return connect.Token{}, ctx.Err()
		}
	}
	if err := m.fail.Load(); err != nil {
		return connect.Token{}, *err
	}
	return connect.ParseToken(liveToken(m.t, object{"exp": time.Now().Add(m.lasts).Unix()}))
}

// withMint holds a session whose app gets its tokens from a mint.
func withMint(t *testing.T, lasts time.Duration, respond connect.ResponderConfig, f func(t *testing.T, m *mint, l link, echo func() error)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		m := &mint{t: t, lasts: lasts}
		dial := dialConfig()
		dial.TokenSource = m.token
		l := connectPair(t, dial, respond)
		defer l.close()
		f(t, m, l, func() error {
			_, err := l.app.InvokeTool(t.Context(), echoTool, nil)
			return err
		})
	})
}

func wait(d time.Duration) { <-time.After(d) }

func TestASourceIsAskedWhenATokenIsNeededAndAgainBeforeItExpires(t *testing.T) {
	withMint(t, 10*time.Minute, trusting(false), func(t *testing.T, m *mint, _ link, echo func() error) {
		assert.Zero(t, m.calls.Load())
		for range 3 {
			require.NoError(t, echo())
		}
		assert.EqualValues(t, 1, m.calls.Load())
		wait(10*time.Minute - 31*time.Second)
		require.NoError(t, echo())
		synctest.Wait()
		assert.EqualValues(t, 1, m.calls.Load(), "not yet")
		wait(time.Second)
		require.NoError(t, echo())
		synctest.Wait()
		assert.EqualValues(t, 2, m.calls.Load(), "half a minute before the end")
		wait(time.Minute)
		require.NoError(t, echo(), "the old token has expired")
		assert.EqualValues(t, 2, m.calls.Load())
	})
}

func TestAShortTokenIsRenewedAtHalfItsTime(t *testing.T) {
	withMint(t, 20*time.Second, trusting(true), func(t *testing.T, m *mint, _ link, echo func() error) {
		for n := range 3 {
			for range 9 {
				require.NoError(t, echo())
				synctest.Wait()
				assert.EqualValues(t, n+1, m.calls.Load(), "not with every request")
				wait(time.Second)
			}
			wait(time.Second)
		}
	})
}

func TestATokenThatExpiredWhileNobodyAskedIsFetchedAnew(t *testing.T) {
	withMint(t, 5*time.Minute, trusting(true), func(t *testing.T, m *mint, _ link, echo func() error) {
		for range 3 {
			require.NoError(t, echo())
			wait(time.Hour)
		}
		assert.EqualValues(t, 3, m.calls.Load())
	})
}

func TestRequestsGoOnWithTheOldTokenWhileTheSourceIsSlow(t *testing.T) {
	withMint(t, 10*time.Minute, trusting(true), func(t *testing.T, m *mint, _ link, echo func() error) {
		require.NoError(t, echo())
		m.hold = make(chan struct{})
		wait(10*time.Minute - 20*time.Second)
		for range 3 {
			require.NoError(t, echo())
		}
		synctest.Wait()
		assert.EqualValues(t, 2, m.calls.Load())
		close(m.hold)
		synctest.Wait()
		wait(time.Minute)
		require.NoError(t, echo())
		assert.EqualValues(t, 2, m.calls.Load())
	})
}

func TestRequestsShareOneCallOfTheSource(t *testing.T) {
	withMint(t, 10*time.Minute, trusting(false), func(t *testing.T, m *mint, _ link, echo func() error) {
		m.hold = make(chan struct{})
		done := make(chan error, 8)
		for range 8 {
			go func() { done <- echo() }()
		}
		synctest.Wait()
		close(m.hold)
		for range 8 {
			assert.NoError(t, <-done)
		}
		assert.EqualValues(t, 1, m.calls.Load())
	})
}

func TestASourceThatFails(t *testing.T) {
	lost := errors.New("lost the way")
	withMint(t, 10*time.Minute, trusting(false), func(t *testing.T, m *mint, _ link, echo func() error) {
		m.fail.Store(&lost)
		err := echo()
		reject := requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "token_invalid"})
		assert.False(t, reject.Remote())
		require.ErrorIs(t, err, lost)
		assert.NotContains(t, err.Error(), lost.Error(), "the source's words may hold a token")
		m.fail.Store(nil)
		require.NoError(t, echo(), "the next request asks again")
		m.fail.Store(&lost)
		wait(10*time.Minute - 20*time.Second)
		calls := m.calls.Load()
		for range 5 {
			require.NoError(t, echo(), "the old token is still good")
			synctest.Wait()
		}
		assert.Equal(t, calls+1, m.calls.Load(), "a source that fails is not asked with every request")
		wait(time.Second)
		m.fail.Store(nil)
		require.NoError(t, echo())
		synctest.Wait()
		wait(30 * time.Second)
		require.NoError(t, echo())
	})
}

func TestASourceWhoseTokenDoesNotFitFailsTheRequest(t *testing.T) {
	for name, c := range map[string]struct {
		changes object // nil for no token
		why     string
	}{
		"no token":       {nil, "returned none"},
		"another's":      {object{"sub": strangerID.PeerID()}, "subject is another"},
		"for another":    {object{"aud": strangerID.PeerID()}, "audience is another"},
		"for the issuer": {object{"aud": issuerID.PeerID()}, "audience is another"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				dial := dialConfig()
				dial.TokenSource = func(context.Context) (connect.Token, error) {
					if c.changes == nil {
						return connect.Token{}, nil
					}
					return connect.ParseToken(liveToken(t, c.changes))
				}
				var sent [][]byte
				a, b := connect.Pipe()
				l := connectOver(t, &recorder{Transport: a, sent: &sent}, b, dial, trusting(true))
				defer l.close()
				_, err := l.app.InvokeTool(t.Context(), echoTool, nil)
				reject := requireReject(t, err, spoke.CodeInternalError, map[string]any{"kind": "token_invalid"})
				assert.ErrorContains(t, errors.Unwrap(reject), c.why)
				assert.Len(t, sent, 1, "only the hello was sent")
			})
		})
	}
}

func TestWaitingForASourceEnds(t *testing.T) {
	start := func(t *testing.T, m *mint, echo func() error) <-chan error {
		m.hold = make(chan struct{})
		done := make(chan error, 1)
		go func() { done <- echo() }()
		synctest.Wait()
		return done
	}
	t.Run("with the invoke timeout", func(t *testing.T) {
		withMint(t, time.Hour, trusting(false), func(t *testing.T, m *mint, l link, echo func() error) {
			began := time.Now()
			requireReject(t, <-start(t, m, echo), spoke.CodeInternalError, map[string]any{"kind": "timeout"})
			assert.Equal(t, 5*time.Second, time.Since(began))
			synctest.Wait()
			close(m.hold)
			_, err := l.app.InvokeTool(t.Context(), echoTool, nil)
			require.NoError(t, err)
			assert.EqualValues(t, 2, m.calls.Load(), "the call that hung has ended; a new one was made")
		})
	})
	t.Run("with the session", func(t *testing.T) {
		withMint(t, time.Hour, trusting(false), func(t *testing.T, m *mint, l link, echo func() error) {
			done := start(t, m, echo)
			l.app.Close()
			requireReject(t, <-done, spoke.CodeInternalError, map[string]any{"kind": "session_closed"})
		})
	})
	t.Run("with the caller's context", func(t *testing.T) {
		withMint(t, time.Hour, trusting(false), func(t *testing.T, m *mint, l link, _ func() error) {
			ctx, cancel := context.WithCancel(t.Context())
			done := start(t, m, func() error { _, err := l.app.InvokeTool(ctx, echoTool, nil); return err })
			began := time.Now()
			cancel()
			requireReject(t, <-done, spoke.CodeInternalError, map[string]any{"kind": "canceled"})
			assert.Zero(t, time.Since(began), "at once")
			close(m.hold)
		})
	})
}

func TestASourceAnswersAChallenge(t *testing.T) {
	withMint(t, 10*time.Minute, trusting(true), func(t *testing.T, m *mint, l link, echo func() error) {
		synctest.Wait()
		assert.EqualValues(t, 1, m.calls.Load())
		_, err := l.app.InvokeTool(connect.WithToken(t.Context(), connect.Token{}), echoTool, nil)
		require.NoError(t, err, "the answer holds for the session")
	})
}

func TestASourceThatFailsBeforeTheEndOfATokenIsAskedAgainAtTheEnd(t *testing.T) {
	withMint(t, 20*time.Second, trusting(true), func(t *testing.T, m *mint, _ link, echo func() error) {
		require.NoError(t, echo())
		wait(19*time.Second + 500*time.Millisecond)
		down := errors.New("the issuer is down")
		m.fail.Store(&down)
		require.NoError(t, echo(), "with the old token")
		synctest.Wait()
		m.fail.Store(nil)
		wait(600 * time.Millisecond) // the token has expired, the next try would be later
		assert.NoError(t, echo())
	})
}
