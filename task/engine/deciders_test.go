package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// Of many who decide one approval at once, each in a way of its own, exactly one
// counts. All others are told that they came late, and what was decided by whom. What
// runs, if anything, is what the one has decided; whether the task rests meanwhile or
// is at work.
func TestOneOfManyDecidersCounts(t *testing.T) {
	t.Parallel()
	for _, atWork := range []bool{false, true} {
		for _, reads := range []bool{false, true} {
			t.Run(fmt.Sprintf("at work %t, reads %t", atWork, reads), func(t *testing.T) {
				t.Parallel()
				eachDisk(t, func(t *testing.T, w *world) {
					rounds := 12
					if testing.Short() {
						rounds = 3
					}
					w.tools.extra = []tool.Tool{&fake{name: "pay", gated: true, is: tool.Annotations{ReadOnly: reads}, call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
						w.tools.ran(ctx, "pay", a)
						return map[string]any{"paid": a}, nil
					}}}
					w.start()
					for range rounds {
						w.tools.reset()
						oneCounts(t, w, atWork)
						w.tools.release()
					}
				})
			})
		}
	}
}

// opinion is what one of many decides.
type opinion struct {
	by     auth.Principal
	answer approval.Answer
	amount int // that runs when it counts; 0: nothing
	state  approval.State
	err    error
}

func oneCounts(t *testing.T, w *world, atWork bool) {
	const many = 64
	pairs := []any{"pay", args{"amount": 1000}}
	if atWork {
		pairs = append(pairs, "block", args{})
	}
	id := w.begin(w.calls(pairs...))
	if !atWork && !w.rested(id) {
		t.Fatal("the task does not rest")
	}
	question := w.onlyOne(id).ID
	opinions := make([]opinion, many)
	messages := make([]*a2a.Message, many)
	for i := range opinions {
		o := &opinions[i]
		o.by = auth.Principal{Tenant: "acme", Subject: fmt.Sprintf("decider-%d", i), Roles: []string{auth.RoleRequester, auth.RoleApprover}, Method: "test"}
		switch i {
		case 0:
			o.answer, o.amount, o.state = approval.Answer{Verb: approval.Approve}, 1000, approval.Approved
		case 1:
			o.answer, o.state = approval.Answer{Verb: approval.Reject, Reason: "no"}, approval.Rejected
		case 2:
			o.answer, o.state = approval.Answer{Verb: approval.Cancel}, approval.Canceled
		default:
			o.answer, o.amount, o.state = approval.Answer{Verb: approval.Edit, Args: fmt.Appendf(nil, `{"amount":%d}`, i)}, i, approval.Edited
		}
		o.answer.ID = question
		if i%2 == 1 { // by a message, which is always the owner's
			d := map[string]any{"id": question, "decision": string(o.answer.Verb)}
			if o.answer.Verb == approval.Edit {
				d["arguments"] = map[string]any{"amount": i}
			}
			o.by, messages[i] = alice, w.decision(id, d)
		}
	}
	now := make(chan struct{})
	var wg sync.WaitGroup
	for i := range opinions {
		wg.Go(func() {
			o := &opinions[i]
			<-now
			if messages[i] != nil {
				_, o.err = w.engine.Send(w.ctx(), engine.Send{By: alice, Message: messages[i]})
			} else {
				o.err = w.decide(o.by, id, o.answer)
			}
		})
	}
	close(now)
	wg.Wait()
	var winner *opinion
	for i := range opinions {
		if opinions[i].err != nil {
			continue
		}
		if winner != nil {
			t.Fatalf("both to %s and to %s counted", winner.answer.Verb, opinions[i].answer.Verb)
		}
		winner = &opinions[i]
	}
	if winner == nil {
		t.Fatalf("nobody's decision counted: %v", opinions[0].err)
	}
	w.tools.release()
	if !w.rested(id) {
		t.Fatal("the task is at work forever")
	}
	got := w.asked(id)[0]
	if got.State != winner.state || got.Resolution == nil || got.Resolution.Verb != winner.answer.Verb || got.Resolution.By.Subject != winner.by.Subject {
		t.Errorf("the approval is %s by %+v, want %s by %s", got.State, got.Resolution, winner.state, winner.by.Subject)
	}
	for i := range opinions {
		o := &opinions[i]
		if o == winner {
			continue
		}
		var said *approval.Error
		switch {
		case !errors.As(o.err, &said) || said.Reason != approval.ReasonConflict:
			t.Errorf("to %s, when to %s had counted, = %v; want a conflict", o.answer.Verb, winner.answer.Verb, o.err)
		case !strings.Contains(said.Message, string(winner.state)) || !strings.Contains(said.Message, winner.by.Subject):
			t.Errorf("the conflict says %q, want that it was %s by %s", said.Message, winner.state, winner.by.Subject)
		case said.Metadata[approval.MetaBy] != winner.by.Subject || said.Metadata[approval.MetaVerb] != string(winner.answer.Verb):
			t.Errorf("the conflict has the metadata %v, want that of a decision to %s by %s", said.Metadata, winner.answer.Verb, winner.by.Subject)
		default:
			continue
		}
		break
	}
	w.tools.mu.Lock()
	defer w.tools.mu.Unlock()
	ran, total := 0, 0
	for key, n := range w.tools.runs {
		if strings.HasPrefix(key, string(id)+" c1.1 ") {
			total += n
			if strings.HasSuffix(key, fmt.Sprintf(` pay {"amount":%d}`, winner.amount)) {
				ran += n
			}
		}
	}
	want := min(winner.amount, 1)
	if ran != want || total != want {
		t.Errorf("to %s counted; the call ran %d times, %d times as decided; want %d", winner.answer.Verb, total, ran, want)
	}
}
