package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// overseen returns the ids of all tasks that by oversees, page by page.
func (w *world) overseen(tasks *engine.Tasks, by auth.Principal, q engine.TaskQuery) (ids []string) {
	w.t.Helper()
	for {
		page, err := tasks.List(w.ctx(), by, q)
		if err != nil {
			w.t.Fatalf("List(%s) = %v", by.Subject, err)
		}
		for i := range page.Tasks {
			ids = append(ids, page.Tasks[i].ID)
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
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
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
		if one := page.Tasks[0]; one.Owner != "bob" || one.Tenant != "acme" || one.Pending != 1 || one.State != a2a.TaskStateInputRequired || one.Since.IsZero() || one.Created.IsZero() || one.Damaged {
			t.Errorf("the newest task is %+v", one)
		}
		var invalid *task.InvalidError
		for name, q := range map[string]engine.TaskQuery{"another's": {Cursor: page.Next + "x"}, "another query's": {Cursor: page.Next, Context: "c"}, "no state": {State: "TASK_STATE_LOST"}} {
			if _, err := tasks.List(w.ctx(), operator, q); !errors.As(err, &invalid) {
				t.Errorf("a token or state that is %s: %v", name, err)
			}
		}
		for name, id := range map[string]string{"another tenant's": string(foreign), "anonymous": string(nobodys), "missing": "0194f0c0-0000-7000-8000-000000000000", "no id": "x"} {
			a := w.engine.Answer(operator)
			_, _, read := tasks.Get(w.ctx(), a, id)
			a.Release()
			for what, err := range map[string]error{"read": read, "canceled": tasks.Cancel(w.ctx(), operator, id), "deleted": tasks.Delete(w.ctx(), operator, id)} {
				if !errors.Is(err, task.ErrTaskNotFound) {
					t.Errorf("a task that is %s is %s: %v", name, what, err)
				}
			}
		}
		a := w.engine.Answer(operator)
		defer a.Release()
		if v, about, err := tasks.Get(w.ctx(), a, string(mine)); err != nil || v.TaskID() != string(mine) || about.Owner != "alice" {
			t.Errorf("Get() = %+v, %v", about, err)
		}
	})
}

// An operator cancels and deletes, which the audit knows before the task is gone.
func TestTaskIsDeleted(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
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
			if err := tasks.Cancel(w.ctx(), operator, string(id)); err != nil {
				t.Fatal(err)
			}
		}
		w.wantState(w.get(id), a2a.TaskStateCanceled)
		if err := tasks.Delete(w.ctx(), operator, string(id)); err != nil {
			t.Fatal(err)
		}
		if err := tasks.Delete(w.ctx(), operator, string(id)); !errors.Is(err, task.ErrTaskNotFound) {
			t.Errorf("a task that is gone is deleted: %v", err)
		}
		a := w.engine.Answer(alice)
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
		if err := tasks.OfAnonymous().Cancel(w.ctx(), admin, string(nobodys)); err != nil {
			t.Fatal(err)
		}
		if err := tasks.OfAnonymous().Delete(w.ctx(), admin, string(nobodys)); err != nil {
			t.Fatal(err)
		}
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
			if err := w.engine.Tasks().Cancel(w.ctx(), operator, string(id)); err != nil {
				t.Fatal(err)
			}
			err := w.engine.Tasks().Delete(w.ctx(), operator, string(id))
			if errors.Is(err, store.ErrUnavailable) == after || err != nil && after {
				t.Errorf("Delete() = %v", err)
			}
			entries, _, err := w.engine.Audit(w.ctx(), operator, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
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
