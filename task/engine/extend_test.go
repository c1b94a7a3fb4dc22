package engine_test

import (
	"errors"
	"strings"
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
		w := newMemory(t)
		w.cfg = engine.Config{Policy: policy(t, approval.Gate{Tool: "transfer", Terms: approval.Terms{Expires: time.Hour}})}
		w.start()
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

// An approval is extended a bounded number of times, and not at the cost of the room for its
// decision and its result.
func TestExtensionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newMemory(t)
		w.cfg = engine.Config{Policy: policy(t, approval.Gate{Tool: "transfer", Terms: approval.Terms{Expires: time.Hour}})}
		w.start()
		w.ask(alice, 1)
		list, one := w.engine.Approvals(), w.inbox(alice, 0)[0]
		var wrong *approval.Error
		for n := 1; ; n++ {
			err := list.Extend(w.ctx(), alice, one.ID, one.Digest, one.Deadline.Add(time.Duration(n)*time.Minute))
			if n <= task.MaxExtensions && err == nil {
				continue
			}
			if n != task.MaxExtensions+1 || !errors.As(err, &wrong) || wrong.Reason != approval.ReasonNotAllowed {
				t.Fatalf("extension %d: %v", n, err)
			}
			break
		}
		if err := list.Decide(w.ctx(), alice, approval.Answer{ID: one.ID, Verb: approval.Approve, Digest: one.Digest}); err != nil {
			t.Error(err)
		}
	})
	w := newMemory(t)
	w.cfg = engine.Config{
		Policy: policy(t, approval.Gate{Tool: "transfer", Terms: approval.Terms{Expires: time.Hour}}), Limits: task.Limits{Task: 6 << 20},
	}
	w.start()
	sent := w.send(w.calls("transfer", args{"amount": 1, "to": strings.Repeat("x", 120<<10)}))
	id := w.pending(sent)[0]
	list := w.engine.Approvals()
	one, err := list.Get(w.ctx(), alice, id)
	if err != nil {
		t.Fatal(err)
	}
	var invalid *task.InvalidError
	for n := 1; n <= task.MaxExtensions; n++ {
		if err = list.Extend(w.ctx(), alice, id, one.Digest, one.Deadline.Add(time.Duration(n)*time.Minute)); err != nil {
			break
		}
	}
	if !errors.As(err, &invalid) || invalid.Field != "until" {
		t.Errorf("extensions beyond the room of the log: %v", err)
	}
	w.wantState(w.send(w.decision(sent.ID, approve(id))), a2a.TaskStateCompleted)
}
