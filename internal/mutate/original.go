package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// original is a package with tests as it is, without a mutation.
type original struct {
	folder   string
	flags    []string // that its test binary gets each time
	buildErr error
	tests    map[string]*ran // by name: those that rows need
}

// err says why a test of the package cannot notice anything.
func (o *original) err(test string) error {
	if o.buildErr != nil {
		return fmt.Errorf("the tests of %s do not build as they are: %w", o.folder, o.buildErr)
	}
	switch t := o.tests[test]; {
	case t.timedOut:
		return errors.New("the test does not end, without any mutation")
	case !t.fine && t.began:
		return errors.New("the test fails without any mutation: " + t.why())
	case !t.fine:
		return errors.New("the test binary fails without any mutation: " + t.why())
	case t.end == "SKIP":
		return errors.New("the test did not run: it is skipped")
	case t.end != "PASS":
		return errors.New("the test did not run: there is none of this name")
	default:
		return nil
	}
}

// original builds the packages of all tests as they are, once each, and runs the tests.
func (r *runner) original(ctx context.Context, table []row) {
	r.originals = map[string]*original{}
	var list []*original
	for i := range table {
		folder, test := table[i].tested()
		o := r.originals[folder]
		if o == nil {
			o = &original{folder: folder, tests: map[string]*ran{}}
			r.originals[o.folder] = o
			list = append(list, o)
		}
		o.tests[test] = nil
	}
	each(r.workers, len(list), func(i int) { r.runOriginal(ctx, list[i], i) })
}

func (r *runner) runOriginal(ctx context.Context, o *original, number int) {
	dir := filepath.Join(r.work, fmt.Sprintf("original-%d", number))
	defer func() { _ = os.RemoveAll(dir) }()
	var binary string
	if binary, o.buildErr = r.build(ctx, dir, o.folder, "", nil); o.buildErr != nil {
		return
	}
	o.flags = r.propertyFlags(ctx, dir, binary, o.folder)
	for name := range o.tests {
		o.tests[name] = r.test(ctx, dir, binary, o.folder, name, o.flags, r.originalLimit)
	}
}

// propertyFlags returns the flags that keep the library for property tests, if the package
// uses it, from writing failures into the repository and from making them small.
func (r *runner) propertyFlags(ctx context.Context, dir, binary, folder string) []string {
	flags := []string{"-rapid.nofailfile", "-rapid.shrinktime=0s"}
	got := r.test(ctx, dir, binary, folder, "", flags, r.originalLimit)
	if !got.fine && slices.ContainsFunc(got.lines(), func(line string) bool {
		return strings.HasPrefix(line, "flag provided but not defined")
	}) {
		return nil
	}
	return flags
}
