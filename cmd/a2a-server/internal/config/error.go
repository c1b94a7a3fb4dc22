package config

import (
	"cmp"
	"fmt"
	"strings"

	"a2a-server/internal/lists"
	"a2a-server/internal/strictyaml"
)

// Layer is where a value was set. Later layers override earlier layers.
type Layer string

// The layers, from the lowest. The zero Layer is the defaults.
const (
	File        Layer = "file"
	Environment Layer = "environment"
	Flag        Layer = "flag"
)

// Problem is an error in a configuration.
type Problem struct {
	Source       Layer
	File         string // the path in [Source]; "" unless Source is File
	Line, Column int    // from 1; 0 for a whole file, or if there is none
	Key          string // as written in Source: log.level, A2A_SERVER_LOG_LEVEL, --log-level; "" for a whole file
	Problem      string // the fault, and the next step
}

// String returns the problem on a line that begins with its place.
func (p Problem) String() string {
	return strictyaml.Problem{File: cmp.Or(p.File, string(p.Source)), Line: p.Line, Column: p.Column, Key: p.Key, Problem: p.Problem}.String()
}

// Error has all problems of a configuration. It is the only type of error that [Load]
// returns.
type Error struct {
	Problems []Problem // never empty; in the order of the layers, and then by place
}

// Error returns the problems, a line each.
func (e *Error) Error() string {
	shown := e.Problems[:min(len(e.Problems), strictyaml.MaxShown)]
	lines := lists.Map(shown, Problem.String)
	if more := len(e.Problems) - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more problems", more))
	}
	return strings.Join(lines, "\n")
}
