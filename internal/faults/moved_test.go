//go:build linux

package faults

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// A file that is removed, renamed or replaced while it is served: nobody is told that
// something is safe in a file that nobody will find again, and the process ends.
func TestFileIsMoved(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(path string) error{
		"removed": os.Remove,
		"renamed": func(path string) error { return os.Rename(path, path+".renamed") },
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".other", []byte("not a store"), 0o600), os.Rename(path+".other", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.start()
			l := w.load()
			w.reached(20)
			// The second name is how a person gets the file back.
			kept := w.store + ".kept"
			need(t, os.Link(w.store, kept))
			w.ending.Store(true)
			need(t, move(w.store))
			if !s.ends(endBound) {
				t.Fatalf("the server continues without its file:\n%s", s.said())
			}
			l.stop()
			if s.err == nil {
				t.Error("the server ended with 0")
			}
			if said := s.said(); !strings.Contains(said, w.store) || !strings.Contains(said, "while it was open") {
				t.Errorf("the server does not say what has become of its file:\n%s", said)
			}
			s.sound()
			struck(t, 1)
			need(t, os.Rename(kept, w.store))
			w.ending.Store(false)
			w.again()
		})
	}
}

// noise is bytes that mean nothing, the same for the same seed.
func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}
