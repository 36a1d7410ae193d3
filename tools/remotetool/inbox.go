package remotetool

import (
	"context"
	"io"
	"sync"
	"time"
)

const (
	// inboxDepth is how many frames of a transfer wait for its sink.
	inboxDepth = 16
	// stall is how long the reader of a link waits for a sink that is full. It is less
	// than the time that a sender usually gives a write.
	stall = 5 * time.Second
)

// inbox hands the frames of a link to the transfers that wait for them. Each transfer
// writes to its sink on a goroutine of its own.
type inbox struct {
	link *Link

	mu        sync.Mutex
	transfers map[string]*transfer
}

// transfer is one file on its way in.
type transfer struct {
	queue chan delivery
	quit  chan struct{} // closed when the transfer is given up
	once  sync.Once
	why   error // once quit is closed
	done  chan struct{}
	bytes int64
	err   error // once done is closed
}

// giveUp ends the transfer from outside.
func (t *transfer) giveUp(why error) {
	t.once.Do(func() {
		t.why = why
		close(t.quit)
	})
}

type delivery struct {
	frame frame
	fault error
}

// expect makes ready for the frames of an announced file.
func (b *inbox) expect(a Announcement, sink io.Writer, options *ReceiveOptions) (*transfer, error) {
	r, err := newReceiver(a, sink, options)
	if err != nil {
		return nil, err
	}
	t := &transfer{queue: make(chan delivery, inboxDepth), quit: make(chan struct{}), done: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.transfers[a.TransferID] != nil:
		return nil, errorf(CodeStream, "a transfer of that id is on its way")
	case len(b.transfers) >= b.link.cfg.MaxTransfers:
		return nil, errorf(CodeStream, "too many transfers at once")
	}
	if !b.link.run(func() { b.receive(t, r) }) {
		return nil, errorf(CodeClosed, "the connection has ended")
	}
	b.transfers[a.TransferID] = t
	return t, nil
}

// receive ends the transfer once its frames were followed, or its sink did not return.
func (b *inbox) receive(t *transfer, r *receiver) {
	t.err = errorf(CodeStream, "the file cannot be written")
	defer func() {
		b.forget(r.announcement.TransferID, t)
		t.bytes = r.offset
		close(t.done)
	}()
	b.link.contain("the sink of a file", func() { t.err = b.follow(t, r) })
}

// follow writes what arrives until the transfer ends.
func (b *inbox) follow(t *transfer, r *receiver) (err error) {
	for last := false; !last; {
		d := b.next(t)
		if d.fault != nil {
			last, err = true, d.fault
		} else {
			last, err = r.accept(d.frame)
		}
	}
	return err
}

// next returns what the transfer goes on with. What came before the end of the link
// counts.
func (b *inbox) next(t *transfer) delivery {
	select {
	case <-t.quit:
		return delivery{fault: t.why}
	case d := <-t.queue:
		return d
	case <-b.link.ctx.Done():
	}
	select {
	case d := <-t.queue:
		return d
	default:
		return delivery{fault: errorf(CodeClosed, "the connection ended during the transfer")}
	}
}

// deliver hands one binary message to its transfer, false when it is no frame. A frame
// that nobody waits for is of a file that was given up, and dropped. A sink that is slow
// holds the link up: the protocol has no other way to slow a sender down. One that
// stands still fails its transfer.
func (b *inbox) deliver(message []byte) bool {
	f, err := parseFrame(message)
	if err != nil {
		err = errorf(CodeStream, "the transfer is broken: %w", err)
	}
	b.mu.Lock()
	t := b.transfers[f.id]
	b.mu.Unlock()
	if t == nil {
		return f.id != ""
	}
	d := delivery{f, err}
	select {
	case t.queue <- d:
		return true
	default:
	}
	timer := time.NewTimer(stall)
	defer timer.Stop()
	select {
	case t.queue <- d:
	case <-t.done:
	case <-b.link.ctx.Done():
	case <-timer.C:
		t.giveUp(errorf(CodeStream, "the file was not written in time"))
		b.forget(f.id, t)
	}
	return true
}

// forget lets later frames of a transfer be dropped.
func (b *inbox) forget(id string, t *transfer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.transfers[id] == t {
		delete(b.transfers, id)
	}
}

// wait returns how much was received once the transfer ended. Ctx ends the transfer;
// the sink is not written to any more once wait has returned.
func (t *transfer) wait(ctx context.Context) (int64, error) {
	select {
	case <-t.done:
	case <-ctx.Done():
		t.giveUp(contextError(ctx))
		<-t.done
	}
	return t.bytes, t.err
}
