package ws_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
)

func TestFramesAreMessages(t *testing.T) {
	t.Run("a frame is sent as one binary message", func(t *testing.T) {
		eachRaw(t, func(t *testing.T, transport *ws.Transport, raw *websocket.Conn) {
			for _, frame := range []string{"{}", "", strings.Repeat("long ", 100_000)} {
				sent := make(chan error, 1)
				go func() { sent <- transport.Send(t.Context(), []byte(frame)) }()
				kind, got, err := raw.ReadMessage()
				require.NoError(t, err)
				require.NoError(t, soon(t, sent))
				assert.Equal(t, websocket.BinaryMessage, kind)
				assert.Equal(t, frame, string(got))
			}
		})
	})

	t.Run("text and binary messages are received, whole or in fragments", func(t *testing.T) {
		eachRaw(t, func(t *testing.T, transport *ws.Transport, raw *websocket.Conn) {
			for _, send := range []func(*websocket.Conn, []byte) error{
				sendBinary, sendText, sendPieces(websocket.BinaryMessage), sendPieces(websocket.TextMessage),
			} {
				frame := []byte(strings.Repeat("some ", 5000))
				sent := make(chan error, 1)
				go func() { sent <- send(raw, frame) }()
				got, err := transport.Recv(t.Context())
				require.NoError(t, err)
				require.NoError(t, soon(t, sent))
				assert.Equal(t, string(frame), string(got))
			}
		})
	})

	t.Run("a frame belongs to the caller", func(t *testing.T) {
		eachRaw(t, func(t *testing.T, transport *ws.Transport, raw *websocket.Conn) {
			require.NoError(t, sendBinary(raw, []byte("first")))
			require.NoError(t, sendBinary(raw, []byte("other")))
			first, err := transport.Recv(t.Context())
			require.NoError(t, err)
			_, err = transport.Recv(t.Context())
			require.NoError(t, err)
			assert.Equal(t, "first", string(first))
		})
	})

	t.Run("a ping is answered while a message is awaited", func(t *testing.T) {
		eachRaw(t, func(t *testing.T, transport *ws.Transport, raw *websocket.Conn) {
			pong := make(chan string, 1)
			raw.SetPongHandler(func(text string) error {
				pong <- text
				return nil
			})
			var readers sync.WaitGroup
			readers.Go(func() { _, _ = transport.Recv(t.Context()) })
			readers.Go(func() { _, _, _ = raw.ReadMessage() })
			require.NoError(t, raw.WriteControl(websocket.PingMessage, []byte("are you there?"), time.Time{}))
			assert.Equal(t, "are you there?", soon(t, pong))
			transport.Close()
			readers.Wait()
		})
	})
}

func TestSendDeadline(t *testing.T) {
	t.Run("a deadline of one frame does not bound the next", func(t *testing.T) {
		client, host := transportPair(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, client.Send(ctx, []byte("one")))
		<-ctx.Done()
		require.NoError(t, client.Send(context.Background(), []byte("two")))
		for _, want := range []string{"one", "two"} {
			got, err := host.Recv(t.Context())
			require.NoError(t, err)
			assert.Equal(t, want, string(got))
		}
	})

	t.Run("a deadline that has passed fails the frame", func(t *testing.T) {
		client, _ := transportPair(t)
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		var timeout net.Error
		require.ErrorAs(t, client.Send(ctx, []byte("late")), &timeout)
		assert.True(t, timeout.Timeout())
	})

	t.Run("a deadline bounds a write that nobody reads", func(t *testing.T) {
		client, _ := transportPair(t)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		frame := make([]byte, 1<<20)
		for range 64 { // more than the kernel takes
			if err := client.Send(ctx, frame); err != nil {
				var timeout net.Error
				require.ErrorAs(t, err, &timeout)
				assert.True(t, timeout.Timeout())
				return
			}
		}
		require.Fail(t, "64 MiB were sent and nobody reads")
	})
}

func TestGoodbye(t *testing.T) {
	t.Run("Close says goodbye", func(t *testing.T) {
		eachRaw(t, func(t *testing.T, transport *ws.Transport, raw *websocket.Conn) {
			require.NoError(t, transport.Close())
			_, _, err := raw.ReadMessage()
			assert.True(t, websocket.IsCloseError(err, websocket.CloseNormalClosure), "%v", err)
		})
	})

	for code, name := range map[int]string{
		websocket.CloseNormalClosure:    "normal",
		websocket.CloseGoingAway:        "going away",
		websocket.CloseNoStatusReceived: "without a status", // as a browser's close() says it
	} {
		t.Run("a goodbye is told as EOF: "+name, func(t *testing.T) {
			eachRaw(t, func(t *testing.T, transport *ws.Transport, raw *websocket.Conn) {
				goodbye := websocket.FormatCloseMessage(code, "")
				require.NoError(t, raw.WriteControl(websocket.CloseMessage, goodbye, time.Time{}))
				_, err := transport.Recv(t.Context())
				assert.Equal(t, io.EOF, err)
			})
		})
	}

	t.Run("frames that came before the goodbye are received", func(t *testing.T) {
		client, host := transportPair(t)
		require.NoError(t, client.Send(t.Context(), []byte("last words")))
		require.NoError(t, client.Close())
		got, err := host.Recv(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "last words", string(got))
		_, err = host.Recv(t.Context())
		assert.Equal(t, io.EOF, err)
	})

	for _, code := range []int{websocket.CloseProtocolError, websocket.CloseMessageTooBig, websocket.CloseInternalServerErr, 4000} {
		t.Run(fmt.Sprintf("a goodbye with status %d is an error", code), func(t *testing.T) {
			eachRaw(t, func(t *testing.T, transport *ws.Transport, raw *websocket.Conn) {
				goodbye := websocket.FormatCloseMessage(code, "because")
				require.NoError(t, raw.WriteControl(websocket.CloseMessage, goodbye, time.Time{}))
				_, err := transport.Recv(t.Context())
				assert.True(t, websocket.IsCloseError(err, code), "%v", err)
			})
		})
	}

	t.Run("a connection that is gone without a goodbye is an error", func(t *testing.T) {
		eachRaw(t, func(t *testing.T, transport *ws.Transport, raw *websocket.Conn) {
			require.NoError(t, raw.NetConn().Close())
			_, err := transport.Recv(t.Context())
			require.Error(t, err)
			assert.NotErrorIs(t, err, io.EOF)
		})
	})
}

func TestReadLimit(t *testing.T) {
	const limit = 1000

	t.Run("a message as large as the limit is received", func(t *testing.T) {
		eachRaw(t, func(t *testing.T, transport *ws.Transport, raw *websocket.Conn) {
			transport.SetReadLimit(limit)
			for _, send := range []func(*websocket.Conn, []byte) error{sendBinary, sendPieces(websocket.TextMessage)} {
				require.NoError(t, send(raw, make([]byte, limit)))
				got, err := transport.Recv(t.Context())
				require.NoError(t, err)
				assert.Len(t, got, limit)
			}
		})
	})

	for _, size := range []uint64{limit + 1, 1 << 40, 1 << 63} {
		t.Run(fmt.Sprintf("a message of %d bytes is refused by its header", size), func(t *testing.T) {
			eachRaw(t, func(t *testing.T, transport *ws.Transport, raw *websocket.Conn) {
				transport.SetReadLimit(limit)
				_, err := raw.NetConn().Write(frameHeader(masks(t), size))
				require.NoError(t, err)
				_, err = transport.Recv(t.Context())
				assert.ErrorIs(t, err, connect.ErrMalformedFrame)
				if size == 1<<63 {
					return // no length of a frame: there is nothing to be polite about
				}
				_, _, err = raw.ReadMessage()
				assert.True(t, websocket.IsCloseError(err, websocket.CloseMessageTooBig), "%v", err)
			})
		})
	}

	t.Run("fragments count together", func(t *testing.T) {
		eachRaw(t, func(t *testing.T, transport *ws.Transport, raw *websocket.Conn) {
			transport.SetReadLimit(limit)
			var sender sync.WaitGroup
			sender.Go(func() { _ = sendPieces(websocket.BinaryMessage)(raw, make([]byte, 100*limit)) })
			_, err := transport.Recv(t.Context())
			assert.ErrorIs(t, err, connect.ErrMalformedFrame)
			transport.Close()
			sender.Wait()
		})
	})

	t.Run("a limit can be raised between messages", func(t *testing.T) {
		eachRaw(t, func(t *testing.T, transport *ws.Transport, raw *websocket.Conn) {
			transport.SetReadLimit(limit)
			require.NoError(t, sendBinary(raw, make([]byte, limit)))
			_, err := transport.Recv(t.Context())
			require.NoError(t, err)
			transport.SetReadLimit(2 * limit)
			require.NoError(t, sendBinary(raw, make([]byte, 2*limit)))
			_, err = transport.Recv(t.Context())
			require.NoError(t, err)
		})
	})
}

func TestCloseOfATransport(t *testing.T) {
	t.Run("later calls fail", func(t *testing.T) {
		client, _ := transportPair(t)
		require.NoError(t, client.Close())
		require.NoError(t, client.Close())
		assert.Error(t, client.Send(t.Context(), []byte("{}")))
		_, err := client.Recv(t.Context())
		assert.Error(t, err)
	})

	t.Run("a pending Recv fails", func(t *testing.T) {
		client, _ := transportPair(t)
		failed := make(chan error, 1)
		go func() {
			_, err := client.Recv(context.Background())
			failed <- err
		}()
		require.NoError(t, client.Close())
		assert.Error(t, soon(t, failed))
	})

	t.Run("a pending Send fails", func(t *testing.T) {
		client, _ := transportPair(t)
		first, failed := make(chan struct{}), make(chan error, 1)
		go func() {
			frame := make([]byte, 1<<20)
			for n := 0; ; n++ {
				if err := client.Send(context.Background(), frame); err != nil {
					failed <- err
					return
				}
				if n == 0 {
					close(first)
				}
			}
		}()
		soon(t, first)
		client.Close()
		assert.Error(t, soon(t, failed))
	})

	t.Run("it may be called by many, while frames come and go", func(t *testing.T) {
		client, host := transportPair(t)
		var traffic, closers sync.WaitGroup
		busy := make(chan struct{}, 2)
		for _, transport := range []*ws.Transport{client, host} {
			traffic.Go(func() {
				for transport.Send(context.Background(), []byte("frame")) == nil {
				}
			})
			traffic.Go(func() {
				for n := 0; ; n++ {
					if _, err := transport.Recv(context.Background()); err != nil {
						return
					}
					if n == 100 {
						busy <- struct{}{}
					}
				}
			})
		}
		soon(t, busy)
		soon(t, busy)
		for range 10 {
			for _, transport := range []*ws.Transport{client, host} {
				closers.Go(func() { _ = transport.Close() })
			}
		}
		closers.Wait()
		traffic.Wait()
	})
}

func TestProtocolFaults(t *testing.T) {
	for name, text := range map[string][]byte{
		"a reserved bit":                  {0xC2, 0x80, 0, 0, 0, 0},
		"an unknown opcode":               {0x83, 0x80, 0, 0, 0, 0},
		"a continuation of nothing":       {0x80, 0x80, 0, 0, 0, 0},
		"a message without a mask":        {0x82, 0x00},
		"a ping in fragments":             {0x09, 0x80, 0, 0, 0, 0},
		"a close with an unassigned code": {0x88, 0x82, 0, 0, 0, 0, 0x00, 0x01},
	} {
		t.Run(name+" ends the connection", func(t *testing.T) {
			host, raw := rawPair(t, "client")
			_, err := raw.NetConn().Write(text)
			require.NoError(t, err)
			_, err = host.Recv(t.Context())
			require.Error(t, err)
			assert.NotErrorIs(t, err, io.EOF)
			_, _, err = raw.ReadMessage()
			closed, ok := errors.AsType[*websocket.CloseError](err)
			require.True(t, ok, "%v", err)
			assert.Equal(t, websocket.CloseProtocolError, closed.Code)
		})
	}
}

func TestAPeerThatSaysGoodbyeStillGetsItsAnswers(t *testing.T) {
	const rounds, messages = 10, 200
	url, transports := newTransportServer(t, nil)
	for range rounds {
		peer, _, err := websocket.DefaultDialer.DialContext(t.Context(), url, nil)
		require.NoError(t, err)
		host := soon(t, transports)
		var ends sync.WaitGroup
		ends.Go(func() {
			defer host.Close()
			for {
				message, err := host.Recv(t.Context())
				if err != nil {
					return
				}
				if !assert.NoError(t, host.Send(t.Context(), message)) {
					return
				}
			}
		})
		ends.Go(func() {
			for range messages {
				assert.NoError(t, sendBinary(peer, []byte("asked")))
			}
			goodbye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
			assert.NoError(t, peer.WriteControl(websocket.CloseMessage, goodbye, time.Now().Add(time.Minute)))
		})
		answers, err := countMessages(peer)
		assert.Equal(t, messages, answers)
		assert.True(t, websocket.IsCloseError(err, websocket.CloseNormalClosure), "and a goodbye: %v", err)
		ends.Wait()
		peer.Close()
	}
}

func TestCloseDoesNotWaitLongForAPeerThatDoesNotRead(t *testing.T) {
	for name, end := range map[string]func(*ws.Transport) error{
		"Close": (*ws.Transport).Close, "Finish": (*ws.Transport).Finish,
	} {
		t.Run(name, func(t *testing.T) {
			eachRaw(t, func(t *testing.T, transport *ws.Transport, _ *websocket.Conn) {
				for message := make([]byte, 1000); transport.HasRoom(len(message)); {
					require.NoError(t, transport.Send(t.Context(), message))
				}
				began := time.Now()
				require.NoError(t, end(transport))
				assert.Less(t, time.Since(began), 10*time.Second)
			})
		})
	}
}

func TestWhatWasSentArrivesBeforeTheEnd(t *testing.T) {
	for name, end := range map[string]func(*ws.Transport) error{
		"Close": (*ws.Transport).Close, "Finish": (*ws.Transport).Finish,
		"the end of another protocol": func(transport *ws.Transport) error {
			goodbye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
			err := transport.Conn().WriteControl(websocket.CloseMessage, goodbye, time.Now().Add(time.Minute))
			return errors.Join(err, transport.Conn().Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachRaw(t, func(t *testing.T, transport *ws.Transport, raw *websocket.Conn) {
				const messages = 300
				for range messages {
					require.NoError(t, transport.Send(t.Context(), []byte("some")))
				}
				ended := make(chan error, 1)
				go func() { ended <- end(transport) }()
				arrived, err := countMessages(raw)
				assert.Equal(t, messages, arrived)
				assert.True(t, websocket.IsCloseError(err, websocket.CloseNormalClosure), "and the goodbye: %v", err)
				raw.Close()
				assert.NoError(t, soon(t, ended))
			})
		})
	}
}

// countMessages reads messages until there are no more, and tells why.
func countMessages(conn *websocket.Conn) (n int, err error) {
	for {
		if _, _, err = conn.ReadMessage(); err != nil {
			return n, err
		}
		n++
	}
}
