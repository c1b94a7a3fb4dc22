package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"a2a-server/store"
)

// plainWindow is the window once more, as simply as it can be said.
type plainWindow struct {
	size int
	made []made // oldest first
}

type made struct {
	owner   store.Scope
	message store.Hash
	task    store.TaskID
	at      time.Duration
}

func (w *plainWindow) find(m store.Hash, now time.Duration) (store.TaskID, bool) {
	w.made = slices.DeleteFunc(w.made, func(c made) bool { return now-c.at >= store.WindowAge })
	for _, c := range w.made {
		if c.message == m {
			return c.task, true
		}
	}
	return store.TaskID{}, false
}

// makeRoom lets one of those with the most give up its oldest, as the other window has:
// which of several is not said.
func (w *plainWindow) makeRoom(t *testing.T, other *store.Window, now time.Duration) {
	t.Helper()
	if len(w.made) <= w.size {
		return
	}
	counts, most := map[store.Scope]int{}, 0
	for _, c := range w.made {
		counts[c.owner]++
		most = max(most, counts[c.owner])
	}
	seen := map[store.Scope]bool{}
	for i, c := range w.made {
		if counts[c.owner] != most || seen[c.owner] {
			continue
		}
		seen[c.owner] = true
		if _, known := other.Find(c.message, now); !known {
			w.made = slices.Delete(w.made, i, i+1)
			return
		}
	}
	t.Fatalf("no owner with %d creations, the most, has given up its oldest", most)
}

// TestWindow plays creations of a few owners, as time passes in steps, against the same
// window in plain words.
func TestWindow(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			plain := plainWindow{size: 1 + random.IntN(20)}
			w := store.NewWindow(plain.size)
			var now time.Duration
			var all []made
			newMade := func() made {
				c := made{store.Owner("", fmt.Sprint(random.IntN(1+random.IntN(6)))), store.Hash(store.NewTaskID()), store.NewTaskID(), now}
				all = append(all, c)
				return c
			}
			for range random.IntN(40) { // what was there when the store was opened
				c := newMade()
				w.AddOlder(c.owner, c.message, c.task, now)
				plain.made = slices.Insert(plain.made, 0, c)
				plain.makeRoom(t, w, now)
			}
			for range 200 {
				if random.IntN(10) == 0 {
					now += time.Duration(random.Int64N(int64(store.WindowAge)))
				}
				c := newMade()
				if _, known := w.Find(c.message, now); known {
					t.Fatal("a new message is known")
				}
				_, _ = plain.find(c.message, now)
				w.Add(c.owner, c.message, c.task, now)
				plain.made = append(plain.made, c)
				plain.makeRoom(t, w, now)
				if w.Len() != len(plain.made) {
					t.Fatalf("%d creations are remembered, want %d", w.Len(), len(plain.made))
				}
				for _, c := range all {
					got, known := w.Find(c.message, now)
					want, is := plain.find(c.message, now)
					if got != want || known != is {
						t.Fatalf("Find(message of %v) = %v, %t, want %v, %t", c.owner, got, known, want, is)
					}
				}
			}
		})
	}
}

// A message that is known is not taken a second time from what is older.
func TestWindowKeepsTheNewer(t *testing.T) {
	t.Parallel()
	w := store.NewWindow(3)
	m, newer, older := store.Hash{1}, store.NewTaskID(), store.NewTaskID()
	owner := store.Owner("", "alice")
	w.AddOlder(owner, m, newer, 0)
	w.AddOlder(owner, m, older, 0)
	if got, known := w.Find(m, 0); got != newer || !known || w.Len() != 1 {
		t.Errorf("Find() = %v, %t with %d creations, want %v alone", got, known, w.Len(), newer)
	}
}

func BenchmarkWindow(b *testing.B) {
	w := store.NewWindow(0)
	owners := make([]store.Scope, 1000)
	for i := range owners {
		owners[i] = store.Owner("acme", fmt.Sprint("user ", i))
	}
	for i := range store.WindowSize {
		w.Add(owners[i%len(owners)], store.Hash(store.NewTaskID()), store.TaskID{1}, 0)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m := store.Hash(store.NewTaskID())
		w.Find(m, time.Duration(i))
		w.Add(owners[i%len(owners)], m, store.TaskID{1}, time.Duration(i))
	}
}
