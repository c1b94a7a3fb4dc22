package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"a2a-server/store"
)

// pendingTask is a parked task with a row that waits for its decision.
func pendingTask() *store.Batch {
	return with(createIn(store.Parked, alice(), public("asked")), put("kind", "call", 0, "pending", indexed("index", "alice")), dueAt(5000, "call", "deadline"))
}

// decision resumes the task: row, event, status, due and audit together.
func decision(id store.TaskID, rev uint64, who int) *store.Batch {
	return with(change(id, rev, private("%d", who)), store.Change{Status: status(2, 2000), Phase: store.Live, TakeFence: true},
		put("kind", "call", 1, fmt.Sprint(who)), dueGone(5000, "call"), fmt.Sprint(who))
}

// checkDecided checks that the whole of a single decision is there, and nothing of another.
func (f *fixture) checkDecided(t *testing.T, id store.TaskID, winner int) {
	t.Helper()
	who := fmt.Sprint(winner)
	f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: id}, row(id, "kind", "call", 2, who))
	f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Index: "index"})
	same(t, []string{who}, privateTexts(mustLog(t, f.h[0], alice(), id, store.After(0), store.Limit{}).Events), "decisions in the log")
	same(t, []store.AuditEntry{{N: 1, Task: id, Data: []byte(who)}}, mustAudit(t, f.h[1], 0, 100), "Audit()")
	if h := f.header(t, id); h.Due != 0 || h.Fence != 2 || h.Phase != store.Live {
		t.Errorf("header = %+v, want no due rows, fence 2, live", h)
	}
}

func conflict(err error) error {
	if !errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("Append() = %s, want %w", said(err), store.ErrConflict)
	}
	return nil
}

// Here rev does not decide: every loser reads it again, and a third of the
// goroutines move it. The rev of the row does.
func testOneRetriedDecisionWins(t *testing.T, f *fixture) {
	b := pendingTask()
	f.append(t, b)
	var winner, wins atomic.Int64
	parallel(t, 50, func(i int) error {
		h := f.h[i%2]
		for tries := 0; ; tries++ {
			header, err := readHeader(t.Context(), h, b.Task)
			if err != nil {
				return err
			}
			if i%3 == 0 && tries == 0 {
				if _, err := do(t.Context(), h, change(b.Task, header.Rev, public("beside"))); err != nil && !errors.Is(err, store.ErrConflict) {
					return err
				}
				continue
			}
			if _, err = do(t.Context(), h, decision(b.Task, header.Rev, i)); err == nil {
				wins.Add(1)
				winner.Store(int64(i))
				return nil
			}
			if err := conflict(err); err != nil {
				return err
			}
			rows, err := rowsAll(t.Context(), h, alice(), store.RowQuery{Kind: "kind", Task: b.Task})
			// Continue for a while after the decision, like a caller that read the row long
			// ago.
			if err != nil || rows[0].Rev != 1 && tries > 5 {
				return err
			}
		}
	})
	if wins.Load() != 1 {
		t.Fatalf("%d decisions won, want 1", wins.Load())
	}
	f.checkDecided(t, b.Task, int(winner.Load()))
}

// All are in one queue and in a chain of right revs, so that only the row can refuse them.
func testOneQueuedDecisionWins(t *testing.T, f *fixture) {
	b := pendingTask()
	f.append(t, b)
	commits, passes := make([]*store.Commit, 50), make([]bool, 50)
	for i := range commits {
		// The first makes rev 2, which is correct for all later batches.
		commits[i], passes[i] = f.h[i%2].Append(t.Context(), decision(b.Task, uint64(min(i, 1))+1, i)), i == 0
	}
	checkCommits(t, commits, passes, conflict)
	f.checkDecided(t, b.Task, 0)
}

// Two owners use the same key, and do not meet.
func testOneScopeRowWins(t *testing.T, f *fixture) {
	for _, ifRev := range []uint64{0, 1, 2} {
		f.checkRoom(t, 50, 2, func(i int) *store.Batch {
			return scopeRows(owners()[i/2%2], put("kind", "same key", ifRev, fmt.Sprint(i)))
		}, conflict)
	}
}
