package tool

import (
	"errors"
	"fmt"
	"io"
)

// ErrMasked stands for an error of code outside the server that may repeat, in any form, what gates of a
// tool mask.
var ErrMasked = errors.New("the details are left out, because a gate of the tool masks them")

// Masked stands for a value in the arguments that a [Hinter] gets. It holds nothing: fmt with
// any verb, encoding/json and templates write it as •••.
type Masked struct{}

// String returns what stands for the value.
func (Masked) String() string { return "•••" }

// Format implements [fmt.Formatter] for every verb.
func (m Masked) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, m.String()) }

// MarshalText implements [encoding.TextMarshaler], so that the value is a text in JSON.
func (m Masked) MarshalText() ([]byte, error) { return []byte(m.String()), nil }
