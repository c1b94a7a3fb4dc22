package a2a_test

import (
	"bytes"
	"sync"
	"testing"
)

// testLog writes to the log of a test until the test ends: a handler of HTTP/2 may outlive it,
// because nothing waits for those of connections that net/http no longer counts.
type testLog struct {
	t testing.TB

	mu   sync.Mutex
	over bool
}

func newTestLog(t testing.TB) *testLog {
	t.Helper()
	l := &testLog{t: t}
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.over = true
	})
	return l
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
