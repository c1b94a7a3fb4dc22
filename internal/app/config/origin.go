package config

import "fmt"

// origin is where a value was given. The zero origin is the defaults.
type origin struct {
	layer        Layer
	name         string // of the file, the variable or the flag
	line, column int    // in the file
}

// String returns the origin as [Show] writes it after a value.
func (o origin) String() string {
	switch o.layer {
	case File:
		return fmt.Sprintf("%s:%d", printable(o.name), o.line)
	case Environment:
		return "environment " + o.name
	case Flag:
		return "flag " + o.name
	}
	return "default"
}

// problem returns one that is there, and is still to be said.
func (o origin) problem(path string) Problem {
	p := Problem{Source: o.layer, Line: o.line, Column: o.column, Key: o.key(path)}
	if o.layer == File {
		p.File = printable(o.name)
	}
	return p
}

// key returns how the origin's layer writes a key of the file.
func (o origin) key(path string) string {
	if o.layer == File || o.layer == "" {
		return path
	}
	return o.name
}
