package rules_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
)

// keyKind is the kind of the event that has the key of a task's audit.
const keyKind = "audit.key.v1"

// keys returns the events with a key.
func keys(events []store.Event) (keys []store.Event) {
	for _, e := range events {
		if e.Kind == keyKind {
			keys = append(keys, e)
		}
	}
	return keys
}

// A task has one key, which it gets with its first entry that has a digest: the digests of its
// entries can be compared with each other and with nothing else.
func TestAuditKey(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil, &fake{name: "run"}, &fake{name: "pay", gated: true, schema: amounts("")})
	k.begin(task.PlannedCall{Tool: "run"})
	if got := keys(k.log); len(got) != 0 {
		t.Errorf("a task without a digest has the keys %v", got)
	}
	k.planner.list = append(k.planner.list, &task.Step{Calls: []task.PlannedCall{call("pay", 1), call("pay", 1), call("pay", 2)}})
	k.returns("c1.1", "{}")
	if got := keys(k.batch.Events); len(got) != 1 || got[0].Public {
		t.Fatalf("the batch that asks has the keys %v, want a private one", got)
	}
	k.decide(id(1), approval.Approve)
	if got := keys(k.log); len(got) != 1 {
		t.Errorf("the task has %d keys, want 1", len(got))
	}
	digests := map[string][]string{} // by call
	for _, a := range k.audit {
		if a.Digest != "" {
			digests[a.Call] = append(digests[a.Call], a.Digest)
		}
	}
	first := digests["c2.1"][0]
	if !strings.HasPrefix(first, "hmac-sha256:") || strings.Contains(first, k.approval(1).Digest) {
		t.Errorf("digest = %s", first)
	}
	if got := slices.Compact(digests["c2.1"]); len(digests["c2.1"]) != 3 || len(got) != 1 || slices.Contains(digests["c2.3"], first) {
		t.Errorf("digests = %v, want c2.1 asked, decided and started with one, and another for c2.3", digests)
	}
}

// Entries say until when an approval waits: when it is asked, and when that has passed.
func TestAuditOfDeadlines(t *testing.T) {
	t.Parallel()
	for on, last := range map[approval.OnExpiry]approval.AuditEvent{approval.ExpiryKeeps: approval.AuditKept, approval.ExpiryRejects: approval.AuditResolved} {
		k := newDesk(t, func(r *rules.Rules) {
			r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{Expires: time.Hour, OnExpiry: on}})
		}, &fake{name: "pay", schema: amounts("")}, &fake{name: "ask", gated: true})
		k.begin(call("pay", 1), call("pay", 2), task.PlannedCall{Tool: "ask"})
		deadline := k.now.Add(time.Hour)
		k.decide(id(2), approval.Reject)
		k.now = deadline
		k.mustPut(rules.Expiry{Row: k.dueRow(record.DueExpiry, id(1))})
		for _, a := range k.audit {
			want := a.Approval == id(1) && a.What == last || a.Approval != id(3) && a.What == approval.AuditAsked
			if got := a.Deadline != nil; got != want || got && !a.Deadline.Equal(deadline) {
				t.Errorf("%s: the entry %s of %s has the deadline %v", on, a.What, a.Approval, a.Deadline)
			}
			if a.Approval == id(1) && a.What == approval.AuditAsked && a.Gate != k.approval(1).Terms.Gate {
				t.Errorf("gate = %q, want %q", a.Gate, k.approval(1).Terms.Gate)
			}
		}
		if !slices.ContainsFunc(k.audit, func(a approval.Audit) bool { return a.What == last && a.Approval == id(1) }) {
			t.Errorf("%s: the audit has no %s", on, last)
		}
	}
}
