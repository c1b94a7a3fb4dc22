package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/internal/metrics"
	"a2a-server/store"
	"a2a-server/store/memstore"
	"a2a-server/task"
)

// pages is a store with pending approvals, one for each page, that counts who reads them.
type pages struct {
	store.Handle
	asked []string
	reads int
	slow  time.Duration
	err   error
}

func (p *pages) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
	if s != store.System() {
		return store.RowPage{}, errors.New("another scope")
	}
	if q.Index != task.IndexPending {
		return store.RowPage{Rows: make([]store.Row, map[string]int{task.IndexReady: 2, task.IndexNew: 3, task.IndexRetry: 4}[q.Index])}, nil
	}
	time.Sleep(p.slow) // of the clock of synctest
	p.reads++
	if p.err != nil || ctx.Err() != nil {
		return store.RowPage{}, errors.Join(p.err, ctx.Err())
	}
	if !q.Keys {
		return store.RowPage{}, errors.New("the values of the rows are read")
	}
	i := len(q.Cursor)
	asked, err := time.Parse(time.RFC3339, p.asked[i])
	if err != nil {
		return store.RowPage{}, err
	}
	page := store.RowPage{Rows: []store.Row{{IndexKey: fmt.Appendf(task.PendingPrefix("acme"), "%016x", store.MillisOf(asked))}}}
	if i+1 < len(p.asked) {
		page.Next = q.Cursor + "."
	}
	return page, nil
}

func (*pages) States(context.Context) (store.States, error) {
	return store.States{task.StateWorking: 8}, nil
}

// none have failed.
func none(context.Context) (messages, summaries int, err error) { return 0, 0, nil }

// The figures have every pending approval, and reading them takes a small part of the time.
func TestFigures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pages{asked: []string{"2000-01-01T00:00:02Z", "2000-01-01T00:00:01Z", "2000-01-01T00:00:03Z"}, slow: time.Second}
		s := &metrics.Survey{Store: p, Damaged: func() int { return 7 }, Failed: none, Now: time.Now, Limit: 9, Usage: func(context.Context) (used, free uint64, known bool, err error) { return 5, 6, true, nil }}
		got, err := s.Figures(t.Context())
		if !got.Counted || got.States[task.StateWorking] != 8 || got.Webhooks != 2 || got.Notifications != 7 {
			t.Errorf("Figures() = %+v, want 8 tasks at work, 2 webhooks and 7 notifications", got)
		}
		if err != nil || got.Pending != 3 || got.Oldest.Second() != 1 || got.Damaged != 7 || got.Used != 5 || got.Limit != 9 || got.Free != 6 {
			t.Errorf("Figures() = %+v, %v", got, err)
		}
		time.Sleep(59 * time.Second) // reading took 3 s
		if _, _ = s.Figures(t.Context()); p.reads != 3 {
			t.Errorf("%d pages were read, want the figures that are there", p.reads)
		}
		time.Sleep(time.Second)
		go func() { _, _ = s.Figures(t.Context()) }()
		time.Sleep(time.Millisecond)
		began := time.Now()
		if got, err := s.Figures(t.Context()); err != nil || got.Pending != 3 || time.Since(began) > 0 {
			t.Errorf("while they are read, Figures() = %+v, %v after %v, want the older figures at once", got, err, time.Since(began))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if p.reads != 6 {
			t.Errorf("%d pages were read, want 6", p.reads)
		}
	})
}

// A caller that leaves, or a store that cannot be read, leaves no figures, and the next caller
// reads them.
func TestFiguresFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &pages{asked: []string{"2000-01-01T00:00:02Z"}, slow: time.Second, err: store.ErrUnavailable}
		s := &metrics.Survey{Store: p, Damaged: func() int { return 0 }, Failed: none, Now: time.Now}
		if _, err := s.Figures(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("error = %v", err)
		}
		p.err = nil
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := s.Figures(ctx)
			failed <- err
		}()
		synctest.Wait()
		waits := make(chan int, 1)
		go func() { // waits, because there are no older figures
			got, _ := s.Figures(t.Context())
			waits <- got.Pending
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v", err)
		}
		if got := <-waits; got != 1 {
			t.Errorf("the caller who waited got %d pending approvals, want 1", got)
		}
	})
}

// broken is a store with damaged tasks.
type broken struct{ store.Handle }

func (broken) Read(context.Context, store.Scope, store.TaskID, store.From, store.Limit) (store.LogPage, error) {
	return store.LogPage{}, store.ErrDataLoss
}

func (broken) Delete(context.Context, store.Scope, store.TaskID, []byte) error { return nil }

// Each damaged task that is met counts once, until it is deleted, and at most 1,000 do.
func TestDamaged(t *testing.T) {
	t.Parallel()
	h, err := memstore.New().Handle()
	if err != nil {
		t.Fatal(err)
	}
	w := metrics.Watch(broken{h}, nothing)
	first := store.NewTaskID()
	read := func(id store.TaskID) {
		t.Helper()
		if _, err := w.Read(t.Context(), store.System(), id, store.AtSnapshot(), store.Limit{}); !errors.Is(err, store.ErrDataLoss) {
			t.Errorf("Read() = %v", err)
		}
	}
	read(first)
	read(first)
	if got := w.Damaged(); got != 1 {
		t.Errorf("Damaged() = %d, want 1", got)
	}
	if err := w.Delete(t.Context(), store.System(), first, nil); err != nil || w.Damaged() != 0 {
		t.Errorf("after Delete(), %v, Damaged() = %d", err, w.Damaged())
	}
	for range 1100 {
		read(store.NewTaskID())
	}
	if got := w.Damaged(); got != 1000 {
		t.Errorf("Damaged() = %d, want 1000", got)
	}
}
