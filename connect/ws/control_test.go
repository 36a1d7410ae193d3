package ws_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect/ws"
)

// upgraded returns both ends of a connection in memory, and what is below the peer's. The
// host secures it by secure, nil for not at all.
func upgraded(t *testing.T, secure *tls.Config) (host *ws.Transport, peer *websocket.Conn, raw net.Conn) {
	t.Helper()
	var near, far net.Conn
	raw, far = net.Pipe()
	near = raw
	if secure != nil {
		near, far = tls.Client(raw, &tls.Config{InsecureSkipVerify: true}), tls.Server(far, secure)
	}
	transports := make(chan *ws.Transport, 1)
	go func() {
		transport, err := upgradeWire(far)
		assert.NoError(t, err)
		transports <- transport
	}()
	// The dialer does not see what is below.
	dialer := websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
	peer, _, err := dialer.Dial("ws://host/", nil)
	require.NoError(t, err)
	return <-transports, peer, raw
}

// clientFrame is a frame of a client's, whose mask is zero.
func clientFrame(first byte, text string) []byte {
	return append([]byte{first, 0x80 | byte(len(text)), 0, 0, 0, 0}, text...)
}

const (
	ping         = 0x80 | websocket.PingMessage
	continuation = 0
)

func TestTheLastOfManyPingsIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, peer, raw := upgraded(t, nil)
		go func() { _, _ = host.Recv(t.Context()) }()
		var answered []string
		peer.SetPongHandler(func(text string) error { answered = append(answered, text); return nil })
		_, err := raw.Write(bytes.Join([][]byte{clientFrame(ping, "a"), clientFrame(ping, "b"), clientFrame(ping, "c")}, nil))
		require.NoError(t, err)
		go func() { _, _, _ = peer.ReadMessage() }()
		synctest.Wait()
		require.NotEmpty(t, answered)
		assert.Equal(t, "c", answered[len(answered)-1])
		host.Close()
		raw.Close()
	})
}

func TestPongsThatNobodyReadsKeepNoMessageFromBeingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, _, raw := upgraded(t, nil)
		defer host.Close()
		defer raw.Close()
		go func() {
			_, err := raw.Write(append(bytes.Repeat(clientFrame(ping, "x"), 100), clientFrame(0x80|websocket.BinaryMessage, "after")...))
			assert.NoError(t, err)
		}()
		began := time.Now()
		got, err := host.Recv(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "after", string(got))
		assert.Zero(t, time.Since(began), "it waited for a pong to be written")
	})
}

func TestFramesThatBringNothingAreReadSlowly(t *testing.T) {
	for name, frame := range map[string][]byte{"pings": clientFrame(ping, "x"), "fragments": clientFrame(continuation, "")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host, peer, raw := upgraded(t, nil)
				defer raw.Close()
				defer host.Close()
				go func() { _, _, _ = peer.ReadMessage() }()
				began := time.Now()
				go func() {
					_, err := raw.Write(clientFrame(websocket.BinaryMessage, "be")) // and more fragments
					assert.NoError(t, err)
					_, err = raw.Write(bytes.Repeat(frame, 1<<20/len(frame)))
					assert.NoError(t, err)
					_, err = raw.Write(clientFrame(0x80|continuation, "gun"))
					assert.NoError(t, err)
				}()
				got, err := host.Recv(t.Context())
				require.NoError(t, err)
				assert.Equal(t, "begun", string(got))
				assert.Greater(t, time.Since(began), time.Second)
			})
		})
	}
}

func TestMessagesAreReadWithoutAPauseHoweverManyCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, peer, raw := upgraded(t, nil)
		defer raw.Close()
		defer host.Close()
		const many = 300 // of one kilobyte
		go func() {
			for range many {
				assert.NoError(t, sendBinary(peer, make([]byte, 1<<10)))
			}
		}()
		began := time.Now()
		for range many {
			_, err := host.Recv(t.Context())
			require.NoError(t, err)
		}
		assert.Zero(t, time.Since(began))
	})
}

func TestTLSHasAMomentForItsOwnGoodbye(t *testing.T) {
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	synctest.Test(t, func(t *testing.T) {
		host, peer, raw := upgraded(t, certified.TLS)
		defer raw.Close()
		peer.SetCloseHandler(func(int, string) error { return nil })
		go func() { _, _, _ = peer.ReadMessage() }() // takes the goodbye of WebSocket and nothing after it
		began := time.Now()
		require.NoError(t, host.Close())
		assert.Equal(t, time.Second, time.Since(began), "crypto/tls itself has five")
	})
}
