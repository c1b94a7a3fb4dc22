package rules_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
)

// voter is an approver with other roles beside.
func voter(name string, roles ...string) auth.Principal {
	return auth.Principal{Tenant: "acme", Subject: name, Roles: append([]string{auth.RoleApprover}, roles...), Method: "test"}
}

// voteDesk is a desk whose call pay needs what the gates ask for.
func voteDesk(t *testing.T, gates ...approval.Gate) *desk {
	t.Helper()
	k := newDesk(t, func(r *rules.Rules) { r.Policy = policy(t, gates...) }, &fake{name: "pay", schema: amounts("")})
	k.begin(call("pay", 1))
	if len(k.pending()) != 1 {
		t.Fatalf("%v are pending, want one approval", k.pending())
	}
	return k
}

// votes decides approval n, over the API.
func (k *desk) votes(n int, by auth.Principal, verb approval.DecisionType, args string) error {
	k.t.Helper()
	a := approval.Decision{ID: id(n), Type: verb}
	if args != "" {
		a.Args = json.RawMessage(args)
	}
	return k.put(rules.Decisions{By: by, Via: approval.ViaAPI, List: []approval.Decision{a}})
}

// vote is votes for a decision that counts.
func (k *desk) vote(n int, by auth.Principal, verb approval.DecisionType, args string) {
	k.t.Helper()
	if err := k.votes(n, by, verb, args); err != nil {
		k.t.Fatalf("%s of %s about %s = %v", verb, by.Subject, id(n), err)
	}
}

// wantBarred checks why a vote was refused.
func wantBarred(t *testing.T, err error, as string) {
	t.Helper()
	var said *approval.Error
	if !errors.As(err, &said) || said.Barred != as {
		t.Fatalf("the vote = %v, want it barred as %s", err, as)
	}
}

var two = approval.Gate{Tool: "pay", Terms: approval.Terms{People: 2}}

// whats returns the events of the audit since entry n.
func (k *desk) whats(n int) (whats []string) {
	for _, a := range k.audit[n:] {
		whats = append(whats, string(a.What)+" "+a.By.Subject)
	}
	return whats
}

// A call that needs two people runs after the second, once. The first vote leaves the task as it
// is, and tells it.
func TestTwoPeople(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, two)
	audited := len(k.audit)
	k.vote(1, voter("bob"), approval.Approve, "")
	k.wantState(a2a.TaskStateInputRequired)
	k.wantEntries(0)
	if row := k.approval(1); row.State != approval.Pending || len(row.Votes) != 1 || row.Tally().String() != "1 of 2: bob; missing: 1 more" {
		t.Fatalf("after the first vote the row is %+v", row)
	}
	if !strings.Contains(k.text(), "Votes: 1 of 2: bob; missing: 1 more\n") {
		t.Errorf("the status says %q", k.text())
	}
	seq := k.header.Seq
	if err := k.votes(1, voter("bob"), approval.Approve, ""); !errors.Is(err, rules.ErrNoChange) || k.header.Seq != seq {
		t.Fatalf("the same vote again = %v, want no change", err)
	}
	k.vote(1, voter("carl"), approval.Approve, "")
	k.wantEntries(1)
	if diff := cmp.Diff([]string{"voted bob", "voted carl", "resolved carl", "started "}, k.whats(audited)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	for _, again := range []string{"bob", "carl"} { // the same answer
		if err := k.votes(1, voter(again), approval.Approve, ""); !errors.Is(err, rules.ErrNoChange) {
			t.Errorf("the vote of %s after the last = %v, want no change", again, err)
		}
	}
	if got := k.restored().Approval(id(1)); len(got.Votes) != 2 || !got.Met(got.Digest) {
		t.Errorf("a snapshot has the votes %+v", got.Votes)
	}
}

// One rejection ends it, be it of somebody who has approved before.
func TestRejectBesideVotes(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"bob", "carl"} {
		k := voteDesk(t, two)
		k.vote(1, voter("bob"), approval.Approve, "")
		k.vote(1, voter(by), approval.Reject, "")
		k.wantEntries(0)
		if outcome, _ := k.outcome("c1.1"); outcome != task.OutcomeRejected {
			t.Errorf("rejected by %s, the call ended as %q", by, outcome)
		}
		wantError(t, k.votes(1, voter("dora"), approval.Approve, ""), approval.ReasonConflict)
	}
}

// Several gates, each with its own approvers: a person counts once for each of them.
func TestSeveralNeeds(t *testing.T) {
	t.Parallel()
	gates := []approval.Gate{
		{Tool: "pay", Name: "money", Terms: approval.Terms{Approvers: &approval.Approvers{Roles: []string{"finance"}}}},
		{Tool: "*", Name: "law", Terms: approval.Terms{Approvers: &approval.Approvers{Roles: []string{"legal"}}}},
	}
	k := voteDesk(t, gates...)
	wantBarred(t, k.votes(1, voter("eve"), approval.Approve, ""), approval.BarredApprovers)
	k.vote(1, voter("bob", "finance"), approval.Approve, "")
	wantBarred(t, k.votes(1, voter("carl", "finance"), approval.Approve, ""), approval.BarredApprovers)
	if got := k.approval(1).Tally().String(); got != "1 of 2: bob; missing: 1 of role legal" {
		t.Errorf("the tally is %q", got)
	}
	k.wantEntries(0)
	k.vote(1, voter("dora", "legal"), approval.Approve, "")
	k.wantEntries(1)

	k = voteDesk(t, gates...)
	k.vote(1, voter("bob", "finance", "legal"), approval.Approve, "")
	k.wantEntries(1)

	k = voteDesk(t, append(gates, two)[1:]...)
	k.vote(1, voter("bob", "legal"), approval.Approve, "")
	k.wantEntries(0) // one of the law, and two people
	k.vote(1, voter("eve"), approval.Approve, "")
	k.wantEntries(1)

	k = voteDesk(t, gates...) // any of them may reject
	k.vote(1, voter("dora", "legal"), approval.Reject, "")
	k.wantEntries(0)
}

// An edit asks again, with the vote of its sender: the votes for other arguments do not count.
func TestEditBesideVotes(t *testing.T) {
	t.Parallel()
	for name, gates := range map[string][]approval.Gate{
		"under the same gate": {two},
		"under no gate":       {{Tool: "pay", Name: "zero", When: over(0), Terms: approval.Terms{People: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := voteDesk(t, gates...)
			k.vote(1, voter("bob"), approval.Approve, "")
			k.vote(1, voter("carl"), approval.Edit, `{"amount":0}`)
			k.wantEntries(0)
			old, next := k.approval(1), k.approval(2)
			if old.State != approval.Superseded || next.State != approval.Pending || next.Supersedes != old.ID || next.Tally().String() != "1 of 2: carl; missing: 1 more" {
				t.Fatalf("after the edit: %+v, then %+v", old, next)
			}
			if next.Votes[0].Digest != next.Digest || next.Digest == old.Digest {
				t.Errorf("the vote is for %s, the approval for %s", next.Votes[0].Digest, next.Digest)
			}
			wantError(t, k.votes(1, voter("dora"), approval.Approve, ""), approval.ReasonChanged)
			if err := k.votes(2, voter("carl"), approval.Approve, ""); !errors.Is(err, rules.ErrNoChange) {
				t.Errorf("the editor's approve = %v, want no change", err)
			}
			k.wantEntries(0)
			k.vote(2, voter("bob"), approval.Approve, "")
			k.wantEntries(1)
			if got := k.entered[0].Args["amount"]; got != 0.0 {
				t.Errorf("it runs with %v", got)
			}
		})
	}
	t.Run("of both needs", func(t *testing.T) {
		t.Parallel()
		k := voteDesk(t,
			approval.Gate{Tool: "pay", Name: "money", Terms: approval.Terms{Approvers: &approval.Approvers{Roles: []string{"finance"}}}},
			approval.Gate{Tool: "*", Name: "law", Terms: approval.Terms{Approvers: &approval.Approvers{Roles: []string{"legal"}}}})
		k.vote(1, voter("bob", "finance", "legal"), approval.Edit, `{"amount":0}`)
		k.wantEntries(1)
		if a := k.approval(1); a.State != approval.Edited || !a.Met(a.Resolution.Digest) || a.Met(a.Digest) {
			t.Errorf("the edit is %+v", a)
		}
	})
	t.Run("of arguments that are not the editor's to decide", func(t *testing.T) {
		t.Parallel()
		k := voteDesk(t,
			approval.Gate{Tool: "pay", Name: "money", Terms: approval.Terms{Approvers: &approval.Approvers{Roles: []string{"finance"}, When: "args.amount < 10 || decider.subject == 'fay'"}}},
			approval.Gate{Tool: "*", Name: "law", Terms: approval.Terms{Approvers: &approval.Approvers{Roles: []string{"legal"}}}})
		wantBarred(t, k.votes(1, voter("carl", "finance"), approval.Edit, `{"amount":50}`), approval.BarredApprovers)
		k.vote(1, voter("bob", "finance", "legal"), approval.Edit, `{"amount":50}`)
		k.wantEntries(0)
		if a := k.approval(2); a.Tally().Have != 1 {
			t.Errorf("after the edit: %+v", a)
		}
		k.vote(2, voter("fay", "finance"), approval.Approve, "")
		k.wantEntries(1)
	})
	t.Run("of an editor with two logins under four eyes", func(t *testing.T) {
		t.Parallel()
		k := voteDesk(t,
			approval.Gate{Tool: "pay", Name: "money", Terms: approval.Terms{FourEyes: true, Approvers: &approval.Approvers{Roles: []string{"finance"}}}},
			approval.Gate{Tool: "*", Name: "law", Terms: approval.Terms{Approvers: &approval.Approvers{Roles: []string{"legal"}}}})
		bob, other := voter("bob", "finance"), voter("bob-too", "legal")
		bob.Person, bob.PersonSeen, other.Person, other.PersonSeen = "bob", true, "bob", true
		k.vote(1, bob, approval.Edit, `{"amount":50}`)
		wantBarred(t, k.votes(2, other, approval.Approve, ""), approval.BarredFourEyes)
		k.wantEntries(0)
		k.vote(2, voter("fay", "legal"), approval.Approve, "")
		k.wantEntries(1)
	})
	t.Run("of a requester under four eyes", func(t *testing.T) {
		t.Parallel()
		k := voteDesk(t, approval.Gate{Tool: "pay", Terms: approval.Terms{People: 2, FourEyes: true}})
		wantBarred(t, k.votes(1, alice, approval.Approve, ""), approval.BarredFourEyes)
		k.vote(1, voter("bob"), approval.Edit, `{"amount":0}`)
		k.vote(2, voter("bob"), approval.Reject, "") // it is theirs to take back
		k.wantEntries(0)
		if k.approval(2).State != approval.Rejected {
			t.Errorf("it is %s", k.approval(2).State)
		}
	})
}

// A deadline, a cancel and a changed tool end an approval with its votes.
func TestVotesEnd(t *testing.T) {
	t.Parallel()
	timed := two
	timed.Terms.Expires = time.Hour
	t.Run("deadline", func(t *testing.T) {
		t.Parallel()
		k := voteDesk(t, timed)
		k.vote(1, voter("bob"), approval.Approve, "")
		k.now = k.now.Add(time.Hour)
		if err := k.votes(1, voter("carl"), approval.Approve, ""); !errors.Is(err, rules.ErrStale) {
			t.Fatalf("a vote at the deadline = %v, want it to expire first", err)
		}
		k.mustPut(rules.Refresh{})
		wantError(t, k.votes(1, voter("carl"), approval.Approve, ""), approval.ReasonExpired)
		k.wantEntries(0)
	})
	t.Run("extended", func(t *testing.T) {
		t.Parallel()
		k := voteDesk(t, timed)
		k.vote(1, voter("bob"), approval.Approve, "")
		k.mustPut(rules.Extend{By: voter("carl"), Via: approval.ViaAPI, Approval: id(1), Digest: k.one().Digest, Until: k.now.Add(2 * time.Hour)})
		k.now = k.now.Add(time.Hour)
		k.vote(1, voter("carl"), approval.Approve, "")
		k.wantEntries(1)
	})
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		k := voteDesk(t, two)
		k.vote(1, voter("bob"), approval.Approve, "")
		k.vote(1, voter("carl"), approval.Cancel, "")
		k.wantState(a2a.TaskStateCanceled)
		k.wantEntries(0)
	})
	t.Run("changed tool", func(t *testing.T) {
		t.Parallel()
		k := voteDesk(t, two)
		k.vote(1, voter("bob"), approval.Approve, "")
		k.shelf.tools[0].schema = amounts("changed")
		if err := k.votes(1, voter("carl"), approval.Approve, ""); !errors.Is(err, rules.ErrStale) {
			t.Fatalf("a vote for a tool that has changed = %v", err)
		}
		k.mustPut(rules.Refresh{})
		k.vote(2, voter("carl"), approval.Approve, "")
		k.wantEntries(0)
		k.vote(2, voter("bob"), approval.Approve, "")
		k.wantEntries(1)
	})
}

// A person has one vote, with whatever login, and two logins that may be of one person do not count
// as two.
func TestOnePersonTwoLogins(t *testing.T) {
	t.Parallel()
	login := func(method, subject, person string) auth.Principal {
		p := voter(subject)
		p.Method, p.Person, p.PersonSeen = method, person, person != ""
		return p
	}
	k := voteDesk(t, two)
	k.vote(1, login("key", "key:b1", "bob"), approval.Approve, "")
	if err := k.votes(1, login("oidc", "corp:bob", "bob"), approval.Approve, ""); !errors.Is(err, rules.ErrNoChange) {
		t.Errorf("the vote of another login = %v, want no change", err)
	}
	wantBarred(t, k.votes(1, login("oidc", "corp:carl", ""), approval.Approve, ""), approval.BarredPerson)
	k.wantEntries(0)
	k.vote(1, login("oidc", "corp:carl", "carl"), approval.Approve, "")
	k.wantEntries(1)

	k = voteDesk(t, two) // neither has a person
	k.vote(1, login("key", "key:b1", ""), approval.Approve, "")
	wantBarred(t, k.votes(1, login("oidc", "corp:bob", ""), approval.Approve, ""), approval.BarredPerson)
	k.vote(1, login("key", "key:c1", ""), approval.Approve, "")
	k.wantEntries(1)
}

// Under four eyes a party that acts in a message after the question is no other person, and a vote that it has
// given does not count any more: the question is asked again, on its terms, although the gate is laxer by then.
// Nor may it extend the deadline, or ask anew.
func TestFourEyesAfterTheQuestion(t *testing.T) {
	t.Parallel()
	for _, voted := range []bool{false, true} {
		k := voteDesk(t, approval.Gate{Tool: "pay", Terms: approval.Terms{People: 2, FourEyes: true}})
		n := 1
		if voted {
			k.vote(n, voter("carol"), approval.Approve, "")
		}
		acting := alice
		acting.Chain = []string{"carol"}
		k.mustPut(k.says("m1", "go on, please", acting))
		if voted {
			if err := k.votes(n, voter("dave"), approval.Approve, ""); !errors.Is(err, rules.ErrStale) {
				t.Fatalf("the second vote = %v, want the question asked again", err)
			}
			k.rules.Policy = policy(t, approval.Gate{Tool: "pay"})
			k.mustPut(rules.Refresh{})
			n++
		}
		wantBarred(t, k.votes(n, voter("carol"), approval.Approve, ""), approval.BarredFourEyes)
		wantBarred(t, k.put(rules.Extend{By: voter("carol"), Via: approval.ViaAPI, Approval: id(n), Digest: k.one().Digest, Until: k.now.Add(time.Hour)}), approval.BarredFourEyes)
		_, err := k.anew(n, voter("carol"))
		wantBarred(t, err, approval.BarredFourEyes)
		k.vote(n, voter("dave"), approval.Approve, "")
		k.wantEntries(0)
		k.vote(n, voter("erin"), approval.Approve, "")
		k.wantEntries(1)
	}
}

// Nobody decides while it cannot be looked up who they are; a person who was not seen before may.
func TestDeciderWhoCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	for _, failed := range []error{errors.New("the disk"), &auth.WithdrawnError{Unseen: true}} {
		k := voteDesk(t, two)
		k.current = func(context.Context, auth.Principal) (auth.Principal, error) { return auth.Principal{}, failed }
		_, unseen := errors.AsType[*auth.WithdrawnError](failed)
		if err := k.votes(1, voter("bob"), approval.Approve, ""); (err == nil) != unseen || err != nil && !errors.Is(err, failed) {
			t.Errorf("with %v the vote = %v", failed, err)
		}
	}
}

// A question about an outcome that replaces another keeps the terms of that, whatever the gates demand now.
func TestReplacedOutcomeKeepsItsTerms(t *testing.T) {
	t.Parallel()
	pay := &fake{name: "pay", schema: amounts("one")}
	k := newDesk(t, nil, pay)
	k.begin(call("pay", 1)) // no gate asks
	k.rules.Policy = policy(t, approval.Gate{Name: "two", Tool: "pay", Terms: approval.Terms{FourEyes: true, Approvers: &approval.Approvers{Roles: []string{"finance"}}}})
	k.dies()
	k.rules.Policy = policy(t)
	pay.schema = amounts("two")
	k.mustPut(rules.Refresh{})
	if a := k.one(); a.ID != id(2) || a.Kind != approval.KindOutcome || !a.Terms.FourEyes || a.Terms.Approvers == nil {
		t.Errorf("%s is asked about %s with %+v", a.ID, a.Kind, a.Terms)
	}
}

// A tool that takes a payload still reads the payload once a later confirmation is used up.
func TestPayloadAfterAConfirmation(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "pay", gated: true, payload: true})
	k.begin(task.PlannedCall{Tool: "pay"})
	if err := k.answer(approval.Decision{ID: id(1), Type: approval.Approve, Payload: json.RawMessage(`{"max":5}`)}); err != nil {
		t.Fatal(err)
	}
	k.confirms("c1.1", "first")
	k.decide(id(2), approval.Approve)
	k.wantEntries(2)
	k.keeps("c1.1", `"step 7"`)
	k.dies()
	k.wantEntries(3)
	if d := k.entered[2].Confirmation; d == nil || d.Payload == nil {
		t.Errorf("the tool reads %+v, want the payload", d)
	}
}

// A tool whose newest confirmation is superseded does not read the decision on the one before.
func TestSupersededConfirmationHasNoDecision(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, approval.Gate{Tool: "pay", Terms: approval.Terms{People: 2, FourEyes: true}})
	both := func(n int) {
		k.vote(n, voter("bob"), approval.Approve, "")
		k.vote(n, voter("carl"), approval.Approve, "")
		k.wantEntries(n)
	}
	both(1)
	k.confirms("c1.1", "first")
	both(2)
	if d := k.entered[1].Confirmation; d == nil || !d.Confirmed {
		t.Fatalf("the tool reads the decision %+v on its first question", d)
	}
	k.confirms("c1.1", "second")
	k.vote(3, voter("carol"), approval.Approve, "")
	acting := alice
	acting.Chain = []string{"carol"}
	k.mustPut(k.says("m1", "go on, please", acting))
	k.mustPut(rules.Refresh{}) // the vote of carol does not count any more
	k.wantEntries(3)
	if d := k.entered[2].Confirmation; d != nil {
		t.Errorf("the tool reads the decision %+v, want none on its second question", d)
	}
}

// A word is a vote of its sender where text may decide, and counts once.
func TestWordIsAVote(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, two)
	k.mustPut(k.says("m1", "yes", alice))
	k.wantState(a2a.TaskStateWorking)
	k.wantEntries(0)
	if err := k.put(k.says("m2", "yes", alice)); err != nil && !errors.Is(err, rules.ErrNoChange) {
		t.Fatal(err)
	}
	k.wantEntries(0)
	if got := k.approval(1).Tally(); got.Have != 1 {
		t.Errorf("the tally is %s", got)
	}
	k.vote(1, voter("bob"), approval.Approve, "")
	k.wantEntries(1)
}

// The same vote again is the same answer, typed with its code, too.
func TestTypedVoteAgain(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, approval.Gate{Tool: "pay", Terms: approval.Terms{People: 2, Destructive: true}})
	word := "approve " + k.approval(1).Code
	k.mustPut(k.says("m1", word, alice))
	if got := k.approval(1).Tally().Have; got != 1 {
		t.Fatalf("%d votes", got)
	}
	if err := k.put(k.says("m2", word, alice)); err != nil && !errors.Is(err, rules.ErrNoChange) {
		t.Errorf("the same vote again = %v, want the same answer", err)
	}
}

// human: no program answers, not even where delegated decisions count.
func TestHuman(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, approval.Gate{Tool: "pay", Terms: approval.Terms{Human: true}})
	k.rules.Delegated = true
	service, agent := voter("ci"), voter("bob")
	service.Kind, agent.Chain = auth.KindService, []string{"agent"}
	for _, by := range []auth.Principal{service, agent} {
		wantBarred(t, k.votes(1, by, approval.Approve, ""), approval.BarredHuman)
	}
	a := k.one()
	err := k.put(rules.Decisions{By: auth.Principal{Tenant: "acme", Subject: "p", Method: "provider"}, Via: approval.ViaProvider, List: []approval.Decision{{ID: a.ID, Type: approval.Approve}}})
	wantBarred(t, err, approval.BarredHuman)
	if rules.ProviderMayAnswer(a) {
		t.Error("it is offered to a provider")
	}
	k.vote(1, voter("bob"), approval.Approve, "")
	k.wantEntries(1)
}

// Programs have no votes, though they may decide elsewhere, and reject.
func TestProgramsAreNoPeople(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, two)
	k.rules.Delegated = true
	service, agent := voter("ci"), voter("bob")
	service.Kind, agent.Chain = auth.KindService, []string{"agent"}
	for _, by := range []auth.Principal{service, agent} {
		wantBarred(t, k.votes(1, by, approval.Approve, ""), approval.BarredHuman)
		wantBarred(t, k.votes(1, by, approval.Edit, `{"amount":2}`), approval.BarredHuman)
	}
	k.vote(1, service, approval.Reject, "")
	k.wantEntries(0)
}

// After the vote of its client a task waits for others, however long the question is.
func TestOwnVoteOnALongQuestion(t *testing.T) {
	t.Parallel()
	schema := amounts("")
	schema["additionalProperties"] = true
	k := newDesk(t, func(r *rules.Rules) { r.Policy = policy(t, two) }, &fake{name: "pay", schema: schema})
	k.begin(task.PlannedCall{Tool: "pay", Args: json.RawMessage(`{"amount":1,"note":"` + strings.Repeat("x", 9<<10) + `"}`)})
	k.wantState(a2a.TaskStateInputRequired)
	k.mustPut(rules.Decisions{By: alice, Via: approval.ViaA2A, List: []approval.Decision{{ID: id(1), Type: approval.Approve}}})
	if k.wantState(a2a.TaskStateWorking); !strings.HasPrefix(k.text(), "Waiting for approval by another person") {
		t.Errorf("after its vote the client is told %.80q", k.text())
	}
}

// A client that has no vote to give waits for the others: after its own vote, and after that of somebody
// else for the same gate. It is asked again if an escalation gives it another vote.
func TestClientWithoutAVoteWaits(t *testing.T) {
	t.Parallel()
	client := alice
	client.Roles = []string{auth.RoleRequester, "finance", "treasury"}
	for _, by := range []auth.Principal{client, voter("bob", "finance")} {
		k := newDesk(t, func(r *rules.Rules) {
			r.Policy = policy(t,
				approval.Gate{Tool: "pay", Name: "money", Terms: approval.Terms{Approvers: &approval.Approvers{Roles: []string{"finance"}}}},
				approval.Gate{Tool: "*", Name: "law", Terms: approval.Terms{
					Approvers: &approval.Approvers{Roles: []string{"legal"}}, Escalate: approval.Escalation{After: time.Hour, AddRoles: []string{"treasury"}},
				}})
		}, &fake{name: "pay", schema: amounts("")})
		k.planner.list = []*task.Step{{Calls: []task.PlannedCall{call("pay", 1)}}}
		in := followUp(t, client, &a2a.Message{ID: "first", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("go")}})
		d, err := rules.Create(k.rules, k.at(), rules.New{ID: deskTask, Message: in.Message, JSON: in.JSON, Context: k.rules.Readonly(t.Context(), client)})
		if err != nil {
			t.Fatal(err)
		}
		k.goOn(d)
		k.wantState(a2a.TaskStateInputRequired)
		k.vote(1, by, approval.Approve, "")
		if k.wantState(a2a.TaskStateWorking); !strings.HasPrefix(k.text(), "Waiting for approval by 1 of role legal;") {
			t.Errorf("after the vote of %s the client is told %q", by.Subject, k.text())
		}
		k.now = k.now.Add(time.Hour)
		k.mustPut(rules.Waiting{Row: k.dueRow(record.DueEscalate, id(1))})
		k.wantState(a2a.TaskStateInputRequired)
		k.mustPut(k.says("yes", "yes", client))
		k.wantEntries(1)
	}
}

// A client is not asked for a vote that would not count, because who has voted may be the same person.
func TestClientWhoMayHaveVotedWaits(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, two)
	k.wantState(a2a.TaskStateInputRequired)
	maybe := voter("corp:x")
	maybe.Method = "oidc"
	k.vote(1, maybe, approval.Approve, "")
	wantBarred(t, k.votes(1, alice, approval.Approve, ""), approval.BarredPerson)
	k.wantState(a2a.TaskStateWorking)
}
