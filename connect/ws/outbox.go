package ws

import (
	"net"
	"runtime"
	"sync"
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
	room    room
	flushes sync.WaitGroup

	mu       sync.Mutex
	moved    sync.Cond         // a write has ended
	piece    *[pieceBytes]byte // nil unless waiting is a part of it
	waiting  []byte            // what is to be written
	messages int               // how many those are
	due      bool              // a goroutine is on its way to write what waits
	writing  bool              // that goroutine, or the one that calls write, writes
	habit    habit
	err      error // of a write; all later ones fail with it
}

func (o *outbox) init(conn net.Conn) {
	o.conn, o.moved.L = conn, &o.mu
	o.room.init(conn)
	o.room.left.Store(roomBytes) // nothing was written yet
}

// hasRoom reports whether a message of so many bytes does not make write wait, even if a
// ping or a pong comes before it.
func (o *outbox) hasRoom(bytes int) bool {
	const controls = 256
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fits(bytes + frameOverhead + controls)
}

// fits reports whether so many bytes may wait behind what waits.
func (o *outbox) fits(bytes int) bool {
	return bytes <= roomBytes && len(o.waiting)+bytes <= pieceBytes
}

// write writes p, or lets it wait if it fits.
func (o *outbox) write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fits := o.fits(len(p))
	for ; o.writing && !fits && o.err == nil; fits = o.fits(len(p)) {
		o.moved.Wait()
	}
	switch {
	case o.err != nil:
		return 0, o.err
	case fits && (o.due || o.habit.waits() || !o.room.has(len(p))):
		o.add(p)
		return len(p), nil
	}
	if len(o.waiting) > 0 && o.putWaiting() != nil {
		return 0, o.err
	}
	return o.put(p)
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
		if o.putWaiting() != nil {
			o.conn.Close() // who reads finds out
		}
	}
	o.due = len(o.waiting) > 0 && o.err == nil && !o.writing
	return o.due
}

// putWaiting writes what waits. More may wait when it returns.
func (o *outbox) putWaiting() error {
	piece, waiting := o.piece, o.waiting
	o.piece, o.waiting, o.messages = nil, nil, 0
	_, err := o.put(waiting)
	pieces.Put(piece)
	return err
}

// put writes p. The mutex is not held meanwhile.
func (o *outbox) put(p []byte) (int, error) {
	o.room.spend(len(p))
	o.writing = true
	o.mu.Unlock()
	n, err := o.conn.Write(p)
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
	if len(o.waiting) == 0 && !o.writing {
		return
	}
	enough := time.AfterFunc(closeGrace, func() { o.conn.Close() })
	defer enough.Stop()
	for o.err == nil && (len(o.waiting) > 0 || o.writing) {
		o.moved.Wait()
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
