package a2aservertest

import (
	"bytes"
	"sync"
	"testing"
)

// testLog writes to the log of a test until the test ends: a tool that does not end may
// outlive it.
type testLog struct {
	t testing.TB

	mu   sync.Mutex
	over bool
}

// Write implements io.Writer.
func (l *testLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.t.Log(string(bytes.TrimSpace(line)))
	}
	return len(line), nil
}

func (l *testLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}
