package notify_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/notify"
)

var tara = auth.Principal{Tenant: "acme", Subject: "tara", Roles: []string{auth.RoleApprover, "treasury"}, Method: "test"}

// told are the receivers of the routes of a call of wire.
type told struct{ payments, oncall, all, requester receiver }

func (r *told) routes() []notify.Route {
	return []notify.Route{
		{Route: task.Route{Name: "payments", Asked: true, Reminded: true}, Sender: &r.payments},
		{Route: task.Route{Name: "oncall", Resolved: true}, Sender: &r.oncall},
		{Route: task.Route{Name: "all", All: true, Escalated: true}, Sender: &r.all},
		{Route: task.Route{Name: "requester", All: true, Requester: true, Reminded: true, Escalated: true}, Sender: &r.requester},
	}
}

// want checks the events of all messages so far.
func (r *told) want(t *testing.T, payments, oncall, all string) {
	t.Helper()
	for name, x := range map[string]struct {
		got  *receiver
		want string
	}{"payments": {&r.payments, payments}, "oncall": {&r.oncall, oncall}, "all": {&r.all, all}, "requester": {&r.requester, ""}} {
		var events []string
		for _, m := range x.got.messages() {
			events = append(events, strings.TrimPrefix(m.Event, "approval."))
		}
		if got := strings.Join(events, " "); got != x.want {
			t.Errorf("the route %s has got %q, want %q", name, got, x.want)
		}
	}
}

// audited returns the events of the audit.
func (w *world) audited() (events []string) {
	w.t.Helper()
	for _, e := range must(w.handle.Audit(context.Background(), 0, 100)) {
		events = append(events, string(must(approval.DecodeAudit(e.Data)).What))
	}
	return events
}

// noDue checks that no due work is left, however late it is.
func (w *world) noDue() {
	w.t.Helper()
	rows, next, err := w.handle.Due(context.Background(), store.MillisOf(time.Now().Add(1000*time.Hour)), "", 100)
	if len(rows) != 0 || next != 0 || err != nil {
		w.t.Errorf("due work is left: %+v, %v, %v", rows, next, err)
	}
}

func (w *world) approves(by auth.Principal, id string) error {
	a := must(w.engine.Approvals().Get(context.Background(), alice, id))
	return w.engine.Approvals().Decide(context.Background(), by, approval.Decision{ID: id, Type: approval.Approve, Digest: a.Digest})
}

// What waits is told again, then others are asked, who may decide from then on, once each.
func TestReminderAndEscalation(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		r, lines := &told{}, &bytes.Buffer{}
		w.log = zerolog.New(zerolog.SyncWriter(lines))
		w.by = auth.Principal{Tenant: "acme", Subject: "alice", Email: "alice@example.com", Roles: alice.Roles, Method: "test"}
		w.start(r.routes()...)
		id := w.ask("wire")
		asked := must(w.engine.Approvals().Get(context.Background(), alice, id))
		w.pass(4*time.Hour - time.Second)
		r.want(t, "asked", "", "")
		w.pass(2 * time.Second)
		r.want(t, "asked reminded", "", "")
		w.pass(4*time.Hour - 2*time.Second)
		var barred *approval.Error
		if err := w.approves(tara, id); !errors.As(err, &barred) || barred.Barred != approval.BarredApprovers {
			t.Errorf("before the escalation, the decision of tara = %v", err)
		}
		w.pass(2 * time.Second)
		r.want(t, "asked reminded", "escalated", "escalated")
		if m := r.oncall.messages()[0]; !slices.Equal(m.Roles, []string{"treasury"}) || m.Approval != id || m.Expires.IsZero() || m.Link == "" {
			t.Errorf("the message of the escalation is %+v", m)
		}
		a := must(w.engine.Approvals().Get(context.Background(), alice, id))
		if a.Digest != asked.Digest || a.Reminded == nil || !a.Reminded.Equal(asked.Asked.Add(4*time.Hour)) || a.Escalated == nil || !a.Escalated.Equal(asked.Asked.Add(8*time.Hour)) {
			t.Errorf("the approval is %+v", a)
		}
		w.restart(r.routes()...)
		w.pass(time.Hour)
		if err := w.approves(alice, id); !errors.As(err, &barred) || barred.Barred != approval.BarredApprovers {
			t.Errorf("the decision of alice = %v", err)
		}
		if err := w.approves(tara, id); err != nil {
			t.Errorf("after the escalation, the decision of tara = %v", err)
		}
		w.pass(30 * time.Hour)
		r.want(t, "asked reminded", "escalated resolved", "escalated")
		w.noDue()
		if diff := cmp.Diff([]string{"asked", "reminded", "escalated", "resolved", "started", "finished"}, w.audited()); diff != "" {
			t.Errorf("audit (-want +got):\n%s", diff)
		}
		w.stop()
		for _, line := range []string{`"approval still pending"`, `"approval escalated"`} {
			if strings.Count(lines.String(), line) != 1 {
				t.Errorf("the log has the line %s %d times", line, strings.Count(lines.String(), line))
			}
		}
	})
}

// A pause that is longer than all of them leaves only the deadline; a shorter pause escalates before
// it reminds.
func TestReminderAfterAPause(t *testing.T) {
	for name, tt := range map[string]struct {
		pause                 time.Duration
		payments, oncall, all string
		audit                 []string
	}{
		"longer than all":  {30 * time.Hour, "asked", "", "", []string{"asked", "resolved"}},
		"longer than both": {9 * time.Hour, "asked reminded", "escalated", "escalated", []string{"asked", "escalated", "reminded"}},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				r := &told{}
				w.start(r.routes()...)
				w.ask("wire")
				w.pass(time.Minute)
				w.stop()
				w.pass(tt.pause)
				w.start(r.routes()...)
				w.pass(time.Minute)
				r.want(t, tt.payments, tt.oncall, tt.all)
				if diff := cmp.Diff(tt.audit, w.audited()[:len(tt.audit)]); diff != "" {
					t.Errorf("audit (-want +got):\n%s", diff)
				}
				w.pass(30 * time.Hour)
				w.noDue()
			})
		})
	}
}

// A reminder of what is decided, or has expired, before it is sent never goes out.
func TestReminderOfWhatHasEnded(t *testing.T) {
	for name, decided := range map[string]bool{"decided": true, "overdue": false} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				r := &told{}
				w.startEngine(r.routes()...)
				id := w.ask("wire")
				w.pass(9 * time.Hour)
				if n := len(w.rows()); n != 4 { // asked, reminded and two of the escalation
					t.Fatalf("%d rows wait, want 4", n)
				}
				if decided {
					if err := w.engine.Approvals().Decide(context.Background(), tara, approval.Decision{ID: id, Type: approval.Reject}); err != nil {
						t.Fatal(err)
					}
				} else {
					w.stop() // so that nothing expires it
					w.pass(20 * time.Hour)
					w.handle = must(w.open())
				}
				w.startPump()
				w.pass(time.Minute)
				if decided {
					r.want(t, "", "resolved", "")
				} else {
					r.want(t, "", "", "")
				}
			})
		})
	}
}

// The reminders of an approval go with it. The approval that replaces it has its own.
func TestReminderOfTheSuccessor(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		r := &told{}
		w.start(r.routes()...)
		first := w.ask("wire")
		w.pass(3 * time.Hour)
		w.restarted(r.routes()...)
		if err := w.approves(tara, first); err == nil {
			t.Fatal("the approval of a tool that has changed counts")
		}
		second := strings.TrimSuffix(first, "1") + "2"
		w.pass(2 * time.Hour)
		r.want(t, "asked asked", "", "")
		w.pass(2*time.Hour + time.Minute)
		r.want(t, "asked asked reminded", "", "")
		if m := r.payments.messages()[2]; m.Approval != second {
			t.Errorf("the reminder is of %s, want %s", m.Approval, second)
		}
		if err := w.engine.Approvals().Decide(context.Background(), alice, approval.Decision{ID: second, Type: approval.Cancel}); err == nil {
			t.Error("alice decides it")
		}
		w.pass(30 * time.Hour)
		w.noDue()
	})
}

// restarted continues with a changed definition of every tool.
func (w *world) restarted(routes ...notify.Route) {
	w.changed = true
	w.restart(routes...)
}
