// Package strictyaml reads YAML that people write: a single document with a single meaning.
// Aliases, merge keys, tags, duplicate keys, a second document, control characters and bytes
// that are not UTF-8 are problems, and every problem has a line, a column, and the path of its
// key.
//
// Callers use [Report.Open] and walk the [Node] that it returns. Each step either returns a
// value or adds a problem, so that a single pass finds all problems. The package does not know
// the purpose of a file.
package strictyaml

import (
	"cmp"
	"fmt"
	"slices"
)

// Place is a position in a file, with lines and columns from 1. The zero Place is the whole
// file.
type Place struct{ Line, Column int }

// Problem is an error in a file.
type Problem struct {
	File         string
	Line, Column int    // from 1; 0 for the whole file
	Key          string // such as gates[0].tool; "" for the file
	Problem      string // the fault, and the next step
}

// String returns the problem on a line, as file:line:column: key: problem.
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

// MaxShown is how many problems an error should list; more would not be read.
const MaxShown = 100

// Report collects the problems of a file. It is not safe for concurrent use.
type Report struct {
	File     string // its name in problems
	Root     string // with which the paths of its values begin; "": with their keys
	problems []Problem
	lines    []string // of the text that was parsed
}

// Add adds a problem with a key, at a place. format and args are as in package fmt.
func (r *Report) Add(at Place, key, format string, args ...any) {
	r.problems = append(r.problems, Problem{File: r.File, Line: at.Line, Column: at.Column, Key: key, Problem: fmt.Sprintf(format, args...)})
}

// Count returns how many problems there are.
func (r *Report) Count() int { return len(r.problems) }

// Problems returns all problems, ordered by their place in the file.
func (r *Report) Problems() []Problem {
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Key, b.Key))
	})
	return r.problems
}
