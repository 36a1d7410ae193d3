package layout_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	module  = "github.com/spoke-peer/spoke-go"
	gorilla = "github.com/gorilla/websocket"
	otel    = "go.opentelemetry.io" // what connect/otelmetrics is for
	root    = "../.."
)

// mayImport says, for each package that users import, which packages of this module it
// may name. A path that ends in "/" stands for everything below it. Every package may
// name what lies below itself in an internal directory.
var mayImport = map[string][]string{
	"spoke":            {"internal/"},
	"manifest":         {"spoke", "internal/"},
	"connect":          {"spoke", "manifest", "internal/"},
	"connect/ws":       {"spoke", "manifest", "connect", "internal/"},
	"tools":            {"spoke", "manifest", "internal/"},
	"tools/remotetool": {"spoke", "manifest", "connect", "tools", "internal/"},

	"connect/otelmetrics": {"connect"},
}

// present lists the packages that have to exist for the rules to mean anything.
var present = []string{"spoke", "manifest", "connect", "connect/ws", "tools", "tools/remotetool"}

// notForUsers lists modules, and groups of modules, that serve the command line, the
// examples and the tests; importing the library must not pull them in.
var notForUsers = []string{
	"github.com/spf13/cobra",
	"modernc.org/sqlite",
	otel,
	"github.com/stretchr/testify",
}

// goPackage is the part of "go list -json" that the rules need. Imports and Deps leave
// tests out.
type goPackage struct {
	ImportPath string
	Name       string
	Dir        string
	Doc        string
	GoFiles    []string
	CgoFiles   []string
	Imports    []string
	Deps       []string
}

// path is the package's place in the module: "connect/ws", or "" for the root.
func (p goPackage) path() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// library reports whether p is code that other programs run: no command, no example.
func (p goPackage) isLibrary() bool {
	return p.Name != "main" && !below(p.path(), "examples") && !below(p.path(), "cmd")
}

// below reports whether path is dir or lies under it.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// packages asks the go tool once for every package of the module, without the network.
var packages = sync.OnceValues(func() ([]goPackage, error) {
	if err := visit(root); err != nil {
		return nil, err
	}
	list := exec.Command("go", "list", "-json=ImportPath,Name,Dir,Doc,GoFiles,CgoFiles,Imports,Deps", "./...")
	list.Dir = root
	list.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "GOPROXY=off")
	out, err := list.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = errors.New(string(exit.Stderr) + `(a missing module comes with "go mod download")`)
		}
		return nil, err
	}
	return decode(strings.NewReader(string(out)))
})

// decode reads the values that "go list -json" prints one after the other.
func decode(r io.Reader) ([]goPackage, error) {
	var all []goPackage
	for dec := json.NewDecoder(r); ; {
		var p goPackage
		switch err := dec.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, p)
	}
}

// visit reads every Go file and directory of the module. The go tool reuses a test
// result while the files that the test itself opened stay the same, and it does not see
// what a child process opens.
func visit(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case strings.HasSuffix(path, ".go") || entry.Name() == "go.mod":
			_, err = os.ReadFile(path)
		}
		return err
	})
}

func listed(t *testing.T) map[string]goPackage {
	t.Helper()
	all, err := packages()
	require.NoError(t, err)
	byPath := make(map[string]goPackage, len(all))
	for _, p := range all {
		byPath[p.path()] = p
	}
	for _, path := range present {
		require.Contains(t, byPath, path, "the module has no package %s", path)
	}
	return byPath
}

func TestUsersOfTheLibraryDoNotPullInTheCommandLineOrDatabasesOrTestHelpers(t *testing.T) {
	all := listed(t)
	for path := range mayImport {
		for _, dep := range all[path].Deps {
			for _, unwanted := range notForUsers {
				if path == "connect/otelmetrics" && unwanted == otel {
					continue
				}
				assert.False(t, below(dep, unwanted), "%s depends on %s", path, dep)
			}
		}
	}
}

func TestOnlyTheWebSocketTransportPullsInGorilla(t *testing.T) {
	all := listed(t)
	for path, p := range all {
		if path != "connect/ws" {
			assert.NotContains(t, p.Imports, gorilla, "%s", path)
		}
	}
	for path := range mayImport {
		if path != "connect/ws" {
			assert.NotContains(t, all[path].Deps, gorilla, "%s", path)
		}
	}
	assert.Contains(t, all["connect/ws"].Imports, gorilla, "the rule looks for the wrong import path")
}

func TestConnectAndToolsDoNotKnowEachOther(t *testing.T) {
	all := listed(t)
	for _, path := range []string{"connect", "connect/ws"} {
		for _, dep := range all[path].Deps {
			assert.False(t, below(dep, module+"/tools"), "%s depends on %s", path, dep)
		}
	}
	for _, dep := range all["tools"].Deps {
		assert.False(t, below(dep, module+"/connect"), "tools depends on %s", dep)
	}
}

func TestImportsPointDownward(t *testing.T) {
	for path, p := range listed(t) {
		allowed, ruled := mayImport[path]
		switch {
		case below(path, "internal"):
			allowed = []string{"internal/"}
		case !ruled:
			continue
		}
		for _, dep := range p.Imports {
			if below(dep, module) {
				rel := strings.TrimPrefix(dep, module+"/")
				assert.True(t, permitted(rel, append(slices.Clone(allowed), path+"/internal/")), "%s imports %s", path, rel)
			}
		}
	}
}

// permitted reports whether path is in allowed, where a trailing "/" stands for
// everything below.
func permitted(path string, allowed []string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		return path == a || strings.HasSuffix(a, "/") && strings.HasPrefix(path, a)
	})
}

func TestEveryPackageThatUsersImportHasAnImportRule(t *testing.T) {
	for path, p := range listed(t) {
		top, _, _ := strings.Cut(path, "/")
		users := []string{"spoke", "manifest", "connect", "tools"}
		if p.isLibrary() && slices.Contains(users, top) && !strings.Contains(path, "/internal/") {
			assert.Contains(t, mayImport, path)
		}
	}
}

func TestEveryPackageHasAPackageComment(t *testing.T) {
	for path, p := range listed(t) {
		assert.NotEmpty(t, p.Doc, "package %s (%s)", p.Name, path)
	}
}
