package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

// arguments are what each tool is called with.
var arguments = map[string]any{
	toyworld.RollDiceID:   map[string]int{"count": 2, "sides": 6},
	toyworld.LoreLookupID: map[string]string{"entry_id": toyworld.LanternQuayID},
	shoutID:               map[string]string{"text": "ahoy"},
}

var order = []string{toyworld.RollDiceID, toyworld.LoreLookupID, shoutID}

// run tells the story and fails when a step is not as it should be.
func run(ctx context.Context, out io.Writer) error {
	h, err := startHost(ctx, order...)
	if err != nil {
		return err
	}
	defer h.close()
	for _, tool := range order {
		if err := h.startApp(tool); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d apps, together they have\n", len(h.router.Peers()))
	for _, tool := range h.router.GetHostCapabilityManifest().Tools {
		fmt.Fprintf(out, "  %s\n", tool.CapabilityID)
	}
	return h.story(ctx, out)
}

func (h *host) story(ctx context.Context, out io.Writer) error {
	calls := h.startCalls(ctx)
	defer calls.stop()
	dice := calls.of[toyworld.RollDiceID]
	for _, chapter := range []struct {
		title  string
		act    func() error
		expect func(tally) bool
	}{
		{"every tool answers", func() error { return nil }, func(t tally) bool { return t.answered > 0 }},
		{"the app with the dice is killed; its tool has nobody",
			func() error { return h.killApp(toyworld.RollDiceID) }, func(t tally) bool { return t.nobody > 0 }},
		{"it is started again; its tool answers", func() error { return h.startApp(toyworld.RollDiceID) }, func(t tally) bool { return t.answered > 0 }},
	} {
		if err := chapter.act(); err != nil {
			return err
		}
		if err := dice.await(ctx, chapter.expect); err != nil {
			return fmt.Errorf("%s: %w", chapter.title, err)
		}
		if err := calls.othersAnswer(ctx); err != nil {
			return fmt.Errorf("%s: %w", chapter.title, err)
		}
		fmt.Fprintln(out, chapter.title)
	}
	if err := calls.stop(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "the other two tools answered every call")
	return err
}

// tally counts how calls ended.
type tally struct{ answered, nobody, lost int }

func (t tally) minus(u tally) tally {
	return tally{t.answered - u.answered, t.nobody - u.nobody, t.lost - u.lost}
}

// caller calls one tool again and again.
type caller struct {
	tool string
	mu   sync.Mutex
	tally
	changed chan struct{}
	failure error // an end that no call should have
}

// record counts one call. A call that was under way when the process was killed is lost.
func (c *caller) record(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.answered++
	case spoke.KindOf(err) == spoke.KindNoCapablePeer:
		c.nobody++
	case errors.Is(err, connect.ErrSessionClosed):
		c.lost++
	default:
		c.failure = err
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits until the calls from now on are as expected.
func (c *caller) await(ctx context.Context, expect func(tally) bool) error {
	c.mu.Lock()
	before := c.tally
	for !expect(c.minus(before)) && c.failure == nil {
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		c.mu.Lock()
	}
	defer c.mu.Unlock()
	return c.failure
}

// calls are callers of all tools at work.
type calls struct {
	of      map[string]*caller
	stopped atomic.Bool
	running sync.WaitGroup
}

func (h *host) startCalls(ctx context.Context) *calls {
	all := &calls{of: make(map[string]*caller)}
	for _, tool := range order {
		c := &caller{tool: tool, changed: make(chan struct{})}
		all.of[tool] = c
		all.running.Go(func() {
			pace := time.NewTicker(time.Millisecond)
			defer pace.Stop()
			for !all.stopped.Load() && ctx.Err() == nil {
				<-pace.C
				_, err := h.router.InvokeTool(ctx, tool, arguments[tool])
				c.record(err)
			}
		})
	}
	return all
}

// othersAnswer waits for a new answer of each tool whose app is not touched.
func (c *calls) othersAnswer(ctx context.Context) error {
	for _, tool := range order[1:] {
		if err := c.of[tool].await(ctx, func(t tally) bool { return t.answered > 0 }); err != nil {
			return fmt.Errorf("%s: %w", tool, err)
		}
	}
	return nil
}

// stop ends the calls and reports one that failed and should not have.
func (c *calls) stop() error {
	c.stopped.Store(true)
	c.running.Wait()
	var errs []string
	for _, tool := range order {
		if err := c.of[tool].failure; err != nil {
			errs = append(errs, fmt.Sprintf("%s: %v", tool, err))
		}
	}
	for _, tool := range order[1:] {
		if t := c.of[tool].tally; t.nobody+t.lost > 0 {
			errs = append(errs, fmt.Sprintf("%s: %d calls failed", tool, t.nobody+t.lost))
		}
	}
	if errs != nil {
		return errors.New(strings.Join(errs, "; "))
	}
	return nil
}
