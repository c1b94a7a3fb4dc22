package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
)

// ask sends a transfer of by's, which asks, and returns the id of its task.
func (w *world) ask(by auth.Principal, amount int) a2a.TaskID {
	w.t.Helper()
	sent, err := w.sendAs(by, w.calls("transfer", args{"amount": amount, "to": "x"}))
	w.must(err)
	if _, err := w.engine.Waited(w.ctx(), sent); err != nil {
		w.t.Fatal(err)
	}
	return a2a.TaskID(sent.Task.String())
}

// inbox returns all that is pending for by, page by page.
func (w *world) inbox(by auth.Principal, limit int) (all []approval.Approval) {
	w.t.Helper()
	cursor := ""
	for {
		page, err := w.engine.Approvals().List(w.ctx(), by, engine.ApprovalQuery{Limit: limit, Cursor: cursor})
		if err != nil || page.Damaged > 0 {
			w.t.Fatalf("List() = %+v, %v", page, err)
		}
		all = append(all, page.Approvals...)
		if cursor = page.Next; cursor == "" {
			return all
		}
		if len(all) > 1000 {
			w.t.Fatal("the list has no end")
		}
	}
}

// Everybody sees what is pending in their own tasks, the oldest first, and decides that and
// nothing else.
func TestApprovals(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		mine := []a2a.TaskID{w.ask(alice, 1), w.ask(alice, 2), w.ask(alice, 3)}
		w.ask(carol, 4)
		stranger := auth.Principal{Tenant: "other", Subject: "alice", Roles: []string{auth.RoleRequester}, Method: "test"}
		for limit := range 5 {
			all := w.inbox(alice, limit)
			if len(all) != len(mine) {
				t.Fatalf("pages of %d: %d approvals, want %d", limit, len(all), len(mine))
			}
			for i, a := range all {
				if a.Task != string(mine[i]) || a.State != approval.Pending {
					t.Errorf("approval %d is %s of task %s, want one pending of %s", i, a.State, a.Task, mine[i])
				}
			}
		}
		if all := w.inbox(stranger, 0); len(all) != 0 {
			t.Errorf("a stranger of the same name sees %d approvals", len(all))
		}
		approvals := w.engine.Approvals()
		first := w.inbox(alice, 0)[0]
		for name, err := range map[string]error{
			"another's": approvals.Decide(w.ctx(), carol, approval.Decision{ID: first.ID, Type: approval.Approve}),
			"no id":     approvals.Decide(w.ctx(), alice, approval.Decision{ID: "nothing", Type: approval.Approve}),
			"no number": approvals.Decide(w.ctx(), alice, approval.Decision{ID: first.Task + ".a99", Type: approval.Approve}),
		} {
			var said *approval.Error
			if !errors.As(err, &said) || said.Reason != approval.ReasonUnknown {
				t.Errorf("%s: Decide() = %v, want %s", name, err, approval.ReasonUnknown)
			}
		}
		var said *approval.Error
		if _, err := approvals.Get(w.ctx(), carol, first.ID); !errors.As(err, &said) || said.Reason != approval.ReasonUnknown {
			t.Errorf("Get() of another's = %v, want %s", err, approval.ReasonUnknown)
		}
		if err := approvals.Decide(w.ctx(), alice, approval.Decision{ID: first.ID, Type: approval.Approve, Digest: "sha256:0"}); !errors.As(err, &said) || said.Reason != approval.ReasonChanged {
			t.Errorf("Decide() with another digest = %v, want %s", err, approval.ReasonChanged)
		}
		if err := approvals.Decide(w.ctx(), alice, approval.Decision{ID: first.ID, ByCall: true, Type: approval.Approve, Digest: first.Digest}); err != nil { // by the id of an approval all the same
			t.Fatal(err)
		}
		w.settled(mine[0], a2a.TaskStateCompleted)
		now, err := approvals.Get(w.ctx(), alice, first.ID)
		if err != nil || now.State != approval.Approved || now.Resolution.Via != approval.ViaAPI || now.Resolution.By.Subject != "alice" {
			t.Errorf("Get() = %+v, %v, want it approved by alice", now, err)
		}
		if left := w.inbox(alice, 0); len(left) != 2 {
			t.Errorf("%d approvals are pending, want 2", len(left))
		}
		page, err := approvals.List(w.ctx(), alice, engine.ApprovalQuery{Task: string(mine[0])})
		if err != nil || len(page.Approvals) != 1 || page.Approvals[0].ID != first.ID {
			t.Errorf("List() of a task = %+v, %v", page, err)
		}
		for _, q := range []engine.ApprovalQuery{{Settled: true}, {Task: string(mine[0])}} {
			if page, err := approvals.List(w.ctx(), carol, q); err != nil || len(page.Approvals) > 0 {
				t.Errorf("List(%+v) of another = %+v, %v", q, page, err)
			}
		}
		var invalid *task.InvalidError
		if _, err := approvals.List(w.ctx(), carol, engine.ApprovalQuery{Cursor: "nonsense"}); !errors.As(err, &invalid) {
			t.Errorf("List() with a cursor that is none = %v", err)
		}
	})
}

// Lists by time and counts have the pending approvals of a caller, in pages of any size.
func TestApprovalsByTime(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg = engine.Config{Policy: policy(t, approval.Gate{Tool: "transfer", Terms: approval.Terms{Expires: time.Hour, Mask: []string{"/to"}}})}
		w.start()
		var ids []string
		for n := range 5 {
			time.Sleep(time.Second)
			ids = append(ids, w.onlyOne(w.ask(alice, n)).ID)
		}
		for limit := range 7 {
			var got []string
			for _, a := range w.inbox(alice, limit) {
				got = append(got, a.ID)
			}
			if fmt.Sprint(got) != fmt.Sprint(ids) {
				t.Errorf("pages of %d: %v, want %v", limit, got, ids)
			}
		}
		if n, more, err := w.engine.Approvals().Count(w.ctx(), alice, 10); n != 5 || more || err != nil {
			t.Errorf("Count() = %d, %t, %v, want 5", n, more, err)
		}
		page, err := w.store.Rows(w.ctx(), store.System(), store.RowQuery{Kind: record.KindApproval, Index: record.IndexHides, Keys: true})
		if err != nil || len(page.Rows) != 5 {
			t.Errorf("%d approvals say that they hide arguments, %v, want 5", len(page.Rows), err)
		}
		if all := w.inbox(carol, 0); len(all) != 0 {
			t.Errorf("another sees %d approvals", len(all))
		}
	})
}

// Lists by deadline have what the caller may review, each once, in pages of any size: an owner the
// own, and a reviewer those of the tenant.
func TestApprovalsByDeadline(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg = engine.Config{Policy: policy(t, approval.Gate{Tool: "transfer", Terms: approval.Terms{Expires: time.Hour}})}
		w.start()
		other := auth.Principal{Tenant: alice.Tenant, Subject: "other", Roles: alice.Roles, Method: "test"}
		stranger := auth.Principal{Tenant: "evil", Subject: "stranger", Roles: alice.Roles, Method: "test"}
		reviewer := auth.Principal{Tenant: alice.Tenant, Subject: "reviewer", Roles: []string{auth.RoleApprover}, Method: "test"}
		owners := map[string]string{}
		var ids []string
		for n := range 12 {
			by := []auth.Principal{alice, other, stranger}[n%3]
			time.Sleep(time.Second)
			a := w.onlyOne(w.ask(by, n))
			owners[a.ID], ids = by.Subject, append(ids, a.ID)
			if n < 6 { // of half of them the deadline moves, by less and less
				w.must(w.engine.Approvals().Extend(w.ctx(), by, a.ID, a.Digest, a.Deadline.Add(time.Duration(12-n)*time.Hour)))
			}
		}
		for _, by := range []auth.Principal{alice, other, stranger, reviewer} {
			want := 0
			for _, id := range ids {
				if owners[id] == by.Subject || by.Subject == "reviewer" && owners[id] != "stranger" {
					want++
				}
			}
			for limit := 1; limit < 14; limit += 3 {
				seen, last := map[string]bool{}, time.Time{}
				for q := (engine.ApprovalQuery{ByDeadline: true, Limit: limit}); ; {
					page, err := w.engine.Approvals().List(w.ctx(), by, q)
					if err != nil || len(page.Approvals) == 0 {
						t.Fatalf("List(%+v) = %+v, %v", q, page, err)
					}
					for _, a := range page.Approvals {
						if seen[a.ID] || a.Deadline.Before(last) {
							t.Errorf("%s: %s, due at %v, comes after %v", by.Subject, a.ID, a.Deadline, last)
						}
						seen[a.ID], last = true, *a.Deadline
					}
					if q.Cursor = page.Next; q.Cursor == "" {
						break
					}
				}
				if len(seen) != want {
					t.Errorf("%s sees %d approvals in pages of %d, want %d", by.Subject, len(seen), limit, want)
				}
			}
			if n, more, err := w.engine.Approvals().Count(w.ctx(), by, 3); n != 3 || more != (want > 3) || err != nil {
				t.Errorf("Count() = %d, %t, %v", n, more, err)
			}
		}
	})
}

// Who watches is told of what is asked and decided, and of nobody else's.
func TestWatchApprovals(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		wake, stop := w.engine.Approvals().Watch(alice)
		defer stop()
		woken := func() bool {
			synctest.Wait()
			select {
			case <-wake:
				return true
			default:
				return false
			}
		}
		id := w.ask(alice, 1)
		if !woken() {
			t.Error("not told of what was asked")
		}
		w.ask(carol, 2)
		w.send(w.calls("echo", args{"text": "a"}))
		if woken() {
			t.Error("told of another's, or of nothing")
		}
		a := w.onlyOne(id)
		w.must(w.engine.Approvals().Decide(w.ctx(), alice, approval.Decision{ID: a.ID, Type: approval.Reject}))
		if !woken() {
			t.Error("not told of what was decided")
		}
	})
}

// Whoever has a name that the log would change is nobody: four eyes would not know them
// again, and let them approve what they have asked for.
func TestPrincipalThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	jose := auth.Principal{Tenant: "acme", Subject: "Jos\xe9", Roles: []string{auth.RoleRequester}, Method: "test"}
	w := newMemory(t)
	w.cfg = engine.Config{Policy: policy(t, approval.Gate{Tool: "transfer", Terms: approval.Terms{FourEyes: true}})}
	w.start()
	if _, err := w.sendAs(jose, w.calls("transfer", args{"amount": 1, "to": "x"})); !errors.Is(err, task.ErrTaskNotFound) {
		t.Errorf("Send() = %v, want %v", err, task.ErrTaskNotFound)
	}
}

// overseen returns the ids of all tasks that by oversees, page by page.
func (w *world) overseen(tasks *engine.Tasks, by auth.Principal, q engine.TaskQuery) (ids []string) {
	w.t.Helper()
	for {
		page, err := tasks.List(w.ctx(), by, q)
		if err != nil {
			w.t.Fatalf("List(%s) = %v", by.Subject, err)
		}
		for i := range page.Tasks {
			ids = append(ids, page.Tasks[i].Task.String())
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			slices.Sort(ids)
			return ids
		}
		if len(ids) > 1000 {
			w.t.Fatal("the list has no end")
		}
	}
}

// sorted returns the ids of tasks in the order of overseen.
func sorted(all ...a2a.TaskID) (ids []string) {
	for _, id := range all {
		ids = append(ids, string(id))
	}
	slices.Sort(ids)
	return ids
}

// Who oversees a tenant sees all of its tasks and none of another, whatever page by page
// or filter; who has no role for it sees nothing.
func TestTasksOfATenant(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		mine, his := w.ask(alice, 1), w.ask(bob, 2)
		stranger := auth.Principal{Tenant: "other", Subject: "alice", Roles: []string{auth.RoleRequester}, Method: "test"}
		foreign, nobodys := w.ask(stranger, 3), w.ask(auth.Anonymous(), 4)
		operator, admin := colleague(auth.RoleOperator), colleague(auth.RoleAdmin)
		tasks := w.engine.Tasks()
		for name, tc := range map[string]struct {
			of   *engine.Tasks
			by   auth.Principal
			q    engine.TaskQuery
			want []string
		}{
			"an operator":            {tasks, operator, engine.TaskQuery{}, sorted(mine, his)},
			"page by page":           {tasks, operator, engine.TaskQuery{Limit: 1}, sorted(mine, his)},
			"in a state":             {tasks, operator, engine.TaskQuery{State: a2a.TaskStateInputRequired}, sorted(mine, his)},
			"in another state":       {tasks, operator, engine.TaskQuery{State: a2a.TaskStateCompleted}, nil},
			"a viewer":               {tasks, colleague(auth.RoleViewer), engine.TaskQuery{}, sorted(mine, his)},
			"of an owner":            {tasks, operator, engine.TaskQuery{Owner: "bob"}, sorted(his)},
			"of a stranger":          {tasks, operator, engine.TaskQuery{Owner: "nobody"}, nil},
			"a requester":            {tasks, auth.Principal{Tenant: "acme", Subject: "bob", Roles: []string{auth.RoleRequester}, Method: "test"}, engine.TaskQuery{}, sorted(his)},
			"a requester, another's": {tasks, auth.Principal{Tenant: "acme", Subject: "bob", Roles: []string{auth.RoleRequester}, Method: "test"}, engine.TaskQuery{Owner: "alice"}, nil},
			"an admin, of anonymous": {tasks.OfAnonymous(), admin, engine.TaskQuery{}, sorted(nobodys)},
		} {
			if got := w.overseen(tc.of, tc.by, tc.q); !slices.Equal(got, tc.want) {
				t.Errorf("%s sees %v, want %v", name, got, tc.want)
			}
		}
		var denied *auth.DeniedError
		for name, of := range map[string]*engine.Tasks{auth.RoleApprover: tasks, auth.RoleAdmin: tasks, auth.RoleOperator: tasks.OfAnonymous()} {
			if _, err := of.List(w.ctx(), colleague(name), engine.TaskQuery{}); !errors.As(err, &denied) {
				t.Errorf("%s lists them: %v", name, err)
			}
		}
		page, err := tasks.List(w.ctx(), operator, engine.TaskQuery{Limit: 1})
		if err != nil || len(page.Tasks) != 1 {
			t.Fatalf("List() = %+v, %v", page, err)
		}
		if one := page.Tasks[0]; one.Owner != store.Owner("acme", "bob") || one.Pending != 1 || one.State != task.StateInputRequired || one.StatusTime == 0 || one.Damaged {
			t.Errorf("the newest task is %+v", one)
		}
		var invalid *task.InvalidError
		for name, q := range map[string]engine.TaskQuery{"another's": {Cursor: page.Next + "x"}, "another query's": {Cursor: page.Next, Context: "c"}, "no state": {State: "TASK_STATE_LOST"}} {
			if _, err := tasks.List(w.ctx(), operator, q); !errors.As(err, &invalid) {
				t.Errorf("a token or state that is %s: %v", name, err)
			}
		}
		for name, id := range map[string]string{"another tenant's": string(foreign), "anonymous": string(nobodys), "missing": "0194f0c0-0000-7000-8000-000000000000", "no id": "x"} {
			a := w.engine.ReserveRead(operator)
			_, _, read := tasks.Get(w.ctx(), a, id)
			a.Release()
			for what, err := range map[string]error{"read": read, "canceled": tasks.Cancel(w.ctx(), operator, id), "deleted": tasks.Delete(w.ctx(), operator, id)} {
				if !errors.Is(err, task.ErrTaskNotFound) {
					t.Errorf("a task that is %s is %s: %v", name, what, err)
				}
			}
		}
		a := w.engine.ReserveRead(operator)
		defer a.Release()
		if v, about, err := tasks.Get(w.ctx(), a, string(mine)); err != nil || v.TaskID() != string(mine) || about.Owner.Subject() != "alice" {
			t.Errorf("Get() = %+v, %v", about, err)
		}
	})
}

// An operator cancels and deletes, which the audit knows before the task is gone.
func TestTaskIsDeleted(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		id := w.ask(alice, 1)
		operator := colleague(auth.RoleOperator)
		tasks := w.engine.Tasks()
		for _, role := range []string{auth.RoleViewer, auth.RoleApprover, auth.RoleAdmin} {
			for what, err := range map[string]error{"cancels": tasks.Cancel(w.ctx(), colleague(role), string(id)), "deletes": tasks.Delete(w.ctx(), colleague(role), string(id))} {
				if denied := (*auth.DeniedError)(nil); !errors.As(err, &denied) {
					t.Errorf("a %s %s: %v", role, what, err)
				}
			}
		}
		var not *engine.NotDeletableError
		if err := tasks.Delete(w.ctx(), operator, string(id)); !errors.As(err, &not) || not.Work || not.State != a2a.TaskStateInputRequired {
			t.Errorf("a task that waits is deleted: %v", err)
		}
		if e := find(w.audits(id), approval.AuditDeleting); e != nil {
			t.Errorf("the audit says that a task was deleted that is there: %+v", e)
		}
		for range 2 { // the second changes nothing
			w.must(tasks.Cancel(w.ctx(), operator, string(id)))
		}
		w.wantState(w.get(id), a2a.TaskStateCanceled)
		w.must(tasks.Delete(w.ctx(), operator, string(id)))
		if err := tasks.Delete(w.ctx(), operator, string(id)); !errors.Is(err, task.ErrTaskNotFound) {
			t.Errorf("a task that is gone is deleted: %v", err)
		}
		a := w.engine.ReserveRead(alice)
		defer a.Release()
		if _, err := a.Get(w.ctx(), string(id)); !errors.Is(err, task.ErrTaskNotFound) {
			t.Errorf("its owner still reads it: %v", err)
		}
		page, err := w.engine.Approvals().List(w.ctx(), colleague(auth.RoleApprover), engine.ApprovalQuery{})
		if err != nil || len(page.Approvals) != 0 {
			t.Errorf("its approvals are still there: %+v, %v", page, err)
		}
		for _, what := range []approval.AuditEvent{approval.AuditCanceled, approval.AuditDeleting} {
			if e := find(w.audits(id), what); e == nil || e.By.Subject != operator.Subject || e.At.IsZero() {
				t.Errorf("the audit says of %s: %+v", what, e)
			}
		}
		nobodys := w.ask(auth.Anonymous(), 1)
		admin := colleague(auth.RoleAdmin)
		w.must(tasks.OfAnonymous().Cancel(w.ctx(), admin, string(nobodys)))
		w.must(tasks.OfAnonymous().Delete(w.ctx(), admin, string(nobodys)))
	})
}

// undeleting is a store that fails to delete: before the first step, or after it.
type undeleting struct {
	store.Handle
	after bool
}

func (u undeleting) Delete(ctx context.Context, s store.Scope, id store.TaskID, audit []byte) error {
	if !u.after {
		return store.ErrUnavailable
	}
	if s == store.System() {
		return u.Handle.Delete(ctx, s, id, audit)
	}
	if err := u.Handle.Delete(ctx, s, id, audit); err != nil {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnfinished, store.ErrUnavailable)
}

// A deletion that fails before its first step has changed nothing, and is not in the audit; one
// that fails later has been made.
func TestDeletionThatFails(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]bool{"before its first step": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, newBolt(t))
			w.wrap = func(h store.Handle) store.Handle { return undeleting{h, after} }
			w.start()
			id := w.ask(alice, 1)
			operator := colleague(auth.RoleOperator)
			w.must(w.engine.Tasks().Cancel(w.ctx(), operator, string(id)))
			err := w.engine.Tasks().Delete(w.ctx(), operator, string(id))
			if errors.Is(err, store.ErrUnavailable) == after || err != nil && after {
				t.Errorf("Delete() = %v", err)
			}
			entries, _, err := w.engine.Audit(w.ctx(), operator, 0, 0)
			w.must(err)
			deleting := slices.ContainsFunc(entries, func(e engine.AuditEntry) bool { return e.What == approval.AuditDeleting })
			if deleting != after {
				t.Errorf("the audit says that it was deleted: %t, want %t", deleting, after)
			}
			if !after {
				w.wantState(w.get(id), a2a.TaskStateCanceled)
			}
		})
	}
}

// colleague returns alice's colleague, with other roles.
func colleague(roles ...string) auth.Principal {
	return auth.Principal{Tenant: "acme", Subject: "colleague", Roles: roles, Method: "test"}
}

func TestScopeFor(t *testing.T) {
	t.Parallel()
	own, whole, none := store.Owner("acme", "colleague"), store.Tenant("acme"), store.Scope{}
	for _, tc := range []struct {
		name                                            string
		p                                               auth.Principal
		create, read, list, follow, cancel, decide, see store.Scope
	}{
		{"nobody", auth.Principal{}, none, none, none, none, none, none, none},
		{"no role", colleague(), none, none, none, none, none, none, none},
		{"another role", colleague("ops"), none, none, none, none, none, none, none},
		{"not UTF-8", auth.Principal{Tenant: "acme", Subject: "\xff", Roles: auth.Roles()}, none, none, none, none, none, none, none},
		{"called anonymous", auth.Principal{Subject: "anonymous", Roles: auth.Roles(), Method: "key"}, none, none, none, none, none, none, none},
		{"requester", colleague(auth.RoleRequester), own, own, own, own, own, own, own},
		{"viewer", colleague(auth.RoleViewer), none, whole, own, whole, none, none, whole},
		{"approver", colleague(auth.RoleApprover), none, none, none, none, none, whole, whole},
		{"operator", colleague(auth.RoleOperator), none, whole, own, whole, whole, none, whole},
		{"admin", colleague(auth.RoleAdmin), none, none, none, none, none, none, none},
		{"all", colleague(auth.Roles()...), own, whole, own, whole, whole, whole, whole},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for action, want := range map[auth.Action]store.Scope{
				auth.Create: tc.create, auth.Read: tc.read, auth.List: tc.list, auth.Follow: tc.follow,
				auth.Cancel: tc.cancel, auth.Decide: tc.decide, auth.Review: tc.see, 0: none,
			} {
				if got := engine.ScopeFor(tc.p, action); got != want {
					t.Errorf("ScopeFor(%v) = %v, want %v", action, got, want)
				}
			}
		})
	}
	anonymous, alone := auth.Anonymous(), auth.Principal{Subject: "a", Roles: []string{auth.RoleViewer}}
	if got := engine.ScopeFor(anonymous, auth.Decide); got != store.Owner("", "anonymous") {
		t.Errorf("ScopeFor of anonymous = %v, want its own", got)
	}
	if got := engine.ScopeFor(alone, auth.Read); got != store.Owner("", "a") {
		t.Errorf("ScopeFor without a tenant = %v, want their own", got)
	}
}

// Approvals are reviewed in the tenant by those whose role reaches so far, and what was made
// without authentication by an admin only.
func TestApprovalsInScope(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.start()
	mine, theirs := string(w.ask(alice, 1))+".a1", string(w.ask(auth.Anonymous(), 2))+".a1"
	plain := w.engine.Approvals()
	for _, tc := range []struct {
		name   string
		by     auth.Principal
		in     *engine.Approvals
		sees   string
		denied bool
	}{
		{"owner", alice, plain, mine, false},
		{"owner, of anonymous", alice, plain.OfAnonymous(), "", true},
		{"anonymous", auth.Anonymous(), plain, theirs, false},
		{"anonymous, of anonymous", auth.Anonymous(), plain.OfAnonymous(), "", true},
		{"requester", colleague(auth.RoleRequester), plain, "", false},
		{"approver", colleague(auth.RoleApprover), plain, mine, false},
		{"approver, of anonymous", colleague(auth.RoleApprover), plain.OfAnonymous(), "", true},
		{"viewer", colleague(auth.RoleViewer), plain, mine, false},
		{"operator", colleague(auth.RoleOperator), plain, mine, false},
		{"admin", colleague(auth.RoleAdmin), plain, "", true},
		{"admin, of anonymous", colleague(auth.RoleAdmin), plain.OfAnonymous(), theirs, false},
		{"admin without a tenant, of anonymous", auth.Principal{Subject: "root", Roles: []string{auth.RoleAdmin}}, plain.OfAnonymous(), theirs, false},
		{"approver of another tenant", auth.Principal{Tenant: "other", Subject: "a", Roles: auth.Roles()}, plain, "", false},
		{"approver without a tenant", auth.Principal{Subject: "a", Roles: []string{auth.RoleApprover}}, plain, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			page, err := tc.in.List(w.ctx(), tc.by, engine.ApprovalQuery{})
			if tc.denied {
				wantDenied(t, err)
				for _, id := range []string{mine, theirs, "nothing"} {
					_, err := tc.in.Get(w.ctx(), tc.by, id)
					wantDenied(t, err)
					wantDenied(t, tc.in.Decide(w.ctx(), tc.by, approval.Decision{ID: id, Type: approval.Approve}))
				}
				return
			}
			w.must(err)
			for _, a := range page.Approvals {
				got = append(got, a.ID)
			}
			if want := slices.DeleteFunc([]string{tc.sees}, func(s string) bool { return s == "" }); !slices.Equal(got, want) {
				t.Errorf("List() = %v, want %v", got, want)
			}
			for _, id := range []string{mine, theirs} {
				_, err := tc.in.Get(w.ctx(), tc.by, id)
				var unknown *approval.Error
				if seen := err == nil; seen != (id == tc.sees) || !seen && (!errors.As(err, &unknown) || unknown.Reason != approval.ReasonUnknown) {
					t.Errorf("Get(%s) = %v", id, err)
				}
			}
		})
	}
}

func wantDenied(t *testing.T, err error) {
	t.Helper()
	if _, denied := errors.AsType[*auth.DeniedError](err); !denied {
		t.Errorf("error = %v, want a *DeniedError", err)
	}
}
