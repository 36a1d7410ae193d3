package ws

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// outbox is the writing half of a [batchConn]. A message is written at once, unless
// others have lately come close upon it, or the socket has no room: then it waits for a
// goroutine that writes all that wait, after it let run what is about to send as well. So
// whoever sends little is never held by a peer that does not read, and many messages cost
// one system call.
//
// One goroutine at a time calls write, which package websocket sees to.
type outbox struct {
	conn    net.Conn
	socket  net.Conn // what is below conn
	room    room
	flushes sync.WaitGroup

	mu       sync.Mutex
	moved    sync.Cond         // a write has ended
	piece    *[pieceBytes]byte // nil unless waiting is a part of it
	waiting  []byte            // what is to be written
	messages int               // how many those are
	promised int               // bytes that hasRoom has said may come
	begun    bool              // something was written
	due      bool              // a goroutine is on its way to write what waits
	writing  bool              // that goroutine, or the one that calls write, writes
	deadline time.Time         // of the next write
	habit    habit
	err      error // of a write; all later ones fail with it
}

// controls is how many bytes a ping and a pong may take that come at the same moment.
const controls = 256

func (o *outbox) init(conn net.Conn) {
	o.conn, o.socket, o.moved.L = conn, socketOf(conn), &o.mu
	o.room.init(conn)
	o.room.left.Store(roomBytes) // nothing was written yet
}

// hasRoom reports whether a message of so many bytes, if it is what is sent next, does not
// make write wait.
func (o *outbox) hasRoom(bytes int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.promised = 0
	if need := bytes + frameOverhead; o.fits(need + controls) {
		o.promised = need
	}
	return o.promised > 0
}

func (o *outbox) begin(int) {}

// end takes back what hasRoom has promised.
func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.promised = 0
}

// awaitSpare waits for room for a ping or a pong beside what hasRoom has promised, false
// if there is none within d: then the peer does not read, and it would tell it nothing.
func (o *outbox) awaitSpare(bytes int, d time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.await(time.Now().Add(d), func() bool {
		return len(o.waiting)+o.promised+bytes+frameOverhead+controls <= pieceBytes
	}) == nil
}

// fits reports whether so many bytes may wait behind what waits.
func (o *outbox) fits(bytes int) bool {
	return bytes <= roomBytes && len(o.waiting)+bytes <= pieceBytes
}

// setDeadline bounds the calls of write that follow, but not what waits from earlier ones.
func (o *outbox) setDeadline(t time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deadline = t
}

// await waits until met, unless a write fails or the deadline passes first; a zero one
// never does.
func (o *outbox) await(deadline time.Time, met func() bool) error {
	if o.err == nil && !met() && !deadline.IsZero() {
		defer time.AfterFunc(time.Until(deadline), o.wake).Stop()
	}
	for o.err == nil && !met() {
		if !deadline.IsZero() && !time.Now().Before(deadline) {
			return os.ErrDeadlineExceeded
		}
		o.moved.Wait()
	}
	return o.err
}

// wake makes those who wait look at the clock.
func (o *outbox) wake() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.moved.Broadcast()
}

// write writes p, or lets it wait if it fits.
func (o *outbox) write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	// One with a deadline does not write what waits, for which that is not meant.
	patient := o.deadline.IsZero()
	turn := func() bool { return o.fits(len(p)) || !o.writing && (patient || len(o.waiting) == 0) }
	if err := o.await(o.deadline, turn); err != nil {
		return 0, err
	}
	if o.begun && o.fits(len(p)) && (o.due || o.habit.waits() || !o.room.has(len(p))) {
		o.add(p)
		return len(p), nil
	}
	o.begun = true
	if len(o.waiting) > 0 && o.putWaiting() != nil {
		return 0, o.err
	}
	return o.put(p, o.deadline)
}

// add lets p wait.
func (o *outbox) add(p []byte) {
	if o.piece == nil {
		o.piece = pieces.Get().(*[pieceBytes]byte)
		o.waiting = o.piece[:0]
	}
	o.waiting = append(o.waiting, p...)
	o.messages++
	if !o.due {
		o.due = true
		o.flushes.Add(1)
		go o.flush()
	}
}

// flush writes what waits until nothing does.
func (o *outbox) flush() {
	defer o.flushes.Done()
	for more := true; more; {
		runtime.Gosched()
		more = o.flushOnce()
	}
}

func (o *outbox) flushOnce() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) > 0 && !o.writing {
		o.habit.learn(o.messages)
		if err := o.putWaiting(); err != nil && !gone(err) {
			o.socket.Close() // so that who reads finds out
		}
	}
	o.due = len(o.waiting) > 0 && o.err == nil && !o.writing
	return o.due
}

// gone reports whether a write failed because the peer has left. Who reads finds that out
// after what the peer has sent before.
func gone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// putWaiting writes what waits, whatever time it takes. More may wait when it returns.
func (o *outbox) putWaiting() error {
	piece, waiting := o.piece, o.waiting
	o.piece, o.waiting, o.messages = nil, nil, 0
	_, err := o.put(waiting, time.Time{})
	pieces.Put(piece)
	return err
}

// put writes p. The mutex is not held meanwhile.
func (o *outbox) put(p []byte, deadline time.Time) (int, error) {
	o.room.spend(len(p))
	o.writing = true
	o.mu.Unlock()
	n, err := 0, o.conn.SetWriteDeadline(deadline)
	if err == nil {
		n, err = o.conn.Write(p)
	}
	o.mu.Lock()
	o.writing = false
	if err != nil && o.err == nil {
		o.err = err
	}
	o.moved.Broadcast()
	return n, err
}

// settle waits until all is written or a write has failed, for a moment at most: then it
// closes the connection.
func (o *outbox) settle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	idle := func() bool { return len(o.waiting) == 0 && !o.writing }
	if o.await(time.Now().Add(closeGrace), idle) != nil {
		o.socket.Close()
	}
}

// stop makes later writes fail and waits for what still runs; the connection is closed.
func (o *outbox) stop() {
	o.mu.Lock()
	if o.err == nil {
		o.err = net.ErrClosed
	}
	o.moved.Broadcast()
	o.mu.Unlock()
	o.flushes.Wait()
}

// failure is the error of a write, nil if none has failed.
func (o *outbox) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
