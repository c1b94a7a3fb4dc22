package rules_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// wantNoDue checks that no work is due any more.
func (k *desk) wantNoDue() {
	k.t.Helper()
	if left := k.dues(); len(left) > 0 {
		k.t.Errorf("%v are due, want nothing", left)
	}
}

// The row of a timer wakes the call that waits for just this time. One of a timer that
// was replaced, or is over, is removed and does nothing else; one that comes too early
// stays.
func TestRowOfAReplacedTimer(t *testing.T) {
	t.Parallel()
	begin := func() *desk {
		k := newDesk(t, nil, &fake{name: "nap"})
		k.begin(task.PlannedCall{Tool: "nap"})
		k.pauses("c1.1", tool.Suspension{Wake: k.now.Add(time.Hour)})
		return k
	}
	k := begin()
	now := k.dueRow(record.DueWake, "c1.1")
	for name, row := range map[string]store.Due{
		"of another time":        {Time: now.Time - 1, Kind: record.DueWake, Key: now.Key},
		"of another call":        {Time: now.Time, Kind: record.DueWake, Key: []byte("c9.9")},
		"of another kind":        {Time: now.Time, Kind: record.DueWake, Key: []byte("c1.1/retry")},
		"of a step that is none": {Time: now.Time, Kind: record.DueWake, Key: []byte("step 1")},
	} {
		fence, seq := k.header.Fence, k.header.Seq
		k.now = now.Time.Time()
		k.mustPut(rules.Wake{Row: row})
		if k.header.Fence != fence || k.header.Seq != seq || len(k.batch.Events) > 0 {
			t.Errorf("the row %s has woken the task", name)
		}
		if !slices.ContainsFunc(k.batch.Due, func(c store.DueChange) bool {
			return c.Delete && c.Time == row.Time && string(c.Key) == string(row.Key)
		}) {
			t.Errorf("the row %s stays", name)
		}
	}
	k.wantEntries(1)
	k.now = now.Time.Time().Add(-time.Millisecond)
	if err := k.put(rules.Wake{Row: now}); !errors.Is(err, rules.ErrNotYet) {
		t.Errorf("the row before its time = %v, want ErrNotYet", err)
	}
	k.now = now.Time.Time()
	k.mustPut(rules.Wake{Row: now})
	k.wantEntries(2)
	k.wantNoDue()
}

// The deadline of an approval removes itself with the approval, whatever ends it.
func TestDeadlineGoesWithItsApproval(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(k *desk){
		"decided":  func(k *desk) { k.decide(id(1), approval.Reject) },
		"canceled": func(k *desk) { k.mustPut(rules.Cancel{}) },
		"replaced": func(k *desk) {
			k.shelf.tools[0].schema = amounts("to anybody")
			k.mustPut(rules.Refresh{})
			k.decide(id(2), approval.Reject)
		},
		"expired": func(k *desk) {
			k.now = k.now.Add(time.Hour)
			k.mustPut(rules.Expiry{Row: k.dueRow(record.DueExpiry, id(1))})
		},
	} {
		k := newDesk(t, func(r *rules.Rules) {
			r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{Expires: time.Hour}})
		}, &fake{name: "pay", schema: amounts("")})
		k.begin(call("pay", 1))
		end(k)
		k.wantNoDue()
		if r := k.rows[id(1)]; r.pending || r.approval.State == approval.Pending {
			t.Errorf("%s: the row says %s, and is among those that wait: %t", name, r.approval.State, r.pending)
		}
		k.wantEntries(0)
	}
}

// What a deadline does is what its terms say, at its time and not before.
func TestExpiryDoesWhatItsTermsSay(t *testing.T) {
	t.Parallel()
	for on, want := range map[approval.OnExpiry]a2a.TaskState{
		"":                     a2a.TaskStateWorking, // for the sibling
		approval.ExpiryRejects: a2a.TaskStateWorking,
		approval.ExpiryKeeps:   a2a.TaskStateWorking,
		approval.ExpiryCancels: a2a.TaskStateCanceled,
	} {
		k := newDesk(t, func(r *rules.Rules) {
			r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{Expires: time.Hour, OnExpiry: on}})
		}, &fake{name: "pay", schema: amounts("")}, &fake{name: "run"})
		k.begin(call("pay", 1), task.PlannedCall{Tool: "run"})
		row := k.dueRow(record.DueExpiry, id(1))
		k.now = row.Time.Time().Add(-time.Millisecond)
		if err := k.put(rules.Expiry{Row: row}); !errors.Is(err, rules.ErrNotYet) {
			t.Fatalf("%q: the deadline before its time = %v, want ErrNotYet", on, err)
		}
		k.now = row.Time.Time()
		k.mustPut(rules.Expiry{Row: row})
		k.wantState(want)
		outcome, _ := k.outcome("c1.1")
		switch kept := on == approval.ExpiryKeeps; {
		case kept && (outcome != "" || k.one().Deadline != nil):
			t.Errorf("%q: the call ended %q, want it to wait without a deadline", on, outcome)
		case !kept && outcome != task.OutcomeExpired && want != a2a.TaskStateCanceled:
			t.Errorf("%q: the call ended %q, want it expired", on, outcome)
		}
		k.wantEntries(0)
		k.wantNoDue()
	}
}

// What a suspended call has running elsewhere is told of a cancel, again after a
// failure, and not forever.
func TestChildIsToldOfACancel(t *testing.T) {
	t.Parallel()
	k := newDesk(t, nil)
	k.rules.Tools = tool.NewRegistry(tool.NewToolset("agents", &parent{fake{name: "ask"}}))
	k.begin(task.PlannedCall{Tool: "ask"})
	k.pauses("c1.1", tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "?"}}, State: json.RawMessage(`"child"`)})
	k.mustPut(rules.Cancel{})
	tries := 0
	for ; len(k.due) > 0; tries++ {
		row := k.dueRow(record.DueChildCancel, "c1.1")
		if got := store.MillisOf(k.now); tries > 0 && row.Time <= got {
			t.Fatalf("try %d comes at once", tries+1)
		}
		var p rules.ChildCancel
		if err := json.Unmarshal(row.Payload, &p); err != nil || p.Tool != "ask" || p.Call != "c1.1" || string(p.State) != `"child"` {
			t.Fatalf("what is told is %s, %v", row.Payload, err)
		}
		k.now = row.Time.Time()
		k.mustPut(rules.ChildCancelResult{Row: row, Failed: errors.New("not reached")})
	}
	if tries != 8 {
		t.Errorf("the child was told %d times, want 8", tries)
	}
	if last := k.audit[len(k.audit)-1]; last.What != approval.AuditCanceled || last.Reason == "" {
		t.Errorf("the last entry of the audit is %+v, want that it was given up", last)
	}
}

// parent is a tool whose calls have something running elsewhere.
type parent struct{ fake }

func (*parent) StopJob(tool.Context, json.RawMessage) error {
	return nil
}
