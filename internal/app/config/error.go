package config

import (
	"cmp"
	"fmt"
	"strings"

	"a2a-server/internal/strictyaml"
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
	return strictyaml.Problem{File: cmp.Or(p.File, string(p.Source)), Line: p.Line, Column: p.Column, Key: p.Key, Problem: p.Problem}.String()
}

// Error is everything that is wrong with a configuration, and the only kind of error
// that [Load] returns.
type Error struct {
	Problems []Problem // never empty; in the order of the layers, and there by place
}

// Error returns one problem a line.
func (e *Error) Error() string {
	shown := e.Problems[:min(len(e.Problems), strictyaml.MaxShown)]
	var lines []string
	for _, p := range shown {
		lines = append(lines, p.String())
	}
	if more := len(e.Problems) - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more problems", more))
	}
	return strings.Join(lines, "\n")
}
