package engine_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/auth"
	"a2a-server/internal/keyring"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// A page token that was forged, changed, or made for somebody else or another query is
// refused, and nothing is read for it.
func TestForeignPageTokens(t *testing.T) {
	t.Parallel()
	counter := countRequests()
	w := newMemory(t)
	w.wrap = func(h store.Handle) store.Handle { counter.Handle = h; return counter }
	w.start()
	id := w.ask(alice, 1)
	w.ask(alice, 2)
	w.ask(alice, 3)
	w.ask(bob, 4)
	w.ask(bob, 5)
	elsewhere := auth.Principal{Tenant: "other", Subject: "alice", Roles: []string{auth.RoleRequester}, Method: "test"}
	contextID := w.get(id).ContextID

	// What each list is asked for, and its token as alice got it.
	type list func(by auth.Principal, token string) error
	var next string
	tasks := func(q engine.Query) list {
		return func(by auth.Principal, token string) error {
			q.Cursor, q.PageSize = token, 1
			page, err := w.engine.List(w.ctx(), by, q)
			if err == nil {
				next = page.NextCursor
			}
			return err
		}
	}
	approvals := func(q engine.ApprovalQuery) list {
		return func(by auth.Principal, token string) error {
			q.Cursor, q.Limit = token, 1
			page, err := w.engine.Approvals().List(w.ctx(), by, q)
			if err == nil {
				next = page.Next
			}
			return err
		}
	}
	lists := map[string]list{
		"all tasks":         tasks(engine.Query{}),
		"of a state":        tasks(engine.Query{State: a2a.TaskStateInputRequired}),
		"of another state":  tasks(engine.Query{State: a2a.TaskStateWorking}),
		"since":             tasks(engine.Query{Since: time.Unix(1, 0)}),
		"of a context":      tasks(engine.Query{Context: contextID}),
		"pending approvals": approvals(engine.ApprovalQuery{}),
		"of a task":         approvals(engine.ApprovalQuery{Task: string(id)}),
	}
	tokens := map[string]string{}
	for name, list := range lists {
		if err := list(alice, ""); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tokens[name] = next
	}
	refused := func(what string, err error, reads int64) {
		t.Helper()
		var invalid *task.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), "is not a token of this query: begin again without one") {
			t.Errorf("%s: %v, want an *InvalidError", what, err)
		}
		if n := counter.Calls.Load() - reads; n != 0 {
			t.Errorf("%s: the store was read %d times", what, n)
		}
	}
	used := 0
	for from, token := range tokens {
		if token == "" {
			continue
		}
		used++
		for name, list := range lists {
			reads := counter.Calls.Load()
			if err := list(alice, token); name == from {
				if err != nil {
					t.Errorf("%s: its own token is refused: %v", name, err)
				}
			} else {
				refused(name+" with the token of "+from, err, reads)
			}
			for _, by := range []auth.Principal{bob, elsewhere} {
				reads := counter.Calls.Load()
				refused(name+" of "+by.Subject+" with alice's token of "+from, list(by, token), reads)
			}
		}
		for i := range token {
			reads := counter.Calls.Load()
			other := byte('A')
			if token[i] == other {
				other = 'B'
			}
			refused(fmt.Sprintf("%s, with another character at %d", from, i), lists[from](alice, token[:i]+string(other)+token[i+1:]), reads)
		}
		for what, forged := range map[string]string{
			"cut off":         token[:len(token)-1],
			"only the code":   token[:27],
			"only the cursor": token[27:],
			"longer":          token + "A",
			"twice":           token + token,
			"with a line":     token[:5] + "\n" + token[5:],
			"padded":          token + "=",
			"huge":            strings.Repeat("A", 1<<20),
			"not ASCII":       "é" + token,
			"not UTF-8":       "\xff",
			"a blank":         " ",
		} {
			reads := counter.Calls.Load()
			refused(from+", "+what, lists[from](alice, forged), reads)
		}
	}
	if used < 4 {
		t.Errorf("only %d lists have a second page", used)
	}
	// The cursor of the store alone, as anybody can make it.
	cursor := store.Query{}.EncodeCursor(store.Owner(alice.Tenant, alice.Subject), store.TaskPosition(1, store.NewTaskID()))
	for _, code := range []string{"", base64.RawURLEncoding.EncodeToString(make([]byte, keyring.TagSize))} {
		reads := counter.Calls.Load()
		refused("a cursor that was made elsewhere", lists["all tasks"](alice, code+cursor), reads)
	}
}

// A token outlives a restart, and for a day the key that it was made with.
func TestPageTokensLast(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	folder := filepath.Join(t.TempDir(), "keys")
	var shift atomic.Int64
	open := func() *keyring.Keyring {
		keys, err := keyring.Open(keyring.Config{Folder: folder, Now: func() time.Time { return now.Add(time.Duration(shift.Load())) }})
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	w := newWorld(t, newBolt(t))
	w.cfg = engine.Config{PageTokens: open().MAC(keyring.PageTokens)}
	w.start()
	w.ask(alice, 1)
	w.ask(alice, 2)
	first, err := w.engine.List(w.ctx(), alice, engine.Query{PageSize: 1})
	w.must(err)
	second := func() error {
		list, err := w.engine.List(w.ctx(), alice, engine.Query{PageSize: 1, Cursor: first.NextCursor})
		if err == nil && len(list.Tasks) != 1 {
			t.Errorf("the second page has %d tasks", len(list.Tasks))
		}
		return err
	}
	w.cfg.PageTokens = open().MAC(keyring.PageTokens)
	w.restart()
	if err := second(); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	if _, err := keyring.Rotate(folder, keyring.PageTokens, now); err != nil {
		t.Fatal(err)
	}
	shift.Store(int64(keyring.Overlap - time.Second))
	if err := second(); err != nil {
		t.Errorf("nearly a day after the key was replaced: %v", err)
	}
	shift.Store(int64(keyring.Overlap))
	var invalid *task.InvalidError
	if err := second(); !errors.As(err, &invalid) {
		t.Errorf("a day after the key was replaced: %v, want an *InvalidError", err)
	}
}

// FuzzPageToken tries texts as tokens: only the right one is accepted.
func FuzzPageToken(f *testing.F) {
	w := newMemory(f)
	w.start()
	w.ask(alice, 1)
	w.ask(alice, 2)
	first, err := w.engine.List(w.ctx(), alice, engine.Query{PageSize: 1})
	if err != nil {
		f.Fatal(err)
	}
	pending, err := w.engine.Approvals().List(w.ctx(), alice, engine.ApprovalQuery{Limit: 1})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", first.NextCursor[1:], pending.Next[:27], "+", strings.Repeat("A", 60)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		var invalid *task.InvalidError
		if _, err := w.engine.List(t.Context(), alice, engine.Query{PageSize: 1, Cursor: token}); token != "" && token != first.NextCursor && !errors.As(err, &invalid) {
			t.Errorf("the list of tasks accepts %q: %v", token, err)
		}
		if _, err := w.engine.Approvals().List(t.Context(), alice, engine.ApprovalQuery{Limit: 1, Cursor: token}); token != "" && token != pending.Next && !errors.As(err, &invalid) {
			t.Errorf("the list of approvals accepts %q: %v", token, err)
		}
	})
}
