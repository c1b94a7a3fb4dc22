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
	"a2a-server/task/engine"
)

// backlogs is a store with a backlog that takes a time to count, and counts how often that is done.
type backlogs struct {
	store.Handle
	reads int
	slow  time.Duration
	err   error
}

func (b *backlogs) count(ctx context.Context, limit int) (engine.Backlog, error) {
	time.Sleep(b.slow) // of the clock of synctest
	b.reads++
	if limit != metrics.MaxFigure {
		return engine.Backlog{}, fmt.Errorf("%d rows are counted", limit)
	}
	return engine.Backlog{Pending: 3, Oldest: time.Unix(1, 0), Webhooks: 2, Notifications: 7}, errors.Join(b.err, ctx.Err())
}

func (*backlogs) States(context.Context) (store.States, error) {
	return store.States{task.StateWorking: 8}, nil
}

// none have failed.
func none(context.Context) (messages, summaries int, err error) { return 0, 0, nil }

// Reading the figures takes a small part of the time.
func TestFigures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &backlogs{slow: 3 * time.Second}
		s := &metrics.Survey{Store: p, Backlog: p.count, Damaged: func() int { return 7 }, Failed: none, Now: time.Now, Limit: 9, Usage: func(context.Context) (used, free uint64, known bool, err error) { return 5, 6, true, nil }}
		got, err := s.Figures(t.Context())
		if !got.Counted || got.States[task.StateWorking] != 8 || got.Webhooks != 2 || got.Notifications != 7 {
			t.Errorf("Figures() = %+v, want 8 tasks at work, 2 webhooks and 7 notifications", got)
		}
		if err != nil || got.Pending != 3 || got.Oldest.Unix() != 1 || got.Damaged != 7 || got.Used != 5 || got.Limit != 9 || got.Free != 6 {
			t.Errorf("Figures() = %+v, %v", got, err)
		}
		time.Sleep(59 * time.Second) // reading took 3 s
		if _, _ = s.Figures(t.Context()); p.reads != 1 {
			t.Errorf("the backlog was counted %d times, want the figures that are there", p.reads)
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
		if p.reads != 2 {
			t.Errorf("the backlog was counted %d times, want 2", p.reads)
		}
	})
}

// A caller that leaves, or a store that cannot be read, leaves no figures, and the next caller
// reads them.
func TestFiguresFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &backlogs{slow: time.Second, err: store.ErrUnavailable}
		s := &metrics.Survey{Store: p, Backlog: p.count, Damaged: func() int { return 0 }, Failed: none, Now: time.Now}
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
		if got := <-waits; got != 3 {
			t.Errorf("the caller who waited got %d pending approvals, want 3", got)
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
