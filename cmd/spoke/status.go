package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/termtext"
	"github.com/spoke-peer/spoke-go/spoke"
)

// Exit statuses.
const (
	statusFailed      = 1 // the peer refused, or a check failed
	statusUsage       = 2
	statusConnect     = 3
	statusTimeout     = 4
	statusOutput      = 5
	statusInterrupted = 130 // as of a program that SIGINT ends
)

// errReported ends a command whose output says already what went wrong.
var errReported = errors.New("failed")

// usageError is a command line or a setting that makes no sense.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// connectError is a connection that could not be opened or was lost.
type connectError struct{ error }

func (e *connectError) Unwrap() error { return e.error }

// interruptedError is a command that an interrupt ended.
type interruptedError struct{ error }

func (e *interruptedError) Error() string { return "interrupted" }
func (e *interruptedError) Unwrap() error { return e.error }

// settledError is the error of a command that ends by an interrupt, and says itself what
// came of that.
type settledError struct{ error }

func (e *settledError) Unwrap() error { return e.error }

func settled(err error) error {
	if err == nil {
		return nil
	}
	return &settledError{err}
}

// interrupted is what a command's error means: once ctx has ended, that it was
// interrupted, unless the command has settled that.
func interrupted(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*settledError](err); ok || err == nil || ctx.Err() == nil {
		return err
	}
	return &interruptedError{err}
}

// advisedError is an error that knows what to do next.
type advisedError struct {
	error
	next string
}

func (e *advisedError) Unwrap() error { return e.error }

// statusOf returns the exit status of a command that ended with err.
func statusOf(err error) int {
	_, stopped := errors.AsType[*interruptedError](err)
	_, usage := errors.AsType[*usageError](err)
	_, connecting := errors.AsType[*connectError](err)
	switch {
	case err == nil:
		return 0
	case stopped:
		return statusInterrupted
	case usage, mistaken(err):
		return statusUsage
	case unwritten(err):
		return statusOutput
	case timedOut(err):
		return statusTimeout
	case connecting, lost(err):
		return statusConnect
	}
	return statusFailed
}

func timedOut(err error) bool {
	handshake, ok := errors.AsType[*connect.HandshakeError](err)
	return ok && handshake.Kind == connect.HandshakeTimeout ||
		localKind(err) == spoke.KindTimeout || errors.Is(err, context.DeadlineExceeded) ||
		!lost(err) && expired(err)
}

// expired reports whether the network waited for too long.
func expired(err error) bool {
	failure, ok := errors.AsType[net.Error](err)
	return ok && failure.Timeout() || errors.Is(err, os.ErrDeadlineExceeded)
}

// mistaken reports whether this side could not do what it was asked for, whoever the
// peer is: a file that is not there or may not be written, or input that cannot be sent.
func mistaken(err error) bool {
	if reject, ok := errors.AsType[*spoke.Reject](err); ok {
		return reject.Code == spoke.CodeInvalidInput && !reject.Remote()
	}
	_, ok := errors.AsType[*fs.PathError](err)
	return ok && !unwritten(err)
}

// unwritten reports whether output, to stdout or to a file, could not be written: what the
// command was to do may have been done.
func unwritten(err error) bool {
	file, ok := errors.AsType[*fs.PathError](err)
	return ok && file.Op == "write"
}

func lost(err error) bool {
	kind := localKind(err)
	return kind == spoke.KindTransport || kind == spoke.KindSessionClosed
}

// localKind is the kind of a failure on this side of the session; what the peer answers
// is a refusal, whatever its kind.
func localKind(err error) string {
	if reject, ok := errors.AsType[*spoke.Reject](err); ok && !reject.Remote() {
		return reject.Kind()
	}
	return ""
}

// explain prints an error, the details of a reject, and what to do next if there is
// something.
func explain(w io.Writer, err error) {
	fmt.Fprintln(w, "spoke:", termtext.Line(err.Error()))
	if _, ok := errors.AsType[*interruptedError](err); ok {
		return // what broke by that is no news
	}
	if reject, ok := errors.AsType[*spoke.Reject](err); ok && len(reject.Details) > 0 {
		if details, err := oneLine(reject.Details); err == nil {
			fmt.Fprintf(w, "details: %s\n", details)
		}
	}
	if advised, ok := errors.AsType[*advisedError](err); ok {
		fmt.Fprintln(w, "next:", termtext.Line(advised.next))
	}
}
