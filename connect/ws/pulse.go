package ws

import (
	"math"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	defaultPingInterval = 30 * time.Second
	mostPingInterval    = math.MaxInt64 / 4 // of which a multiple is still a time

	// controlTimeout bounds the writing of a ping or a pong, which waits for a message
	// that is being written.
	controlTimeout = 5 * time.Second
)

// pulse finds out whether a peer is still there. It pings once per interval, and what
// comes from the peer gives it two more intervals, or a sixteenth of one less. One timer
// and no goroutine of its own while nothing is written.
type pulse struct {
	conn     *websocket.Conn
	interval time.Duration // 0 when nothing is watched
	out      ledger
	controls sync.WaitGroup

	feltAt time.Time // when the deadline was set; the reader's alone

	mu      sync.Mutex
	stopped bool
	asked   *string // by the last ping, if it was not answered yet
	ponging bool    // a goroutine answers
	timer   *time.Timer
}

// start begins to watch. Zero means the default interval, a negative one none.
func (p *pulse) start(conn *websocket.Conn, interval time.Duration, out ledger) {
	p.conn, p.interval, p.out = conn, min(max(interval, 0), mostPingInterval), out
	if interval == 0 {
		p.interval = defaultPingInterval
	}
	conn.SetPingHandler(func(text string) error {
		p.felt()
		p.pong(text)
		return nil
	})
	conn.SetPongHandler(func(string) error {
		p.felt()
		return nil
	})
	if p.interval > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.timer = time.AfterFunc(p.interval, p.beat)
	}
}

// patience is how long a peer may be silent.
func (p *pulse) patience() time.Duration { return 2 * p.interval }

// felt gives the peer time. It is called by the reader alone. A deadline that was set a
// moment ago will do: to set it for every message costs more than to read one.
func (p *pulse) felt() {
	if p.interval == 0 {
		return
	}
	if now := time.Now(); now.Sub(p.feltAt) >= p.interval/16 {
		p.feltAt = now
		_ = p.conn.SetReadDeadline(now.Add(p.patience()))
	}
}

// beat pings and sets the timer anew. A ping that cannot be written shows in the
// peer's silence.
func (p *pulse) beat() {
	if !p.enter() {
		return
	}
	defer p.controls.Done()
	if wait := min(p.interval, controlTimeout); p.out.awaitSpare(0, wait) {
		_ = p.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(wait))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.timer.Reset(p.interval)
	}
}

// pong answers a ping without making the reader wait. Of pings that come before an answer
// was written only the last is answered, as RFC 6455, section 5.5.3 allows.
func (p *pulse) pong(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = &text
	if p.stopped || p.ponging {
		return
	}
	p.ponging = true
	p.controls.Go(p.answer)
}

// answer answers pings until none waits.
func (p *pulse) answer() {
	for text := p.nextPong(); text != nil; text = p.nextPong() {
		if p.out.awaitSpare(len(*text), controlTimeout) {
			_ = p.conn.WriteControl(websocket.PongMessage, []byte(*text), time.Now().Add(controlTimeout))
		}
	}
}

func (p *pulse) nextPong() *string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := p.asked
	if p.asked = nil; p.stopped {
		text = nil
	}
	p.ponging = text != nil
	return text
}

// enter counts a writer of control frames, false once the pulse has stopped.
func (p *pulse) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return false
	}
	p.controls.Add(1)
	return true
}

// stop ends the pings and waits for those that are being written; the connection is
// closed by then.
func (p *pulse) stop() {
	p.mu.Lock()
	p.stopped = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	p.controls.Wait()
}
