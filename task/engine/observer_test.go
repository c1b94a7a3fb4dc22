package engine_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task/engine"
	"a2a-server/task/internal/rules"
)

// An observer is told of an approval and its call in their order, and one that panics harms
// neither the task nor the other observers.
func TestObserver(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var told []string
		add := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, what)
		}
		note := func(what string) func(*rules.Audited) {
			return func(a *rules.Audited) { add(what + " " + a.Tool) }
		}
		committed := 0
		w.cfg.Observers = []engine.Observer{
			{Asked: func(*rules.Audited) { panic("an observer") }, Committed: func(engine.ID) { panic("an observer") }},
			{
				Asked: note("asked"), Decided: note("decided"), Started: note("started"), Ended: note("ended"),
				Committed: func(engine.ID) { mu.Lock(); defer mu.Unlock(); committed++ },
			},
		}
		w.start()
		got := w.send(w.calls("transfer", args{"amount": 100, "to": "bob"}))
		done := w.send(w.decision(got.ID, approve(w.pending(got)[0])))
		w.wantState(done, a2a.TaskStateCompleted)
		mu.Lock()
		defer mu.Unlock()
		if want := []string{"asked transfer", "decided transfer", "started transfer", "ended transfer"}; !slices.Equal(told, want) {
			t.Errorf("told = %v, want %v", told, want)
		}
		if committed < 3 {
			t.Errorf("committed = %d, want at least the task, its decision and its end", committed)
		}
	})
}
