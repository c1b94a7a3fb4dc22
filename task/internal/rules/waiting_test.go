package rules_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/rules"
)

// All that is due for an approval after a pause or a jump of the clock is done in the order expire,
// escalate, remind, whichever row is handled first: one private event and one audit entry each. A
// row that is handled again, as after a crash, does nothing.
func TestWaitingInOrder(t *testing.T) {
	t.Parallel()
	kinds := []string{task.DueExpiry, task.DueEscalate, task.DueRemind}
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, tt := range []struct {
		name    string
		expires approval.OnExpiry
		passed  time.Duration
		want    []string // events and audit entries
	}{
		{"before all", approval.ExpiryRejects, 3 * time.Hour, nil},
		{"after the reminder", approval.ExpiryRejects, 4 * time.Hour, []string{"reminded"}},
		{"after the escalation", approval.ExpiryRejects, 23 * time.Hour, []string{"escalated", "reminded"}},
		{"after the deadline", approval.ExpiryRejects, 24 * time.Hour, []string{"resolved"}},
		{"after a deadline that ends nothing", approval.ExpiryKeeps, 48 * time.Hour, []string{"kept", "escalated", "reminded"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, order := range orders {
				k := newDesk(t, func(r *rules.Rules) {
					r.Policy = policy(t, approval.Gate{Tool: "pay", Terms: approval.Terms{
						Expires: 24 * time.Hour, OnExpiry: tt.expires, Remind: 4 * time.Hour, Escalate: approval.Escalation{After: 8 * time.Hour, AddRoles: []string{"treasury"}},
					}})
				}, &fake{name: "pay"})
				k.begin(task.PlannedCall{Tool: "pay"})
				var rows []store.Due
				for _, i := range order {
					rows = append(rows, k.dueRow(kinds[i], id(1)))
				}
				logged, audited := len(k.log), len(k.audit)
				k.now = k.now.Add(tt.passed)
				for _, row := range slices.Concat(rows, rows) {
					k.fires(row)
				}
				k.wantAgain(logged, audited, tt.want)
			}
		})
	}
}

// fires handles a due row of an approval as an engine does.
func (k *desk) fires(row store.Due) {
	k.t.Helper()
	var in rules.Input = rules.Waiting{Row: row}
	if row.Kind == task.DueExpiry {
		in = rules.Expiry{Row: row}
	}
	err := k.put(in)
	if early := store.MillisOf(k.now) < row.Time; early && errors.Is(err, rules.ErrNotYet) {
		return
	}
	if err != nil {
		k.t.Errorf("%s = %v", row.Kind, err)
	}
}

// wantAgain checks the events and the audit entries of the approval after so many, and that no
// reminder is due that has been done.
func (k *desk) wantAgain(logged, audited int, want []string) {
	k.t.Helper()
	var events, audit []string
	for _, e := range k.log[logged:] {
		if kind, is := strings.CutPrefix(e.Kind, "approval."); is {
			kind, _, _ = strings.Cut(kind, ".")
			events = append(events, kind)
			if e.Public {
				k.t.Errorf("the event %s is public", e.Kind)
			}
		}
	}
	for _, a := range k.audit[audited:] {
		if a.Approval == id(1) && a.What != approval.AuditFinished {
			audit = append(audit, string(a.What))
		}
	}
	if diff := cmp.Diff(want, events); diff != "" {
		k.t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, audit); diff != "" {
		k.t.Errorf("audit (-want +got):\n%s", diff)
	}
	for _, due := range k.due {
		if due.Time <= store.MillisOf(k.now) {
			k.t.Errorf("%s of %s is still due", due.Kind, due.Time.Time())
		}
	}
}
