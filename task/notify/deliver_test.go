package notify_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/record"
	"a2a-server/task/notify"
)

// The batch that asks has the row, and the message is sent once, with everything that a person
// needs, nothing that is masked, and no arguments.
func TestMessages(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		all, payments, open := &receiver{}, &receiver{}, &receiver{}
		withArgs := everything("open", open)
		withArgs.Arguments, withArgs.Asked = true, false
		w.startEngine(everything("all", all), notify.Route{Route: task.Route{Name: "payments", Asked: true}, Sender: payments}, withArgs)
		pay, mail := w.ask("pay"), w.ask("mail")
		if n := len(w.rows()); n != 3 {
			t.Fatalf("%d rows wait before the pump runs, want 3", n)
		}
		w.startPump()
		w.pass(time.Second)
		w.reject(pay)
		w.pass(time.Second)

		asked := map[string]notify.Message{}
		for _, m := range all.messages() {
			if m.Event == notify.EventAsked {
				asked[m.Approval] = m
			}
		}
		got := asked[pay]
		want := notify.Message{
			ID: record.NotificationID(record.NotificationKey(pay, "asked", "all")), Event: "approval.asked", Route: "all", At: got.At,
			Task: strings.TrimSuffix(pay, ".a1"), Context: got.Context, Approval: pay, Tool: "pay", Hint: `Pay "bob" with "•••"?`, Risk: "high", Requester: "alice",
			Expires: got.At.Add(48 * time.Hour), Link: "https://agent.example.com/ui/approvals/" + pay,
		}
		if diff := cmp.Diff(want, got); diff != "" || got.Context == "" || got.At.IsZero() {
			t.Errorf("message (-want +got):\n%s", diff)
		}
		if m := asked[mail]; m.Hint != `May the tool "mail" run?` {
			t.Errorf("the approval without a gate is announced as %+v", m)
		}
		if got := payments.messages(); len(got) != 1 || got[0].Approval != pay || got[0].Args != nil {
			t.Errorf("the route of the gate has %+v, want one message about %s", got, pay)
		}
		ended := open.messages()
		if len(ended) != 1 || ended[0].State != "rejected" || ended[0].By != "alice" || ended[0].Reason != "too much" || string(ended[0].Args) != `{"card":"•••","to":"bob"}` {
			t.Errorf("the end of %s is announced as %+v", pay, ended)
		}
		if len(all.messages()) != 3 || len(w.rows()) != 0 {
			t.Errorf("%d messages, and %d rows are left; want 3 and 0", len(all.messages()), len(w.rows()))
		}
	})
}

// An approval that has ended is not announced as waiting.
func TestEndedBeforeItIsAnnounced(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		r := &receiver{}
		w.startEngine(asked("r", r))
		w.reject(w.ask("pay"))
		w.startPump()
		w.pass(time.Minute)
		if got, left := r.messages(), w.rows(); len(got) != 0 || len(left) != 0 {
			t.Errorf("messages %+v, rows %+v; want none", got, left)
		}
	})
}

// In an hour a route sends 20 messages, and when it is over one summary, also if the server is
// started again meanwhile. Then the next hour begins.
func TestHour(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint("restarts=", restarts), func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				r, other := &receiver{}, &receiver{}
				w.start(asked("r", r), notify.Route{Route: task.Route{Name: "payments", Asked: true}, Sender: other})
				w.ask("pay")
				for range 99 {
					w.ask("mail")
				}
				w.pass(time.Minute)
				if restarts {
					w.restart(w.routes...)
				}
				w.pass(57 * time.Minute)
				if got := r.messages(); len(got) != 20 {
					t.Fatalf("%d messages in the hour, want 20", len(got))
				}
				if len(other.messages()) != 1 {
					t.Fatalf("the other route has %d messages, want 1", len(other.messages()))
				}
				w.pass(5 * time.Minute)
				got := r.messages()
				if len(got) != 21 || got[20].Event != notify.EventSummary || got[20].Count != 80 || got[20].ID == "" || !strings.HasSuffix(got[20].Link, "/ui/approvals/") {
					t.Fatalf("after the hour %d messages, the last %+v; want a summary of 80", len(got), got[len(got)-1])
				}
				if left := w.rows(); len(left) != 0 {
					t.Errorf("%d rows are left", len(left))
				}
				last := w.ask("mail")
				w.pass(time.Minute)
				if got := r.messages(); len(got) != 22 || got[21].Approval != last {
					t.Errorf("the next hour does not begin: %d messages", len(got))
				}
				if s := w.pump.Stats(); !restarts && (len(s) != 2 || s[1].Sent != 22) {
					t.Errorf("Stats() = %+v", s)
				}
			})
		})
	}
}

// A route that is down, or hangs, holds up no other. Its messages are sent again, with their ids,
// when it is back.
func TestDeadRoute(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		dead, hung, living := &receiver{fails: down}, &hanging{}, &receiver{}
		w.start(asked("dead", dead), asked("hung", hung), asked("living", living))
		for range 5 {
			w.ask("mail")
		}
		w.pass(time.Second)
		if n := len(living.messages()); n != 5 {
			t.Fatalf("the living route has %d messages, want 5", n)
		}
		w.pass(12 * time.Hour)
		ids := map[string]bool{}
		dead.set(nil)
		w.pass(2 * time.Hour)
		for _, m := range dead.messages() {
			ids[m.ID] = true
		}
		if len(ids) != 5 || len(dead.messages()) != 5 {
			t.Errorf("the route that is back has %d messages with %d ids, want 5", len(dead.messages()), len(ids))
		}
		w.pass(24 * time.Hour)
		if n, _, err := w.pump.Failed(context.Background()); n != 5 || err != nil {
			t.Errorf("Failed() = %d, %v; want the 5 of the route that hangs", n, err)
		}
	})
}

// hanging is a sender that hangs until its time is over.
type hanging struct{}

func (hanging) Send(ctx context.Context, _ *notify.Message) error {
	<-ctx.Done()
	return ctx.Err()
}

// A message is tried for a day and then listed as failed; a refusal fails it at once. The list
// is bounded by age.
func TestFailed(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		slow, closed := &receiver{fails: down}, &receiver{fails: func(*notify.Message, int) error {
			return fmt.Errorf("%w: HTTP 410", notify.ErrPermanent)
		}}
		w.start(asked("slow", slow), asked("closed", closed))
		id := w.ask("mail")
		w.pass(time.Minute)
		list := func(state string) []notify.State {
			got, next, err := notify.List(context.Background(), w.handle, store.Tenant("acme"), notify.Query{State: state})
			if err != nil || next != "" {
				t.Fatalf("List() = %v, %q", err, next)
			}
			return got
		}
		if got := list("failed"); len(got) != 1 || got[0].Route != "closed" || got[0].Approval != id || got[0].Tries != 1 || !strings.Contains(got[0].Error, "HTTP 410") {
			t.Errorf("failed: %+v", got)
		}
		if got := list("retrying"); len(got) != 1 || got[0].Route != "slow" || got[0].Error != errDown.Error() || got[0].Next.IsZero() {
			t.Errorf("retrying: %+v", got)
		}
		if got, _, _ := notify.List(context.Background(), w.handle, store.Tenant("other"), notify.Query{}); len(got) != 0 {
			t.Errorf("another tenant sees %+v", got)
		}
		w.pass(26 * time.Hour)
		if got := list("failed"); len(got) != 2 || slow.tries() < 20 || slow.tries() > 40 {
			t.Errorf("failed after a day and %d tries: %+v", slow.tries(), got)
		}
		w.stop() // a server that runs looks every minute
		w.pass(notify.FailedAge - 27*time.Hour)
		w.start(w.routes...)
		w.pass(30 * time.Minute)
		if got := list("failed"); len(got) != 2 {
			t.Errorf("before %v: %+v", notify.FailedAge, got)
		}
		w.pass(27 * time.Hour)
		if got := list(""); len(got) != 0 {
			t.Errorf("after %v: %+v", notify.FailedAge, got)
		}
	})
}

// A summary that has failed is listed and counted as long as messages that have failed are.
func TestFailedSummary(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start(asked("r", &receiver{fails: func(m *notify.Message, _ int) error {
			if m.Event == notify.EventSummary {
				return fmt.Errorf("%w: HTTP 410", notify.ErrPermanent)
			}
			return nil
		}}), asked("other", &receiver{}))
		for range 25 {
			w.ask("mail")
		}
		w.pass(62 * time.Minute)
		list := func(q notify.Query) (all []notify.State) {
			for q.Limit = 1; ; {
				got, next, err := notify.List(context.Background(), w.handle, store.Tenant("acme"), q)
				if all = append(all, got...); err != nil || next == "" {
					return all
				}
				q.Cursor = next
			}
		}
		failed := notify.Query{State: "failed", Since: w.pump.Kept()}
		got := list(failed)
		if len(got) != 1 || got[0].Route != "r" || got[0].Event != notify.EventSummary || got[0].Count != 5 || !strings.Contains(got[0].Error, "HTTP 410") || !got[0].Task.IsZero() {
			t.Errorf("failed: %+v, want the summary of 5", got)
		}
		if got := slices.Concat(list(notify.Query{State: "failed"}), list(notify.Query{State: "waiting", Since: w.pump.Kept()})); len(got) != 0 {
			t.Errorf("lists without failed summaries have %+v", got)
		}
		if _, n, err := w.pump.Failed(context.Background()); n != 1 || err != nil {
			t.Errorf("Failed() = %d summaries, %v", n, err)
		}
		failed.Since = failed.Since.Add(notify.FailedAge)
		if got := list(failed); len(got) != 0 {
			t.Errorf("failed later: %+v", got)
		}
	})
}

// What a receiver asks for counts, up to an hour.
func TestRetryAfter(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		r := &receiver{fails: func(_ *notify.Message, try int) error {
			if try == 1 {
				return fmt.Errorf("HTTP 429: %w", &notify.DelayError{Err: errors.New("too many"), After: 30 * time.Minute})
			}
			return nil
		}}
		w.start(asked("r", r))
		w.ask("mail")
		w.pass(29 * time.Minute)
		if r.tries() != 1 {
			t.Errorf("%d tries within the time that the receiver asked for", r.tries())
		}
		w.pass(2 * time.Minute)
		if n := len(r.messages()); n != 1 {
			t.Errorf("%d messages, want 1", n)
		}
	})
}

// A reload replaces routes: a new route takes new approvals, the rows of one that is gone are
// dropped, and a route with another sender goes on with it.
func TestReload(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		gone, moved, next, added := &receiver{fails: down}, &receiver{fails: down}, &receiver{}, &receiver{}
		w.start(asked("gone", gone), asked("moved", moved))
		first := w.ask("mail")
		w.pass(time.Minute)
		routes := []notify.Route{asked("moved", next), asked("added", added)}
		w.pump.SetRoutes(routes)
		w.engine.Reload(w.tools(), w.policy(), plain(routes))
		w.pass(time.Hour)
		second := w.ask("mail")
		w.pass(time.Minute)
		if got := next.messages(); len(got) != 2 || got[0].Approval != first || got[1].Approval != second {
			t.Errorf("the moved route has %+v, want %s and %s", got, first, second)
		}
		if got := added.messages(); len(got) != 1 || got[0].Approval != second {
			t.Errorf("the added route has %+v, want %s", got, second)
		}
		if left := w.rows(); len(left) != 0 {
			t.Errorf("rows are left: %+v", left)
		}
		w.pump.SetRoutes(append(routes, asked("gone", gone))) // it is there again
		w.engine.Reload(w.tools(), w.policy(), plain(append(routes, asked("gone", gone))))
		gone.set(nil)
		third := w.ask("mail")
		w.pass(time.Minute)
		if got := gone.messages(); len(got) != 1 || got[0].Approval != third {
			t.Errorf("the route that came back has %+v, want %s", got, third)
		}
	})
}

// A sender that panics fails, and holds up nothing.
func TestPanic(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		r := &receiver{fails: func(_ *notify.Message, try int) error {
			if try == 1 {
				panic("secret")
			}
			return nil
		}}
		w.start(asked("r", r))
		w.ask("mail")
		w.pass(time.Minute)
		if n := len(r.messages()); n != 1 {
			t.Errorf("%d messages, want 1", n)
		}
	})
}
