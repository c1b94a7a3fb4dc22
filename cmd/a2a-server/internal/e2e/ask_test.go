package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"a2a-server/approval"
	"a2a-server/client"
)

// refundTool is an entry of tools that asks, after gates.
const refundTool = `
declared_gates: ignore
no_approve_tools: [refund]
tools:
  - ask: refund
    description: Refunds an order.
    hint: "Refund {amount} for {order}?"
    args: {amount: {type: number}, order: {type: string}}
    optional: [order]
`

// refund sends a call of refund as alice, and returns its task and how it is sent.
func (v *voters) refund(id, args string) (taskAnswer, string) {
	v.t.Helper()
	return v.sendAs(v.t, message(id, "/refund "+args), v.header("alice")...)
}

// result waits for the end of a task, and returns the data of its only artifact as alice sees it.
func (v *voters) result(task string) (data map[string]any) {
	v.t.Helper()
	until(v.t, "the task has ended", func() bool { return v.state(task) == "TASK_STATE_COMPLETED" })
	_, text := v.do(v.t, http.MethodGet, "/tasks/"+task, "", v.header("alice")...)
	var got struct {
		Artifacts []struct {
			Name  string
			Parts []struct {
				Data map[string]any
				Text string
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Artifacts) != 1 || len(got.Artifacts[0].Parts) != 2 {
		v.t.Fatalf("the task has no single artifact of two parts: %v %s", err, text)
	}
	var same map[string]any
	if err := json.Unmarshal([]byte(got.Artifacts[0].Parts[1].Text), &same); err != nil || len(same) != len(got.Artifacts[0].Parts[0].Data) {
		v.t.Errorf("the text %q is not the data: %v", got.Artifacts[0].Parts[1].Text, err)
	}
	return got.Artifacts[0].Parts[0].Data
}

// A function of the agent is approved like the call of any other tool of the configuration: by the gates of its
// name, by a grant, and never by a setting that lets other tools run without asking.
func TestAskOfTheFile(t *testing.T) {
	t.Parallel()
	v := withVoters(t, `{alice: ["key:alice"], bob: ["key:bob"], carl: ["key:carl"]}`,
		`[{name: big, tool: refund, when: "args.amount > 99", people: 2, four_eyes: true}, {name: small, tool: refund, when: "args.amount > 5 && args.amount <= 99", grants: {scopes: [time], max: 1h, vary: [/order]}}, {tool: refund, name: tiny, when: "args.amount < 2", action: allow}]`+refundTool)
	sent, said := v.refund("m1", "amount=100 order=a")
	if sent.Status.State != "TASK_STATE_WORKING" || !strings.Contains(said, "Refund 100 for ") {
		t.Fatalf("the call is %s, want its hint: %s", sent.Status.State, said)
	}
	id := sent.ID + ".a1"
	v.want("alice", id, client.Approve, http.StatusForbidden)
	v.want("bob", id, client.Approve, http.StatusAccepted)
	v.want("carl", id, client.Approve, http.StatusOK)
	if got := v.result(sent.ID); got["approved"] != true || got["approval"] != id || fmt.Sprint(got["by"]) != "[key:bob key:carl]" {
		t.Errorf("result = %v, want approved by two", got)
	}

	// No gate asks about 3 or 5: the tool does, whatever the settings.
	if sent, said = v.refund("m2", "amount=3"); sent.Status.State != waits {
		t.Errorf("without a gate the call is %s, want it to ask: %s", sent.Status.State, said)
	}
	if sent, said = v.refund("m3", "amount=1"); sent.Status.State != "TASK_STATE_COMPLETED" {
		t.Fatalf("the allowed call is %s: %s", sent.Status.State, said)
	}
	if got := v.result(sent.ID); fmt.Sprint(got["by"]) != "[policy]" || got["approval"] != sent.ID+".c1.1" {
		t.Errorf("result = %v, want it by the policy", got)
	}

	// A grant covers the next call, which has an approval of its own.
	sent, _ = v.refund("m4", "amount=50 order=a")
	id = sent.ID + ".a1"
	if status, said := v.decide("bob", id, client.Decision{Decision: client.Approve, Grant: &client.GrantRequest{Scope: string(approval.GrantTime)}}); status != http.StatusOK {
		t.Fatalf("approve with a grant: %d %s", status, said)
	}
	first := v.result(sent.ID)
	if sent, said = v.refund("m5", "amount=50 order=b"); sent.Status.State != "TASK_STATE_COMPLETED" {
		t.Fatalf("the covered call is %s: %s", sent.Status.State, said)
	}
	if got := v.result(sent.ID); fmt.Sprint(got["by"]) != "[key:bob]" || got["grant"] == nil || got["approval"] == first["approval"] || got["approval"] != sent.ID+".c1.1" {
		t.Errorf("result = %v after %v, want an approval of its own by a grant", got, first)
	}
}
