package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spoke-peer/spoke-go/cmd/spoke/internal/wiretap"
	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/termtext"
)

// watcher keeps a session with a peer up and hands over the calls of the peer's.
type watcher struct {
	*link
	flags    *watchFlags
	calls    chan seen
	running  context.Context // ends with the work
	stop     context.CancelFunc
	redialer *connect.Redialer
	dialed   connect.DialConfig
	closing  atomic.Bool // what ends now is ended by this side
	late     error       // calls were cut off at the end

	// Those are the redialer's goroutine's while it runs.
	tap    *wiretap.Tap // of the last attempt; nil when nobody was reached
	met    bool         // there was a session
	up     bool         // there was one after the last attempt
	lost   error        // why there is none
	helped bool         // what to do about that was said
	result error        // why there is to be no other
	quiet  func()       // ends what is said about an attempt that takes long
}

// prepare makes the redialer.
func (w *watcher) prepare(ctx context.Context) error {
	if w.flags.most < 0 {
		return usagef("--calls is at least 0, not %d", w.flags.most)
	}
	base, err := w.ownManifest(nil, nil)
	if err != nil {
		return err
	}
	w.flags.begin(ctx, w.err)
	own, err := w.flags.registry(base, nil, w.note, atMost(w.flags.most), announcing(w.announce))
	if err != nil {
		return err
	}
	if w.dialed, err = w.dialConfig(ctx, own, nil); err != nil {
		return err
	}
	w.quiet = func() {}
	w.redialer, err = connect.NewRedialer(connect.RedialConfig{
		DialConfig: w.dialed, Open: w.open, OnState: w.state, OnDelay: w.delay,
	})
	if err != nil {
		return w.advise(err, w.dialed, "")
	}
	return nil
}

// seen is a call that has begun or is over.
type seen struct {
	call
	over bool
}

func (w *watcher) announce(c call) { w.tell(seen{c, false}) }

func (w *watcher) note(c call) { w.tell(seen{c, true}) }

func (w *watcher) tell(s seen) {
	select {
	case w.calls <- s:
	case <-w.running.Done():
	}
}

// open is an attempt's connection.
func (w *watcher) open(ctx context.Context) (connect.Transport, error) {
	var err error
	if w.tap, err = w.reach(ctx); err != nil {
		return nil, err
	}
	return w.tap, nil
}

// state says when there is a session.
func (w *watcher) state(state connect.State, err error) {
	w.quiet()
	w.quiet = func() {}
	switch state {
	case connect.Handshaking:
		w.up, w.quiet = false, slow(w.err, "connecting to "+w.url)
	case connect.Established:
		back := ""
		if w.met {
			back = "back: "
		}
		w.met, w.up, w.helped = true, true, false
		peer := w.redialer.Session()
		fmt.Fprintf(w.err, "%swatching %s (%s)\n", back, peer.RemotePeerID(), termtext.Line(peer.RemoteManifest().HostID))
	case connect.Disconnected:
		w.lost = err
	}
}

// delay ends the work if there is to be no other attempt, or tells when it will be.
func (w *watcher) delay(wait time.Duration) {
	switch {
	case w.closing.Load():
		w.stop()
	case w.met && w.flags.once:
		w.result = ended(w.lost)
		w.stop()
	case !w.met && !w.flags.wait:
		w.result = w.advise(w.lost, w.dialed, w.who())
		w.stop()
	default:
		fmt.Fprintf(w.err, "%s; dialing again in %v\n", termtext.Line(w.reason()), wait.Round(10*time.Millisecond))
		w.help()
	}
}

// reason says why there is no session. Only one that was up can end with a goodbye.
func (w *watcher) reason() string {
	switch {
	case w.up && ended(w.lost) == nil:
		return "lost the session: the peer said goodbye"
	case w.up:
		return "lost the session: " + w.lost.Error()
	case w.lost == nil:
		return "no session"
	}
	return "no session: " + w.lost.Error()
}

// help says what to do about a session that does not come about, once until there is one.
func (w *watcher) help() {
	if w.up || w.lost == nil || w.helped {
		return
	}
	if advised, ok := errors.AsType[*advisedError](w.advise(w.lost, w.dialed, w.who())); ok {
		w.helped = true
		fmt.Fprintln(w.err, "next:", termtext.Line(advised.next))
	}
}

// who is who answered the last attempt.
func (w *watcher) who() connect.PeerID {
	if w.tap == nil {
		return ""
	}
	return w.tap.Met()
}

// finish ends the session as soon as calls that run have finished.
func (w *watcher) finish() {
	w.closing.Store(true)
	defer w.stop()
	session := w.redialer.Session()
	if session == nil {
		return
	}
	if w.flags.grace <= 0 {
		w.flags.ending.Store(true)
		return // verdict knows what that cut off
	}
	done := slow(w.err, w.flags.patience())
	defer done()
	ctx, cancel := context.WithTimeout(context.Background(), w.flags.grace)
	defer cancel()
	if err := session.Shutdown(ctx); err != nil {
		w.late = w.flags.tooLate(err)
	}
}

// verdict is what the redialer's end means, once that is over.
func (w *watcher) verdict(err error) error {
	if err != nil {
		return w.advise(err, w.dialed, w.who())
	}
	if w.late == nil {
		w.late = w.flags.hasCut()
	}
	return errors.Join(w.result, w.late)
}
