package sim

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Stream names choices of one kind. Each has its own tape, so that another schedule does not
// give the script another meaning.
type Stream int

// The streams.
const (
	Script   Stream = iota // actions of the world outside
	Schedule               // which routine continues, when time passes
	Commits                // how much the disk commits
	Outcomes               // the outcome of a run of a tool
	Faults                 // faults, and when a process dies

	streams
)

var streamNames = [streams]string{"script", "schedule", "commits", "outcomes", "faults"}

// String returns the name of a stream.
func (s Stream) String() string { return streamNames[s] }

// Tape is all the choices of a run: of each stream its lanes, of each lane its choices. A lane
// that has ended, or is not there, continues with 0. The zero Tape is the tamest run.
type Tape [streams][][]uint16

// Len returns how many choices are on the tape.
func (t Tape) Len() int {
	n := 0
	for _, lanes := range t {
		for _, lane := range lanes {
			n += len(lane)
		}
	}
	return n
}

// trim drops zeros at the end of a lane, and empty lanes at the end of a stream. It changes a
// copy.
func (t Tape) trim() Tape {
	for i := range t {
		lanes := slices.Clone(t[i])
		for k, lane := range lanes {
			for len(lane) > 0 && lane[len(lane)-1] == 0 {
				lane = lane[:len(lane)-1]
			}
			lanes[k] = lane
		}
		for len(lanes) > 0 && len(lanes[len(lanes)-1]) == 0 {
			lanes = lanes[:len(lanes)-1]
		}
		t[i] = lanes
	}
	return t
}

const tapeVersion = "sim1."

// String returns the tape as text that [ParseTape] reads.
func (t Tape) String() string {
	var b []byte
	for _, lanes := range t.trim() {
		b = binary.AppendUvarint(b, uint64(len(lanes)))
		for _, lane := range lanes {
			b = binary.AppendUvarint(b, uint64(len(lane)))
			for _, v := range lane {
				b = binary.AppendUvarint(b, uint64(v))
			}
		}
	}
	return tapeVersion + base64.RawURLEncoding.EncodeToString(b)
}

// ParseTape parses the format of [Tape.String].
func ParseTape(text string) (Tape, error) {
	var t Tape
	body, ok := strings.CutPrefix(text, tapeVersion)
	b, err := base64.RawURLEncoding.DecodeString(body)
	if !ok || err != nil {
		return t, fmt.Errorf("this is no tape: it begins with %q and is base64url", tapeVersion)
	}
	next := func(limit int) int {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > uint64(limit) {
			err = errors.New("the tape is cut or damaged")
			return 0
		}
		b = b[n:]
		return int(v)
	}
	for i := range t {
		for range next(len(b)) {
			var lane []uint16
			for range next(len(b)) {
				lane = append(lane, uint16(next(1<<16-1)))
			}
			t[i] = append(t[i], lane)
		}
	}
	if err == nil && len(b) > 0 {
		err = errors.New("the tape has bytes after its end")
	}
	return t, err
}

// Choices is where a run takes its choices from: a seed, or a tape. It records them.
// It is not safe for concurrent use.
type Choices struct {
	seeded bool
	seed   uint64
	random [streams][]*rand.Rand // of each lane, when seeded
	given  Tape
	taken  Tape
	lane   [streams]int
}

// Seeded returns choices drawn from a seed.
func Seeded(seed uint64) *Choices { return &Choices{seeded: true, seed: seed} }

// Replayed returns the choices of a tape. Values out of range, because the run differs by
// then, are made to fit.
func Replayed(t Tape) *Choices { return &Choices{given: t} }

// Lane has the following choices of a stream taken from one of its lanes. A lane is for
// choices that belong together, an action of a script for example: without it, the other
// actions stay the same.
func (c *Choices) Lane(s Stream, lane int) { c.lane[s] = lane }

// Choose returns a number from 0 to n-1. 0 has to be the tamest way to continue.
func (c *Choices) Choose(s Stream, n int) int {
	if n <= 1 {
		return 0 // no choice
	}
	lane := c.lane[s]
	for len(c.taken[s]) <= lane {
		if c.seeded {
			stream := uint64(s)<<32 | uint64(len(c.taken[s]))
			c.random[s] = append(c.random[s], rand.New(rand.NewPCG(c.seed, stream)))
		}
		c.taken[s] = append(c.taken[s], nil)
	}
	v := 0
	switch at := len(c.taken[s][lane]); {
	case c.seeded:
		v = c.random[s][lane].IntN(n)
	case lane < len(c.given[s]) && at < len(c.given[s][lane]):
		v = int(c.given[s][lane][at]) % n
	}
	c.taken[s][lane] = append(c.taken[s][lane], uint16(v))
	return v
}

// Rarely is true once in n times, and never when the choices have run out.
func (c *Choices) Rarely(s Stream, n int) bool { return c.Choose(s, n) == n-1 && n > 1 }

// Tape returns the choices that were taken so far.
func (c *Choices) Tape() Tape {
	t := c.taken.trim()
	for i := range t {
		for k := range t[i] {
			t[i][k] = slices.Clone(t[i][k])
		}
	}
	return t
}

// Pick returns an element of a list, which must not be empty. The first is the tamest.
func Pick[T any](c *Choices, s Stream, list ...T) T { return list[c.Choose(s, len(list))] }
