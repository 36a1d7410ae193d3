// Command gen writes the vector files that are made by rules and the index of all of
// them: go run ./conformance/internal/gen, from the root of the module.
//
// What a vector expects must not come from the code that is tested. So gen knows
// nothing of this module but the file format: canonical text stands in its tables,
// written by hand, and signatures are made over that text with crypto/ed25519.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spoke-peer/spoke-go/conformance/vectors"
)

func main() {
	dir := flag.String("dir", "conformance/vectors", "where the files are written")
	flag.Parse()
	if err := write(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write writes the generated files and then the index of all files in dir.
func write(dir string) error {
	for _, f := range generated() {
		text, err := f.text()
		if err != nil {
			return fmt.Errorf("%s: %w", f.group, err)
		}
		if err := os.WriteFile(filepath.Join(dir, f.group+".json"), text, 0o644); err != nil {
			return err
		}
	}
	index, err := indexText(os.DirFS(dir))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, vectors.IndexName), index, 0o644)
}

// generated returns the files that are made here.
func generated() []file {
	return []file{
		numbers(), keyOrder(), escapes(), payloads(), ports(), toyWorld(),
		sequence(), echo(), probe(), negotiation(), nonceReplay(),
	}
}
