package ws_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/spoke-peer/spoke-go/connect"
)

// The hostile peers run in a process of their own, so that what they do costs the host
// only what the host does about it. attackerEnv says which one, attackerURL where.
const (
	attackerEnv = "SPOKE_TEST_ATTACK"
	attackerURL = "SPOKE_TEST_URL"
)

// attackerOf is the identity of the peer that makes an attack. It is on the allowlist: a
// peer may be known and hostile all the same.
func attackerOf(name string) *connect.Identity {
	return identityOf(byte(100 + slices.Index(slices.Sorted(maps.Keys(hostilePeers)), name)))
}

// attackProcess runs the attack that the environment names until it is killed.
func attackProcess(name string) {
	attack := hostilePeers[name].attack
	go attack(&attacker{url: os.Getenv(attackerURL), id: attackerOf(name)})
	fmt.Println("attacking")
	select {}
}

// attacker is a hostile peer that drives the wire by hand.
type attacker struct {
	url string
	id  *connect.Identity
}

// must ends the process: an attack that cannot be carried out proves nothing.
func must[T any](v T, err error) T {
	if err != nil {
		fmt.Println("the attack failed:", err)
		os.Exit(1)
	}
	return v
}

// forever repeats an attack whose connection the host ends, without haste.
func forever(f func()) {
	for {
		f()
		<-time.After(10 * time.Millisecond)
	}
}

func (a *attacker) tcp() (net.Conn, error) {
	return net.Dial("tcp", strings.TrimPrefix(a.url, "ws://"))
}

// upgraded returns a connection that the host reads a hello from.
func (a *attacker) upgraded() (*websocket.Conn, error) {
	conn, _, err := websocket.DefaultDialer.Dial(a.url, nil)
	return conn, err
}

// evilSession is an established session whose frames are made by hand.
type evilSession struct {
	*attacker
	conn     *websocket.Conn
	session  string
	sequence uint64
}

// established returns a good session, nil when the host has no place now.
func (a *attacker) established() *evilSession {
	conn, err := a.upgraded()
	if err != nil {
		return nil
	}
	if conn.WriteMessage(websocket.BinaryMessage, a.hello()) != nil {
		return nil
	}
	var session struct {
		ID string `json:"session_id"`
	}
	for range 2 {
		_, frame, err := conn.ReadMessage()
		if err != nil {
			return nil
		}
		_ = json.Unmarshal(frame, &session)
	}
	return &evilSession{attacker: a, conn: conn, session: session.ID}
}

func (a *attacker) hello() []byte {
	cfg := config(a.id, hostID)
	return a.sealed(connect.HelloEnvelope, map[string]any{
		"protocol_version": 1, "peer_id": a.id.PeerID(), "nonce": uuid.NewString(), "host": cfg.Manifest,
	})
}

func (a *attacker) sealed(kind connect.EnvelopeKind, doc map[string]any) []byte {
	return must(a.id.SignEnvelope(kind, must(json.Marshal(doc))))
}

// request returns a signed request at the session's next sequence.
func (s *evilSession) request(op string, arguments any) []byte {
	if arguments == nil {
		arguments = map[string]any{}
	}
	defer func() { s.sequence++ }()
	return s.sealed(connect.RequestEnvelope, map[string]any{
		"session_id": s.session, "sequence": s.sequence, "request_id": uuid.NewString(), "op": op,
		"payload": map[string]any{"arguments": arguments},
	})
}

// send writes a frame and reports whether that was possible.
func (s *evilSession) send(frame []byte) bool {
	return s.conn.WriteMessage(websocket.BinaryMessage, frame) == nil
}

// drain reads whatever the host sends.
func (s *evilSession) drain() {
	go func() {
		for {
			if _, _, err := s.conn.ReadMessage(); err != nil {
				return
			}
		}
	}()
}

// flood sends frames as fast as they go until the host ends the session.
func (a *attacker) flood(next func(s *evilSession) func() []byte) {
	forever(func() {
		s := a.established()
		if s == nil {
			return
		}
		s.drain()
		for frame := next(s); s.send(frame()); {
		}
		s.conn.Close()
	})
}

// pour writes frames again and again, as fast as they go, after a first one.
func pour(conn *websocket.Conn, first []byte, frames ...[]byte) {
	defer conn.Close()
	many := bytes.Repeat(bytes.Join(frames, nil), 10_000)
	for _, err := conn.NetConn().Write(first); err == nil; _, err = conn.NetConn().Write(many) {
	}
}

func always(frame []byte) func() []byte { return func() []byte { return frame } }

// many runs f in n goroutines.
func many(n int, f func()) {
	var all sync.WaitGroup
	for range n {
		all.Go(f)
	}
	all.Wait()
}

// object returns a JSON object of n members that have different names.
func object(n int) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%x":0`, i)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// largeAnswer is what the host's waitTool returns to a hostile peer.
var largeAnswer = strings.Repeat("x", 100<<10)

// asks demands large answers, so that the host has something to write.
func (s *evilSession) asks() {
	for s.send(s.request(waitTool, nil)) {
	}
}

// hostilePeers are the attacks, and what the host's log says about each.
var hostilePeers map[string]hostilePeer

type hostilePeer struct {
	attack func(a *attacker)
	log    string
}

func init() { // the attacks need their names, which are in the map
	hostilePeers = attacks()
}

func attacks() map[string]hostilePeer {
	return map[string]hostilePeer{
		"connects and says nothing": {func(a *attacker) {
			many(100, func() {
				forever(func() {
					if conn, err := a.upgraded(); err == nil {
						_, _, _ = conn.ReadMessage()
						conn.Close()
					}
				})
			})
		}, "code=timeout"},

		"opens TCP and says nothing": {func(a *attacker) {
			many(200, func() {
				forever(func() {
					if conn, err := a.tcp(); err == nil {
						_, _ = conn.Read(make([]byte, 1)) // until the HTTP server has waited enough
						conn.Close()
					}
				})
			})
		}, ""}, // no HTTP server logs a request that never came

		"sends one byte a minute": {func(a *attacker) {
			many(100, func() {
				forever(func() {
					if conn, err := a.upgraded(); err == nil {
						_, _ = conn.NetConn().Write(frameHeader(true, 1000)) // its body takes hours
						_, _, _ = conn.ReadMessage()
						conn.Close()
					}
				})
			})
		}, "code=timeout"},

		"sends 64 MiB": {func(a *attacker) {
			forever(func() {
				s := a.established()
				if s == nil {
					return
				}
				s.drain()
				s.send(make([]byte, 64<<20))
				s.conn.Close()
			})
		}, "code=malformed_frame"},

		"sends JSON 10,000 levels deep": {func(a *attacker) {
			deep := []byte(`{"a":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`)
			forever(func() {
				if s := a.established(); s != nil {
					s.send(deep)
					_, _, _ = s.conn.ReadMessage()
					s.conn.Close()
				}
			})
		}, "code=malformed_frame"},

		"sends an object of a million members": {func(a *attacker) {
			million := object(1_000_000)
			forever(func() {
				if s := a.established(); s != nil {
					s.drain()
					s.send(million)
					s.conn.Close()
				}
			})
		}, "code=malformed_frame"},

		"sends the most members that fit a frame": {func(a *attacker) {
			most := object(400_000)
			forever(func() {
				if s := a.established(); s != nil {
					s.send(most) // no envelope; it is read and dropped
					s.send(s.request("tools.test.unknown", nil))
					_, _, _ = s.conn.ReadMessage()
					s.conn.Close()
				}
			})
		}, "ignored a frame"},

		"never reads": {func(a *attacker) {
			many(4, func() {
				forever(func() {
					if s := a.established(); s != nil {
						s.asks()
						s.conn.Close()
					}
				})
			})
		}, "code=peer_not_reading"},

		"reads one byte a second": {func(a *attacker) {
			many(4, func() {
				forever(func() {
					s := a.established()
					if s == nil {
						return
					}
					go func() {
						for one := make([]byte, 1); ; <-time.After(time.Second) {
							if _, err := s.conn.NetConn().Read(one); err != nil {
								return
							}
						}
					}()
					s.asks()
					s.conn.Close()
				})
			})
		}, "code=peer_not_reading"},

		"opens and drops 5,000 connections": {func(a *attacker) {
			many(50, func() {
				for range 100 {
					if conn, err := a.upgraded(); err == nil {
						conn.NetConn().Close()
					}
				}
			})
		}, "code=transport"},

		"floods invalid signatures": {func(a *attacker) {
			a.flood(func(s *evilSession) func() []byte {
				return always(bytes.Replace(s.request(echoTool, 1), []byte(`"arguments":1`), []byte(`"arguments":2`), 1))
			})
		}, "code=auth_failed"},

		"floods wrong sequences": {func(a *attacker) {
			a.flood(func(s *evilSession) func() []byte {
				s.sequence = 1000
				return always(s.request(echoTool, 1))
			})
		}, "code=invalid_sequence"},

		"floods unknown ops": {func(a *attacker) {
			a.flood(func(s *evilSession) func() []byte {
				return func() []byte { return s.request("tools.test.unknown", nil) }
			})
		}, "code=op_unsupported"},

		"answers invokes it was never asked": {func(a *attacker) {
			a.flood(func(s *evilSession) func() []byte {
				// The host reads these slowly, and what the sockets hold when the attack is
				// over as well: with short frames that takes long.
				return always(s.sealed(connect.ResponseEnvelope, map[string]any{
					"session_id": s.session, "sequence": 0, "request_id": uuid.NewString(), "payload": map[string]any{"result": largeAnswer[:16<<10]},
				}))
			})
		}, "nobody waits for"},

		"closes in the middle of a frame": {func(a *attacker) {
			many(4, func() {
				forever(func() {
					if s := a.established(); s != nil {
						_, _ = s.conn.NetConn().Write(append(frameHeader(true, 1000), "half"...))
						s.conn.NetConn().Close()
					}
				})
			})
		}, "code=transport"},

		"sends pings only": {func(a *attacker) {
			forever(func() {
				s := a.established()
				if s == nil {
					return
				}
				s.drain()
				for s.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(time.Second)) == nil {
				}
				s.conn.Close()
			})
		}, ""}, // what it does is allowed

		"sends pings and fragments without content in bulk": {func(a *attacker) {
			many(4, func() {
				forever(func() {
					s := a.established()
					if s == nil {
						return
					}
					s.drain()
					pour(s.conn, clientFrame(websocket.BinaryMessage, ""), clientFrame(continuation, ""), clientFrame(ping, ""))
				})
			})
		}, ""},

		"sends pings in bulk in place of a hello": {func(a *attacker) {
			many(4, func() {
				forever(func() {
					conn, err := a.upgraded()
					if err != nil {
						return
					}
					go func() { _, _, _ = conn.ReadMessage() }()
					pour(conn, nil, clientFrame(ping, ""))
				})
			})
		}, "code=timeout"},

		"forges tokens": {func(a *attacker) {
			many(4, func() {
				a.flood(func(s *evilSession) func() []byte {
					return func() []byte {
						defer func() { s.sequence++ }()
						return s.sealed(connect.RequestEnvelope, map[string]any{
							"session_id": s.session, "sequence": s.sequence, "request_id": uuid.NewString(), "op": echoTool,
							"payload": map[string]any{"arguments": map[string]any{}}, "auth": map[string]any{"v": 1},
						})
					}
				})
			})
		}, "auth_failed"},

		"is a stranger who tries again and again": {func(a *attacker) {
			hello := bytes.Replace(a.hello(), []byte(a.id.PeerID()), []byte(identityOf(99).PeerID()), 1)
			many(4, func() {
				forever(func() {
					if conn, err := a.upgraded(); err == nil {
						_ = conn.WriteMessage(websocket.BinaryMessage, hello)
						_, _, _ = conn.ReadMessage()
						conn.Close()
					}
				})
			})
		}, "code=peer_not_allowed"},

		"asks for pages with plain HTTP": {func(a *attacker) {
			many(4, func() {
				for {
					if response, err := http.Get("http" + strings.TrimPrefix(a.url, "ws")); err == nil {
						response.Body.Close()
					}
				}
			})
		}, ""},
	}
}
