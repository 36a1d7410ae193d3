package layout_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// loud says, for each import path, which of its names library code never uses: they
// end the process or write to a stream that belongs to the program.
var loud = map[string][]string{
	"fmt": {"Print", "Printf", "Println"},
	"log": {
		"Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Panicln",
		"Print", "Printf", "Println", "Default", "Output",
	},
	"os": {"Exit", "Stdout", "Stderr"},
}

func TestLibraryCodeNeitherPanicsNorPrintsNorExits(t *testing.T) {
	for _, p := range listed(t) {
		if !p.isLibrary() {
			continue
		}
		for _, name := range append(slices.Clone(p.GoFiles), p.CgoFiles...) {
			found, err := loudUses(filepath.Join(p.Dir, name), nil)
			require.NoError(t, err)
			assert.Empty(t, found)
		}
	}
}

func TestAPanicOrAPrintOrAnExitInLibraryCodeIsNoticed(t *testing.T) {
	for _, c := range []struct {
		name, imports, body string
		found               []string
	}{
		{"a panic", ``, `panic("x")`, []string{"panic"}},
		{"the built-in print functions", ``, `println("x"); print("y")`, []string{"println", "print"}},
		{"a print to standard output", `"fmt"`, `fmt.Println("x")`, []string{"fmt.Println"}},
		{"a print under another name of the package", `f "fmt"`, `f.Printf("x")`, []string{"fmt.Printf"}},
		{"an exit", `"os"`, `os.Exit(1)`, []string{"os.Exit"}},
		{"standard error handed on", `"os"`, `use(os.Stderr)`, []string{"os.Stderr"}},
		{"the shared logger", `"log"`, `log.Fatal("x")`, []string{"log.Fatal"}},
		{"a call inside a function literal", `"fmt"`, `go func() { fmt.Print(1) }()`, []string{"fmt.Print"}},
		{"a print to the caller's writer is fine", `"fmt"`, `fmt.Fprintln(w, fmt.Sprint("x"))`, nil},
		{"a method of the same name is fine", ``, `x.panic(); fmt.Println("x")`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := "package p\nimport (\n" + c.imports + "\n)\nfunc f() { " + c.body + " }\n"
			found, err := loudUses("p.go", source)
			require.NoError(t, err)
			var names []string
			for _, f := range found {
				names = append(names, f[strings.LastIndex(f, " ")+1:])
			}
			assert.Equal(t, c.found, names)
		})
	}
}

// loudUses lists the panics, prints and exits of one file as "position name". Source is
// the file's text; nil reads the file.
func loudUses(file string, source any) ([]string, error) {
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []string
	imported := importNames(parsed)
	ast.Inspect(parsed, func(n ast.Node) bool {
		if name := loudName(n, imported); name != "" {
			found = append(found, positions.Position(n.Pos()).String()+" "+name)
		}
		return true
	})
	return found, nil
}

// importNames maps the name that a file uses for a package to the import path.
func importNames(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = path
	}
	return names
}

// loudName names what n does that library code does not, or is empty.
func loudName(n ast.Node, imported map[string]string) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && slices.Contains([]string{"panic", "print", "println"}, id.Name) {
			return id.Name
		}
	case *ast.SelectorExpr:
		if id, ok := n.X.(*ast.Ident); ok {
			if path := imported[id.Name]; slices.Contains(loud[path], n.Sel.Name) {
				return path + "." + n.Sel.Name
			}
		}
	}
	return ""
}
