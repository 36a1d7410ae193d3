package layout_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// readmeImports are the imports that the README's blocks may use.
var readmeImports = map[string]string{
	"connect":    "github.com/spoke-peer/spoke-go/connect",
	"context":    "context",
	"http":       "net/http",
	"json":       "encoding/json",
	"remotetool": "github.com/spoke-peer/spoke-go/tools/remotetool",
	"spoke":      "github.com/spoke-peer/spoke-go/spoke",
	"time":       "time",
	"tools":      "github.com/spoke-peer/spoke-go/tools",
	"toyworld":   "github.com/spoke-peer/spoke-go/fixtures/toyworld",
	"ws":         "github.com/spoke-peer/spoke-go/connect/ws",
}

func TestTheGoBlocksOfTheReadmeCompile(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := goBlock.FindAllStringSubmatch(string(readme), -1)
	if len(blocks) == 0 {
		t.Fatal("README.md has no Go block")
	}
	var code strings.Builder
	for _, block := range blocks {
		code.WriteString(block[1])
	}
	source := "package main\n\n"
	for name, path := range readmeImports {
		if strings.Contains(code.String(), name+".") {
			source += "import \"" + path + "\"\n"
		}
	}
	source += code.String() + "\nfunc main() {}\n"
	file := filepath.Join(t.TempDir(), "readme.go")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(t.TempDir(), "readme"), file)
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, source)
	}
}
