package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the database driver

	"github.com/spoke-peer/spoke-go/tools"
)

const (
	searchTimeout = 5 * time.Second
	fetchTimeout  = 5 * time.Second
	queryTimeout  = 2 * time.Second
)

// world is what the tools work on: a directory, a web server on a loopback port, and a
// database. Beside the directory lies a file that none of them may reach.
type world struct {
	dir    string
	root   *os.Root
	db     *query
	server *http.Server
	host   string // of the server, with its port
	addr   netip.AddrPort
}

const secret = "the combination is 4711"

func newWorld(ctx context.Context) (*world, error) {
	dir, err := os.MkdirTemp("", "tools-example")
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir}
	for _, step := range []func(context.Context) error{w.makeFiles, w.makeDatabase, w.serve} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, w.close())
		}
	}
	return w, nil
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) makeFiles(context.Context) error {
	files := map[string]string{
		"secret.txt":        secret,
		"notes/harbor.md":   "# Harbor\nThe lantern is lit at dusk.\n",
		"notes/sub/quay.md": "Behind the quay hangs a second lantern.\n",
	}
	if err := os.MkdirAll(w.path("notes/sub"), 0o700); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(w.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := os.Symlink(w.path("secret.txt"), w.path("notes/link.md")); err != nil {
		return err
	}
	var err error
	w.root, err = os.OpenRoot(w.path("notes"))
	return err
}

func (w *world) makeDatabase(ctx context.Context) error {
	db, err := sql.Open("sqlite", w.path("ships.db"))
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, `CREATE TABLE ships (name TEXT, tons INTEGER);
		INSERT INTO ships VALUES ('Ada', 120), ('Bea', 80), ('Cleo', 200)`)
	if err != nil {
		return err
	}
	w.db, err = newQuery(w.path("ships.db"))
	return err
}

// serve starts the web server: one page, and a redirect that leaves the allowed host.
func (w *world) serve(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	w.host = listener.Addr().String()
	if w.addr, err = netip.ParseAddrPort(w.host); err != nil {
		return err
	}
	pages := http.NewServeMux()
	pages.HandleFunc("/tide", func(out http.ResponseWriter, _ *http.Request) { io.WriteString(out, "high at noon") })
	pages.Handle("/away", http.RedirectHandler("http://localhost:1/", http.StatusFound))
	w.server = &http.Server{Handler: pages, ReadHeaderTimeout: fetchTimeout}
	go w.server.Serve(listener)
	return nil
}

// tools returns the three tools. The web server is on a loopback address, which the
// fetch would not dial; this run admits that one address.
func (w *world) tools() []*tools.Tool {
	onlyOurs := func(a netip.AddrPort) bool { return a == w.addr }
	return []*tools.Tool{search{w.root}.tool(), newFetch(onlyOurs, w.host).tool(), w.db.tool()}
}

func (w *world) close() error {
	if w.server != nil {
		w.server.Close()
	}
	if w.db != nil {
		w.db.db.Close()
	}
	if w.root != nil {
		w.root.Close()
	}
	return os.RemoveAll(w.dir)
}
