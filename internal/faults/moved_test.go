//go:build linux

package faults

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// A plain copy of a file that is being written to is not a backup: pages of different
// commits stand in it. It is refused, or what it serves is correct; it is never served as
// if it were empty.
func TestCopiedWhileWritten(t *testing.T) {
	t.Parallel()
	copies := 4
	if *long {
		copies = 40
	}
	w := newWorld(t)
	w.start()
	l := w.load()
	var shown [][]*errand
	paths := make([]string, copies)
	for i := range paths {
		w.reached(10)
		shown = append(shown, w.done())
		paths[i] = filepath.Join(t.TempDir(), "copy.db")
		need(t, copyInPieces(w.store, paths[i]))
	}
	struck(t, copies)
	w.settle(l)
	served := 0
	for i, path := range paths {
		if examine(t, w, path, shown[i]).served {
			served++
		}
	}
	t.Logf("of %d copies %d were served", copies, served)
}

// copyInPieces copies a file as cp does, with the writer at work between the pieces. The
// room that was taken ahead at its end stays a hole.
func copyInPieces(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	piece := make([]byte, 32<<10)
	var at int64
	for {
		n, err := in.Read(piece)
		if errors.Is(err, io.EOF) {
			return out.Truncate(at)
		}
		if err != nil {
			return err
		}
		if !zero(piece[:n]) {
			if _, err := out.WriteAt(piece[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
	}
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
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
