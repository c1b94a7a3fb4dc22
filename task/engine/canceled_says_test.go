package engine_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

var callNamed = regexp.MustCompile(`([\w.-]+) \((c\d+\.\d+)\)`)

// saidOf returns what the final status says of each call that it names, by id, with
// the name of its tool in front.
func saidOf(t *a2a.Task) map[string]string {
	text := statusText(t)
	said := map[string]string{}
	at := callNamed.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		said[text[m[4]:m[5]]] += text[m[0]:end]
	}
	return said
}

// A task that is canceled says of each call that had been started what came of it, or
// that nobody knows: whoever cancels must not believe that nothing has happened. It
// does not say so of a call that had not been started.
func TestCanceledTaskSaysWhatHasRun(t *testing.T) {
	t.Parallel()
	ways := map[string]func(w *world, id a2a.TaskID) error{
		"canceled": func(w *world, id a2a.TaskID) error { return w.engine.Cancel(w.ctx(), alice, mustID(id)) },
		"canceled by a decision": func(w *world, id a2a.TaskID) error {
			return w.decide(bob, id, approval.Answer{ID: w.toDecide(id), Verb: approval.Cancel})
		},
		"canceled by a rejection": func(w *world, id a2a.TaskID) error {
			return w.decide(bob, id, approval.Answer{ID: w.toDecide(id), Verb: approval.Reject})
		},
	}
	for name, cancel := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDisk(t, func(t *testing.T, w *world) {
				runs := newCounted()
				t.Cleanup(runs.open)
				w.tools.extra = []tool.Tool{
					&fake{name: "pay", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
						runs.enter(ctx)
						runs.hold()
						return map[string]any{"paid": true}, nil
					}},
					&fake{name: "ask", call: func(tool.Context, map[string]any) (map[string]any, error) {
						return nil, &tool.Suspension{Asks: []tool.Ask{{Kind: tool.AskQuestion, Hint: "which one?"}}}
					}},
				}
				w.cfg.Policy = policy(t, approval.Gate{Tool: "transfer", Terms: approval.Terms{CancelsTask: true}})
				w.start()
				id := w.begin(w.calls(
					"pay", args{}, "write", args{"amount": 1, "to": "x"}, "transfer", args{"amount": 1, "to": "x"}, "fail", args{}, "ask", args{},
				))
				w.until("all but one have come to where they stay", func() bool {
					h := w.header(id)
					return runs.count() == 1 && w.tools.count("fail") == 1 && artifact(w.get(id), "c1.2") != nil && h.Pending == 2 && w.audit("finished") >= 2
				})
				if err := cancel(w, id); err != nil {
					t.Fatal(err)
				}
				got := w.ended(id)
				w.wantState(got, a2a.TaskStateCanceled)
				said := saidOf(got)
				for call, want := range map[string][]string{
					"c1.1": {"pay", "had been started", "its outcome is unknown"},
					"c1.2": {"write", "finished"},
					"c1.4": {"fail"},
					"c1.5": {"ask", "started"},
				} {
					for _, word := range want {
						if !strings.Contains(said[call], word) {
							t.Errorf("the status says %q of %s, want %q in it", said[call], call, word)
						}
					}
				}
				for _, call := range []string{"c1.2", "c1.4"} {
					if strings.Contains(said[call], "nobody knows") {
						t.Errorf("the status says %q of %s, which has ended", said[call], call)
					}
				}
				for _, word := range []string{"had been started", "finished", "nobody knows"} {
					if strings.Contains(said["c1.3"], word) {
						t.Errorf("the status says %q of c1.3, which was never started", said["c1.3"])
					}
				}
				runs.open()
				w.until("the late result is recorded", func() bool { return w.audit("finished_late") > 0 })
			})
		})
	}
}

// toDecide returns the id of the approval of the call of transfer.
func (w *world) toDecide(id a2a.TaskID) string {
	for _, a := range w.waiting(id) {
		if a.Kind == approval.KindCall {
			return a.ID
		}
	}
	w.t.Fatal("no call waits to be decided")
	return ""
}

// A call whose result nobody knows is still one when its task is canceled in place of
// an answer; and where nothing had been started, nothing is said to have been.
func TestCanceledTaskAtRestSaysWhatHasRun(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		h := halt(t, w, onOutcome, engine.Config{})
		if err := w.engine.Cancel(w.ctx(), alice, mustID(h.id)); err != nil {
			t.Fatal(err)
		}
		got := w.ended(h.id)
		w.wantState(got, a2a.TaskStateCanceled)
		if said := saidOf(got)["c1.1"]; !strings.Contains(said, "pay") || !strings.Contains(said, "its outcome is unknown") {
			t.Errorf("the status says %q of c1.1, want that the outcome of pay is unknown", said)
		}
		asked := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}))
		if err := w.engine.Cancel(w.ctx(), alice, mustID(asked.ID)); err != nil {
			t.Fatal(err)
		}
		text := statusText(w.ended(asked.ID))
		if strings.Contains(text, "had been started") || strings.Contains(text, "nobody knows") {
			t.Errorf("status = %q of a task whose call was never started", text)
		}
	})
}
