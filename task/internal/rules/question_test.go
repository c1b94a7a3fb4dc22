package rules_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
)

// A message that is no answer has the question put again, and it stands in the history
// once, before the message; so it does when a snapshot was read in between (C8).
func TestWrongAnswersDoNotRepeatTheQuestion(t *testing.T) {
	t.Parallel()
	for _, snapshots := range []bool{false, true} {
		k := newPayDesk(t)
		for _, text := range []string{"why?", "what for?"} {
			k.mustPut(k.says(text, text, alice))
			if n := len(k.pending()); n != 1 {
				t.Fatalf("%d approvals are pending after %q, want the one", n, text)
			}
		}
		f := k.fold()
		if snapshots {
			f = k.restored()
		}
		d, err := rules.On(k.rules, k.at(), f, rules.Decisions{By: alice, Via: approval.ViaA2A, List: []approval.Decision{{ID: id(1), Type: approval.Reject}}})
		if err == nil {
			_, err = d.Advance()
		}
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			History []struct{ MessageID, Role string }
		}
		if err := json.Unmarshal(d.Fold().View.AppendTask(nil, task.ViewOptions{HistoryLength: -1}), &got); err != nil {
			t.Fatal(err)
		}
		var history []string
		for _, m := range got.History {
			name := m.MessageID
			if m.Role == string(a2a.MessageRoleAgent) {
				name = "the question"
			}
			history = append(history, name)
		}
		if want := []string{"first", "the question", "why?", "what for?"}; !slices.Equal(history, want) {
			t.Errorf("snapshots %v: the history is %q, want %q", snapshots, history, want)
		}
	}
}

// Why a call was rejected is its result, for everybody to see, and in the status of a
// task that ends with it (C8).
func TestReasonOfARejectionIsShown(t *testing.T) {
	t.Parallel()
	for _, cancels := range []bool{false, true} {
		k := newDesk(t, func(r *rules.Rules) {
			r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{CancelsTask: cancels}})
		}, &fake{name: "pay", schema: amounts("")})
		k.begin(call("pay", 1))
		if err := k.answer(approval.Decision{ID: id(1), Type: approval.Reject, Reason: "not to bob"}); err != nil {
			t.Fatal(err)
		}
		k.wantEntries(0)
		if outcome, problem := k.outcome("c1.1"); outcome != task.OutcomeRejected || problem != "the call was rejected: not to bob" {
			t.Errorf("cancels %v: the call ended as %s: %q", cancels, outcome, problem)
		}
		shown := string(k.fold().View.AppendTask(nil, task.ViewOptions{}))
		if !strings.Contains(shown, `{"artifactId":"c1.1","name":"pay","parts":[{"text":"the call was rejected: not to bob"}]}`) {
			t.Errorf("cancels %v: the task is %s, want the reason as the result of its call", cancels, shown)
		}
		if want := "The task was canceled by \"bob\": pay (c1.1) was rejected: not to bob."; cancels && k.text() != want {
			t.Errorf("the status says %q, want %q", k.text(), want)
		}
	}
}

// A person who gives up a call that has run, as far as anybody knows, takes nothing of
// what it has published.
func TestGivingUpKeepsWhatWasPublished(t *testing.T) {
	t.Parallel()
	k := newPayDesk(t)
	k.decide(id(1), approval.Approve)
	k.dies()
	k.decide(id(2), approval.Reject)
	if shown := string(k.fold().View.AppendTask(nil, task.ViewOptions{})); strings.Contains(shown, `"artifacts"`) {
		t.Errorf("the task is %s, want nothing in the place of what the call has published", shown)
	}
}
