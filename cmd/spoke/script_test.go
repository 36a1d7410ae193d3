package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/spoke-peer/spoke-go/connect"
)

func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"spoke": main, "caller": caller, "catalog": catalog, "future": future})
}

// leakChecked runs tests without settings, and fails if they leave a goroutine.
type leakChecked struct{ *testing.M }

// Run implements testscript.TestingM.
func (m leakChecked) Run() int {
	for _, name := range append([]string{"profile", "config", "passphrase"}, settable...) {
		os.Unsetenv(envOf(name)) // nobody's own settings reach the tests
	}
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
//	start NAME PROGRAM ARG...               runs until it tells its address, $NAME_URL
//	background NAME PATTERN PROGRAM ARG...  runs until it prints what matches
//	see NAME PATTERN                        waits until it has printed that
//	interrupt NAME                          does so and goes on
//	hangup NAME                             does as a terminal that ends, and goes on
//	await NAME [STATUS]                     waits for its end; NAME.out and NAME.err are left
//	halt NAME [STATUS]                      interrupts it and waits
//	status N PROGRAM ARG...                 runs to the end and wants an exit status
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Setup: setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": start, "background": inBackground, "see": see,
			"interrupt": interrupt, "hangup": hangup, "halt": halt, "await": await, "status": status,
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

// program runs in the background of a script. Text is
// all that it prints.
type program struct {
	cmd            *exec.Cmd
	text, out, err watched
	ended          chan struct{}
}

// start runs a program that tells its address.
func start(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 2, "start NAME PROGRAM ARG...")
	p := begin(ts, args[0], args[1:])
	ts.Setenv(args[0]+"_URL", p.await(ts, addressPattern))
}

// inBackground runs a program until it prints something.
func inBackground(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 3, "background NAME PATTERN PROGRAM ARG...")
	begin(ts, args[0], args[2:]).await(ts, lineOf(ts, args[1]))
}

func needArgs(ts *testscript.TestScript, neg bool, args []string, least int, usage string) {
	if neg || len(args) < least {
		ts.Fatalf("usage: %s", usage)
	}
}

func lineOf(ts *testscript.TestScript, pattern string) *regexp.Regexp {
	re, err := regexp.Compile("(?m)" + pattern)
	ts.Check(err)
	return re
}

func begin(ts *testscript.TestScript, name string, args []string) *program {
	p := &program{cmd: command(ts, args), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = io.MultiWriter(&p.out, &p.text), io.MultiWriter(&p.err, &p.text)
	ts.Check(p.cmd.Start())
	go func() { _ = p.cmd.Wait(); close(p.ended) }() // the exit status is looked at later
	ts.Defer(func() { _ = p.cmd.Process.Kill(); <-p.ended })
	programs(ts)[name] = p
	return p
}

// await waits until the program has printed what matches.
func (p *program) await(ts *testscript.TestScript, pattern *regexp.Regexp) string {
	text := p.text.until(pattern, p.ended)
	if text == "" {
		ts.Fatalf("%v ended without %s:\n%s", p.cmd.Args, pattern, &p.text)
	}
	return text
}

// see waits until a program has printed something.
func see(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 2, "see NAME PATTERN")
	programs(ts)[args[0]].await(ts, lineOf(ts, args[1]))
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

func interrupt(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(programs(ts)[args[0]].cmd.Process.Signal(syscall.SIGTERM))
}

func hangup(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(programs(ts)[args[0]].cmd.Process.Signal(syscall.SIGHUP))
}

func halt(ts *testscript.TestScript, neg bool, args []string) {
	interrupt(ts, neg, args)
	await(ts, neg, args)
}

func await(ts *testscript.TestScript, _ bool, args []string) {
	p := programs(ts)[args[0]]
	<-p.ended
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), []byte(p.out.String()), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".err"), []byte(p.err.String()), 0o600))
	want := "0"
	if len(args) > 1 {
		want = args[1]
	}
	if got := strconv.Itoa(p.cmd.ProcessState.ExitCode()); got != want {
		ts.Fatalf("%s ended with status %s, want %s\n%s", args[0], got, want, &p.err)
	}
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	needArgs(ts, neg, args, 2, "status N PROGRAM ARG...")
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
