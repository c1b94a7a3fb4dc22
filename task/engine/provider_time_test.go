package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/tool"
)

// The provider's question ends at once when somebody else decides, or the task ends; and
// the client is asked when the provider fails, or is silent for its time.
func TestProviderHasItsTime(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fails bool
		do    func(w *world, id a2a.TaskID) error
		ends  bool // the provider's context
		want  a2a.TaskState
	}{
		"decided": {do: func(w *world, id a2a.TaskID) error {
			return w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve})
		}, ends: true, want: a2a.TaskStateCompleted},
		"canceled": {do: func(w *world, id a2a.TaskID) error { return w.engine.Cancel(w.ctx(), alice, mustID(id)) }, ends: true, want: a2a.TaskStateCanceled},
		"silent": {do: func(*world, a2a.TaskID) error {
			time.Sleep(time.Minute)
			return nil
		}, want: a2a.TaskStateInputRequired},
		"fails": {fails: true, want: a2a.TaskStateInputRequired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMemory(t, func(t *testing.T, w *world) {
				ended := false
				w.cfg.ProviderWait = time.Minute
				w.cfg.Provider = func(ctx context.Context, _ tool.ConfirmationRequest) (bool, error) {
					if tc.fails {
						return true, errors.New("no answer")
					}
					<-ctx.Done()
					ended = true
					return false, context.Cause(ctx)
				}
				w.start()
				id := w.begin(w.calls("transfer", args{"amount": 1, "to": "x"}))
				synctest.Wait()
				if !tc.fails {
					w.wantState(w.get(id), a2a.TaskStateWorking)
				}
				if tc.do != nil {
					if err := tc.do(w, id); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				w.wantState(w.get(id), tc.want)
				if ended != tc.ends {
					t.Errorf("the provider's question has ended: %t, want %t", ended, tc.ends)
				}
			})
		})
	}
}
