package sim

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Stream names one sequence of choices. Each has its own, so that a script that
// loses an action does not give all that follows another meaning.
type Stream int

// The streams.
const (
	Script   Stream = iota // what the world outside does
	Schedule               // who goes on, when time passes
	Commits                // how much the disk commits
	Outcomes               // what comes of a run of a tool
	Faults                 // what fails, and when a process dies

	streams
)

var streamNames = [streams]string{"script", "schedule", "commits", "outcomes", "faults"}

// String returns the name of a stream.
func (s Stream) String() string { return streamNames[s] }

// Tape is all the choices of a run, stream by stream. A stream that has come to its
// end goes on with 0. The zero Tape is the tamest run.
type Tape [streams][]uint16

// Len returns how many choices are on the tape.
func (t Tape) Len() int {
	n := 0
	for _, s := range t {
		n += len(s)
	}
	return n
}

// trim drops what goes without saying: zeros at the end.
func (t Tape) trim() Tape {
	for i, s := range t {
		for len(s) > 0 && s[len(s)-1] == 0 {
			s = s[:len(s)-1]
		}
		t[i] = s
	}
	return t
}

const tapeVersion = "sim1."

// String returns the tape as text that [ParseTape] reads.
func (t Tape) String() string {
	var b []byte
	for _, s := range t.trim() {
		b = binary.AppendUvarint(b, uint64(len(s)))
		for _, v := range s {
			b = binary.AppendUvarint(b, uint64(v))
		}
	}
	return tapeVersion + base64.RawURLEncoding.EncodeToString(b)
}

// ParseTape reads what [Tape.String] wrote.
func ParseTape(text string) (Tape, error) {
	var t Tape
	body, ok := strings.CutPrefix(text, tapeVersion)
	b, err := base64.RawURLEncoding.DecodeString(body)
	if !ok || err != nil {
		return t, fmt.Errorf("this is no tape: it begins with %q and is base64url", tapeVersion)
	}
	next := func(limit uint64) uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > limit {
			err = errors.New("the tape is cut or damaged")
			return 0
		}
		b = b[n:]
		return v
	}
	for i := range t {
		for range next(uint64(len(b))) {
			t[i] = append(t[i], uint16(next(1<<16-1)))
		}
	}
	if err == nil && len(b) > 0 {
		err = errors.New("the tape goes on after its end")
	}
	return t, err
}

// Choices is where a run takes its choices from: a seed, or a tape. It records them.
// It is not safe for concurrent use.
type Choices struct {
	random [streams]*rand.Rand // nil: from the tape
	given  Tape
	taken  Tape
}

// Seeded returns choices drawn from a seed.
func Seeded(seed uint64) *Choices {
	c := &Choices{}
	for i := range c.random {
		c.random[i] = rand.New(rand.NewPCG(seed, uint64(i)+1)) //nolint:gosec // it has to be the same again
	}
	return c
}

// Replayed returns the choices of a tape. What does not fit, because the run is
// another one by then, is made to fit.
func Replayed(t Tape) *Choices { return &Choices{given: t} }

// Choose returns a number from 0 to n-1. 0 has to be the tamest way to go on.
func (c *Choices) Choose(s Stream, n int) int {
	if n <= 1 {
		return 0 // no choice
	}
	v := 0
	switch at := len(c.taken[s]); {
	case c.random[s] != nil:
		v = c.random[s].IntN(n)
	case at < len(c.given[s]):
		v = int(c.given[s][at]) % n
	}
	c.taken[s] = append(c.taken[s], uint16(v))
	return v
}

// Rarely is true once in n times, and never when the choices have run out.
func (c *Choices) Rarely(s Stream, n int) bool { return c.Choose(s, n) == n-1 && n > 1 }

// Tape returns the choices that were taken so far.
func (c *Choices) Tape() Tape {
	t := c.taken
	for i := range t {
		t[i] = append([]uint16(nil), t[i]...)
	}
	return t.trim()
}

// Pick returns one of a list, which must not be empty. The first is the tamest.
func Pick[T any](c *Choices, s Stream, list ...T) T { return list[c.Choose(s, len(list))] }
