package agenttool_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	a2aserver "a2a-server"
	"a2a-server/a2a/dialect"
	"a2a-server/a2aservertest"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/tool"
	"a2a-server/tool/agenttool"
)

// waitingChain starts three servers. The payments of the last are approved outside its conversations,
// within a week.
func waitingChain(t *testing.T, change func(*agenttool.Config)) (top, middle, leaf *a2aservertest.Server, paid *ledger) {
	t.Helper()
	policy, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{{Tool: "pay", Terms: approval.Terms{
		Elsewhere: true, Expires: 7 * 24 * time.Hour,
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	paid = &ledger{}
	leaf = a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{bank(paid)}, Policy: policy})
	middle = serve(t, "bank", leaf, change)
	top = serve(t, "shop", middle, change)
	return top, middle, leaf, paid
}

// saysWait returns the text of a task that says that it waits for decisions elsewhere.
func saysWait(t *testing.T, task *a2a.Task) string {
	t.Helper()
	if task.Status.State != a2a.TaskStateWorking || len(dialect.ReadWaiting(task.Status.Message)) == 0 {
		t.Fatalf("the status is %+v, want working, for a decision elsewhere", task.Status)
	}
	return task.Status.Message.Parts[0].Text()
}

// pass moves the clocks of servers together, in steps in which they look at their children, and gives
// them time to work.
func pass(d, step time.Duration, servers ...*a2aservertest.Server) {
	for ; d > 0; d -= step {
		for _, s := range servers {
			s.Advance(step)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// financed decides the payment for which a task waits.
func financed(t *testing.T, leaf *a2aservertest.Server, waits *a2a.Task, d approval.Decision) {
	t.Helper()
	id := dialect.ReadWaiting(waits.Status.Message)[0].ID
	d.ID = id[strings.LastIndex(id, "/")+1:]
	if err := leaf.Approvals().Decide(t.Context(), auth.Anonymous(), d); err != nil {
		t.Fatal(err)
	}
}

func TestWaitsForThePeopleOfAnAgent(t *testing.T) {
	t.Parallel()
	_ = json.Valid
	top, middle, leaf, paid := waitingChain(t, func(c *agenttool.Config) { c.Timeout = 10 * time.Second })
	task := top.Send("/shop /bank /pay amount=5 to=bob")
	text := saysWait(t, task)
	if !strings.HasPrefix(text, "shop/bank waits for another person until ") {
		t.Errorf("it says %q", text)
	}
	t.Log(text)
	for _, d := range []time.Duration{6 * time.Minute, 25 * time.Hour} {
		pass(d, d/4, leaf, middle, top)
		if got := saysWait(t, top.Get(task.ID)); got != text {
			t.Errorf("it says %q, want %q as before", got, text)
		}
	}
	financed(t, leaf, task, approval.Decision{Type: approval.Approve})
	pass(15*time.Second, time.Second, leaf, middle, top)
	done := top.Wait(task.ID, a2a.TaskStateCompleted)
	if got := top.Text(done); !strings.Contains(got, "paid bob") || len(paid.all()) != 1 {
		t.Errorf("it says %q, and paid %v", got, paid.all())
	}
}
