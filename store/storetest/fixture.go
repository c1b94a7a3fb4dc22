package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"a2a-server/store"
)

// bound is far longer than any step takes: it only turns a hang into a failure.
const bound = 2 * time.Minute

var errHang = errors.New("no answer: the store hangs")

// fixture is one backend with two handles; h[1] is the younger one, so its epoch
// is higher.
type fixture struct {
	backend Backend
	h       [2]store.Handle
	closed  bool
	writer  int
}

func newFixture(t *testing.T, open func(t *testing.T) Backend) *fixture {
	t.Helper()
	f := &fixture{backend: open(t)}
	t.Cleanup(func() {
		if f.closed {
			return
		}
		if err := f.backend.Close(); err != nil {
			t.Errorf("Backend.Close() = %v, want nil", err)
		}
	})
	f.takeHandles(t)
	return f
}

func (f *fixture) takeHandles(t *testing.T) {
	t.Helper()
	for i := range f.h {
		h, err := f.backend.Handle()
		if err != nil {
			t.Fatalf("Backend.Handle() = %v, want nil", err)
		}
		f.h[i] = h
	}
}

// reopen opens the backend again, with two new handles.
func (f *fixture) reopen(t *testing.T) {
	t.Helper()
	if err := f.backend.Reopen(); err != nil {
		t.Fatalf("Backend.Reopen() = %v, want nil", err)
	}
	f.takeHandles(t)
}

func (f *fixture) rebuild(t *testing.T) {
	t.Helper()
	if err := f.backend.Rebuild(); err != nil {
		t.Fatalf("Backend.Rebuild() = %v, want nil", err)
	}
}

// next returns the two handles in turn, so that what one wrote the other continues
// with.
func (f *fixture) next() store.Handle {
	f.writer++
	return f.h[f.writer%2]
}

// append commits b by either handle.
func (f *fixture) append(t *testing.T, b *store.Batch) store.Receipt {
	t.Helper()
	return mustAppend(t, f.next(), b)
}

// refuse appends b by both handles; each must say want.
func (f *fixture) refuse(t *testing.T, b *store.Batch, want error) {
	t.Helper()
	for _, h := range f.h {
		if _, err := do(t.Context(), h, b); !errors.Is(err, want) {
			t.Errorf("Append() = %v, want %v", err, want)
		}
	}
}

// header reads a header by both handles, which must agree.
func (f *fixture) header(t *testing.T, id store.TaskID) store.Header {
	t.Helper()
	var headers [2]store.Header
	for i, h := range f.h {
		headers[i] = mustHeader(t, h, id)
	}
	if d := diff(headers[0], headers[1]); d != "" {
		t.Fatalf("headers of two handles differ (-h[0] +h[1])\n%s", d)
	}
	return headers[0]
}

// checkLog compares the whole log as both handles read it.
func (f *fixture) checkLog(t *testing.T, id store.TaskID, want []store.Event) {
	t.Helper()
	for _, h := range f.h {
		view, err := readLog(t.Context(), h, store.System(), id, store.After(0), store.Limit{})
		if err != nil {
			t.Fatalf("Read() = %v, want nil", err)
		}
		checkEvents(t, "Read()", want, view.Events)
	}
}

// checkGone checks that neither handle finds the task.
func (f *fixture) checkGone(t *testing.T, id store.TaskID) {
	t.Helper()
	for _, h := range f.h {
		if _, err := h.Read(t.Context(), store.System(), id, store.After(0), store.Limit{}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Read() = %v, want %v", err, store.ErrNotFound)
		}
	}
}

// await is Commit.Wait that cannot hang. It is for any goroutine.
func await(c *store.Commit) (store.Receipt, error) {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-c.Done():
		return c.Wait()
	case <-timer.C:
		return store.Receipt{}, errHang
	}
}

func do(ctx context.Context, h store.Handle, b *store.Batch) (store.Receipt, error) {
	return await(h.Append(ctx, b))
}

func mustAppend(t *testing.T, h store.Handle, b *store.Batch) store.Receipt {
	t.Helper()
	r, err := do(t.Context(), h, b)
	if err != nil {
		t.Fatalf("Append() = %v, want nil", err)
	}
	return r
}

func mustHeader(t *testing.T, h store.Handle, id store.TaskID) store.Header {
	t.Helper()
	header, err := readHeader(t.Context(), h, id)
	if err != nil {
		t.Fatalf("Read() = %v, want nil", err)
	}
	return header
}

func readHeader(ctx context.Context, h store.Handle, id store.TaskID) (store.Header, error) {
	view, err := h.Read(ctx, store.System(), id, store.AtSnapshot(), store.Limit{Events: 1})
	return view.Header, err
}

// parallel runs n goroutines at once and fails the test with what they return.
func parallel(t *testing.T, n int, work func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			if err := work(i); err != nil {
				t.Errorf("goroutine %d: %v", i, err)
			}
		})
	}
	close(start)
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// background runs work beside the test until halt, which returns when work has.
// halt is also called at the end of the test, and may be called more than once.
func background(t *testing.T, work func(stop <-chan struct{}) error) (halt func()) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if err := work(stop); err != nil {
			t.Errorf("background: %v", err)
		}
	}()
	halt = sync.OnceFunc(func() {
		close(stop)
		<-done
	})
	t.Cleanup(halt)
	return halt
}

func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// receive waits for one value of a channel; a test fails when none comes.
func receive[T any](t *testing.T, what string, ch <-chan T) {
	t.Helper()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-ch:
	case <-timer.C:
		t.Fatalf("%s: nothing came", what)
	}
}
