package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/tool"
)

// A task that waits for its turn says so after a second, once, in the state that it has.
func TestTaskSaysThatItWaits(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(1, 1)
		w.start()
		w.takeTheTurn()
		id := w.begun(alice, w.calls("echo", args{}))
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		before := w.get(id)
		w.wantState(before, a2a.TaskStateSubmitted)
		if s := statusText(before); s != "" {
			t.Errorf("too early the status says %q", s)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		got := w.get(id)
		w.wantState(got, a2a.TaskStateSubmitted)
		if s := statusText(got); !strings.Contains(s, "waits for its turn") {
			t.Errorf("the status says %q", s)
		}
		if h := w.header(id); h.Pub != 2 {
			t.Errorf("the task has %d public events, want that it has said it once", h.Pub)
		}
		if l := w.engine.Load(); l.Announced != 1 || l.Waiting != 1 || l.Turns != 5 || l.Long < 4 {
			t.Errorf("Load() = %+v", l)
		}
		w.tools.release()
		synctest.Wait()
		got = w.get(id)
		w.wantState(got, a2a.TaskStateCompleted)
	})
}

// One that was at work before says that it waits, and is working.
func TestResumedTaskSaysThatItWaits(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = patient(1, 1)
		w.tools.extra = []tool.Tool{dozer(time.Now().Add(time.Minute))}
		w.start()
		id := w.begun(alice, w.calls("doze", args{}))
		w.takeTheTurn()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		got := w.get(id)
		w.wantState(got, a2a.TaskStateWorking)
		if s := statusText(got); !strings.Contains(s, "waits for its turn") {
			t.Errorf("the status says %q", s)
		}
		w.tools.release()
		synctest.Wait()
		w.wantState(w.get(id), a2a.TaskStateCompleted)
	})
}
