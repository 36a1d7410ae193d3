package connect_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
)

// deaf is a transport whose peer neither sends more than a few frames nor reads. It
// ignores contexts, as a transport may.
type deaf struct {
	frames chan []byte
	closed chan struct{}
	once   sync.Once
	reads  bool
}

func newDeaf(reads bool, frames ...[]byte) *deaf {
	d := &deaf{frames: make(chan []byte, len(frames)), closed: make(chan struct{}), reads: reads}
	for _, frame := range frames {
		d.frames <- frame
	}
	return d
}

func (d *deaf) Send(context.Context, []byte) error {
	if d.reads {
		return nil
	}
	<-d.closed
	return io.ErrClosedPipe
}

func (d *deaf) Recv(context.Context) ([]byte, error) {
	select {
	case frame := <-d.frames:
		return frame, nil
	case <-d.closed:
		return nil, io.ErrClosedPipe
	}
}

// fateful is a transport that acts right after a given Send or Recv has succeeded.
type fateful struct {
	connect.Transport
	sends, recvs int
	act          func()
}

func (f *fateful) Send(ctx context.Context, frame []byte) error {
	err := f.Transport.Send(ctx, frame)
	if f.sends--; f.sends == 0 {
		f.act()
	}
	return err
}

func (f *fateful) Recv(ctx context.Context) ([]byte, error) {
	frame, err := f.Transport.Recv(ctx)
	if f.recvs--; f.recvs == 0 {
		f.act()
	}
	return frame, err
}

// failing is a transport whose calls fail at once.
type failing struct {
	*deaf
	err error
}

func (f failing) Send(context.Context, []byte) error   { return f.err }
func (f failing) Recv(context.Context) ([]byte, error) { return nil, f.err }

func (d *deaf) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

func (d *deaf) requireClosed(t testing.TB) {
	t.Helper()
	select {
	case <-d.closed:
	default:
		require.Fail(t, "the transport is open")
	}
}

// halves run one side's handshake over a transport.
func halves(timeout time.Duration) map[string]func(context.Context, connect.Transport) error {
	return map[string]func(context.Context, connect.Transport) error{
		"dialer": func(ctx context.Context, t connect.Transport) error {
			cfg := dialConfig()
			cfg.HandshakeTimeout = timeout
			_, err := connect.Dial(ctx, t, cfg)
			return err
		},
		"responder": func(ctx context.Context, t connect.Transport) error {
			cfg := responderConfig()
			cfg.HandshakeTimeout = timeout
			_, err := connect.Accept(ctx, t, cfg)
			return err
		},
	}
}

func requireTimeout(t testing.TB, err error) {
	t.Helper()
	failure := requireCode(t, err, connect.CodeTimeout)
	assert.Equal(t, connect.HandshakeTimeout, failure.Kind)
	assert.ErrorIs(t, failure, context.DeadlineExceeded)
}

func TestHandshakeTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: 5 * time.Second, 1500 * time.Millisecond: 1500 * time.Millisecond} {
		for role, run := range halves(timeout) {
			t.Run(role+" waits "+want.String()+" for a silent peer", func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					start, peer := time.Now(), newDeaf(true)
					requireTimeout(t, run(t.Context(), peer))
					assert.Equal(t, want, time.Since(start))
					peer.requireClosed(t)
				})
			})
			t.Run(role+" waits "+want.String()+" for a peer that does not read", func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					start, peer := time.Now(), newDeaf(false, appHello(t).frame(t))
					requireTimeout(t, run(t.Context(), peer))
					assert.Equal(t, want, time.Since(start))
					peer.requireClosed(t)
				})
			})
			t.Run(role+" waits "+want.String()+" over a pipe and closes it", func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					start := time.Now()
					near, far := connect.Pipe()
					requireTimeout(t, run(t.Context(), near))
					assert.Equal(t, want, time.Since(start))
					if role == "dialer" {
						_, err := far.Recv(t.Context()) // its hello
						require.NoError(t, err)
					}
					requireClosed(t, far)
				})
			})
		}
	}

	for role, run := range halves(0) {
		t.Run(role+" takes the word of a transport that keeps the time itself", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				peer := failing{newDeaf(true), fmt.Errorf("write tcp: %w", os.ErrDeadlineExceeded)}
				requireTimeout(t, run(t.Context(), peer))
				peer.requireClosed(t)
			})
		})
		t.Run(role+" says what is wrong with a transport that fails", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				peer := failing{newDeaf(true), io.ErrUnexpectedEOF}
				failure := requireCode(t, run(t.Context(), peer), connect.CodeTransport)
				assert.ErrorIs(t, failure, io.ErrUnexpectedEOF)
				assert.Equal(t, connect.HandshakeFailed, failure.Kind)
				peer.requireClosed(t)
			})
		})
	}

	t.Run("a peer that sends its hello and then nothing does not get more time", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			start := time.Now()
			d := startDial(t, t.Context(), dialConfig())
			<-time.After(4 * time.Second)
			d.answer(t, hostHello(t, d.nonce).frame(t))
			<-d.done
			requireTimeout(t, d.err)
			assert.Equal(t, 5*time.Second, time.Since(start))
			requireClosed(t, d.far)
		})
	})

	t.Run("a handshake that is slow but in time succeeds, and its time is over then", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			d := startDial(t, t.Context(), dialConfig())
			<-time.After(4 * time.Second)
			d.answer(t, hostHello(t, d.nonce).frame(t), hostSession(t).frame(t))
			<-d.done
			require.NoError(t, d.err)
			<-time.After(time.Hour)
			assert.Equal(t, connect.Established, d.app.State())
			d.app.Close()
			require.NoError(t, d.app.Wait())
		})
	})
}

func TestHandshakeContext(t *testing.T) {
	for role, run := range halves(0) {
		t.Run(role+" gives up when the caller does", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				start, peer := time.Now(), newDeaf(true)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				failure := requireCode(t, run(ctx, peer), connect.CodeCanceled)
				assert.ErrorIs(t, failure, context.Canceled)
				assert.NotErrorIs(t, failure, context.DeadlineExceeded)
				assert.Equal(t, connect.HandshakeFailed, failure.Kind)
				assert.Equal(t, time.Second, time.Since(start))
				peer.requireClosed(t)
			})
		})
		t.Run(role+" gives up when the caller did before", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				peer := newDeaf(true)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				assert.ErrorIs(t, run(ctx, peer), context.Canceled)
				peer.requireClosed(t)
			})
		})
		t.Run(role+" keeps an earlier deadline of the caller's", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				start, peer := time.Now(), newDeaf(true)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				requireTimeout(t, run(ctx, peer))
				assert.Equal(t, time.Second, time.Since(start))
				peer.requireClosed(t)
			})
		})
		t.Run(role+" does not wait for a later deadline of the caller's", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				requireTimeout(t, run(ctx, newDeaf(true)))
				assert.Equal(t, 5*time.Second, time.Since(start))
			})
		})
	}

	t.Run("a caller that gives up at the last moment gets no session", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			near, far := connect.Pipe()
			accepted := make(chan *connect.Responder, 1)
			go func() {
				r, err := connect.Accept(t.Context(), far, responderConfig())
				assert.NoError(t, err)
				accepted <- r
			}()
			_, err := connect.Dial(ctx, &fateful{Transport: near, recvs: 2, act: cancel}, dialConfig())
			requireCode(t, err, connect.CodeCanceled)
			require.ErrorIs(t, (<-accepted).Wait(), io.EOF)

			ctx, cancel = context.WithCancel(t.Context())
			near, far = connect.Pipe()
			require.NoError(t, far.Send(t.Context(), appHello(t).frame(t)))
			_, err = connect.Accept(ctx, &fateful{Transport: near, sends: 2, act: cancel}, responderConfig())
			requireCode(t, err, connect.CodeCanceled)
			_ = snapshot(t, far)
			requireClosed(t, far)
		})
	})

	t.Run("a context that ends after the handshake does not end the session", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			d := startDial(t, ctx, dialConfig())
			d.answer(t, hostHello(t, d.nonce).frame(t), hostSession(t).frame(t))
			<-d.done
			require.NoError(t, d.err)
			cancel()
			<-time.After(time.Minute)
			assert.Equal(t, connect.Established, d.app.State())
			d.app.Close()
			require.NoError(t, d.app.Wait())
		})
	})
}
