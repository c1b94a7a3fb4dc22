package engine_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// What a person says with a decision reaches the planner and the hooks in a field of its own,
// with the decision, also when the server was restarted in between and somebody else said
// nothing when approving an edit again.
func TestPlannerIsToldWhatWasDecided(t *testing.T) {
	t.Parallel()
	yes := approval.Answer{Verb: approval.Approve}
	edit := approval.Answer{Verb: approval.Edit, Args: []byte(`{"amount":1}`), Reason: "one is enough"}
	for name, tc := range map[string]struct {
		answers []approval.Answer
		verb    approval.Verb
		note    string
		outcome task.Outcome
		amount  float64
	}{
		"approved":                {[]approval.Answer{{Verb: approval.Approve, Reason: "only this once"}}, approval.Approve, "only this once", task.OutcomeOK, 250},
		"approved in silence":     {[]approval.Answer{yes}, approval.Approve, "", task.OutcomeOK, 250},
		"edited":                  {[]approval.Answer{edit}, approval.Edit, "one is enough", task.OutcomeOK, 1},
		"edited for another gate": {[]approval.Answer{{Verb: approval.Edit, Args: []byte(`{"amount":9000}`), Reason: "rather all"}, yes}, approval.Edit, "rather all", task.OutcomeOK, 9000},
		"rejected":                {[]approval.Answer{{Verb: approval.Reject, Reason: "not \u202eto bob"}}, approval.Reject, `not \u202eto bob`, task.OutcomeRejected, 250},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDisk(t, func(t *testing.T, w *world) {
				pay := newKeeper("pay", func(ctx tool.Context, n int) (map[string]any, error) {
					if n == 1 {
						return nil, &tool.Suspension{Wake: time.Now().Add(time.Hour)}
					}
					return map[string]any{"paid": true}, nil
				})
				w.tools.extra = []tool.Tool{pay}
				seen := newWitness()
				w.cfg.Planner = seen
				large := func(is bool) approval.Predicate {
					return func(_ agent.ReadonlyContext, _ tool.Tool, args map[string]any) (bool, error) {
						amount, _ := args["amount"].(float64)
						return (amount > 1000) == is, nil
					}
				}
				w.cfg.Policy = policy(t, approval.Gate{Name: "small", Tool: "pay", When: large(false)}, approval.Gate{Name: "large", Tool: "pay", When: large(true)})
				var mu sync.Mutex
				var hooked []task.Result
				w.cfg.AfterHooks = []task.AfterHook{after(func(r *task.Result) error {
					mu.Lock()
					defer mu.Unlock()
					hooked = append(hooked, *r)
					return nil
				})}
				w.start()
				id := w.begin(w.calls("pay", args{"amount": 250}))
				for _, a := range tc.answers {
					synctest.Wait()
					a.ID = w.onlyOne(id).ID
					if err := w.decide(bob, id, a); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				w.restart()
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				w.ended(id)
				r := w.mustResult(seen, id, "c1.1")
				if r.Decision != tc.verb || r.Note != tc.note || r.Outcome != tc.outcome || r.Call.Args["amount"] != tc.amount {
					t.Errorf("the planner is told %q, %q of a call with %v that ended %s, want %q, %q, %v, %s", r.Decision, r.Note, r.Call.Args, r.Outcome, tc.verb, tc.note, tc.amount, tc.outcome)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, r := range hooked {
					if r.Decision != tc.verb || r.Note != tc.note {
						t.Errorf("a hook is told %q, %q; want %q, %q", r.Decision, r.Note, tc.verb, tc.note)
					}
				}
				if n := len(hooked); tc.outcome == task.OutcomeOK && n != 1 {
					t.Errorf("the hook saw %d results, want 1", n)
				}
			})
		})
	}
}
