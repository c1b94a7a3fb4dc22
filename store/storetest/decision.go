package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"a2a-server/store"
)

func decisionCases() []testCase {
	return []testCase{
		{"one of two wins", func(t *testing.T, f *fixture) { testOneDecisionWins(t, f, 2) }},
		{"one of fifty wins", func(t *testing.T, f *fixture) { testOneDecisionWins(t, f, 50) }},
		{"one of fifty wins with the rev read again", testOneRetriedDecisionWins},
		{"one of fifty wins in one queue", testOneQueuedDecisionWins},
		{"one of fifty puts a row of a scope", testOneScopeRowWins},
	}
}

// pendingTask is a parked task with one row that waits for its decision.
func pendingTask() *store.Batch {
	b := createIn(store.Parked, alice(), public("asked"))
	b.Rows = []store.RowChange{put("approval", "call", 0, "pending", indexed("pending", "alice"))}
	b.Due = []store.DueChange{dueAt(5000, "call", "deadline")}
	return b
}

// decision resumes the task: row, event, status, due and audit together.
func decision(id store.TaskID, rev uint64, who int) *store.Batch {
	b := change(id, rev, private("decided by %d", who))
	b.Change = store.Change{Status: status(2, 2000), Phase: store.Live, TakeFence: true}
	b.Rows = []store.RowChange{put("approval", "call", 1, fmt.Sprint(who))}
	b.Due = []store.DueChange{dueGone(5000, "call")}
	b.Audit = [][]byte{fmt.Append(nil, who)}
	return b
}

// checkDecided checks that the whole of one decision is there, and nothing of
// another.
func (f *fixture) checkDecided(t *testing.T, id store.TaskID, winner int64) {
	t.Helper()
	who := fmt.Sprint(winner)
	f.checkRows(t, alice(), store.RowQuery{Kind: "approval", Task: id}, row(id, "approval", "call", 2, who))
	f.checkRows(t, alice(), store.RowQuery{Kind: "approval", Index: "pending"})
	var decided []string
	view, err := readLog(t.Context(), f.h[0], alice(), id, store.After(1), store.Limit{})
	if err != nil {
		t.Fatalf("Read() = %v, want nil", err)
	}
	for _, e := range view.Events {
		if e.Kind == private("").Kind {
			decided = append(decided, string(e.Data))
		}
	}
	if d := diff([]string{"decided by " + who}, decided); d != "" {
		t.Errorf("decisions in the log (-want +got)\n%s", d)
	}
	want := []store.AuditEntry{{N: 1, Task: id, Data: []byte(who)}}
	if d := diff(want, mustAudit(t, f.h[1], 0, 100)); d != "" {
		t.Errorf("Audit() (-want +got)\n%s", d)
	}
	if header := f.header(t, id); header.Due != 0 || header.Fence != 2 || header.Phase != store.Live {
		t.Errorf("header = %+v, want no due rows, fence 2, live", header)
	}
}

func testOneDecisionWins(t *testing.T, f *fixture, n int) {
	b := pendingTask()
	f.append(t, b)
	var winner atomic.Int64
	var wins atomic.Int32
	parallel(t, n, func(i int) error {
		_, err := do(t.Context(), f.h[i%2], decision(b.Task, 1, i))
		switch {
		case err == nil:
			wins.Add(1)
			winner.Store(int64(i))
		case !errors.Is(err, store.ErrConflict):
			return fmt.Errorf("Append() = %w, want nil or %w", err, store.ErrConflict)
		}
		return nil
	})
	if wins.Load() != 1 {
		t.Fatalf("%d decisions won, want 1", wins.Load())
	}
	f.checkDecided(t, b.Task, winner.Load())
}

// Here rev does not decide: every loser reads it again, and half of the
// goroutines move it. The rev of the row does.
func testOneRetriedDecisionWins(t *testing.T, f *fixture) {
	b := pendingTask()
	f.append(t, b)
	var winner atomic.Int64
	var wins atomic.Int32
	parallel(t, 50, func(i int) error {
		h := f.h[i%2]
		for tries := 0; ; tries++ {
			header, err := readHeader(t.Context(), h, b.Task)
			if err != nil {
				return err
			}
			if i%3 == 0 && tries == 0 {
				if _, err := do(t.Context(), h, change(b.Task, header.Rev, public("beside"))); err != nil && !errors.Is(err, store.ErrConflict) {
					return fmt.Errorf("Append() = %w, want nil or %w", err, store.ErrConflict)
				}
				continue
			}
			_, err = do(t.Context(), h, decision(b.Task, header.Rev, i))
			if err == nil {
				wins.Add(1)
				winner.Store(int64(i))
				return nil
			}
			if !errors.Is(err, store.ErrConflict) {
				return fmt.Errorf("Append() = %w, want nil or %w", err, store.ErrConflict)
			}
			rows, err := rowsAll(t.Context(), h, alice(), store.RowQuery{Kind: "approval", Task: b.Task})
			if err != nil {
				return err
			}
			// Continue for a while when it has been decided, as one that read the row
			// long ago would.
			if rows[0].Rev != 1 && tries > 5 {
				return nil
			}
		}
	})
	if wins.Load() != 1 {
		t.Fatalf("%d decisions won, want 1", wins.Load())
	}
	f.checkDecided(t, b.Task, winner.Load())
}

// All are in one queue and in a chain of right revs, so that only the row can
// refuse them.
func testOneQueuedDecisionWins(t *testing.T, f *fixture) {
	b := pendingTask()
	f.append(t, b)
	commits := make([]*store.Commit, 50)
	for i := range commits {
		// The first makes rev 2; for those after it 2 is the correct one.
		commits[i] = f.h[i%2].Append(t.Context(), decision(b.Task, uint64(min(i, 1))+1, i))
	}
	for i, c := range commits {
		want := error(nil)
		if i > 0 {
			want = store.ErrConflict
		}
		if _, err := await(c); !errors.Is(err, want) {
			t.Errorf("batch %d: Append() = %v, want %v", i, err, want)
		}
	}
	f.checkDecided(t, b.Task, 0)
}

func testOneScopeRowWins(t *testing.T, f *fixture) {
	var wins [3]atomic.Int32
	for round, ifRev := range []uint64{0, 1, 2} {
		parallel(t, 50, func(i int) error {
			owner := owners()[i/2%2]
			_, err := do(t.Context(), f.h[i%2], scopeRows(owner, put("grant", "same key", ifRev, fmt.Sprint(i))))
			switch {
			case err == nil:
				wins[round].Add(1)
			case !errors.Is(err, store.ErrConflict):
				return fmt.Errorf("Append() = %w, want nil or %w", err, store.ErrConflict)
			}
			return nil
		})
		// Two owners, who do not meet.
		if got := wins[round].Load(); got != 2 {
			t.Errorf("IfRev %d: %d writers won, want 2", ifRev, got)
		}
	}
}
