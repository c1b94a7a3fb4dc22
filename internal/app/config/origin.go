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

// key returns how the origin's layer writes a key of the file.
func (o origin) key(path string) string {
	if o.layer == File || o.layer == "" {
		return path
	}
	return o.name
}
