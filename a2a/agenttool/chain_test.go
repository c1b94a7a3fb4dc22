package agenttool_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	a2aserver "a2a-server"
	"a2a-server/a2a/agenttool"
	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loopback lets tools reach the servers of a test.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

type payment struct {
	Amount int    `json:"amount"`
	To     string `json:"to"`
}

// ledger has the payments of a bank, in their order.
type ledger struct {
	paid atomic.Pointer[[]payment]
}

func (l *ledger) all() []payment {
	if p := l.paid.Load(); p != nil {
		return *p
	}
	return nil
}

// bank returns a toolset that pays after an approval.
func bank(l *ledger) tool.Toolset {
	return tool.NewToolset("bank", functiontool.Must(functiontool.New(functiontool.Config{
		Name: "pay", Description: "Pays somebody", RequireApproval: true,
	}, func(_ tool.Context, p payment) (string, error) {
		all := append(l.all(), p)
		l.paid.Store(&all)
		return "paid " + p.To, nil
	})))
}

// serve starts a server whose agent name is another server.
func serve(t *testing.T, name string, below *a2aservertest.Server, change func(*agenttool.Config)) *a2aservertest.Server {
	t.Helper()
	var self atomic.Pointer[a2aservertest.Server]
	no := false
	c := agenttool.Config{
		Name: name, Card: below.URL + "/.well-known/agent-card.json", Approve: &no, Allow: loopback, Poll: time.Second,
		Now: func() time.Time {
			if s := self.Load(); s != nil {
				return s.Now()
			}
			return time.Now()
		},
	}
	if change != nil {
		change(&c)
	}
	set, err := agenttool.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	s := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{set}})
	self.Store(s)
	return s
}

// chain starts three servers, the last of which has a bank.
func chain(t *testing.T) (top, middle, leaf *a2aservertest.Server, paid *ledger) {
	t.Helper()
	paid = &ledger{}
	leaf = a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{bank(paid)}})
	middle = serve(t, "leaf", leaf, nil)
	top = serve(t, "middle", middle, nil)
	return top, middle, leaf, paid
}

const payBob = "/middle /leaf /pay amount=5 to=bob"

// decide decides the only pending approval of a task.
func decide(t *testing.T, s *a2aservertest.Server, task *a2a.Task, d approval.Decision) approval.Approval {
	t.Helper()
	pending := s.Pending(task)
	if len(pending) != 1 {
		t.Fatalf("%d approvals are pending, want 1: %+v", len(pending), pending)
	}
	d.ID = pending[0].ID
	if err := s.Approvals().Decide(t.Context(), auth.Anonymous(), d); err != nil {
		t.Fatal(err)
	}
	return pending[0]
}

func TestThreeLevels(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		decision approval.Decision
		state    a2a.TaskState
		want     []payment
		says     string
	}{
		"approve": {approval.Decision{Type: approval.Approve}, a2a.TaskStateCompleted, []payment{{5, "bob"}}, "paid bob"},
		"edit":    {approval.Decision{Type: approval.Edit, Args: json.RawMessage(`{"amount":4,"to":"eve"}`)}, a2a.TaskStateCompleted, []payment{{4, "eve"}}, "paid eve"},
		"reject":  {approval.Decision{Type: approval.Reject, Reason: "too much"}, a2a.TaskStateFailed, nil, "too much"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top, _, _, paid := chain(t)
			task := top.Send(payBob)
			waits := top.Wait(task.ID, a2a.TaskStateInputRequired)
			a := decide(t, top, waits, tt.decision)
			if !strings.Contains(string(a.Payload), `"tool":"pay"`) || !strings.Contains(string(a.Payload), `"to":"bob"`) || !strings.Contains(string(a.Payload), `"agent":"middle/leaf"`) {
				t.Errorf("the approval shows %s", a.Payload)
			}
			done := top.Wait(task.ID, tt.state)
			if got := paid.all(); len(got) != len(tt.want) || len(got) > 0 && got[0] != tt.want[0] {
				t.Errorf("paid %v, want %v", got, tt.want)
			}
			if text := top.Text(done); !strings.Contains(text, tt.says) {
				t.Errorf("the task says %q, want %q in it", text, tt.says)
			}
		})
	}
}

// childOf returns the only task of a server.
func childOf(t *testing.T, s *a2aservertest.Server) *a2a.Task {
	t.Helper()
	page, err := s.Approvals().List(t.Context(), auth.Anonymous(), engine.ApprovalQuery{})
	if err != nil || len(page.Approvals) != 1 {
		t.Fatalf("List() = %+v, %v", page, err)
	}
	return s.Get(a2a.TaskID(page.Approvals[0].Task))
}

// An answer given to the last agent resumes the others, and closes their questions.
func TestAnsweredAtTheAgent(t *testing.T) {
	t.Parallel()
	top, middle, leaf, paid := chain(t)
	task := top.Send(payBob)
	waits := top.Wait(task.ID, a2a.TaskStateInputRequired)
	done := childOf(t, middle)
	leaf.Approve(childOf(t, leaf))
	middle.Advance(time.Minute) // it looks at its child
	middle.Wait(done.ID, a2a.TaskStateCompleted)
	top.Advance(time.Minute)
	if text := top.Text(top.Wait(task.ID, a2a.TaskStateCompleted)); !strings.Contains(text, "paid bob") {
		t.Errorf("the task says %q", text)
	}
	if pending := top.Pending(waits); len(pending) > 0 || len(paid.all()) != 1 {
		t.Errorf("pending: %v, paid: %v", pending, paid.all())
	}
}

// A grant for the call of an agent answers none of the agent's questions, and these make no grant.
func TestQuestionsMakeNoGrants(t *testing.T) {
	t.Parallel()
	paid := &ledger{}
	leaf := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{bank(paid)}})
	no := false
	set, err := agenttool.New(agenttool.Config{Name: "leaf", Card: leaf.URL + "/.well-known/agent-card.json", Approve: &no, Allow: loopback, Poll: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	gate := approval.Gate{Tool: "leaf", Terms: approval.Terms{Grants: &approval.GrantTerms{Scopes: approval.GrantScopes()}}}
	policy, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{gate}})
	if err != nil {
		t.Fatal(err)
	}
	top := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{set}, Policy: policy})
	grant := &approval.GrantRequest{Scope: approval.GrantTime}
	for i := range 2 {
		id := top.Send("/leaf /pay amount=5 to=bob").ID
		waits := top.Wait(id, a2a.TaskStateInputRequired)
		if i == 0 {
			decide(t, top, waits, approval.Decision{Type: approval.Approve, Grant: grant})
			waits = top.Wait(id, a2a.TaskStateInputRequired)
		}
		pending := top.Pending(waits)
		if len(pending) != 1 || pending[0].Ask == "" || pending[0].Grantable() {
			t.Fatalf("pending: %+v, want the agent's question, without grants", pending)
		}
		err := top.Approvals().Decide(t.Context(), auth.Anonymous(), approval.Decision{ID: pending[0].ID, Type: approval.Approve, Grant: grant})
		if _, refused := errors.AsType[*approval.Error](err); !refused {
			t.Errorf("Decide() with a grant = %v, want it refused", err)
		}
		decide(t, top, waits, approval.Decision{Type: approval.Approve})
		top.Wait(id, a2a.TaskStateCompleted)
	}
	if got := paid.all(); len(got) != 2 {
		t.Errorf("paid %v, want both", got)
	}
}

// A look at a child that still asks asks nobody again.
func TestAsksOnce(t *testing.T) {
	t.Parallel()
	top, _, _, _ := chain(t)
	task := top.Send(payBob)
	waits := top.Wait(task.ID, a2a.TaskStateInputRequired)
	before := top.Pending(waits)
	for range 3 {
		top.Advance(2 * time.Minute)
		top.Wait(task.ID, a2a.TaskStateInputRequired)
	}
	if after := top.Pending(waits); len(after) != 1 || after[0].ID != before[0].ID {
		t.Errorf("%d approvals are pending, want the first: %+v", len(after), after)
	}
	decide(t, top, waits, approval.Decision{Type: approval.Cancel})
	top.Wait(task.ID, a2a.TaskStateCanceled)
}

// A canceled task cancels the tasks of all agents below it, and nothing runs.
func TestCancelThreeLevels(t *testing.T) {
	t.Parallel()
	top, middle, leaf, paid := chain(t)
	task := top.Send(payBob)
	waits := top.Wait(task.ID, a2a.TaskStateInputRequired)
	below, last := childOf(t, middle), childOf(t, leaf)
	decide(t, top, waits, approval.Decision{Type: approval.Cancel})
	top.Wait(task.ID, a2a.TaskStateCanceled)
	middle.Wait(below.ID, a2a.TaskStateCanceled)
	leaf.Wait(last.ID, a2a.TaskStateCanceled)
	if n := len(paid.all()); n > 0 {
		t.Errorf("paid %d times", n)
	}
}

// An approval that expires at the agent, or here, lets nothing run.
func TestExpires(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]int{"at the agent": 1, "here": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paid := &ledger{}
			soon, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{{Tool: "pay", Terms: approval.Terms{Expires: time.Hour}}}})
			if err != nil {
				t.Fatal(err)
			}
			leaf := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{bank(paid)}, Policy: soon})
			top := serve(t, "it", leaf, nil)
			task := top.Send("/it /pay amount=5 to=bob")
			top.Wait(task.ID, a2a.TaskStateInputRequired)
			last := childOf(t, leaf)
			if at == 1 {
				leaf.Advance(2 * time.Hour)
				leaf.Wait(last.ID, a2a.TaskStateCanceled)
			}
			top.Advance(time.Minute)
			if at == 0 {
				top.Advance(1000 * time.Hour)
				leaf.Wait(last.ID, a2a.TaskStateCanceled)
			}
			top.Wait(task.ID, a2a.TaskStateFailed)
			if n := len(paid.all()); n > 0 {
				t.Errorf("paid %d times", n)
			}
		})
	}
}

// The approvals API has the arguments of the agent's call for an editor, and takes their edit.
func TestEditedByAPI(t *testing.T) {
	t.Parallel()
	top, _, _, paid := chain(t)
	task := top.Wait(top.Send(payBob).ID, a2a.TaskStateInputRequired)
	c, err := client.New(client.Config{URL: top.URL})
	if err != nil {
		t.Fatal(err)
	}
	id := top.Pending(task)[0].ID
	shown, err := c.Approval(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(shown.Approval.Arguments), `{"amount":5,"to":"bob"}`; got != want || !slices.Contains(shown.Approval.Decisions, client.Edit) {
		t.Errorf("the API shows %s, want %s, and takes %v", got, want, shown.Approval.Decisions)
	}
	edit := client.Decision{Decision: client.Edit, Arguments: json.RawMessage(`{"amount":"much"}`), Digest: shown.Approval.Digest}
	if _, err := c.Decide(t.Context(), id, edit); err != nil {
		t.Fatal(err)
	}
	// The bank refuses that, and the question is asked again.
	for len(top.Pending(task)) == 0 || top.Pending(task)[0].ID == id {
		top.Wait(task.ID, a2a.TaskStateInputRequired)
	}
	again := top.Pending(task)[0]
	if !strings.Contains(again.Hint, "refused the last answer") {
		t.Errorf("it asks again: %q", again.Hint)
	}
	edit.Arguments, edit.Digest = json.RawMessage(`{"amount":1,"to":"eve"}`), again.Digest
	if _, err := c.Decide(t.Context(), again.ID, edit); err != nil {
		t.Fatal(err)
	}
	top.Wait(task.ID, a2a.TaskStateCompleted)
	if got := paid.all(); len(got) != 1 || got[0] != (payment{1, "eve"}) {
		t.Errorf("paid %v", got)
	}
}

// A call that is destructive at the last agent needs the code of its approval at every server above.
func TestDestructiveAbove(t *testing.T) {
	t.Parallel()
	paid := &ledger{}
	leaf := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{tool.NewToolset("bank", functiontool.Must(functiontool.New(functiontool.Config{
		Name: "pay", Description: "Pays somebody", RequireApproval: true, Annotations: tool.Annotations{Destructive: true},
	}, func(_ tool.Context, p payment) (string, error) {
		paid.paid.Store(&[]payment{p})
		return "paid " + p.To, nil
	})))}})
	top := serve(t, "middle", serve(t, "leaf", leaf, nil), nil)
	task := top.Wait(top.Send(payBob).ID, a2a.TaskStateInputRequired)
	asked := top.Pending(task)
	if len(asked) != 1 || !asked[0].Terms.Destructive || asked[0].Risk() != "high" || asked[0].Code == "" {
		t.Fatalf("asked %+v, want a destructive confirmation with a code", asked)
	}
	say := func(text string) {
		m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
		m.TaskID, m.ContextID = task.ID, task.ContextID
		top.SendMessage(m)
	}
	say("yes")
	if again := top.Pending(top.Get(task.ID)); len(again) != 1 || len(paid.all()) > 0 {
		t.Fatalf("after a bare yes: pending %+v, paid %v", again, paid.all())
	}
	say("yes " + asked[0].Code)
	top.Wait(task.ID, a2a.TaskStateCompleted)
	if got := paid.all(); len(got) != 1 {
		t.Errorf("paid %v, want once", got)
	}
}

// While an agent is away, its question stays open, with its id and deadline.
func TestQuestionWhileTheAgentIsAway(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	var away atomic.Bool
	tried, paid := make(chan bool, 100), make(chan bool, 1)
	h.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			tried <- true
			http.Error(w, "restarting", http.StatusServiceUnavailable)
			return
		}
		h.ServeHTTP(w, r)
	})
	h.answer = func(method string, _ map[string]any) []string {
		asks := asksToPay("m", "q1", "d1", "bob")
		switch {
		case method == "SendStreamingMessage" && h.asked.Load() > 1:
			paid <- true
			return []string{`{"task": ` + paidChild + `}`}
		case method == "SendStreamingMessage":
			return []string{`{"task": ` + asks + `}`}
		}
		return []string{asks}
	}
	s := ours(t, h.URL, nil)
	waits := s.Wait(s.Send("/it hello").ID, a2a.TaskStateInputRequired)
	before := s.Pending(waits)
	away.Store(true)
	for range 3 {
		tick(t, s, tried)
	}
	after := s.Pending(s.Get(waits.ID))
	if len(after) != 1 || after[0].ID != before[0].ID || !after[0].Deadline.Equal(*before[0].Deadline) {
		t.Fatalf("pending %+v, want %+v", after, before)
	}
	decide(t, s, waits, approval.Decision{Type: approval.Approve})
	<-tried
	away.Store(false)
	tick(t, s, paid)
	s.Wait(waits.ID, a2a.TaskStateCompleted)
}
