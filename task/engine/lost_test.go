package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
)

// moody is a handle that refuses some batches for a reason of its own.
type moody struct {
	store.Handle
	refuse func(*store.Batch) bool
}

var errMood = errors.New("not now")

func (m *moody) Append(ctx context.Context, b *store.Batch) *store.Commit {
	if m.refuse(b) {
		return store.Failed(errMood)
	}
	return m.Handle.Append(ctx, b)
}

// A task whose turn cannot continue is not at work forever: it is tried again. What has
// run meanwhile is not run again by itself.
func TestAbandonedTurnIsTriedAgain(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		var left atomic.Int32
		left.Store(3)
		w.stop()
		w.wrap = func(h store.Handle) store.Handle {
			return &moody{h, func(b *store.Batch) bool { return b.Fence != nil && left.Add(-1) >= 0 }}
		}
		w.restart()
		id := w.begin(w.calls("echo", args{"a": 1}))
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		asks := w.begin(w.calls("write", args{"amount": 1, "to": "x"}))
		w.wantState(w.ended(asks), a2a.TaskStateCompleted)
		left.Store(1)
		lost := w.begin(w.calls("write", args{"amount": 2, "to": "x"}))
		got := w.settled(lost, a2a.TaskStateInputRequired)
		if a := w.onlyOne(got.ID); a.Kind != "outcome" {
			t.Errorf("what is asked is the %s, want the outcome of the call whose result could not be written", a.Kind)
		}
		if n := w.tools.count("write"); n != 2 {
			t.Errorf("write ran %d times, want 2", n)
		}
	})
}
