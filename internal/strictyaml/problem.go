// Package strictyaml reads YAML that people write: one document in which everything
// has one meaning. Aliases, merge keys, tags, duplicate keys, a second document, control
// characters and bytes that are not UTF-8 are problems, and every problem has a line, a
// column, and the path of its key.
//
// A reader calls [Report.Read] and walks the [Node] that it returns. Each step either
// gives a value or adds a problem, so that one reading finds all of them. The package
// does not know what a file is about.
package strictyaml

import (
	"cmp"
	"fmt"
	"slices"
)

// Place is where something stands in a file, from 1. The zero Place is the whole file.
type Place struct{ Line, Column int }

// Problem is one thing that is wrong with a file.
type Problem struct {
	File         string
	Line, Column int    // from 1; 0 when the whole file is meant
	Key          string // such as gates[0].tool; "" for the file
	Problem      string // what is wrong, and what to write instead
}

// String returns the problem on one line that begins with where it is.
func (p Problem) String() string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	if where != "" && p.Key != "" {
		where += ": "
	}
	return where + p.Key + ": " + p.Problem
}

// MaxShown is how many problems an error should list; more would help nobody.
const MaxShown = 100

// Report collects the problems of one file.
type Report struct {
	File     string // what problems call it
	problems []Problem
}

// Add adds a problem with the key, at a place.
func (r *Report) Add(at Place, key, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.File, Line: at.Line, Column: at.Column, Key: key, Problem: fmt.Sprintf(format, args...)})
}

// Problems returns all problems in the order of the file.
func (r *Report) Problems() []Problem {
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Key, b.Key))
	})
	return r.problems
}
