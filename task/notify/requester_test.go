package notify_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/record"
	"a2a-server/task/notify"
)

// requesters is a route that tells requesters how their approvals have ended.
func requesters(r notify.Sender) notify.Route {
	return notify.Route{Route: task.Route{Name: "requesters", All: true, Resolved: true, Requester: true}, Sender: r}
}

func mailable(name string) auth.Principal {
	return auth.Principal{Tenant: "acme", Subject: name, Email: name + "@example.com", Roles: []string{auth.RoleRequester, auth.RoleApprover}, Method: "oidc"}
}

// mailbox returns the row with the address of a task.
func (w *world) mailbox(approval string) string {
	w.t.Helper()
	page := must(w.handle.Rows(context.Background(), store.System(), store.RowQuery{Kind: record.KindMailbox, Task: taskOf(approval), Key: []byte(record.MailboxKey)}))
	if len(page.Rows) == 0 {
		return ""
	}
	return string(page.Rows[0].Value)
}

// taskOf returns the task of the first approval in it.
func taskOf(approval string) store.TaskID {
	id, _ := store.ParseTaskID(strings.TrimSuffix(approval, ".a1"))
	return id
}

// A requester whose address is verified is told how an approval of theirs has ended, and nobody
// else is: also after a restart, and by the deadline. The address is kept with the task, and goes
// with it; without such a route it is not kept.
func TestRequester(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		r, all := &receiver{}, &receiver{}
		w.start(everything("all", all))
		w.by = mailable("carol")
		if before := w.ask("mail"); w.mailbox(before) != "" {
			t.Error("an address is kept without a route for requesters")
		}
		w.restart(requesters(r), everything("all", all))
		rejected, expires := w.ask("mail"), w.ask("pay")
		w.by = auth.Principal{}
		other := w.ask("mail")
		w.pass(time.Minute)
		w.restart(requesters(r), everything("all", all))
		w.reject(rejected)
		w.reject(other)
		w.pass(49 * time.Hour)
		got := map[string]string{}
		for _, m := range r.messages() {
			got[m.Approval] = m.To + " " + m.State
		}
		if len(got) != 2 || got[rejected] != "carol@example.com rejected" || got[expires] != "carol@example.com expired" {
			t.Errorf("the requesters were told %v", got)
		}
		for _, m := range all.messages() {
			if m.To != "" {
				t.Errorf("a route that is not for requesters has the address in %+v", m)
			}
		}
		if left := w.rows(); len(left) != 0 || w.mailbox(rejected) == "" {
			t.Errorf("rows %+v are left, and the address %q", left, w.mailbox(rejected))
		}
		if err := w.engine.Tasks().Delete(context.Background(), mailable("carol"), taskOf(rejected).String()); err != nil {
			t.Fatal(err)
		}
		if w.pass(time.Minute); w.mailbox(rejected) != "" {
			t.Error("the address outlives its task")
		}
	})
}

// Each requester gets at most 20 mails in an hour, whatever others get, and retries count once.
func TestRequesterHour(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		r := &receiver{fails: func(_ *notify.Message, try int) error {
			if try%2 == 1 {
				return errDown
			}
			return nil
		}}
		w.start(requesters(r))
		end := func(name string, n int) {
			w.by = mailable(name)
			for range n {
				by, id := w.by, w.ask("mail")
				if err := w.engine.Tasks().Cancel(context.Background(), by, taskOf(id).String()); err != nil {
					t.Fatal(err)
				}
			}
		}
		end("carol", 25)
		end("dave", 3)
		w.pass(50 * time.Minute)
		count := func() map[string]int {
			n := map[string]int{}
			for _, m := range r.messages() {
				n[m.To]++
			}
			return n
		}
		if got := count(); got["carol@example.com"] != 20 || got["dave@example.com"] != 3 || len(w.rows()) != 0 {
			t.Errorf("mails %v, and %d rows are left; want 20, 3 and 0", got, len(w.rows()))
		}
		w.pass(time.Hour)
		end("carol", 1)
		if w.pass(time.Minute); count()["carol@example.com"] != 21 {
			t.Errorf("mails %v after the hour, want 21", count())
		}
	})
}
