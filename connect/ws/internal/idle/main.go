// Command idle measures what an idle session costs a host: it opens many to one server
// in this process, from dialers in a process of their own, and prints the memory per
// session when all are quiet.
//
//	go run ./connect/ws/internal/idle -sessions 10000
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/connect/ws"
	"github.com/spoke-peer/spoke-go/fixtures/toyworld"
	"github.com/spoke-peer/spoke-go/spoke"
)

func main() {
	sessions := flag.Int("sessions", 10000, "how many sessions to open")
	dial := flag.String("dial", "", "dial this url instead of serving (for the second process)")
	host := flag.String("host", "", "the host's peer id, with -dial")
	flag.Parse()
	var err error
	if *dial != "" {
		err = dialAll(*dial, connect.PeerID(*host), *sessions)
	} else {
		err = report(os.Stdout, *sessions)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "idle:", err)
		os.Exit(1)
	}
}

// identity returns the nth identity, the same in both processes.
func identity(n int) (*connect.Identity, error) {
	return connect.IdentityFromSeed(fmt.Appendf(nil, "%032d", n))
}

// report measures and prints.
func report(out io.Writer, sessions int) error {
	m, err := measure(sessions)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d idle sessions: %.1f KiB each (heap %.1f, goroutine stacks %.1f), %.1f goroutines each\n",
		sessions, m.kib(m.heap+m.stack), m.kib(m.heap), m.kib(m.stack), float64(m.goroutines)/float64(sessions))
	return err
}

// memory is what is in use when the garbage is out.
type memory struct {
	heap, stack int64
	goroutines  int
	sessions    int
}

func (m memory) kib(bytes int64) float64 { return float64(bytes) / float64(m.sessions) / 1024 }

func inUse() memory {
	for range 6 { // a pool survives one, and a stack that is not used is halved by each
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return memory{heap: int64(stats.HeapInuse), stack: int64(stats.StackInuse), goroutines: runtime.NumGoroutine()}
}

// measure returns what sessions take in all, beyond what the empty server takes.
func measure(sessions int) (memory, error) {
	server, err := newServer(sessions)
	if err != nil {
		return memory{}, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return memory{}, err
	}
	web := &http.Server{Handler: ws.Handler(server, nil), ReadHeaderTimeout: 10 * time.Second}
	go web.Serve(listener)
	defer web.Close()
	empty := inUse()
	stop, err := startDialers("ws://"+listener.Addr().String(), server.PeerID(), sessions)
	if err != nil {
		return memory{}, err
	}
	defer stop()
	if open := count(server); open != sessions {
		return memory{}, fmt.Errorf("%d of %d sessions are open", open, sessions)
	}
	web.SetKeepAlivesEnabled(false)
	full := inUse()
	server.Close()
	return memory{full.heap - empty.heap, full.stack - empty.stack, full.goroutines - empty.goroutines, sessions}, nil
}

func count(server *connect.Server) int {
	n := 0
	for range server.Sessions() {
		n++
	}
	return n
}

// newServer returns the toy world's host. It keeps a log, as a real one does.
func newServer(sessions int) (*connect.Server, error) {
	id, err := identity(0)
	if err != nil {
		return nil, err
	}
	cfg := connect.ServerConfig{ResponderConfig: connect.ResponderConfig{Config: connect.Config{
		Identity: id, Manifest: toyworld.HostManifest(), HandshakeTimeout: time.Minute,
		Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)),
	}}}
	for n := range sessions {
		peer, err := identity(n + 1)
		if err != nil {
			return nil, err
		}
		cfg.Allow = append(cfg.Allow, peer.PeerID())
	}
	return connect.NewServer(cfg)
}

// startDialers starts the second process and returns when all its sessions are open and
// each was used once.
func startDialers(url string, host connect.PeerID, sessions int) (stop func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(program, "-dial", url, "-host", string(host), "-sessions", fmt.Sprint(sessions))
	command.Env = append(os.Environ(), dialersEnv+"=1")
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil && strings.TrimSpace(line) != ready {
		err = fmt.Errorf("they say %q", line)
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("the dialers failed: %w", err)
	}
	return stop, nil
}

const (
	ready = "ready"
	// dialersEnv tells a test binary that it is the second process.
	dialersEnv = "SPOKE_IDLE_DIALERS"
)

// dialAll is the second process: it opens the sessions and waits to be killed.
func dialAll(url string, host connect.PeerID, sessions int) error {
	var mu sync.Mutex
	var failed error
	var all sync.WaitGroup
	slots := make(chan struct{}, 16)
	for n := range sessions {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := dialOne(url, host, n+1); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		})
	}
	all.Wait()
	if failed != nil {
		return failed
	}
	fmt.Println(ready)
	select {}
}

func dialOne(url string, host connect.PeerID, n int) error {
	id, err := identity(n)
	if err != nil {
		return err
	}
	transport, err := ws.Dial(context.Background(), url, nil)
	if err != nil {
		return err
	}
	app, err := connect.Dial(context.Background(), transport, connect.DialConfig{Remote: host, Config: connect.Config{
		Identity: id, Manifest: toyworld.AppManifest(), Allow: []connect.PeerID{host}, HandshakeTimeout: time.Minute,
		Tools: toyworld.Tools(),
	}})
	if err != nil {
		return err
	}
	// The host refuses it; its reader has then seen a request.
	_, err = app.InvokeTool(context.Background(), toyworld.RollDiceID, json.RawMessage(`{"count":1}`))
	if code := spoke.CodeOf(err); code != spoke.CodeCapabilityPortMissing {
		return fmt.Errorf("the host was to refuse a tool: %v", err)
	}
	return nil
}
