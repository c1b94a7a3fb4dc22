package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Layer is where a value was given. Later ones override earlier ones.
type Layer string

// The layers above the defaults, in the order in which they override.
const (
	File        Layer = "file"
	Environment Layer = "environment"
	Flag        Layer = "flag"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	Source       Layer
	File         string // as [Source] names it; "" unless Source is File
	Line, Column int    // from 1; 0 when the whole file is meant, or no file
	Key          string // as Source writes it: log.level, A2A_SERVER_LOG_LEVEL, --log-level; "" for a whole file
	Problem      string // what is wrong, and what to write instead
}

// String returns the problem on one line that begins with where it is.
func (p Problem) String() string {
	where := string(p.Source)
	if p.Source == File {
		where = p.File
		if p.Line > 0 {
			where = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
		}
	}
	if where != "" && p.Key != "" {
		where += ": "
	}
	return where + p.Key + ": " + p.Problem
}

// Error is everything that is wrong with a configuration, and the only kind of error
// that [Load] returns.
type Error struct {
	Problems []Problem // never empty; in the order of the layers, and there by place
}

// maxShown is how many problems the text of an error has; more would help nobody.
const maxShown = 100

// Error returns one problem a line.
func (e *Error) Error() string {
	var lines []string
	for i, p := range e.Problems {
		if i == maxShown {
			lines = append(lines, fmt.Sprintf("and %d more problems", len(e.Problems)-i))
			break
		}
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// sortProblems puts problems into the order in which somebody would look for them.
func sortProblems(problems []Problem) {
	rank := map[Layer]int{File: 0, Environment: 1, Flag: 2}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(rank[a.Source], rank[b.Source]),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Key, b.Key),
		)
	})
}
