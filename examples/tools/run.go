package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// run offers the tools to a host, which calls them. The app's registry lets it read and
// write; a second session is allowed to read only.
func run(ctx context.Context, out io.Writer) error {
	w, err := newWorld(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	registry := tools.NewRegistry(tools.Config{Guard: tools.ReadWrite(), Middleware: []tools.Middleware{journal(out)}})
	if err := registry.Register(w.tools()...); err != nil {
		return err
	}
	for _, session := range []struct {
		offered *tools.Registry
		steps   []step
	}{
		{registry, allSteps(w)},
		{registry.Lower(tools.PolicyRead), readerSteps(w)},
	} {
		if err := play(ctx, out, session.offered, session.steps); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(out, "done: every step was as it should be")
	return err
}

// journal notes who called what.
func journal(out io.Writer) tools.Middleware {
	return func(next tools.CallFunc) tools.CallFunc {
		return func(ctx context.Context, call *tools.Invocation) (json.RawMessage, error) {
			caller, _ := spoke.CallerFromContext(ctx)
			fmt.Fprintf(out, "    %.12s… calls %s\n", caller.PeerID, call.Tool.ID())
			return next(ctx, call)
		}
	}
}

// step is one call of the host's and what must become of it.
type step struct {
	what string
	id   string
	args any
	want string
}

func allSteps(w *world) []step {
	tide, away := "http://"+w.host+"/tide", "http://"+w.host+"/away"
	return []step{
		{"search the notes", searchID, searchArgs{Text: "lantern", Below: ".", Name: "*.md", Limit: 5},
			`{"hits":[{"file":"harbor.md","line":2,"text":"The lantern is lit at dusk."},{"file":"sub/quay.md","line":1,"text":"Behind the quay hangs a second lantern."}],"truncated":false}`},
		{"search through a link out of the root", searchID, map[string]string{"text": "combination"}, `{"hits":[],"truncated":false}`},
		{"search above the root", searchID, map[string]string{"text": "combination", "below": ".."}, `INTERNAL_ERROR bad_path`},
		{"fetch a page", fetchID, fetchArgs{URL: tide},
			`{"body":"high at noon","content_type":"text/plain; charset=utf-8","status":200,"truncated":false}`},
		{"fetch from another host", fetchID, fetchArgs{URL: "http://example.org/"}, `INTERNAL_ERROR host_not_allowed`},
		{"follow a redirect to another host", fetchID, fetchArgs{URL: away}, `INTERNAL_ERROR host_not_allowed`},
		{"query the database", queryID, map[string]any{"sql": "SELECT name FROM ships WHERE tons > ? ORDER BY tons", "params": []any{100}},
			`{"columns":["name"],"rows":[["Ada"],["Cleo"]],"truncated":false}`},
		{"write to the database", queryID, map[string]any{"sql": "DELETE FROM ships"}, `INTERNAL_ERROR sql_error`},
		{"ask for too many rows", queryID, map[string]any{"sql": "SELECT 1", "limit": 1e6}, `INVALID_INPUT arguments`},
	}
}

// readerSteps is a session that may only read, so the fetch is not even offered.
func readerSteps(w *world) []step {
	return []step{
		{"a reader queries the database", queryID, map[string]any{"sql": "SELECT count(*) AS n FROM ships"}, `{"columns":["n"],"rows":[[3]],"truncated":false}`},
		{"a reader fetches a page", fetchID, fetchArgs{URL: "http://" + w.host + "/tide"}, `CAPABILITY_PORT_MISSING op_unsupported`},
	}
}

// play opens a session, lists what the host can see and makes its calls.
func play(ctx context.Context, out io.Writer, offered *tools.Registry, steps []step) error {
	l, err := connectPeers(ctx, offered)
	if err != nil {
		return err
	}
	defer l.close()
	for _, d := range tools.Discover(l.host.RemoteManifest(), nil).List() {
		fmt.Fprintf(out, "host sees %s: %s\n", d.CapabilityID, d.Description)
	}
	for _, s := range steps {
		fmt.Fprintln(out, s.what)
		got := outcome(l.host.InvokeTool(ctx, s.id, s.args))
		fmt.Fprintf(out, "    %s\n", got)
		if got != s.want {
			return fmt.Errorf("%s: observed %s, want %s", s.what, got, s.want)
		}
	}
	return nil
}

// outcome shows a result, or a refusal as its code and what says more.
func outcome(result json.RawMessage, err error) string {
	if err == nil {
		return string(result)
	}
	if f, ok := tools.FailureOf(err); ok {
		return fmt.Sprintf("%s %s", spoke.CodeOf(err), f.Code)
	}
	r, ok := errors.AsType[*spoke.Reject](err)
	if !ok {
		return err.Error()
	}
	for _, name := range []string{spoke.DetailField, spoke.DetailWireCode, spoke.DetailKind} {
		if detail, ok := r.Details[name]; ok {
			return fmt.Sprintf("%s %v", r.Code, detail)
		}
	}
	return string(r.Code)
}
