// Package testlog writes logs to tests.
package testlog

import (
	"bytes"
	"io"
	"sync"
	"testing"
)

// New returns a writer that writes lines to the log of a test until the test ends, and drops
// later lines. Goroutines may outlive their test, such as a tool that was given up or a
// handler of a connection that net/http no longer counts, and testing panics when they log.
//
// Cleanups that are registered after New can still log. The writer may be used concurrently.
func New(t testing.TB) io.Writer {
	t.Helper()
	w := &writer{t: t}
	t.Cleanup(w.end)
	return w
}

type writer struct {
	t testing.TB

	mu   sync.Mutex
	over bool
}

// Write implements [io.Writer].
func (w *writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.t.Log(string(bytes.TrimSpace(line)))
	}
	return len(line), nil
}

func (w *writer) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}
