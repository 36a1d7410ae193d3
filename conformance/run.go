package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/spoke-peer/spoke-go/conformance/vectors"
)

// caseTimeout bounds one case, so that a peer that hangs fails it.
const caseTimeout = 20 * time.Second

// Options adjust [Run]. The zero value runs everything.
type Options struct {
	// Groups are the groups to run; nil means all. A group that the files do not have
	// is a problem.
	Groups []string
	// Progress, if set, is called after each group.
	Progress func(Group)
}

// Run replays a set of vector files against this library, such as [vectors.Files] or a
// directory. Files are found by their names, <group>.json. Where there is an index it
// says which files must be there and how many cases each must have.
//
// Ctx ends the run early; what was not run then counts as failed.
func Run(ctx context.Context, files fs.FS, options Options) *Report {
	r := &Report{Format: vectors.Format}
	names, index, err := list(files)
	if err != nil {
		r.addProblem(err)
		return r
	}
	for _, name := range names {
		if group := vectors.GroupOf(name); options.Groups == nil || slices.Contains(options.Groups, group) {
			done := runFile(ctx, files, name, index)
			r.Groups = append(r.Groups, done)
			if options.Progress != nil {
				options.Progress(done)
			}
		}
	}
	for _, group := range options.Groups {
		if !slices.Contains(names, group+".json") {
			r.addProblem(fmt.Errorf("no vectors for group %s", group))
		}
	}
	r.finish()
	return r
}

// list returns the names of the vector files, those that the index misses included,
// and the index if there is one.
func list(files fs.FS) ([]string, *vectors.Index, error) {
	names, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil, nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == vectors.IndexName })
	index, err := vectors.ReadIndex(files)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return names, nil, nil
	case err != nil:
		return nil, nil, err
	}
	names = append(names, index.Names()...)
	slices.Sort(names)
	return slices.Compact(names), &index, nil
}

// runFile runs one file.
func runFile(ctx context.Context, files fs.FS, name string, index *vectors.Index) Group {
	started := time.Now()
	g := Group{Name: vectors.GroupOf(name), Failures: []Failure{}}
	f, err := vectors.Open(files, name)
	if err == nil && index != nil {
		err = index.Check(f)
	}
	if err != nil {
		g.Status = Failed
		g.Failures = append(g.Failures, Failure{Vector: name, Expected: "a file of the format, with all its cases", Got: err.Error()})
		return g
	}
	g.Rule, g.Total = f.Rule, f.Total()
	cases, ok := groups[f.Group]
	if !ok {
		g.Status, g.Note = NotRun, "this library's runner has no such group"
		return g
	}
	for _, list := range f.Lists() {
		g.runList(ctx, f, list, cases[list])
	}
	g.settle(time.Since(started))
	return g
}

// runList runs one list of a file.
func (g *Group) runList(ctx context.Context, f *vectors.File, list string, check caseFunc) {
	for i, text := range f.Cases(list) {
		err := errUnknownList
		if check != nil {
			err = runCase(ctx, f, text, check)
		}
		if err != nil {
			g.Failures = append(g.Failures, failureOf(caseName(f.Group, list, i, text), err))
			continue
		}
		g.Passed++
	}
}

var errUnknownList = errors.New("this library's runner does not know the list")

// runCase runs one case; a panic of the code under test is its failure.
func runCase(ctx context.Context, f *vectors.File, text json.RawMessage, check caseFunc) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	return check(ctx, f, text)
}

// caseName names a case for people: its place and what it calls itself.
func caseName(group, list string, i int, text json.RawMessage) string {
	var c struct {
		Name string `json:"name"`
	}
	place := fmt.Sprintf("%s %s[%d]", group, list, i)
	if json.Unmarshal(text, &c) != nil || c.Name == "" {
		return place
	}
	return place + ": " + c.Name
}
