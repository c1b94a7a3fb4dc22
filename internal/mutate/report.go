package main

import (
	"fmt"
	"time"
)

// outcome is what trying a row has shown.
type outcome int

// The outcomes.
const (
	killed outcome = iota + 1
	survived
	broken
)

func (o outcome) String() string {
	switch o {
	case killed:
		return "killed"
	case survived:
		return "survived"
	case broken:
		return "broken"
	}
	return "unknown"
}

// verdict is an outcome, and why; a survivor needs no reason.
type verdict struct {
	outcome outcome
	why     string
}

// The exit codes but 0.
const (
	exitSurvived = 1
	exitBroken   = 2
)

func exitCode(verdicts []verdict) int {
	switch {
	case count(verdicts, broken) > 0:
		return exitBroken
	case count(verdicts, survived) > 0:
		return exitSurvived
	default:
		return 0
	}
}

func count(verdicts []verdict, o outcome) int {
	n := 0
	for _, v := range verdicts {
		if v.outcome == o {
			n++
		}
	}
	return n
}

// print reports a row as soon as it has been tried.
func (r *runner) print(row *row, v verdict, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(r.out, "%-8s %5.1f s  %s\n", v.outcome, took.Seconds(), row)
	if v.outcome == broken || r.verbose && v.why != "" {
		_, _ = fmt.Fprintf(r.out, "\t%s\n", v.why)
	}
}

// summary says once more what nobody has noticed, in a form to look at, and counts.
func (r *runner) summary(table []row, verdicts []verdict, took time.Duration) {
	for i := range table {
		if verdicts[i].outcome != survived {
			continue
		}
		row := &table[i]
		file, _, line, _ := row.mutant(r.root) // it has been made before
		_, _ = fmt.Fprintf(r.out, "\nsurvived: %s\n%s:%d: %s\nnext: a test that fails with this change, or code without what it changes\n\n",
			row.promise, file, line, row.change)
	}
	_, _ = fmt.Fprintf(r.out, "mutate: %d killed, %d survived, %d broken, %d in all, in %.1f s\n",
		count(verdicts, killed), count(verdicts, survived), count(verdicts, broken), len(verdicts), took.Seconds())
}
