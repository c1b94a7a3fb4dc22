package rules_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// A destructive call is approved by text with the code of its question alone. Wrong codes are
// counted in the log, in each way to type them, and too many end approval by text, for
// as long as the question stays; the other ways remain.
func TestCodeOfADestructiveCall(t *testing.T) {
	t.Parallel()
	destructive := func(r *rules.Rules) {
		r.Policy = policy(t, approval.Gate{Tool: "pay", Action: approval.ActionAsk, Terms: approval.Terms{Destructive: true}})
	}
	begin := func(t *testing.T, change func(*rules.Rules)) *desk {
		k := newDesk(t, func(r *rules.Rules) {
			destructive(r)
			if change != nil {
				change(r)
			}
		}, &fake{name: "pay", schema: amounts("")})
		k.begin(call("pay", 1))
		return k
	}
	code := func(k *desk) string { return k.approval(1).Code }
	spoken := func(k *desk, n, called, text string) *rules.FollowUp {
		m := &a2a.Message{ID: n, Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewDataPart(map[string]any{
			"adk:functionResponse": map[string]any{"id": called, "name": "adk_request_confirmation", "response": map[string]any{"result": text}},
		})}}
		return followUp(k.t, alice, m)
	}

	t.Run("its code", func(t *testing.T) {
		t.Parallel()
		k := begin(t, nil)
		if !strings.HasPrefix(k.text(), `To approve, type "approve `+code(k)+`"; to reject`) || len(code(k)) != 8 {
			t.Errorf("the question is %q, the code %q", k.text(), code(k))
		}
		k.mustPut(k.says("m1", "yes", alice))
		k.wantEntries(0)
		k.mustPut(k.says("m2", "Approve "+strings.ToUpper(code(k))+".", alice))
		k.wantEntries(1)
		if n := k.approval(1).WrongCodes; n != 0 {
			t.Errorf("%d wrong codes were counted", n)
		}
	})
	t.Run("wrong codes", func(t *testing.T) {
		t.Parallel()
		k := begin(t, nil)
		for i := range approval.MaxWrongCodes {
			in := k.says(fmt.Sprint("m", i), "approve aaaaaaa2", alice)
			if i%2 == 1 {
				in = spoken(k, fmt.Sprint("m", i), "c1.1", "yes aaaaaaa2")
			}
			k.mustPut(in)
			if n := k.approval(1).WrongCodes; n != i+1 || k.fold().Pending()[0].WrongCodes != n {
				t.Fatalf("%d wrong codes are counted after %d, and in the log %d", n, i+1, k.fold().Pending()[0].WrongCodes)
			}
			if err := k.put(in); !errors.Is(err, rules.ErrDuplicate) {
				t.Errorf("the same message again = %v", err)
			}
			if i < approval.MaxWrongCodes-1 && !strings.HasPrefix(k.text(), "The code aaaaaaa2 is wrong") {
				t.Errorf("the answer is %q", k.text())
			}
		}
		k.mustPut(k.says("right", "approve "+code(k), alice))
		k.wantEntries(0)
		if !strings.HasPrefix(k.text(), `"approve `+code(k)+`" decides nothing: the call is marked as destructive, and after 5 wrong codes`) {
			t.Errorf("the answer is %q", k.text())
		}
		k.decide(id(1), approval.Approve)
		k.wantEntries(1)
	})
	t.Run("a new question has a new code", func(t *testing.T) {
		t.Parallel()
		k := begin(t, nil)
		old := code(k)
		k.shelf.tools[0].schema = amounts("another")
		err := k.put(k.says("m1", "approve "+old, alice))
		if !errors.Is(err, rules.ErrStale) {
			t.Fatalf("a word for a question that has changed = %v, want ErrStale", err)
		}
		k.mustPut(rules.Refresh{})
		if now := k.one().Code; now == old || now == "" {
			t.Errorf("the code of the new question is %q, that of the old one %q", now, old)
		}
	})
	t.Run("no room to count", func(t *testing.T) {
		t.Parallel()
		k := begin(t, nil)
		k.rules.Limits.Task = int(k.header.Bytes) + 1<<10
		for _, typed := range []string{"aaaaaaa2", code(k)} {
			var full *task.InvalidError
			if err := k.put(k.says("m"+typed, "approve "+typed, alice)); !errors.As(err, &full) {
				t.Errorf("code %s in a full log = %v, want it refused", typed, err)
			}
		}
		k.wantEntries(0)
	})
	t.Run("without a code", func(t *testing.T) {
		t.Parallel()
		k := begin(t, nil)
		for i := range k.log {
			k.log[i].Data = []byte(strings.ReplaceAll(string(k.log[i].Data), `"code":"`+code(k)+`",`, ""))
		}
		k.mustPut(k.says("m1", "approve "+code(k), alice))
		k.wantEntries(0)
		if !strings.Contains(k.text(), "this question has no code") || !strings.Contains(k.text(), `"decision":"approve"`) {
			t.Errorf("the answer is %q", k.text())
		}
	})
	t.Run("no code where no text counts", func(t *testing.T) {
		t.Parallel()
		k := begin(t, func(r *rules.Rules) {
			r.Policy = policy(t, approval.Gate{Tool: "pay", Action: approval.ActionAsk, Terms: approval.Terms{Destructive: true, NoText: true}})
		})
		if code(k) != "" || !strings.HasPrefix(k.text(), "Nothing can be typed here: the gate") {
			t.Errorf("the code is %q, the question %q", code(k), k.text())
		}
	})
}

// A word names no approval and no digest. One that was sent while the status asked about a small
// amount is no vote for the large amount of an edit that came in between: the other persons look
// again, and type the code of what they have read.
func TestWordIsNoVoteForAnEditThatItsSenderHasNotSeen(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, two)
	yes := k.says("m1", "yes", alice) // alice has read: 1 may be paid
	k.vote(1, voter("bob"), approval.Edit, `{"amount":1000000}`)
	k.mustPut(yes)
	k.wantEntries(0)
	word := "approve " + k.approval(2).Code
	if !strings.Contains(k.text(), `To approve, type "`+word+`"; to reject, type "no `) {
		t.Errorf("the status asks for no code: %s", k.text())
	}
	k.mustPut(k.says("m2", word, alice))
	k.wantEntries(1)
}

// A word answers a question that another has preceded only with its code, however the other was settled. An
// answer that names the question needs none.
func TestCodeOfALaterQuestion(t *testing.T) {
	t.Parallel()
	for _, via := range []string{approval.ViaAPI, approval.ViaA2A} {
		for _, word := range []string{"yes", "no"} {
			k := newDesk(t, nil, &fake{name: "pay", schema: amounts(""), gated: true})
			k.planner.list = []*task.Step{{Calls: []task.PlannedCall{call("pay", 1)}}, {Calls: []task.PlannedCall{call("pay", 2)}}}
			k.beginAs()
			k.mustPut(rules.Decisions{By: alice, Via: via, List: []approval.Decision{{ID: id(1), Type: approval.Reject}}})
			k.mustPut(k.says("m1", word, alice))
			if a := k.approval(2); a.State != approval.Pending || a.Code == "" {
				t.Errorf("after the first was settled by %s and %q, the next is %s, its code %q", via, word, a.State, a.Code)
			}
			k.decide(id(2), approval.Approve)
			if a := k.approval(2); a.State != approval.Approved {
				t.Errorf("after an answer that names it, the next is %s", a.State)
			}
		}
	}
}

// Two questions that a tool asks at once are a first and a later one.
func TestCodesOfTwoQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	confirm := func(id string) tool.Question { return tool.Question{ID: id, Kind: tool.AskConfirm, Hint: id + "?"} }
	k := waker(t, confirm("a"), confirm("b"))
	if a, b := k.approval(1), k.approval(2); a.Code != "" || b.Code == "" {
		t.Errorf("the codes are %q and %q, want one for the second alone", a.Code, b.Code)
	}
	k.decide(id(1), approval.Approve)
	k.mustPut(k.says("m1", "yes", alice))
	if a := k.approval(2); a.State != approval.Pending {
		t.Errorf("after a word, the second is %s", a.State)
	}
}

// The same for a tool that was redefined, without votes: the word is about the tool that was shown.
func TestWordApprovesNoToolThatItsSenderHasNotSeen(t *testing.T) {
	t.Parallel()
	k := newPayDesk(t)
	yes := k.says("m1", "yes", alice)
	k.shelf.tools[0].schema = amounts("pays from another account")
	_ = k.answer(approval.Decision{ID: id(1), Type: approval.Approve}) // of somebody else: asks again
	if err := k.put(rules.Refresh{}); err != nil {
		t.Fatal(err)
	}
	k.mustPut(yes)
	k.wantEntries(0)
}

// The same for a tool that was redefined before a call that a word had approved could start: the word
// again is about the tool that was shown.
func TestWordAgainApprovesNoOtherTool(t *testing.T) {
	t.Parallel()
	k := newPayDesk(t)
	k.shelf.down = errors.New("down")
	k.mustPut(k.says("m1", "yes", alice))
	k.shelf.down, k.shelf.tools[0].schema = nil, amounts("pays from another account")
	k.retry()
	k.mustPut(k.says("m2", "yes", alice))
	k.wantEntries(0)
	k.mustPut(k.says("m3", "approve "+k.approval(2).Code, alice))
	k.wantEntries(1)
}

// The same for what a running tool, such as an agent elsewhere, wants confirmed: it may ask something
// else at any moment, so it could choose what the word that is on its way approves.
func TestWordConfirmsNothingThatItsSenderHasNotSeen(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "agent", schema: amounts("")})
	k.begin(call("agent", 1))
	asks := func(amount int) {
		k.pauses("c1.1", tool.Suspension{Wake: k.now.Add(time.Minute), Asks: []tool.Question{{
			ID: "pay", Kind: tool.AskConfirm, Hint: "Agent bank asks: may pay run?", Payload: map[string]any{"amount": amount},
		}}})
	}
	asks(1)
	yes := k.says("m1", "yes", alice)
	k.now = k.now.Add(time.Minute)
	k.mustPut(rules.Wake{Row: k.dueRow(record.DueWake, "c1.1")})
	asks(1000000)
	k.mustPut(yes)
	if a := k.approval(2); a.State != approval.Pending {
		t.Errorf("%s is %s by a word about %s", a.Payload, a.State, k.approval(1).Payload)
	}
}
