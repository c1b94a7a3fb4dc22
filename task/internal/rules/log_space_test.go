package rules_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
)

// fill adds remarks to a task that waits until its log has at most left bytes of room
// for what is open.
func (k *desk) fill(left int) {
	k.t.Helper()
	for n := 0; ; n++ {
		room := k.rules.Limits.OpenRoom(0) - int(k.header.Bytes) - left
		if room < 3000 { // what comes with a remark
			return
		}
		k.mustPut(k.says("remark", strings.Repeat(string(rune('a'+n%26)), min(room-2500, 60_000)), alice))
		k.rules.NoIdempotency = true
	}
}

func smallLog(r *rules.Rules) {
	r.Limits = task.Limits{Task: 1 << 20, Event: 256 << 10}.WithDefaults()
}

// Calls start at once only as far as there is room for what comes of all of them; the
// others wait for that, and start when there is room again, or end without having run.
func TestCallsWaitForRoom(t *testing.T) {
	t.Parallel()
	k := newDesk(t, smallLog, &fake{name: "pay", gated: true, schema: amounts("")}, &fake{name: "run", schema: amounts("")})
	k.begin(call("run", 1), call("run", 2), call("run", 3))
	if n := len(k.entered); n != 1 {
		t.Fatalf("%d calls were entered at once, want 1: there is room for the result of one", n)
	}
	for _, c := range []string{"c1.1", "c1.2", "c1.3"} {
		k.returns(c, `"done"`)
	}
	k.wantState(a2a.TaskStateCompleted)

	k = newDesk(t, smallLog, &fake{name: "pay", gated: true, schema: amounts("")})
	k.begin(call("pay", 1))
	k.fill(0)
	k.decide(id(1), approval.Approve)
	k.wantEntries(0)
	if outcome, problem := k.outcome("c1.1"); outcome != task.OutcomeError || !strings.Contains(problem, "it was not run") {
		t.Errorf("the call ended %q, %q, want that it was not run", outcome, problem)
	}
}

// A result that does not fit is not kept, and the call says so.
func TestResultIsBounded(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1000, 300 << 10} {
		k := newDesk(t, smallLog, &fake{name: "run", schema: amounts("")})
		k.begin(call("run", 1))
		k.returns("c1.1", `"`+strings.Repeat("x", size)+`"`)
		outcome, problem := k.outcome("c1.1")
		if fits := size < 200<<10; fits != (outcome == task.OutcomeOK) || fits == strings.Contains(problem, "at most") {
			t.Errorf("a result of %d bytes: the call ended %q, %q", size, outcome, problem)
		}
	}
}

// A log that is full refuses what decides nothing, and takes a decision that is small;
// one that brings more than fits is refused.
func TestFullLogTakesDecisions(t *testing.T) {
	t.Parallel()
	k := newDesk(t, smallLog, &fake{name: "pay", gated: true, schema: amounts("")})
	k.begin(call("pay", 1))
	k.fill(0)
	seq := k.header.Seq
	if err := k.put(k.says("m", strings.Repeat("x", 5000), alice)); err == nil || k.header.Seq != seq {
		t.Errorf("a remark = %v, and %d events were written", err, k.header.Seq-seq)
	}
	large := k.says("m", "", alice)
	large.Message.Parts = a2a.ContentParts{
		a2a.NewDataPart(map[string]any{"type": "approval_response", "decisions": []any{map[string]any{"id": id(1), "decision": "approve"}}}),
		a2a.NewTextPart(strings.Repeat("x", 900<<10)),
	}
	var err error
	if large.JSON, err = rules.EncodeMessage(large.Message); err != nil {
		t.Fatal(err)
	}
	if err := k.put(large); err == nil || k.header.Seq != seq {
		t.Errorf("a decision of 900 KiB = %v, and %d events were written", err, k.header.Seq-seq)
	}
	k.mustPut(k.says("m", "yes", alice))
	if a := k.approval(1); a.State != approval.Approved {
		t.Errorf("the approval is %s, want it approved", a.State)
	}
}

// A late result that does not fit is recorded without itself.
func TestLateResultThatDoesNotFit(t *testing.T) {
	t.Parallel()
	k := newDesk(t, smallLog, &fake{name: "run", schema: amounts("")})
	k.begin(call("run", 1))
	k.mustPut(rules.Cancel{})
	k.mustPut(rules.LateResult{Entry: &rules.Execution{Call: "c1.1"}, Result: json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)})
	if last := k.log[len(k.log)-1]; last.Kind != "call.finished_late.v1" || len(last.Data) > 1000 {
		t.Errorf("the last event is %s of %d bytes", last.Kind, len(last.Data))
	}
	if k.header.Bytes > 1<<20 {
		t.Errorf("the log has %d bytes", k.header.Bytes)
	}
}

// The votes about a call do not take the room that its run needs.
func TestVotesLeaveRoom(t *testing.T) {
	t.Parallel()
	k := newDesk(t, func(r *rules.Rules) {
		smallLog(r)
		r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{People: 10}})
	}, &fake{name: "pay", schema: map[string]any{"type": "object"}})
	raw, err := json.Marshal(map[string]any{"memo": strings.Repeat("x", 20_000)})
	if err != nil {
		t.Fatal(err)
	}
	k.begin(task.PlannedCall{Tool: "pay", Args: raw})
	k.wantState(a2a.TaskStateInputRequired)
	for n := range 10 {
		k.vote(1, voter(fmt.Sprint("p", n)), approval.Approve, "")
		told := string(k.log[len(k.log)-1].Data)
		if n == 0 && (!strings.Contains(k.text(), "Approval "+id(1)) || !strings.Contains(told, `"message":"Votes: 1 of 10: p0; missing: 9 more"`)) {
			t.Errorf("the task asks %.100s; the vote has published %.500s", k.text(), told)
		}
	}
	k.wantEntries(1)
	if n := int(k.header.Bytes); n > k.rules.Limits.Task {
		t.Errorf("the log has %d bytes; at most %d are allowed", n, k.rules.Limits.Task)
	}
}

// Deadlines that keep their approvals, and escalations, take no room that the calls need.
func TestKeptDeadlinesLeaveRoom(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{record.DueExpiry, record.DueEscalate} {
		k := newDesk(t, func(r *rules.Rules) {
			smallLog(r)
			terms := approval.Terms{Expires: time.Hour, OnExpiry: approval.ExpiryKeeps}
			if kind == record.DueEscalate {
				terms = approval.Terms{Approvers: &approval.Approvers{Roles: []string{"finance"}}, Escalate: approval.Escalation{After: time.Hour, AddRoles: []string{"treasury"}}}
			}
			r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: terms})
		}, &fake{name: "pay", schema: map[string]any{"type": "object"}})
		calls := make([]task.PlannedCall, 16)
		for i := range calls {
			calls[i] = task.PlannedCall{Tool: "pay", Args: json.RawMessage(`{"memo":"` + strings.Repeat("x", 2_000) + `"}`)}
		}
		k.begin(calls...)
		k.now = k.now.Add(2 * time.Hour)
		for i := range k.pending() {
			if row := k.dueRow(kind, id(i+1)); kind == record.DueExpiry {
				k.mustPut(rules.Expiry{Row: row})
			} else {
				k.mustPut(rules.Waiting{Row: row})
			}
		}
		if n := int(k.header.Bytes); n > k.rules.Limits.OpenRoom(0) {
			t.Errorf("after the rows %s the log has %d bytes; at most %d leave room for a call", kind, n, k.rules.Limits.OpenRoom(0))
		}
		k.vote(1, voter("fred", "finance"), approval.Approve, "")
		k.wantEntries(1)
	}
}
