package main

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/spoke-peer/spoke-go/spoke"
)

// commands is the commands of --exec that run, for a second interrupt, which does not wait
// for sessions, to end. Only the end of a command's context ends all of its group.
type commands struct {
	ctx context.Context // ends with them
	end context.CancelFunc

	mu      sync.Mutex
	over    bool
	running sync.WaitGroup // grows only while not over
}

func newCommands() *commands {
	c := new(commands)
	c.ctx, c.end = context.WithCancel(context.Background())
	return c
}

// kill ends what runs and returns when it has ended. Nothing begins any more.
func (c *commands) kill() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.end()
	c.running.Wait()
}

// begin counts a command in, unless all is over.
func (c *commands) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.running.Add(1)
	}
	return !c.over
}

// counted makes the calls of a handler end with kill.
func (c *commands) counted(handler spoke.ToolHandler) spoke.ToolHandler {
	return func(ctx context.Context, args json.RawMessage) (any, error) {
		if !c.begin() {
			return nil, context.Canceled
		}
		defer c.running.Done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)()
		return handler(ctx, args)
	}
}

type commandsKey struct{}

// withCommands returns a context for a command line that may offer commands.
func withCommands(ctx context.Context, c *commands) context.Context {
	return context.WithValue(ctx, commandsKey{}, c)
}

// commandsOf returns what withCommands was given; without it, nobody kills them.
func commandsOf(ctx context.Context) *commands {
	if c, ok := ctx.Value(commandsKey{}).(*commands); ok {
		return c
	}
	return newCommands()
}
