package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/store/storetest"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
)

// plainSealer keeps secrets readable, and bound.
type plainSealer struct{}

func (plainSealer) Seal(secret, bound []byte) ([]byte, error) {
	return append(append([]byte("sealed:"), bound...), secret...), nil
}

func (plainSealer) Open(sealed, bound []byte) ([]byte, error) {
	secret, ok := bytes.CutPrefix(sealed, append([]byte("sealed:"), bound...))
	if !ok {
		return nil, errors.New("sealed for something else")
	}
	return secret, nil
}

func pushWorld(t *testing.T) (*world, *storetest.Counted) {
	t.Helper()
	w := newMemory(t)
	w.cfg.Push = plainSealer{}
	counted := countRequests()
	w.wrap = func(h store.Handle) store.Handle {
		counted.Handle = h
		return counted
	}
	w.start()
	return w, counted
}

func webhook(id string) engine.PushConfig {
	return engine.PushConfig{ID: id, URL: "https://example.com/" + id, Token: "t", Scheme: "Bearer", Credentials: "c", Version: "1.0"}
}

// bare is a webhook as it is read: without its secrets.
func bare(c engine.PushConfig) engine.PushConfig {
	c.Token, c.Credentials = "", ""
	return c
}

// setPush sets a webhook of alice's.
func (w *world) setPush(id store.TaskID, name string) {
	w.t.Helper()
	if _, err := w.engine.SetPush(w.ctx(), alice, id, webhook(name)); err != nil {
		w.t.Fatalf("SetPush(%s) = %v", name, err)
	}
}

// parkedTask returns a task that waits for an approval.
func (w *world) parkedTask() store.TaskID {
	w.t.Helper()
	got := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}))
	return mustID(got.ID)
}

// A webhook is set, read, listed in pages, whose tokens are of that task, replaced and deleted;
// deleting it again changes nothing; and none of it wakes the task.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	w, _ := pushWorld(t)
	id, other := w.parkedTask(), w.parkedTask()
	before := w.get(a2a.TaskID(id.String()))
	for _, name := range []string{"b", "a", "c"} {
		c := webhook(name)
		if got, err := w.engine.SetPush(w.ctx(), alice, id, c); err != nil || got != c {
			t.Fatalf("SetPush() = %+v, %v", got, err)
		}
	}
	c := webhook("b")
	c.URL, c.Token, c.Scheme, c.Credentials, c.Version = "https://example.com/new", "", "", "", "0.3"
	if _, err := w.engine.SetPush(w.ctx(), alice, id, c); err != nil {
		t.Fatalf("SetPush() again = %v", err)
	}
	if got, err := w.engine.Push(w.ctx(), alice, id, "b"); err != nil || got != c {
		t.Errorf("Push() = %+v, %v, want %+v", got, err, c)
	}
	var listed []engine.PushConfig
	for token := ""; ; {
		page, err := w.engine.PushList(w.ctx(), alice, id, 2, token)
		if err != nil {
			t.Fatalf("PushList() = %v", err)
		}
		listed = append(listed, page.Configs...)
		if token = page.Next; token == "" {
			break
		}
		refused := (*task.InvalidError)(nil)
		if _, err := w.engine.PushList(w.ctx(), alice, other, 2, token); !errors.As(err, &refused) || refused.Field != "pageToken" {
			t.Errorf("PushList() of another task = %v, want its token refused", err)
		}
	}
	if diff := cmp.Diff([]engine.PushConfig{bare(webhook("a")), c, bare(webhook("c"))}, listed); diff != "" {
		t.Errorf("PushList() (-want +got)\n%s", diff)
	}
	for range 2 {
		if err := w.engine.DeletePush(w.ctx(), alice, id, "a"); err != nil {
			t.Errorf("DeletePush() = %v", err)
		}
		if _, err := w.engine.Push(w.ctx(), alice, id, "a"); !errors.Is(err, task.ErrTaskNotFound) {
			t.Errorf("Push() of a deleted one = %v", err)
		}
	}
	fresh, err := w.engine.SetPush(w.ctx(), alice, id, engine.PushConfig{URL: "https://example.com", Version: "1.0"})
	if err != nil || fresh.ID == "" {
		t.Errorf("SetPush() without an id = %+v, %v", fresh, err)
	}
	if diff := cmp.Diff(before, w.get(a2a.TaskID(id.String()))); diff != "" {
		t.Errorf("the task has changed (-before +after)\n%s", diff)
	}
	w.restart()
	if got, err := w.engine.Push(w.ctx(), alice, id, "b"); err != nil || got != c {
		t.Errorf("Push() after a restart = %+v, %v, want %+v", got, err, c)
	}
}

// Whatever is asked about a foreign task is answered like about a missing one, at the same
// cost, and a role that is lacking is said before anything is read.
func TestWebhooksOfOthers(t *testing.T) {
	t.Parallel()
	w, counted := pushWorld(t)
	id := w.parkedTask()
	w.setPush(id, "a")
	bob, viewer, elsewhere := alice, alice, alice
	bob.Subject, viewer.Roles, elsewhere.Tenant = "bob", []string{auth.RoleViewer, auth.RoleOperator, auth.RoleApprover, auth.RoleAdmin}, "other"
	for name, do := range map[string]func(by auth.Principal, id store.TaskID) error{
		"set": func(by auth.Principal, id store.TaskID) error {
			_, err := w.engine.SetPush(w.ctx(), by, id, webhook("a"))
			return err
		},
		"new": func(by auth.Principal, id store.TaskID) error {
			_, err := w.engine.SetPush(w.ctx(), by, id, webhook(""))
			return err
		},
		"get": func(by auth.Principal, id store.TaskID) error {
			_, err := w.engine.Push(w.ctx(), by, id, "a")
			return err
		},
		"list": func(by auth.Principal, id store.TaskID) error {
			_, err := w.engine.PushList(w.ctx(), by, id, 0, "")
			return err
		},
		"delete": func(by auth.Principal, id store.TaskID) error { return w.engine.DeletePush(w.ctx(), by, id, "a") },
		"inline": func(by auth.Principal, id store.TaskID) error {
			m, c := w.message(a2a.NewTextPart("hello")), webhook("a")
			m.TaskID = a2a.TaskID(id.String())
			_, err := w.engine.Send(w.ctx(), engine.Send{By: by, Message: m, Push: &c})
			return err
		},
	} {
		cost := func(by auth.Principal, id store.TaskID) int64 {
			before := counted.Calls.Load()
			if err := do(by, id); !errors.Is(err, task.ErrTaskNotFound) {
				t.Errorf("%s by %s of %s = %v, want %v", name, by.Subject, by.Tenant, err, task.ErrTaskNotFound)
			}
			return counted.Calls.Load() - before
		}
		missing := cost(alice, store.NewTaskID())
		for _, by := range []auth.Principal{bob, elsewhere} {
			if foreign := cost(by, id); foreign != missing {
				t.Errorf("%s: a foreign task takes %d calls of the store, a missing one %d", name, foreign, missing)
			}
		}
		before := counted.Calls.Load()
		denied := (*auth.DeniedError)(nil)
		if err := do(viewer, id); name != "inline" && (!errors.As(err, &denied) || denied.Action != auth.Push) {
			t.Errorf("%s without the role = %v, want a DeniedError", name, err)
		}
		if n := counted.Calls.Load() - before; n != 0 {
			t.Errorf("%s without the role took %d calls of the store", name, n)
		}
	}
	if got, err := w.engine.Push(w.ctx(), alice, id, "a"); err != nil || got != bare(webhook("a")) {
		t.Errorf("the webhook is %+v, %v", got, err)
	}
}

// What is too much, too large, or cannot be sent is refused, and nothing is written.
func TestWebhooksAreBounded(t *testing.T) {
	t.Parallel()
	w, _ := pushWorld(t)
	id := w.parkedTask()
	wrong := map[string]func(c *engine.PushConfig){
		"id":                         func(c *engine.PushConfig) { c.ID = strings.Repeat("x", 257) },
		"url":                        func(c *engine.PushConfig) { c.URL = "https://" + strings.Repeat("x", 2048) },
		"token":                      func(c *engine.PushConfig) { c.Token = "a\r\nX-Injected: yes" },
		"authentication.scheme":      func(c *engine.PushConfig) { c.Scheme = "Bearer a" },
		"authentication.credentials": func(c *engine.PushConfig) { c.Credentials = strings.Repeat("x", 8<<10+1) },
		"version":                    func(c *engine.PushConfig) { c.Version = "2.0" },
	}
	for field, alter := range wrong {
		c := webhook("x")
		alter(&c)
		invalid := (*task.InvalidError)(nil)
		if _, err := w.engine.SetPush(w.ctx(), alice, id, c); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("SetPush() with a wrong %s = %v", field, err)
		}
		m := w.message(a2a.NewTextPart("x"))
		if _, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: m, Push: &c}); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("Send() with a wrong %s = %v", field, err)
		}
	}
	for i := range 10 {
		w.setPush(id, fmt.Sprint(i))
	}
	invalid := (*task.InvalidError)(nil)
	if _, err := w.engine.SetPush(w.ctx(), alice, id, webhook("one more")); !errors.As(err, &invalid) {
		t.Errorf("SetPush() of one too many = %v", err)
	}
	w.setPush(id, "3")
	w.must(w.engine.DeletePush(w.ctx(), alice, id, "5"))
	w.setPush(id, "one more")
}

// Who oversees a tenant deletes a webhook of somebody else, as it was when it was listed, also
// while push notifications are switched off; the audit keeps that, and nothing of a deletion
// that changed nothing.
func TestWebhookIsDeletedByAnOperator(t *testing.T) {
	t.Parallel()
	w, _ := pushWorld(t)
	id := w.parkedTask()
	w.setPush(id, "a")
	w.cfg.Push = nil
	w.restart()
	tasks, operator := w.engine.Tasks(), colleague(auth.RoleOperator)
	for _, role := range []string{auth.RoleViewer, auth.RoleApprover, auth.RoleAdmin} {
		denied := (*auth.DeniedError)(nil)
		if _, err := tasks.DeleteWebhook(w.ctx(), colleague(role), id.String(), "a", 0); !errors.As(err, &denied) {
			t.Errorf("a %s deletes it: %v", role, err)
		}
	}
	stranger := operator
	stranger.Tenant = "umbrella"
	for _, other := range []auth.Principal{stranger, colleague(auth.RoleRequester)} {
		if _, err := tasks.DeleteWebhook(w.ctx(), other, id.String(), "a", 0); !errors.Is(err, task.ErrTaskNotFound) {
			t.Errorf("somebody else deletes it: %v", err)
		}
	}
	for _, one := range []struct {
		id     string
		number uint64
		want   bool
	}{{"b", 0, false}, {"a", 2, false}, {"a", 1, true}, {"a", 1, false}, {"a", 0, false}} {
		if was, err := tasks.DeleteWebhook(w.ctx(), operator, id.String(), one.id, one.number); err != nil || was != one.want {
			t.Errorf("DeleteWebhook(%s, %d) = %v, %v; want %v", one.id, one.number, was, err, one.want)
		}
	}
	for _, kind := range []string{record.KindPush, record.KindPushCursor, record.KindPushReady} {
		if rows, err := w.store.Rows(w.ctx(), store.System(), store.RowQuery{Kind: kind}); err != nil || len(rows.Rows) > 0 {
			t.Errorf("%s: %+v, %v are left", kind, rows.Rows, err)
		}
	}
	var kept []approval.Audit
	for _, e := range w.audits(a2a.TaskID(id.String())) {
		if e.What == approval.AuditWebhook {
			kept = append(kept, e)
		}
	}
	if len(kept) != 1 || kept[0].By.Subject != operator.Subject || kept[0].Webhook != "a" || kept[0].At.IsZero() {
		t.Errorf("the audit has %+v", kept)
	}
}

// Without a sealer there are no webhooks.
func TestNoPush(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.start()
	id := w.parkedTask()
	c := webhook("a")
	_, set := w.engine.SetPush(w.ctx(), alice, id, c)
	_, get := w.engine.Push(w.ctx(), alice, id, "a")
	_, list := w.engine.PushList(w.ctx(), alice, id, 0, "")
	_, inline := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.message(a2a.NewTextPart("x")), Push: &c})
	for name, err := range map[string]error{"set": set, "get": get, "list": list, "delete": w.engine.DeletePush(w.ctx(), alice, id, "a"), "inline": inline} {
		if !errors.Is(err, engine.ErrNoPush) {
			t.Errorf("%s = %v, want %v", name, err, engine.ErrNoPush)
		}
	}
}

// Whatever is done with a webhook, the one that is set next has a number that none of the
// task had before.
func TestWebhooksAreNeverTheSame(t *testing.T) {
	t.Parallel()
	w, counted := pushWorld(t)
	id := w.parkedTask()
	newest := uint64(0)
	for range 3 {
		for _, name := range []string{"a", "b", "a", "a"} {
			w.setPush(id, name)
			page, err := counted.Rows(w.ctx(), store.System(), store.RowQuery{Kind: record.KindPush, Task: id, Key: []byte(name)})
			if err != nil || len(page.Rows) != 1 {
				t.Fatalf("Rows() = %+v, %v", page, err)
			}
			set, err := record.ParseWebhook(&page.Rows[0])
			if err != nil || set.N <= newest {
				t.Errorf("webhook %s has the number %d, %v; want more than %d", name, set.N, err, newest)
			}
			newest = set.N
		}
		if err := w.engine.DeletePush(w.ctx(), alice, id, "a"); err != nil {
			t.Fatalf("DeletePush() = %v", err)
		}
	}
}

// Who sets a webhook again and again fills only the part of the log that is open: then it is
// refused, can still be deleted, and the task can still be decided and end.
func TestWebhooksLeaveRoom(t *testing.T) {
	t.Parallel()
	w, _ := pushWorld(t)
	w.cfg.Limits = fullLimits()
	w.restart()
	id := w.parkedTask()
	refused := (*task.InvalidError)(nil)
	for size := 60_000; size > 1000; {
		if _, err := w.sendAs(alice, w.remark(a2a.TaskID(id.String()), size)); err != nil {
			size /= 2
		}
	}
	for n := 0; ; n++ {
		_, err := w.engine.SetPush(w.ctx(), alice, id, webhook("a"))
		if errors.As(err, &refused) {
			break
		}
		if err != nil || n > 100 {
			t.Fatalf("SetPush() %d = %v", n, err)
		}
	}
	w.bounded(t, a2a.TaskID(id.String()))
	if err := w.engine.DeletePush(w.ctx(), alice, id, "a"); err != nil {
		t.Errorf("DeletePush() = %v", err)
	}
	if err := w.engine.Cancel(w.ctx(), alice, id); err != nil {
		t.Errorf("Cancel() = %v", err)
	}
}

// Who has many roles takes as much of the log as is written about them, and no more than is
// open; deleting takes next to nothing of a log that is full.
func TestWebhooksOfManyRolesLeaveRoom(t *testing.T) {
	t.Parallel()
	w, _ := pushWorld(t)
	w.cfg.Limits = fullLimits()
	w.restart()
	id := w.parkedTask()
	many := alice
	for i := range 2000 {
		many.Roles = append(many.Roles, fmt.Sprintf("a role with the number %05d", i))
	}
	open := uint64(w.cfg.Limits.OpenRoom(0))
	full := func() uint64 { return w.header(a2a.TaskID(id.String())).Bytes }
	for n := 0; ; n++ {
		_, err := w.engine.SetPush(w.ctx(), many, id, webhook(fmt.Sprint(n%10)))
		if refused := (*task.InvalidError)(nil); errors.As(err, &refused) {
			break
		}
		if err != nil || n > 1000 {
			t.Fatalf("SetPush() %d = %v", n, err)
		}
	}
	before := full()
	if before > open || before < open-200_000 {
		t.Errorf("webhooks fill the log to %d bytes, of which %d are open", before, open)
	}
	for n := range 10 {
		if err := w.engine.DeletePush(w.ctx(), many, id, fmt.Sprint(n)); err != nil {
			t.Errorf("DeletePush() = %v", err)
		}
	}
	if after := full(); after > max(before, open)+10*(2*256+64) {
		t.Errorf("deleting ten webhooks takes %d bytes of a log that is full", after-before)
	}
	w.bounded(t, a2a.TaskID(id.String()))
	if err := w.engine.Cancel(w.ctx(), many, id); err != nil {
		t.Errorf("Cancel() = %v", err)
	}
}
