package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"a2a-server/store"
)

// bound is far longer than any step takes: it only turns a hang into a failure.
const bound = 2 * time.Minute

var errHang = errors.New("no answer: the store hangs")

// fixture is a backend with two handles; h[1] is the younger, so its epoch is higher.
type fixture struct {
	backend Backend
	h       [2]store.Handle
	closed  bool
	writer  int
}

func newFixture(t *testing.T, open func(t *testing.T) Backend) *fixture {
	t.Helper()
	f := &fixture{backend: open(t)}
	t.Cleanup(func() { f.close(t) })
	f.takeHandles(t)
	return f
}

// close closes the backend, once.
func (f *fixture) close(t *testing.T) {
	t.Helper()
	if f.closed {
		return
	}
	f.closed = true
	if err := f.backend.Close(); err != nil {
		t.Errorf("Backend.Close() = %v, want nil", err)
	}
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

// rebuild is reopen with everything derived made anew.
func (f *fixture) rebuild(t *testing.T) {
	t.Helper()
	if err := f.backend.Rebuild(); err != nil {
		t.Fatalf("Backend.Rebuild() = %v, want nil", err)
	}
	f.takeHandles(t)
}

// next returns the two handles in turn, so that each continues the writes of the other.
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
		refuse(t, h, b, want)
	}
}

func refuse(t *testing.T, h store.Handle, b *store.Batch, want error) {
	t.Helper()
	if _, err := do(t.Context(), h, b); !errors.Is(err, want) {
		t.Errorf("Append() = %v, want %v", err, want)
	}
}

// checkRefused appends batches that must fail with want, by both handles and then in one queue
// with valid batches, and nothing of them is left. base is the create of a Live task.
func (f *fixture) checkRefused(t *testing.T, base *store.Batch, want error, batches map[string]*store.Batch) {
	t.Helper()
	f.append(t, base)
	before := dump(t, f.h[0])
	for name, b := range batches {
		for _, h := range f.h {
			if _, err := do(t.Context(), h, b); !errors.Is(err, want) {
				t.Errorf("%s: Append() = %v, want %v", name, err, want)
			}
		}
	}
	same(t, before, dump(t, f.h[1]), "contents after refused batches")
	var log history
	log.add(base.Events...)
	good, bad := []*store.Commit{}, map[string]*store.Commit{}
	for name, b := range batches {
		e := public("beside %s", name)
		log.add(e)
		bad[name] = f.h[0].Append(t.Context(), b)
		good = append(good, f.h[0].Append(t.Context(), chunks(base.Task, 1, e)))
	}
	durable(t, good...)
	for name, c := range bad {
		if _, err := await(c); !errors.Is(err, want) {
			t.Errorf("%s: Append() = %v, want %v", name, err, want)
		}
	}
	f.checkLog(t, base.Task, log.events)
}

// delete removes a task that has ended.
func (f *fixture) delete(t *testing.T, id store.TaskID) {
	t.Helper()
	if err := f.next().Delete(t.Context(), store.System(), id, nil); err != nil {
		t.Fatalf("Delete() = %v, want nil", err)
	}
}

func refuseDelete(t *testing.T, h store.Handle, s store.Scope, id store.TaskID, want error) {
	t.Helper()
	if err := h.Delete(t.Context(), s, id, nil); !errors.Is(err, want) {
		t.Errorf("%+v: Delete() = %v, want %v", s, err, want)
	}
}

// durable waits for commits that must succeed.
func durable(t *testing.T, commits ...*store.Commit) {
	t.Helper()
	for i, c := range commits {
		if _, err := await(c); err != nil {
			t.Fatalf("batch %d: Append() = %v, want nil", i, err)
		}
	}
}

// checkCommits waits for commits of which some must pass. refused returns the problem with the
// error of any other.
func checkCommits(t *testing.T, commits []*store.Commit, passes []bool, refused func(error) error) {
	t.Helper()
	for i, c := range commits {
		_, err := await(c)
		if !passes[i] {
			err = refused(err)
		}
		if err != nil {
			t.Errorf("batch %d: Append() = %v", i, err)
		}
	}
}

// checkRoom runs batches at once, of which exactly room must pass.
func (f *fixture) checkRoom(t *testing.T, n, room int, batch func(i int) *store.Batch, refused func(error) error) {
	t.Helper()
	batches := make([]*store.Batch, n)
	for i := range batches {
		batches[i] = batch(i)
	}
	var passed atomic.Int64
	parallel(t, n, func(i int) error {
		if _, err := do(t.Context(), f.h[i%2], batches[i]); err != nil {
			return refused(err)
		}
		passed.Add(1)
		return nil
	})
	if got := passed.Load(); got != int64(room) {
		t.Fatalf("%d batches passed, want %d", got, room)
	}
}

// header reads a header by both handles, which must agree.
func (f *fixture) header(t *testing.T, id store.TaskID) store.Header {
	t.Helper()
	var headers [2]store.Header
	for i, h := range f.h {
		headers[i] = mustHeader(t, h, id)
	}
	same(t, headers[0], headers[1], "headers of two handles")
	return headers[0]
}

// checkLog compares the whole log as both handles read it.
func (f *fixture) checkLog(t *testing.T, id store.TaskID, want []store.Event) {
	t.Helper()
	for _, h := range f.h {
		checkEvents(t, "Read()", want, mustLog(t, h, store.System(), id, store.After(0), store.Limit{}).Events)
	}
}

// checkNothing checks that there are no due rows and no audit entries.
func (f *fixture) checkNothing(t *testing.T) {
	t.Helper()
	for _, h := range f.h {
		if due, audit := allDue(t, h), mustAudit(t, h, 0, 10); len(due)+len(audit) > 0 {
			t.Errorf("Due() = %v, Audit() = %v, want nothing", due, audit)
		}
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

// parallel runs n goroutines at once and fails the test with the errors that they return.
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

// silent checks that nothing has come.
func silent(t *testing.T, what string, wake <-chan struct{}) {
	t.Helper()
	select {
	case _, ok := <-wake:
		t.Errorf("%s: the channel gave a value: %t, want silence", what, ok)
	default:
	}
}

func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// receive waits for a value of a channel; the test fails when none comes.
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
