package script

import (
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"
)

// ProblemError is one thing that is wrong with a file. What [Load] returns joins
// all of them, in the order of the file.
type ProblemError struct {
	File         string
	Line, Column int    // from 1; 0 when the whole file is meant
	Key          string // such as scenarios[0].steps[2].call.tool; "" for the file
	Problem      string // what is wrong, and what to write instead
}

// Error returns the problem on one line that begins with file, line and column.
func (p *ProblemError) Error() string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	if p.Key != "" {
		where += ": " + p.Key
	}
	return where + ": " + p.Problem
}

// maxProblems is how many problems are reported; more would help nobody.
const maxProblems = 100

// report collects the problems of one file.
type report struct {
	file     string
	problems []*ProblemError
}

func (r *report) add(n *yaml.Node, key, format string, args ...any) {
	r.problems = append(r.problems, &ProblemError{File: r.file, Line: n.Line, Column: n.Column, Key: key, Problem: fmt.Sprintf(format, args...)})
}

// err returns all problems, nil when there are none.
func (r *report) err() error {
	slices.SortStableFunc(r.problems, func(a, b *ProblemError) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	errs := make([]error, 0, min(len(r.problems), maxProblems+1))
	for i, p := range r.problems {
		if i == maxProblems {
			errs = append(errs, fmt.Errorf("%s: and %d problems more", r.file, len(r.problems)-i))
			break
		}
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}
