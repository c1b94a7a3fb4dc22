package rules_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// An approval that is left to the confirmation provider is asked of the client only when
// the provider has failed, or has been silent for its time; all the while it can be
// decided.
func TestClientIsAskedAfterTheProvider(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(k *desk){
		"silence": func(k *desk) {
			k.now = k.now.Add(time.Minute)
			k.mustPut(rules.ProviderTimeout{Row: k.dueRow(record.DueProviderTimeout, id(1))})
		},
		"a failure": func(k *desk) { k.mustPut(rules.ProviderFailed{Approval: id(1), Why: "it failed"}) },
		"nothing":   nil,
	} {
		k := newDesk(t, func(r *rules.Rules) { r.ProviderWait = time.Minute }, &fake{name: "pay", gated: true})
		k.begin(task.PlannedCall{Tool: "pay"})
		k.wantState(a2a.TaskStateWorking)
		if after != nil {
			after(k)
			k.wantState(a2a.TaskStateInputRequired)
			if len(k.pending()) != 1 {
				t.Errorf("%s: %v are pending", name, k.pending())
			}
		}
		k.decide(id(1), approval.Approve)
		k.wantEntries(1)
		k.wantNoDue()
		if ids := k.draft.Resolved(); !slices.Contains(ids, id(1)) {
			t.Errorf("%s: the draft says that it resolves %v", name, ids)
		}
	}
}

// What others than the client decide, and what is no call, is not the provider's.
func TestWhatIsNotTheProviders(t *testing.T) {
	t.Parallel()
	k := newDesk(t, func(r *rules.Rules) {
		r.ProviderWait = time.Minute
		r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{FourEyes: true, WaitingState: approval.WaitsAuth}})
	}, &fake{name: "pay"})
	k.begin(task.PlannedCall{Tool: "pay"})
	k.wantState(a2a.TaskStateAuthRequired)
	k.decide(id(1), approval.Approve)
	k.dies()
	k.wantState(a2a.TaskStateAuthRequired)
	if rules.ProviderMayAnswer(k.one()) {
		t.Error("the question what came of a call is the provider's")
	}
}

// The customer's card: a call that the client may approve makes its task input-required, whatever the gates
// and the server say; a call that only others decide, the state of its gate. Of several, the state counts
// that interrupts the client the most.
func TestApprovalByTheClientIsInputRequired(t *testing.T) {
	t.Parallel()
	here, elsewhere := approval.Terms{WaitingState: approval.WaitsAuth}, approval.Terms{Elsewhere: true}
	auth, input := approval.Terms{FourEyes: true, WaitingState: approval.WaitsAuth}, approval.Terms{FourEyes: true, WaitingState: approval.WaitsInput}
	for _, tt := range []struct {
		name string
		a, b approval.Terms
		want a2a.TaskState
	}{
		{"the client's", here, here, a2a.TaskStateInputRequired},
		{"others'", elsewhere, elsewhere, a2a.TaskStateWorking},
		{"others', in auth-required", auth, auth, a2a.TaskStateAuthRequired},
		{"others', one in auth-required", elsewhere, auth, a2a.TaskStateAuthRequired},
		{"others', one in input-required", input, auth, a2a.TaskStateInputRequired},
		{"one is the client's", auth, approval.Terms{}, a2a.TaskStateInputRequired},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := newDesk(t, func(r *rules.Rules) {
				r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: tt.a}, approval.Gate{Tool: "order", Terms: tt.b})
			}, &fake{name: "pay"}, &fake{name: "order"})
			k.begin(task.PlannedCall{Tool: "pay"}, task.PlannedCall{Tool: "order"})
			k.wantState(tt.want)
		})
	}
}

// A provider is none of the approvers that a rule names, whoever the requester is.
func TestProviderIsNoApprover(t *testing.T) {
	t.Parallel()
	for _, who := range []string{alice.Subject, bob.Subject} {
		k := newDesk(t, func(r *rules.Rules) {
			r.ProviderWait = time.Minute
			r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{Approvers: &approval.Approvers{Subjects: []string{who}}}})
		}, &fake{name: "pay"})
		k.begin(task.PlannedCall{Tool: "pay"})
		if rules.ProviderMayAnswer(k.one()) {
			t.Errorf("what only %s may answer is the provider's", who)
		}
		if got := k.one().Elsewhere(); got != (who != alice.Subject) {
			t.Errorf("elsewhere = %t, and %s is the only approver", got, who)
		}
	}
}

// The provider of a tool answers what that tool asks while it runs, and nothing else: no gate, no
// question in words, no outcome, nothing that people have to decide, and nothing destructive.
func TestToolProviderAnswersOnlyItsTool(t *testing.T) {
	t.Parallel()
	asks := func(k *desk) { k.confirms("c1.1", "q") }
	approved := func(k *desk) {
		k.decide(id(1), approval.Approve)
		asks(k)
	}
	for name, tc := range map[string]struct {
		tool   fake
		terms  *approval.Terms // of a gate
		happen func(k *desk)
		ours   bool
	}{
		"its question":             {happen: asks, ours: true},
		"after our gate":           {terms: &approval.Terms{}, happen: approved, ours: true},
		"our gate":                 {terms: &approval.Terms{}},
		"the gate of the tool":     {tool: fake{gated: true}},
		"after four eyes":          {terms: &approval.Terms{FourEyes: true}, happen: approved},
		"after named approvers":    {terms: &approval.Terms{Approvers: &approval.Approvers{Subjects: []string{bob.Subject}}}, happen: approved},
		"after elsewhere":          {terms: &approval.Terms{Elsewhere: true}, happen: approved},
		"of a destructive tool":    {tool: fake{is: tool.Annotations{Destructive: true}}, happen: asks},
		"after a destructive gate": {terms: &approval.Terms{Destructive: true}, happen: approved},
		"words": {happen: func(k *desk) {
			k.pauses("c1.1", tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "Where?"}}})
		}},
		"an outcome": {happen: func(k *desk) { k.dies() }},
		"the question of a sibling": {happen: func(k *desk) {
			k.returns("c1.1", `"booked"`)
			k.confirms("c1.2", "q")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.tool.name = "travel"
			k := newDesk(t, func(r *rules.Rules) {
				r.ToolProviderWait = map[string]time.Duration{"travel": time.Minute}
				if tc.terms != nil {
					r.Policy = policy(t, approval.Gate{Tool: "travel", Terms: *tc.terms})
				}
			}, &tc.tool, &fake{name: "look"})
			k.begin(task.PlannedCall{Tool: "travel"}, task.PlannedCall{Tool: "look"})
			if tc.happen != nil {
				tc.happen(k)
			}
			if _, runs := k.running["c1.2"]; runs {
				k.returns("c1.2", `"seen"`)
			}
			all := k.pending()
			a := k.fold().Approval(all[len(all)-1])
			if rules.ToolProviderMayAnswer(&a.Approval) != tc.ours && a.Tool == "travel" {
				t.Errorf("the provider may answer %+v: %t, want %t", a.Approval, !tc.ours, tc.ours)
			}
			want := a2a.TaskStateWorking
			if !tc.ours && !a.Away() {
				want = a2a.TaskStateInputRequired
			}
			k.wantState(want)
			if due := len(k.dues()) > 0; due != tc.ours {
				t.Errorf("due are %v, want a time limit of the provider: %t", k.dues(), tc.ours)
			}
		})
	}
}

// A decision of the program about what is for people alone is refused, although it has no role to
// lack: the rule does not depend on what the program is asked.
func TestProviderDecidesNothingForPeople(t *testing.T) {
	t.Parallel()
	provider := auth.Principal{Tenant: alice.Tenant, Subject: "confirmation provider", Method: "provider"}
	for name, tt := range map[string]struct {
		terms approval.Terms
		dies  bool
		ok    bool
	}{
		"four eyes": {terms: approval.Terms{FourEyes: true}},
		"elsewhere": {terms: approval.Terms{Elsewhere: true}},
		"itself":    {terms: approval.Terms{Approvers: &approval.Approvers{Subjects: []string{provider.Subject}}}},
		"outcome":   {dies: true},
		"a call":    {ok: true},
	} {
		k := newDesk(t, func(r *rules.Rules) {
			r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: tt.terms})
		}, &fake{name: "pay"})
		k.begin(task.PlannedCall{Tool: "pay"})
		if tt.dies {
			k.decide(id(1), approval.Approve)
			k.dies()
		}
		err := k.put(rules.Decisions{By: provider, Via: approval.ViaProvider, List: []approval.Decision{{ID: k.one().ID, Type: approval.Approve}}})
		if (err == nil) != tt.ok {
			t.Errorf("%s: the decision of the program = %v, want accepted: %t", name, err, tt.ok)
		}
	}
}

// The state is fixed at asking: only an escalation that lets the client decide moves it, and its vote.
func TestEscalationToTheClient(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]a2a.TaskState{auth.RoleRequester: a2a.TaskStateInputRequired, "treasury": a2a.TaskStateWorking} {
		k := voteDesk(t, approval.Gate{Tool: "pay", Terms: approval.Terms{
			Approvers: &approval.Approvers{Roles: []string{"finance"}}, Escalate: approval.Escalation{After: time.Hour, AddRoles: []string{role}},
		}})
		k.wantState(a2a.TaskStateWorking)
		if !strings.HasPrefix(k.text(), "Waiting for approval by somebody with the role finance; the result follows by itself.") {
			t.Errorf("the status says %q", k.text())
		}
		row := k.dueRow(record.DueEscalate, id(1))
		k.now = row.Time.Time()
		k.step(rules.Waiting{Row: row})
		k.wantState(want)
	}
}

// A client that has given its vote waits for those of others.
func TestClientThatHasVoted(t *testing.T) {
	t.Parallel()
	k := voteDesk(t, approval.Gate{Tool: "pay", Terms: approval.Terms{People: 2}})
	k.wantState(a2a.TaskStateInputRequired)
	vote := approval.Decision{ID: id(1), Type: approval.Approve}
	k.step(rules.Decisions{By: bob, Via: approval.ViaAPI, List: []approval.Decision{vote}})
	k.wantState(a2a.TaskStateInputRequired)
	k = voteDesk(t, approval.Gate{Tool: "pay", Terms: approval.Terms{People: 2}})
	k.step(rules.Decisions{By: alice, Via: approval.ViaA2A, List: []approval.Decision{vote}})
	if k.wantState(a2a.TaskStateWorking); !strings.HasPrefix(k.text(), "Waiting for approval by another person") {
		t.Errorf("after its vote the client is told %q", k.text())
	}
}

// A message to a task that waits for others is a remark: it is kept, told to the planner with the result,
// and decides nothing. A word that decides is refused with the deciders, unless it is marked as a remark. After the decision the status
// does not say any more that the task waits.
func TestRemark(t *testing.T) {
	t.Parallel()
	l := &listener{steps: steps{list: []*task.Step{{Calls: []task.PlannedCall{{Tool: "pay"}}}}}}
	k := newDesk(t, func(r *rules.Rules) {
		r.Planner = l
		r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{Approvers: &approval.Approvers{Subjects: []string{"bob"}}}})
	}, &fake{name: "pay"})
	k.beginAs()
	for _, word := range []string{"yes", "no, wrong person", "nope"} {
		if err := k.put(k.says("m-"+word, word, alice)); err == nil || !strings.Contains(err.Error(), "bob decides it") {
			t.Errorf("%q = %v, want a refusal that names the deciders", word, err)
		}
	}
	k.mustPut(k.says("m2", "it is for the rent", alice))
	if k.wantState(a2a.TaskStateWorking); !strings.HasPrefix(k.text(), "Waiting for approval by bob") {
		t.Errorf("after a remark the status says %q", k.text())
	}
	if err := k.put(k.says("m2", "it is for the rent", alice)); !errors.Is(err, rules.ErrDuplicate) {
		t.Errorf("the same remark again = %v", err)
	}
	marked := k.says("m3", "No: I have called them", alice).Message
	marked.Metadata = map[string]any{approval.RemarkKey: true}
	k.mustPut(followUp(t, alice, marked))
	k.decide(id(1), approval.Approve)
	if k.wantState(a2a.TaskStateWorking); k.text() != "" {
		t.Errorf("while the call runs, the status says %q", k.text())
	}
	k.returns("c1.1", `{}`)
	if len(l.remarks) != 2 || l.remarks[0].Message.Parts[0].Text() != "it is for the rent" || l.remarks[0].After != 1 {
		t.Errorf("the planner is told %+v", l.remarks)
	}
}

// A text of a client that may not answer a tool's question is a remark, too, and no refused answer.
func TestRemarkBesideAQuestion(t *testing.T) {
	t.Parallel()
	l := &listener{steps: steps{list: []*task.Step{{Calls: []task.PlannedCall{{Tool: "book"}}}}}}
	k := newDesk(t, func(r *rules.Rules) { r.Planner = l }, &fake{name: "book"})
	service := alice
	service.Kind = auth.KindService
	in := followUp(t, service, &a2a.Message{ID: "first", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("go")}})
	d, err := rules.Create(k.rules, k.at(), rules.New{ID: deskTask, Message: in.Message, JSON: in.JSON, Context: k.rules.Readonly(t.Context(), service)})
	if err != nil {
		t.Fatal(err)
	}
	k.goOn(d)
	k.pauses("c1.1", tool.Suspension{Asks: []tool.Question{{ID: "which", Kind: tool.AskQuestion, Hint: "Which account?"}}})
	k.wantState(a2a.TaskStateWorking)
	if err := k.put(k.says("m1", "it is for the rent", service)); err != nil {
		t.Fatalf("a remark = %v", err)
	}
	if k.one().Kind != approval.KindQuestion {
		t.Error("the remark answers the question")
	}
	k.decide(id(1), approval.Respond)
	k.returns("c1.1", `{}`)
	if len(l.remarks) != 1 {
		t.Errorf("the planner is told %+v", l.remarks)
	}
}

// Where the requester may decide, only not as the A2A client, the status does not say that another person does.
func TestWaitForARequesterElsewhere(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "book"})
	k.begin(task.PlannedCall{Tool: "book"})
	k.pauses("c1.1", tool.Suspension{Asks: []tool.Question{{ID: "login", Kind: tool.AskAuth, Hint: "Sign in."}}})
	if k.wantState(a2a.TaskStateAuthRequired); !strings.HasPrefix(k.text(), "Waiting for a sign-in by a person elsewhere") {
		t.Errorf("of a login the status says %q", k.text())
	}
	if err := k.put(rules.Decisions{By: alice, Via: approval.ViaAPI, List: []approval.Decision{{ID: id(1), Type: approval.Respond, Response: []byte(`"in"`)}}}); err != nil {
		t.Errorf("the requester signs in = %v", err)
	}

	for _, eyes := range []bool{false, true} {
		k = voteDesk(t, approval.Gate{Tool: "pay", Terms: approval.Terms{Elsewhere: true, FourEyes: eyes}})
		if want := map[bool]string{false: "a person elsewhere", true: "another person"}[eyes]; !strings.HasPrefix(k.text(), "Waiting for approval by "+want) {
			t.Errorf("with four eyes %t the status says %q", eyes, k.text())
		}
		if err := k.votes(1, alice, approval.Approve, ""); (err == nil) == eyes {
			t.Errorf("with four eyes %t the requester decides = %v", eyes, err)
		}
	}
}
