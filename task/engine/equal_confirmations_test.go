package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/approval"
	"a2a-server/tool"
)

// payments returns a tool that pays three times, and asks the same before each; again says how it goes on
// after one.
func payments(paid *int, again func(ctx tool.Context, done json.RawMessage) error) tool.Tool {
	return newKeeper("payer", func(ctx tool.Context, _ int) (map[string]any, error) {
		done := 0
		if r, resumed := tool.Resumed(ctx); resumed && len(r.State) > 0 {
			if err := json.Unmarshal(r.State, &done); err != nil {
				return nil, err
			}
		}
		for ; done < 3; done++ {
			if err := tool.RequestConfirmation(ctx, "Pay the next 10 to bob?", nil); err != nil {
				return nil, err
			}
			*paid++
			if err := again(ctx, json.RawMessage(fmt.Sprint(done+1))); err != nil {
				return nil, err
			}
		}
		return map[string]any{"paid": *paid}, nil
	})
}

// A decision is for the question that was asked, and for no equal one that the call asks later: after a checkpoint, a
// suspension with a state, the end of the process, or in another attempt.
func TestEqualConfirmations(t *testing.T) {
	t.Parallel()
	checkpoint := func(ctx tool.Context, done json.RawMessage) error { return tool.Checkpoint(ctx, done) }
	for name, tc := range map[string]struct {
		again  func(ctx tool.Context, done json.RawMessage) error
		second approval.DecisionType
		dies   bool
	}{
		"after a checkpoint":           {checkpoint, approval.Approve, false},
		"after a checkpoint, rejected": {checkpoint, approval.Reject, false},
		"after a suspension": {func(_ tool.Context, done json.RawMessage) error {
			return &tool.Suspension{State: done, Wake: time.Now().Add(time.Minute)}
		}, approval.Approve, false},
		"after a restart": {func(ctx tool.Context, done json.RawMessage) error {
			if err := tool.Checkpoint(ctx, done); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		}, approval.Approve, true},
		"in another attempt": {func(tool.Context, json.RawMessage) error { return tool.ErrOutcomeUnknown }, approval.Approve, false},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			paid := 0
			w.startTools(payments(&paid, tc.again))
			id := w.begin(w.calls("payer", args{}))
			for asked := 1; asked < 10; asked++ {
				synctest.Wait()
				pending := slices.DeleteFunc(w.asked(id), func(a approval.Approval) bool { return a.State != approval.Pending })
				if len(pending) == 0 {
					break
				}
				verb := approval.Approve
				if asked > 1 && pending[0].Kind == approval.KindCall {
					verb = tc.second
				}
				w.must(w.decide(bob, id, approval.Decision{ID: pending[0].ID, Type: verb}))
				synctest.Wait()
				if tc.dies && asked == 1 {
					w.restart()
				}
				time.Sleep(time.Hour)
			}
			approved := 0
			for _, a := range w.asked(id) {
				if a.State == approval.Approved && a.Kind == approval.KindCall {
					approved++
				}
			}
			if paid != approved || paid == 0 {
				t.Errorf("%d payments with %d approvals; the task is %s", paid, approved, w.get(id).Status.State)
			}
		})
	}
}

// A job that asks the same again when it is polled later is confirmed again.
func TestEqualConfirmationsOfAJob(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		orders, next := 0, 3
		p := newPrinter(func(ctx tool.Context, n int, _ json.RawMessage) (*tool.Result, json.RawMessage, error) {
			if n >= next {
				if err := tool.RequestConfirmation(ctx, "The paper is used up. Order more?", nil); err != nil {
					return nil, nil, err
				}
				orders, next = orders+1, n+3
			}
			return nil, nil, nil
		})
		p.polling = tool.Polling{First: time.Hour, Max: time.Hour, Deadline: 20 * time.Hour}
		w.startTools(p)
		id := w.print()
		confirmed := 0
		for range 16 {
			time.Sleep(time.Hour)
			synctest.Wait()
			for _, a := range w.asked(id) {
				if a.AskKind == string(tool.AskConfirm) && a.State == approval.Pending {
					w.must(w.decide(bob, id, approval.Decision{ID: a.ID, Type: approval.Approve}))
					confirmed++
				}
			}
		}
		if synctest.Wait(); orders != confirmed || orders < 2 {
			t.Errorf("%d orders with %d confirmations", orders, confirmed)
		}
	})
}
