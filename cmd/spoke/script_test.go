package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
)

func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"spoke": main, "caller": caller})
}

// leakChecked fails tests that leave a goroutine.
type leakChecked struct{ *testing.M }

// Run implements testscript.TestingM.
func (m leakChecked) Run() int {
	status := m.M.Run()
	if status != 0 {
		return status
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestScripts runs the command as a user does. Beside the usual commands of a script
// there are
//
//	start NAME PROGRAM ARG...   runs until it tells its address; $NAME_URL, $NAME_ID
//	stop NAME [STATUS]          interrupts it and waits; NAME.out and NAME.err are left
//	await NAME [STATUS]         waits for its end
//	status N PROGRAM ARG...     runs to the end and wants an exit status
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Setup: setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": start, "stop": stop, "await": await, "status": status,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// noExitSleep lets a program of a race run end at once. Otherwise the race detector waits
// for a second at the end of each that succeeds, for races at that moment.
const noExitSleep = "GORACE=atexit_sleep_ms=0"

type programsKey struct{}

// setup makes two keys and empties the settings.
func setup(env *testscript.Env) error {
	env.Values[programsKey{}] = make(map[string]*program)
	env.Vars = append(env.Vars, "XDG_CONFIG_HOME="+env.WorkDir+"/config", noExitSleep)
	for _, name := range []string{"HOST", "APP", "STRANGER"} {
		id, err := connect.CreateIdentity(env.WorkDir+"/"+strings.ToLower(name)+".key", nil)
		if err != nil {
			return err
		}
		env.Vars = append(env.Vars, name+"="+string(id.PeerID()))
	}
	return nil
}

// program runs in the background of a script.
type program struct {
	cmd      *exec.Cmd
	out, err *watched
	ended    chan struct{}
}

// watched keeps what is written and tells the first address in it.
type watched struct {
	notice
	all bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.all.Write(p)
	w.mu.Unlock()
	return w.notice.Write(p)
}

func newWatched() *watched { return &watched{notice: notice{url: make(chan string, 1)}} }

func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME PROGRAM ARG...")
	}
	p := &program{cmd: command(ts, args[1:]), out: newWatched(), err: newWatched(), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.err
	ts.Check(p.cmd.Start())
	go func() { _ = p.cmd.Wait(); close(p.ended) }() // the exit status is looked at later
	ts.Defer(func() { _ = p.cmd.Process.Kill(); <-p.ended })
	programs(ts)[args[0]] = p
	select {
	case url := <-p.out.url:
		ts.Setenv(args[0]+"_URL", strings.Trim(url, `"}`))
	case url := <-p.err.url:
		ts.Setenv(args[0]+"_URL", url)
	case <-p.ended:
		ts.Fatalf("%s ended: %s%s", args[1], p.out.all.String(), p.err.all.String())
	}
}

func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "WORK", "XDG_CONFIG_HOME", "GORACE"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

func programs(ts *testscript.TestScript) map[string]*program {
	return ts.Value(programsKey{}).(map[string]*program)
}

func stop(ts *testscript.TestScript, neg bool, args []string) {
	p := programs(ts)[args[0]]
	ts.Check(p.cmd.Process.Signal(syscall.SIGTERM))
	await(ts, neg, args)
}

func await(ts *testscript.TestScript, _ bool, args []string) {
	p := programs(ts)[args[0]]
	<-p.ended
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), p.out.all.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".err"), p.err.all.Bytes(), 0o600))
	want := "0"
	if len(args) > 1 {
		want = args[1]
	}
	if got := strconv.Itoa(p.cmd.ProcessState.ExitCode()); got != want {
		ts.Fatalf("%s ended with status %s, want %s\n%s", args[0], got, want, p.err.all.String())
	}
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N PROGRAM ARG...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("status %d, want %s", got, args[0])
	}
}

// caller is a host that calls the dice of every peer that dials, once with arguments
// that fit and once with others, and then says goodbye. Its arguments are its key file
// and the peer that it allows.
func caller() {
	id, err := connect.LoadIdentity(os.Args[1], nil)
	if err != nil {
		panic(err)
	}
	cfg := connect.ResponderConfig{Config: connect.Config{
		Identity: id, Manifest: toyworld.HostManifest(), Allow: []connect.PeerID{connect.PeerID(os.Args[2])}, Tools: toyworld.Tools(),
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		transport, err := ws.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		app, err := connect.Accept(r.Context(), transport, cfg)
		if err != nil {
			return
		}
		for _, args := range []string{`{"count":2}`, `{"count":7}`} {
			result, err := app.InvokeTool(context.Background(), toyworld.RollDiceID, json.RawMessage(args))
			fmt.Println(string(result), err)
		}
		app.Close()
		_ = app.Wait()
	}))
	fmt.Println("ws" + strings.TrimPrefix(server.URL, "http"))
	select {}
}
