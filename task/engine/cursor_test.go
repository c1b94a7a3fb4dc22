package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// paged is a list that a client pages through. It returns the tasks of the entries.
type paged func(ctx context.Context, by auth.Principal, cursor string) (tasks []string, next string, err error)

func (w *world) pagedTasks(q engine.Query) paged {
	return func(ctx context.Context, by auth.Principal, cursor string) (tasks []string, next string, err error) {
		q.Cursor, q.PageSize = cursor, 1
		page, err := w.engine.List(ctx, by, q)
		if err != nil {
			return nil, "", err
		}
		for _, v := range page.Tasks {
			tasks = append(tasks, v.TaskID())
		}
		return tasks, page.NextCursor, nil
	}
}

func (w *world) pagedApprovals(q engine.ApprovalQuery) paged {
	return func(ctx context.Context, by auth.Principal, cursor string) (tasks []string, next string, err error) {
		q.Cursor, q.Limit = cursor, 1
		page, err := w.engine.Approvals().List(ctx, by, q)
		for i := range page.Approvals {
			id, _, _ := strings.Cut(page.Approvals[i].ID, ".")
			tasks = append(tasks, id)
		}
		return tasks, page.Next, err
	}
}

// A cursor grants nothing. A cursor of another caller, list or filter is refused, and a cursor
// that was changed or made up is refused or moves among the tasks of its caller.
func TestForeignCursors(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.start()
	id := w.ask(alice, 1)
	own := []string{string(id), string(w.ask(alice, 2)), string(w.ask(alice, 3))}
	theirs := []string{string(w.ask(bob, 4)), string(w.ask(bob, 5))}
	elsewhere := auth.Principal{Tenant: "other", Subject: "alice", Roles: []string{auth.RoleRequester}, Method: "test"}
	lists := map[string]paged{
		"all tasks":         w.pagedTasks(engine.Query{}),
		"of a state":        w.pagedTasks(engine.Query{State: a2a.TaskStateInputRequired}),
		"of another state":  w.pagedTasks(engine.Query{State: a2a.TaskStateWorking}),
		"since":             w.pagedTasks(engine.Query{Since: time.Unix(1, 0)}),
		"of a context":      w.pagedTasks(engine.Query{Context: w.get(id).ContextID}),
		"pending approvals": w.pagedApprovals(engine.ApprovalQuery{}),
		"by deadline":       w.pagedApprovals(engine.ApprovalQuery{ByDeadline: true}),
		"of a task":         w.pagedApprovals(engine.ApprovalQuery{Task: string(id)}),
	}
	refused := func(name string, err error) {
		t.Helper()
		var invalid *task.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "is not a token of this query: begin again without one") {
			t.Errorf("%s: %v, want an *InvalidError", name, err)
		}
	}
	harmless := func(name string, tasks []string, err error) {
		t.Helper()
		if err != nil {
			refused(name, err)
		}
		for _, id := range tasks {
			if !slices.Contains(own, id) {
				t.Errorf("%s: alice gets the task %s, which is not hers", name, id)
			}
		}
	}
	used := 0
	for from, list := range lists {
		_, cursor, err := list(t.Context(), alice, "")
		if err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		if cursor == "" {
			continue
		}
		used++
		if tasks, _, err := list(t.Context(), alice, cursor); err != nil || len(tasks) != 1 {
			t.Errorf("%s: the second page has %v, %v, want one entry", from, tasks, err)
		}
		for name, other := range lists {
			if name != from {
				_, _, err := other(t.Context(), alice, cursor)
				refused(name+" with the cursor of "+from, err)
			}
			for _, by := range []auth.Principal{bob, elsewhere} {
				_, _, err := other(t.Context(), by, cursor)
				refused(name+" of "+by.Subject+" with alice's cursor of "+from, err)
			}
		}
		for i := range cursor {
			c := byte('A')
			if cursor[i] == c {
				c = 'B'
			}
			tasks, _, err := list(t.Context(), alice, cursor[:i]+string(c)+cursor[i+1:])
			harmless(fmt.Sprintf("%s, with another character at %d", from, i), tasks, err)
		}
		for name, forged := range map[string]string{
			"the hash alone": cursor[:11], "the position alone": cursor[11:], "padded": cursor + "=",
			"huge": strings.Repeat("A", 1<<20), "not ASCII": "é" + cursor, "not UTF-8": "\xff", "a blank": " ",
		} {
			_, _, err := list(t.Context(), alice, forged)
			refused(from+", "+name, err)
		}
		for name, forged := range map[string]string{"cut off": cursor[:len(cursor)-1], "longer": cursor + "A", "twice": cursor + cursor} {
			tasks, _, err := list(t.Context(), alice, forged)
			harmless(from+", "+name, tasks, err)
		}
	}
	if used < 4 {
		t.Errorf("only %d lists have a second page", used)
	}
	// Alice makes the cursor of her list herself, with a position in bob's.
	for _, id := range theirs {
		parsed, _ := store.ParseTaskID(id)
		for _, at := range []store.Millis{0, 1, store.MillisOf(time.Now().Add(time.Hour))} {
			cursor := store.Query{}.EncodeCursor(store.Owner(alice.Tenant, alice.Subject), store.TaskPosition(at, parsed))
			tasks, _, err := lists["all tasks"](t.Context(), alice, cursor)
			harmless("a position in bob's list", tasks, err)
		}
	}
}

// A cursor outlives a restart.
func TestCursorsLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newBolt(t))
	w.start()
	w.ask(alice, 1)
	w.ask(alice, 2)
	list := w.pagedTasks(engine.Query{})
	_, next, err := list(t.Context(), alice, "")
	w.must(err)
	w.restart()
	if tasks, _, err := list(t.Context(), alice, next); err != nil || len(tasks) != 1 {
		t.Errorf("after a restart the second page has %v, %v, want a task", tasks, err)
	}
}

// FuzzCursor tries texts as cursors: they are refused, or show the caller's own tasks.
func FuzzCursor(f *testing.F) {
	w := newMemory(f)
	w.start()
	own := []string{string(w.ask(alice, 1)), string(w.ask(alice, 2))}
	w.ask(bob, 3)
	lists := []paged{w.pagedTasks(engine.Query{}), w.pagedApprovals(engine.ApprovalQuery{})}
	for _, list := range lists {
		_, next, err := list(f.Context(), alice, "")
		w.must(err)
		f.Add(next)
		f.Add(next[:11])
	}
	f.Add("+")
	f.Add(strings.Repeat("A", 60))
	f.Fuzz(func(t *testing.T, cursor string) {
		for _, list := range lists {
			tasks, _, err := list(t.Context(), alice, cursor)
			var invalid *task.InvalidError
			if err != nil && !errors.As(err, &invalid) || len(tasks) > 0 && !slices.Contains(own, tasks[0]) {
				t.Errorf("the cursor %q gives %v, %v", cursor, tasks, err)
			}
		}
	})
}
