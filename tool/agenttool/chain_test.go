package agenttool_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	a2aserver "a2a-server"
	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/tool"
	"a2a-server/tool/agenttool"
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
