package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// An extended approval expires at its new deadline and not before, and the task tells its
// client the new one. Only a later deadline is accepted, from whoever may decide, for what was
// shown.
func TestExtend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := onMemory(t, engine.Config{Policy: policy(t, approval.Gate{Tool: "transfer", Terms: approval.Terms{Expires: time.Hour}})})
		id := w.ask(alice, 1)
		list := w.engine.Approvals()
		one := w.inbox(alice, 0)[0]
		begun := one.Deadline.Add(-time.Hour)
		until := begun.Add(3 * time.Hour)
		var wrong *approval.Error
		var invalid *task.InvalidError
		if err := list.Extend(w.ctx(), alice, one.ID, "another", until); !errors.As(err, &wrong) || wrong.Reason != approval.ReasonChanged {
			t.Errorf("another digest: %v", err)
		}
		if err := list.Extend(w.ctx(), carol, one.ID, one.Digest, until); !errors.As(err, &wrong) || wrong.Reason != approval.ReasonUnknown {
			t.Errorf("somebody else: %v", err)
		}
		for name, until := range map[string]time.Time{"the same": *one.Deadline, "an earlier one": begun, "a far one": begun.Add(task.MaxExtension + time.Hour)} {
			if err := list.Extend(w.ctx(), alice, one.ID, one.Digest, until); !errors.As(err, &invalid) || invalid.Field != "until" {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := list.Extend(w.ctx(), alice, one.ID, one.Digest, until); err != nil {
			t.Fatal(err)
		}
		now, err := list.Get(w.ctx(), alice, one.ID)
		if err != nil || !now.Deadline.Equal(until) || now.Digest != one.Digest {
			t.Errorf("Get() = deadline %v of %s, %v; want %v of %s", now.Deadline, now.Digest, err, until, one.Digest)
		}
		time.Sleep(2 * time.Hour) // of the bubble
		synctest.Wait()
		w.wantState(w.get(id), a2a.TaskStateInputRequired)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		w.wantState(w.get(id), a2a.TaskStateCanceled)
		if err := list.Extend(w.ctx(), alice, one.ID, one.Digest, until.Add(time.Hour)); !errors.As(err, &wrong) && !errors.Is(err, task.ErrTaskNotFound) {
			t.Errorf("an expired approval was extended: %v", err)
		}
	})
}
