package rules_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
)

// waitingDesk is a desk whose call pay is asked about: its approvers are reminded after an hour, others
// are asked after two, and it expires after three.
func waitingDesk(t *testing.T, end approval.OnExpiry) *desk {
	t.Helper()
	return voteDesk(t, approval.Gate{Tool: "pay", Terms: approval.Terms{
		Remind: time.Hour, Escalate: approval.Escalation{After: 2 * time.Hour, AddRoles: []string{"treasury"}},
		Approvers: &approval.Approvers{Roles: []string{"finance"}}, Expires: 3 * time.Hour, OnExpiry: end,
	}})
}

// Whatever row comes first, all that is due happens in the order expire, escalate, remind, and nothing
// of it happens twice, too early, or after the end of the approval.
func TestWaiting(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after time.Duration
		kind  string // of the row
		end   approval.OnExpiry
		want  []string
	}{
		"the reminder at its time":             {time.Hour, record.DueRemind, "", []string{"reminded "}},
		"the reminder after both":              {2 * time.Hour, record.DueRemind, "", []string{"escalated ", "reminded "}},
		"the escalation after both":            {2 * time.Hour, record.DueEscalate, "", []string{"escalated ", "reminded "}},
		"the reminder after the deadline":      {3 * time.Hour, record.DueRemind, "", []string{"resolved "}},
		"the escalation after the deadline":    {3 * time.Hour, record.DueEscalate, "", []string{"resolved "}},
		"after the deadline of what waits on":  {3 * time.Hour, record.DueRemind, approval.ExpiryKeeps, []string{"kept ", "escalated ", "reminded "}},
		"after the deadline of the whole task": {3 * time.Hour, record.DueEscalate, approval.ExpiryCancels, []string{"resolved "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := waitingDesk(t, tt.end)
			audited, row := len(k.audit), k.dueRow(tt.kind, id(1))
			k.now = row.Time.Time().Add(-time.Millisecond)
			if err := k.put(rules.Waiting{Row: row}); !errors.Is(err, rules.ErrNotYet) {
				t.Errorf("the row before its time = %v, want ErrNotYet", err)
			}
			k.now = k.approval(1).Asked.Add(tt.after)
			k.mustPut(rules.Waiting{Row: row})
			if diff := cmp.Diff(tt.want, k.whats(audited)[:len(tt.want)]); diff != "" {
				t.Fatalf("audit (-want +got):\n%s", diff)
			}
			seq := k.header.Seq
			k.mustPut(rules.Waiting{Row: row})
			if k.header.Seq != seq || len(k.batch.Due) != 1 || !k.batch.Due[0].Delete {
				t.Errorf("the row again writes %d events and changes the due work %+v", k.header.Seq-seq, k.batch.Due)
			}
		})
	}
}

// A person who is asked, too, may decide from then on, and the rows go with the approval.
func TestRemindersGoWithTheirApproval(t *testing.T) {
	t.Parallel()
	k := waitingDesk(t, "")
	wantBarred(t, k.votes(1, voter("tara", "treasury"), approval.Approve, ""), approval.BarredApprovers)
	k.vote(1, voter("fred", "finance"), approval.Reject, "")
	k.wantNoDue()

	k = waitingDesk(t, "")
	k.now = k.now.Add(2 * time.Hour)
	k.mustPut(rules.Waiting{Row: k.dueRow(record.DueEscalate, id(1))})
	if a := k.restored().Approval(id(1)); a.Escalated == nil || !a.Escalated.Equal(k.now) || a.Reminded == nil {
		t.Errorf("after the escalation the approval is %+v", a)
	}
	k.vote(1, voter("tara", "treasury"), approval.Approve, "")
	k.wantEntries(1)
	k.wantNoDue()
}

// After an escalation the status names the roles that it has added, also to a client that goes on waiting.
func TestEscalationIsToldToTheClient(t *testing.T) {
	t.Parallel()
	k := waitingDesk(t, "")
	k.now = k.now.Add(2 * time.Hour)
	k.mustPut(rules.Waiting{Row: k.dueRow(record.DueEscalate, id(1))})
	k.wantState(a2a.TaskStateWorking)
	if want := "Waiting for approval by somebody with the role finance or somebody with the role treasury until "; !strings.HasPrefix(k.text(), want) {
		t.Errorf("the status says %q, want %q", k.text(), want)
	}
}

// After a deadline that keeps an approval the status names no deadline any more.
func TestPassedDeadlineIsNotSaid(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{record.DueExpiry, record.DueRemind} {
		k := waitingDesk(t, approval.ExpiryKeeps)
		row := k.dueRow(kind, id(1))
		k.now = k.now.Add(4 * time.Hour)
		if kind == record.DueExpiry {
			k.mustPut(rules.Expiry{Row: row})
		} else {
			k.mustPut(rules.Waiting{Row: row})
		}
		if k.wantState(a2a.TaskStateWorking); k.one().Deadline != nil || strings.Contains(k.text(), "until ") || strings.Contains(k.text(), "Deadline: ") {
			t.Errorf("after the row %s the status says %q", kind, k.text())
		}
	}
}

// A refused extension says what to do instead.
func TestExtensionIsRefused(t *testing.T) {
	t.Parallel()
	const most = rules.MaxExtension
	for name, test := range map[string]struct {
		expires  time.Duration
		extended int           // times before
		until    time.Duration // from now
		want     string
	}{
		"no deadline":        {0, 0, time.Hour, "it waits until it is decided"},
		"not after":          {time.Hour, 0, time.Hour, "choose a later time"},
		"too far":            {time.Hour, 0, most + time.Second, "choose an earlier time"},
		"extended too often": {time.Hour, rules.MaxExtensions, 30 * time.Hour, "decide it now"},
		"the last":           {time.Hour, rules.MaxExtensions - 1, most, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := voteDesk(t, approval.Gate{Tool: "pay", Terms: approval.Terms{Expires: test.expires}})
			extend := func(until time.Duration) error {
				return k.put(rules.Extend{By: bob, Via: approval.ViaAPI, Approval: id(1), Digest: k.one().Digest, Until: k.now.Add(until)})
			}
			for n := range test.extended {
				if err := extend(test.expires + time.Duration(n+1)*time.Minute); err != nil {
					t.Fatal(err)
				}
			}
			if err := extend(test.until); (err == nil) != (test.want == "") || err != nil && !strings.HasSuffix(err.Error(), "; "+test.want) {
				t.Errorf("extend = %v, want %q at its end", err, test.want)
			}
		})
	}
}
