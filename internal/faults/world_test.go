//go:build linux

package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// world is what outlives the processes of one test: the files, what callers were told,
// and the fault.
type world struct {
	*testing.T
	binary string   // the program
	data   string   // folder of the server
	store  string   // its file
	flags  []string // that it has besides
	size   int      // of the texts of its errands

	// Answers that mean nothing to callers although the server should not give them: it
	// is about to end, because it does not know what the disk has.
	ending atomic.Bool

	toolsFail bool // a tool may find that it cannot open its own file

	control string // folder of the fault
	clock   *clock // nil: that of the machine

	mu      sync.Mutex
	errands []*errand
	live    *server
	client  *client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	folder := t.TempDir()
	w := &world{T: t, binary: suite.binary, data: filepath.Join(folder, "data"), control: filepath.Join(folder, "control"), size: 200}
	w.store = filepath.Join(w.data, "tasks.db")
	for _, name := range []string{w.data, w.control} {
		need(t, os.Mkdir(name, 0o700))
	}
	return w
}

func (w *world) args() []string {
	return append([]string{"--data", w.data, "--store", "bolt:" + w.store}, w.flags...)
}

// start starts the next process; front is what stands before the program.
func (w *world) start(front ...string) *server {
	w.Helper()
	s := startServer(w.T, w.binary, w.control, front, w.args()...)
	if s.url == "" {
		w.Fatalf("the server does not start: %v\n%s", s.err, s.said())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client != nil {
		w.client.close()
	}
	w.live, w.client = s, newClient(s.url)
	w.Cleanup(w.client.close)
	return s
}

// to returns the client of the process that lives.
func (w *world) to() *client {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.client
}

// fault makes a point of each commit fail with an error number (0: it does not), after a
// delay; once: of the next commit alone.
func (w *world) fault(point string, errno syscall.Errno, delay time.Duration, once bool) {
	w.Helper()
	often := "always"
	if once {
		often = "once"
	}
	draft := filepath.Join(w.control, "draft")
	order := fmt.Sprintf("%s %d %v %s\n", point, int(errno), delay, often)
	need(w, os.WriteFile(draft, []byte(order), 0o600))
	need(w, os.Rename(draft, filepath.Join(w.control, "control")))
}

// mend ends the fault.
func (w *world) mend() { _ = os.Remove(filepath.Join(w.control, "control")) }

// strikes returns how often the fault has struck so far.
func (w *world) strikes() int {
	text, _ := os.ReadFile(filepath.Join(w.control, "strikes")) // not there: never
	return bytes.Count(text, []byte("\n"))
}

// errand makes the next errand.
func (w *world) errand() *errand {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.errands)
	return w.add([]string{echo, approve, stream, approve, reject}[n%5])
}

// add makes an errand of a kind. w.mu must be held.
func (w *world) add(kind string) *errand {
	e := newErrand(kind, fmt.Sprintf("errand-%d", len(w.errands)), w.size)
	w.errands = append(w.errands, e)
	return e
}

// all returns the errands so far.
func (w *world) all() []*errand {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.errands[:len(w.errands):len(w.errands)]
}

// done returns those whose end was shown.
func (w *world) done() []*errand {
	var done []*errand
	for _, e := range w.all() {
		if _, state, _ := e.shown(); state != "" {
			done = append(done, e)
		}
	}
	return done
}

// reached waits until so many more errands have ended.
func (w *world) reached(more int) {
	w.Helper()
	want := len(w.done()) + more
	eventually(w.T, fmt.Sprintf("%d more errands end", more), func() bool { return len(w.done()) >= want })
}

// load is callers at work.
type load struct {
	w      *world
	cancel context.CancelFunc
	gone   sync.WaitGroup
	unsaid atomic.Int64 // requests without an answer that counts
	reads  atomic.Int64
	blind  atomic.Int64 // reads without one
}

// Callers do not fill the machine: each begins something at most this often.
const (
	callers = 6
	pace    = 30 * time.Millisecond
)

// load starts callers, and one who reads what has ended. Each carries out one errand
// after the other until the load is stopped.
func (w *world) load() *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{w: w, cancel: cancel}
	for range callers {
		l.gone.Go(func() { l.call(ctx) })
	}
	l.gone.Go(func() { l.read(ctx) })
	w.Cleanup(l.stop)
	return l
}

// stop ends the load; errands may be anywhere then.
func (l *load) stop() {
	l.cancel()
	l.gone.Wait()
}

func (l *load) call(ctx context.Context) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	var e *errand
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if e == nil {
			e = l.w.errand()
		}
		err := e.run(ctx, l.w.to())
		switch {
		case err == nil:
			e = nil
		case ctx.Err() != nil:
			return
		case unsaid(err), l.w.ending.Load():
			l.unsaid.Add(1)
		default:
			l.w.Errorf("%s %s: %v", e.kind, e.name, err)
			return
		}
	}
}

// read reads errands that have ended, again and again, and compares.
func (l *load) read(ctx context.Context) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		done := l.w.done()
		if len(done) == 0 {
			continue
		}
		err := l.w.compare(ctx, done[n*7919%len(done)])
		switch {
		case err == nil:
			l.reads.Add(1)
		case ctx.Err() != nil:
			return
		case unsaid(err), l.w.ending.Load():
			l.blind.Add(1)
		default:
			l.w.Error(err)
			return
		}
	}
}

// compare reads a task and compares it with what was shown of it.
func (w *world) compare(ctx context.Context, e *errand) error {
	id, state, text := e.shown()
	t, err := w.to().get(ctx, id)
	if err != nil {
		return fmt.Errorf("%s, task %s, which was acknowledged: %w", e.name, id, err)
	}
	if t.Status.State != state || t.text() != text {
		return fmt.Errorf("%s, task %s, was shown as %s %.60q and is %s %.60q", e.name, id, state, text, t.Status.State, t.text())
	}
	return nil
}
