package notify_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"a2a-server/store"
	"a2a-server/task/notify"
)

// mortal is a handle whose process can die: from then on it writes nothing.
type mortal struct {
	store.Handle
	dead   atomic.Bool
	writes atomic.Int64
	fatal  int64 // the write after which it dies; 0: none
	before bool  // it dies before the write instead
}

func (m *mortal) Append(ctx context.Context, b *store.Batch) *store.Commit {
	n := m.writes.Add(1)
	if m.dead.Load() || m.before && n == m.fatal {
		m.dead.Store(true)
		return store.Answered(store.Receipt{}, store.ErrClosed)
	}
	c := m.Handle.Append(ctx, b)
	if n == m.fatal {
		_, _ = c.Wait()
		m.dead.Store(true)
		return store.Answered(store.Receipt{}, store.ErrClosed)
	}
	return c
}

// killed runs the pump until its process dies at a write, or at the n-th pass of a point, within
// little more than an hour. It returns false if it did not die.
func (w *world) killed(m *mortal, point string, n int) bool {
	w.t.Helper()
	passed := 0
	w.config = func(c *notify.Config) {
		c.Store = m
		c.CrashPoint = func(at string) {
			if at != point {
				return
			}
			if passed++; passed == n {
				m.dead.Store(true)
			}
		}
	}
	stop := w.startPump()
	if w.pass(time.Minute); !m.dead.Load() { // else it starts again in the same hour
		w.pass(time.Hour)
	}
	stop()
	w.config = nil
	return m.dead.Load()
}

// A process that dies at any point, or before or after any write, loses no message, and counts
// each in one summary: 25 approvals are 20 messages and a summary of 5. A message in flight may
// be sent twice, with one id.
func TestCrash(t *testing.T) {
	type death struct {
		point  string
		n      int
		write  int64
		before bool
	}
	var deaths []death
	for _, n := range []int{1, 2, 20, 21} { // the 21st is the summary
		deaths = append(deaths, death{point: notify.PointSent, n: n})
	}
	deaths = append(deaths, death{point: notify.PointCounted, n: 1})
	for _, write := range []int64{1, 2, 3, 4, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50} { // 1: the claim; 2 for each message; from 42 on the summary
		deaths = append(deaths, death{write: write}, death{write: write, before: true})
	}
	for _, d := range deaths {
		t.Run(fmt.Sprintf("%s %d write %d before=%v", d.point, d.n, d.write, d.before), func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				r := &receiver{}
				w.startEngine(asked("r", r))
				want := map[string]bool{}
				for range 25 {
					want[w.ask("mail")] = true
				}
				m := &mortal{Handle: w.handle, fatal: d.write, before: d.before}
				if died := w.killed(m, d.point, d.n); !died && d.write < 49 {
					t.Fatal("the process did not die")
				}
				w.startPump()
				w.pass(2 * time.Hour)
				ids, approvals, summaries := map[string]int{}, map[string]bool{}, map[string]int{}
				for _, m := range r.messages() {
					ids[m.ID]++
					if m.Event == notify.EventSummary {
						summaries[m.ID] = m.Count
						continue
					}
					approvals[m.Approval] = true
				}
				repeated := 0
				for id, n := range ids {
					if repeated += n - 1; n > 2 {
						t.Errorf("%s was sent %d times", id, n)
					}
				}
				counted := 0
				for _, n := range summaries {
					counted += n
				}
				if len(approvals) != 20 || len(summaries) != 1 || counted != 5 || repeated > 1 {
					t.Errorf("%d approvals, summaries %v, %d repeated; want 20, one of 5, at most 1", len(approvals), summaries, repeated)
				}
				if left := w.rows(); len(left) != 0 {
					t.Errorf("rows are left: %+v", left)
				}
			})
		})
	}
}

// The youngest instance sends; an older instance leaves the routes alone.
func TestOlderInstance(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		old, young := &receiver{}, &receiver{}
		w.start(asked("r", old))
		w.ask("mail")
		w.pass(time.Minute)
		if len(old.messages()) != 1 {
			t.Fatalf("%d messages, want 1", len(old.messages()))
		}
		handle := must(w.open())
		p := notify.New(notify.Config{Store: handle, Log: w.log}, []notify.Route{asked("r", young)})
		w.background(p.Run)
		w.pass(2 * time.Minute)
		w.ask("mail")
		w.pass(5 * time.Minute)
		if len(old.messages()) != 1 || len(young.messages()) != 1 {
			t.Errorf("the older instance has sent %d and the younger %d, want 1 and 1", len(old.messages()), len(young.messages()))
		}
	})
}
