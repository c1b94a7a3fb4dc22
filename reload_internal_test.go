package a2aserver

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// worker is a server of tools that counts how often it is closed.
type worker struct {
	calls  atomic.Int64
	closed atomic.Int64
}

func (w *worker) Busy() bool { return w.calls.Load() > 0 }
func (w *worker) Close() error {
	w.closed.Add(1)
	return errors.New("it was closed")
}

// What a reload has replaced is closed once no call has used it for a while, and only once.
func TestSweep(t *testing.T) {
	t.Parallel()
	o := &offers{config: &Config{Operator: nobody{}, Log: zerolog.Nop()}, counted: func(error) {}}
	one, busy := &worker{}, &worker{}
	busy.calls.Store(1)
	begin := time.Now()
	o.retired = []retired{{server: one, since: begin}, {server: busy, since: begin}}
	sweep := func(after time.Duration, wantOne, wantBusy int64) {
		t.Helper()
		o.sweep(begin.Add(after))
		o.closing.Wait()
		if one.closed.Load() != wantOne || busy.closed.Load() != wantBusy {
			t.Errorf("after %v they were closed %d and %d times, want %d and %d", after, one.closed.Load(), busy.closed.Load(), wantOne, wantBusy)
		}
	}
	sweep(quiet-time.Second, 0, 0)
	sweep(quiet, 1, 0)
	busy.calls.Store(0)
	sweep(2*quiet-time.Second, 1, 0) // it was busy until a moment ago
	sweep(2*quiet, 1, 1)
	sweep(3*quiet, 1, 1)
	if len(o.retired) > 0 {
		t.Errorf("%d are left", len(o.retired))
	}

	// A shutdown closes what is left, and there are no more reloads.
	last := &worker{}
	last.calls.Store(1)
	o.retired = []retired{{server: last, since: begin}}
	if err := o.close(); err == nil || last.closed.Load() != 1 {
		t.Errorf("close() = %v, and the last was closed %d times", err, last.closed.Load())
	}
	if _, err := o.reload(); err == nil {
		t.Error("reload() = nil after the shutdown")
	}
}

// rereading is an operator whose keys were read again when its channel is closed.
type rereading struct {
	nobody
	reread chan struct{}
}

func (r rereading) ReloadKeys() error {
	close(r.reread)
	return nil
}

// A revoked key ends at once, also while another reload takes its time.
func TestReloadOfKeysDoesNotWait(t *testing.T) {
	t.Parallel()
	settings, keys := DefaultSettings(), rereading{reread: make(chan struct{})}
	settings.Listen, settings.Store = "127.0.0.1:0", "memory"
	s, err := New(Config{Settings: settings, Operator: keys, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	s.tools.mu.Lock() // as a reload that hangs does
	ended := make(chan error, 1)
	go func() { ended <- s.Reload() }()
	<-keys.reread
	s.tools.mu.Unlock()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
