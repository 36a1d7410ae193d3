package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/spoke-peer/spoke-go/tools"
)

const searchID = "tools.files.search"

type searchArgs struct {
	Text  string `json:"text" jsonschema:"what a line must contain" minLength:"1" maxLength:"200"`
	Below string `json:"below" jsonschema:"directory to search, relative to the root" default:"."`
	Name  string `json:"name" jsonschema:"pattern that a file's name must match, such as *.md" default:"*"`
	Limit int    `json:"limit" jsonschema:"most hits" default:"20" minimum:"1" maximum:"100"`
}

type searchResult struct {
	Hits      []hit `json:"hits"`
	Truncated bool  `json:"truncated" jsonschema:"whether there were more hits than the limit"`
}

type hit struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Bounds of one search.
const (
	maxFileBytes = 1 << 20
	maxLineBytes = 64 << 10
	maxHitBytes  = 200
)

// search looks through files below a root. An [os.Root] refuses every path that leaves
// it, through .., absolute names and symbolic links alike.
type search struct{ root *os.Root }

func (s search) tool() *tools.Tool {
	return tools.New(searchID, "Search the text of files below the root.", s.run).With(tools.Metadata{
		Policy:     tools.PolicyRead,
		Keywords:   []string{"find", "grep"},
		Idempotent: true,
		Timeout:    searchTimeout,
		Probe:      s.probe,
	})
}

func (s search) probe(context.Context) tools.Availability {
	if _, err := s.root.Stat("."); err != nil {
		return tools.Unavailable("root_missing", "the root directory cannot be read")
	}
	return tools.Available()
}

func (s search) run(ctx context.Context, in searchArgs) (searchResult, error) {
	var found searchResult
	below := path.Clean(in.Below)
	if _, err := path.Match(in.Name, ""); err != nil || !fs.ValidPath(below) {
		return found, &tools.Failure{Code: "bad_path", Message: "below must be a path under the root and name a pattern"}
	}
	err := fs.WalkDir(s.root.FS(), below, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && file == below:
			return &tools.Failure{Code: "bad_path", Message: "below cannot be read"}
		case err != nil || !entry.Type().IsRegular():
			return nil // a symbolic link is not followed
		}
		if ok, _ := path.Match(in.Name, path.Base(file)); !ok {
			return nil
		}
		return s.file(file, in, &found)
	})
	if errors.Is(err, fs.SkipAll) {
		err = nil
	}
	return found, err
}

// file adds the hits of one file. A file that cannot be read has none.
func (s search) file(name string, in searchArgs, found *searchResult) error {
	f, err := s.root.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, maxFileBytes))
	lines.Buffer(nil, maxLineBytes)
	for n := 1; lines.Scan(); n++ {
		if !strings.Contains(lines.Text(), in.Text) {
			continue
		}
		if len(found.Hits) == in.Limit {
			found.Truncated = true
			return fs.SkipAll
		}
		found.Hits = append(found.Hits, hit{File: name, Line: n, Text: clip(lines.Text(), maxHitBytes)})
	}
	return nil
}

// clip shortens text to at most n bytes of valid UTF-8.
func clip(text string, n int) string {
	return strings.ToValidUTF8(text[:min(len(text), n)], "")
}
