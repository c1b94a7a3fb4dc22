package engine_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// Finding E16: messages that come at once make no more tasks of one context wait than
// Limits.Parked says.
func TestParkedTasksAreBounded(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		const limit, messages = 20, 200
		w.cfg.Limits.Parked = limit
		w.start()
		all := make([]*a2a.Message, messages)
		for i := range all {
			all[i] = w.calls("transfer", args{"amount": 1, "to": "x"})
			all[i].ContextID = "crowded"
		}
		begin := make(chan struct{})
		var group sync.WaitGroup
		sents, errs := make([]*engine.Sent, messages), make([]error, messages)
		for i, m := range all {
			group.Go(func() {
				<-begin
				sents[i], errs[i] = w.engine.Send(w.ctx(), engine.Send{By: alice, Message: m})
			})
		}
		close(begin)
		group.Wait()
		var taken []*engine.Sent
		var again *a2a.Message
		for i, err := range errs {
			if err == nil {
				taken, again = append(taken, sents[i]), all[i]
				continue
			}
			if wrong, ok := errors.AsType[*task.InvalidError](err); !ok || wrong.Field != "message.contextId" {
				t.Fatalf("Send() = %v, want an InvalidError about message.contextId", err)
			}
		}
		if len(taken) != limit {
			t.Fatalf("%d tasks were made, want %d", len(taken), limit)
		}
		for _, sent := range taken {
			w.wantState(w.await(sent), a2a.TaskStateInputRequired)
		}
		// What was sent before has its answer; another caller, and another context, their
		// room; and so has this one, when one of its tasks has ended.
		if sent, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: again}); err != nil || !sent.Duplicate {
			t.Errorf("a message that was sent before = %+v, %v, want the task that it made", sent, err)
		}
		one := func(by auth.Principal, contextID string) error {
			m := w.calls("transfer", args{"amount": 1, "to": "x"})
			m.ContextID = contextID
			_, err := w.engine.Send(w.ctx(), engine.Send{By: by, Message: m})
			return err
		}
		if err := errors.Join(one(bob, "crowded"), one(alice, "empty")); err != nil {
			t.Errorf("messages to contexts with room: %v", err)
		}
		if err := w.engine.Cancel(w.ctx(), alice, taken[0].Task); err != nil {
			t.Fatal(err)
		}
		if err := one(alice, "crowded"); err != nil {
			t.Errorf("a message after a task of its context has ended = %v, want nil", err)
		}
		if err := one(alice, "crowded"); err == nil {
			t.Errorf("a message beyond %d tasks that wait = nil, want an error", limit)
		}
	})
}
