package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// runner tries rows; newRunner makes it.
type runner struct {
	root    string // of the module, absolute, without symbolic links
	out     io.Writer
	workers int
	verbose bool

	buildLimit    time.Duration // of one build
	originalLimit time.Duration // of an unchanged test
	// A mutant's test gets patience, and slowness times the time of the unchanged test.
	patience time.Duration
	slowness int

	work      string // folder for what is built, of one run
	originals map[string]*original

	mu sync.Mutex // guards out
}

func newRunner(root string, out io.Writer) *runner {
	return &runner{
		root: root, out: out, workers: 1,
		buildLimit: 5 * time.Minute, originalLimit: 3 * time.Minute,
		patience: 10 * time.Second, slowness: 10,
	}
}

// run tries all rows and reports them. The verdicts are in the order of the table. The
// error says why not all rows could be tried.
func (r *runner) run(ctx context.Context, table []row) ([]verdict, error) {
	start := time.Now()
	root, err := filepath.EvalSymlinks(r.root)
	if err == nil {
		r.root, err = filepath.Abs(root)
	}
	if err == nil {
		r.work, err = os.MkdirTemp("", "mutate-")
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(r.work) }()

	r.original(ctx, table)
	verdicts := make([]verdict, len(table))
	each(r.workers, len(table), func(i int) {
		if ctx.Err() != nil {
			return
		}
		began := time.Now()
		verdicts[i] = r.try(ctx, &table[i], i)
		if ctx.Err() == nil {
			r.print(&table[i], verdicts[i], time.Since(began))
		}
	})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	r.summary(verdicts, time.Since(start))
	return verdicts, nil
}

// try builds the mutant of a row and runs its test.
func (r *runner) try(ctx context.Context, row *row, number int) verdict {
	file, text, _, err := row.mutant(r.root)
	if err != nil {
		return verdict{broken, err.Error()}
	}
	folder, test := row.tested()
	o := r.originals[folder]
	if err := o.err(test); err != nil {
		return verdict{broken, err.Error()}
	}
	dir := filepath.Join(r.work, fmt.Sprintf("row-%d", number))
	defer func() { _ = os.RemoveAll(dir) }()
	binary, err := r.build(ctx, dir, folder, file, text)
	if err != nil {
		return verdict{broken, "the mutant does not build: " + err.Error()}
	}
	limit := r.patience + time.Duration(r.slowness)*o.tests[test].took
	return judge(row, r.test(ctx, dir, binary, folder, test, o.flags, limit))
}

// each calls do for 0 to n-1, from so many goroutines.
func each(workers, n int, do func(i int)) {
	next := make(chan int)
	var all sync.WaitGroup
	for range min(workers, n) {
		all.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}
