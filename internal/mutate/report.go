package main

import (
	"fmt"
	"slices"
	"time"
)

// outcome is the result of trying a row.
type outcome string

// The outcomes.
const (
	killed   outcome = "killed"
	survived outcome = "survived"
	broken   outcome = "broken"
)

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
	return len(verdicts) - len(slices.DeleteFunc(slices.Clone(verdicts), func(v verdict) bool { return v.outcome == o }))
}

// print reports a row as soon as it has been tried.
func (r *runner) print(row *row, v verdict, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(r.out, "%-8s %5.1f s  %s\n", v.outcome, took.Seconds(), row)
	switch {
	case v.outcome == survived:
		file, _, line, _ := row.mutant(r.root) // it has been made before
		_, _ = fmt.Fprintf(r.out, "\t%s:%d: needs a test that fails with this change, or to go\n", file, line)
	case v.outcome == broken || r.verbose:
		_, _ = fmt.Fprintf(r.out, "\t%s\n", v.why)
	}
}

// summary counts.
func (r *runner) summary(verdicts []verdict, took time.Duration) {
	_, _ = fmt.Fprintf(r.out, "mutate: %d killed, %d survived, %d broken, %d in all, in %.1f s\n",
		count(verdicts, killed), count(verdicts, survived), count(verdicts, broken), len(verdicts), took.Seconds())
}
