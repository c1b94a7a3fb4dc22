package storetest

import (
	"errors"
	"testing"

	"a2a-server/store"
)

func scopeCases() []testCase {
	return []testCase{
		{"what is foreign is not found", testForeign},
		{"what is followed is foreign too", testForeignFollowed},
		{"what a scope sees", testScopeSees},
		{"the zero scope", testZeroScope},
		{"a tenant writes", testTenantWrites},
		{"rows are of the task's owner", testRowsOfOwner},
		{"rows without a task", testScopeRows},
	}
}

// rich is a task that has something of everything.
func rich(owner store.Scope, phase store.Phase) *store.Batch {
	b := createIn(phase, owner, mixed(5, "rich")...)
	b.Rows = []store.RowChange{put("kind", "key", 0, "value", indexed("index", "entry"))}
	b.Due = []store.DueChange{dueAt(50, "key", "payload")}
	b.Audit = [][]byte{[]byte("entry")}
	b.Dedup = newHash()
	return b
}

func testForeign(t *testing.T, f *fixture) {
	live, final := rich(alice(), store.Live), rich(alice(), store.Final)
	final.Due = nil
	f.append(t, live)
	f.append(t, final)
	f.append(t, scopeRows(alice(), put("kind", "own", 0, "value", indexed("index", "entry"))))
	missing := store.NewTaskID()
	before := dump(t, f.h[0], []string{"kind"}, []string{"index"})
	for _, s := range []store.Scope{
		bob(), otherAlice(), shifted(), store.Tenant("beta"), store.Tenant(""), store.Tenant("acm"), store.Owner("acme", ""),
		store.Owner("", "alice"), store.Owner("", ""), store.Owner("acme", "alice\x00"), {},
	} {
		for i, h := range f.h {
			for _, b := range []*store.Batch{live, final} {
				if _, err := h.Read(t.Context(), s, b.Task, store.AtSnapshot(), store.Limit{}); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("%+v: Read() = %v, want %v", s, err, store.ErrNotFound)
				}
				write := change(b.Task, 1, public("foreign"))
				write.Scope = s
				write.Change.Pending = new(uint32(9))
				write.Rows = []store.RowChange{put("kind", "key", store.Any, "foreign"), remove("kind", "key", store.Any)}
				write.Due = []store.DueChange{dueGone(50, "key"), dueAt(51, "key", "")}
				write.Audit = [][]byte{[]byte("foreign")}
				wrongRev := change(b.Task, 9)
				wrongRev.Scope = s
				turn := chunks(b.Task, 1, public("foreign"))
				turn.Scope = s
				for _, bad := range []*store.Batch{write, wrongRev, turn} {
					if _, err := do(t.Context(), h, bad); !errors.Is(err, store.ErrNotFound) {
						t.Errorf("%+v: Append() = %v, want %v", s, err, store.ErrNotFound)
					}
				}
				if err := h.Delete(t.Context(), s, b.Task, nil); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("%+v: Delete() = %v, want %v", s, err, store.ErrNotFound)
				}
				for _, q := range []store.RowQuery{{Kind: "kind", Task: b.Task}, {Kind: "kind", Task: b.Task, Key: []byte("key")}, {Kind: "kind", Task: missing}} {
					if got := mustRows(t, h, s, q); len(got) > 0 {
						t.Errorf("%+v: Rows(%+v) = %v, want nothing", s, q, got)
					}
				}
			}
			if s.IsOwner() {
				steal := create(s, public("stolen"))
				steal.Task = live.Task
				if _, err := do(t.Context(), h, steal); !errors.Is(err, store.ErrConflict) {
					t.Errorf("%+v: create of another's task: Append() = %v, want %v", s, err, store.ErrConflict)
				}
			}
			for _, q := range []store.RowQuery{{Kind: "kind"}, {Kind: "kind", Index: "index"}, {Kind: "kind", Index: "index", Prefix: []byte("entry")}} {
				if got := mustRows(t, h, s, q); len(got) > 0 {
					t.Errorf("%+v: Rows(%+v) = %v, want nothing", s, q, got)
				}
			}
			for _, q := range []store.Query{{}, {Context: "context"}, {State: 2}, {Since: 1}} {
				if got, total := mustList(t, h, s, q); len(got) > 0 || total > 0 {
					t.Errorf("%+v: Tasks(%+v) = %v, total %d, want nothing", s, q, got, total)
				}
			}
			if d := diff(before, dump(t, f.h[1-i], []string{"kind"}, []string{"index"})); d != "" {
				t.Fatalf("%+v: contents after foreign writes (-want +got)\n%s", s, d)
			}
		}
	}
}

// Events that a store caches for the readers of a task must not reach others.
func testForeignFollowed(t *testing.T, f *fixture) {
	b := create(alice())
	for _, h := range f.h {
		_, stop := h.Watch(alice(), b.Task)
		t.Cleanup(stop)
	}
	f.append(t, b)
	last := f.append(t, chunks(b.Task, 1, public("one"), public("two"))).Last
	for _, h := range f.h {
		for _, after := range []uint64{0, last - 1, last} {
			if _, err := h.Read(t.Context(), alice(), b.Task, store.After(after), store.Limit{}); err != nil {
				t.Errorf("Read(%d) = %v, want nil", after, err)
			}
			for _, s := range []store.Scope{bob(), otherAlice(), shifted(), store.Tenant("beta"), {}} {
				if _, err := h.Read(t.Context(), s, b.Task, store.After(after), store.Limit{}); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("%+v: Read(%d) = %v, want %v", s, after, err, store.ErrNotFound)
				}
			}
		}
	}
}

func testScopeSees(t *testing.T, f *fixture) {
	tasks := map[store.Scope]*store.Batch{}
	for _, owner := range owners() {
		tasks[owner] = rich(owner, store.Live)
		f.append(t, tasks[owner])
	}
	for _, c := range []struct {
		scope store.Scope
		sees  []store.Scope
	}{
		{alice(), []store.Scope{alice()}},
		{bob(), []store.Scope{bob()}},
		{otherAlice(), []store.Scope{otherAlice()}},
		{shifted(), []store.Scope{shifted()}},
		{store.Tenant("acme"), []store.Scope{alice(), bob()}},
		{store.Tenant("beta"), []store.Scope{otherAlice()}},
		{store.System(), owners()},
	} {
		sees := map[store.TaskID]bool{}
		for _, owner := range c.sees {
			sees[tasks[owner].Task] = true
		}
		for _, h := range f.h {
			for _, b := range tasks {
				_, err := h.Read(t.Context(), c.scope, b.Task, store.After(0), store.Limit{})
				if want := map[bool]error{false: store.ErrNotFound}[sees[b.Task]]; !errors.Is(err, want) {
					t.Errorf("%+v: Read() = %v, want %v", c.scope, err, want)
				}
				rows := mustRows(t, h, c.scope, store.RowQuery{Kind: "kind", Task: b.Task})
				if (len(rows) == 1) != sees[b.Task] {
					t.Errorf("%+v: Rows() = %v, want a row: %t", c.scope, rows, sees[b.Task])
				}
			}
			list, total := mustList(t, h, c.scope, store.Query{})
			wantTotal := int64(-1)
			if c.scope.IsOwner() {
				wantTotal = 1
			}
			if len(list) != len(sees) || total != wantTotal {
				t.Errorf("%+v: Tasks() = %d tasks, total %d, want %d, total %d", c.scope, len(list), total, len(sees), wantTotal)
			}
			for _, header := range list {
				if !sees[header.Task] {
					t.Errorf("%+v: Tasks() has %+v", c.scope, header)
				}
			}
			for _, q := range []store.RowQuery{{Kind: "kind"}, {Kind: "kind", Index: "index"}} {
				rows := mustRows(t, h, c.scope, q)
				if len(rows) != len(sees) {
					t.Errorf("%+v: Rows(%+v) = %d rows, want %d", c.scope, q, len(rows), len(sees))
				}
				for _, r := range rows {
					if !sees[r.Task] {
						t.Errorf("%+v: Rows(%+v) has %+v", c.scope, q, r)
					}
				}
			}
		}
	}
}

func testZeroScope(t *testing.T, f *fixture) {
	f.append(t, rich(alice(), store.Live))
	before := dump(t, f.h[0], []string{"kind"}, []string{"index"})
	var zero store.Scope
	all := scopeRows(zero, put("kind", "key", store.Any, "value"))
	all.Due = []store.DueChange{dueAt(1, "key", "")}
	all.Audit = [][]byte{[]byte("entry")}
	f.refuse(t, all, store.ErrNotFound)
	f.refuse(t, rich(zero, store.Live), store.ErrNotFound)
	for _, h := range f.h {
		if page, err := h.Rows(t.Context(), zero, store.RowQuery{Kind: "kind", Key: []byte("key")}); len(page.Rows) > 0 {
			t.Errorf("Rows() = %v, %v, want nothing", page.Rows, err)
		}
	}
	if d := diff(before, dump(t, f.h[1], []string{"kind"}, []string{"index"})); d != "" {
		t.Errorf("contents after writes of nobody (-want +got)\n%s", d)
	}
}

func testTenantWrites(t *testing.T, f *fixture) {
	b := rich(alice(), store.Parked)
	b.Due = nil
	f.append(t, b)
	for i, s := range []store.Scope{store.Tenant("acme"), store.System(), alice()} {
		write := change(b.Task, uint64(i)+1, public("%d", i))
		write.Scope = s
		write.Change.Status = status(6, store.Millis(2000+i))
		f.append(t, write)
		if got := f.header(t, b.Task); got.Owner != alice() {
			t.Errorf("Header.Owner = %+v, want %+v", got.Owner, alice())
		}
	}
	// Derived rows have the owner of the task, never the scope of the batch.
	list, total := mustList(t, f.h[0], alice(), store.Query{State: 6, Since: 2002})
	if len(list) != 1 || total != 1 {
		t.Errorf("Tasks() = %v, total %d, want the task", list, total)
	}
	end := change(b.Task, 4)
	end.Change = store.Change{Status: status(4, 3000), Phase: store.Final}
	f.append(t, end)
	if err := f.h[0].Delete(t.Context(), store.Tenant("acme"), b.Task, nil); err != nil {
		t.Errorf("Delete() = %v, want nil", err)
	}
	f.checkGone(t, b.Task)
}

func testRowsOfOwner(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	rev := uint64(1)
	for _, s := range []store.Scope{store.System(), store.Tenant("acme"), alice()} {
		write := change(b.Task, rev)
		write.Scope = s
		write.Rows = []store.RowChange{put("kind", "key", rev-1, "value", indexed("index", "entry"))}
		f.append(t, write)
		want := row(b.Task, "kind", "key", rev, "value")
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind"}, want)
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: b.Task, Key: []byte("key")}, want)
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Index: "index"}, want)
		f.checkRows(t, bob(), store.RowQuery{Kind: "kind", Index: "index"})
		rev++
	}
}

// Owners use the same key, and do not meet.
func testScopeRows(t *testing.T, f *fixture) {
	q := store.RowQuery{Kind: "grant", Key: []byte("key")}
	for i, owner := range owners() {
		f.append(t, scopeRows(owner, put("grant", "key", 0, owner.Subject(), indexed("index", "entry"))))
		f.refuse(t, scopeRows(owner, put("grant", "key", 0, "again")), store.ErrConflict)
		for range i {
			b := scopeRows(owner, put("grant", "key", store.Any, owner.TenantName(), indexed("index", "entry")))
			f.append(t, b)
		}
	}
	for round := range 2 {
		for i, owner := range owners() {
			value := owner.TenantName()
			if i == 0 {
				value = owner.Subject()
			}
			want := row(store.TaskID{}, "grant", "key", uint64(i)+1, value)
			f.checkRows(t, owner, q, want)
			f.checkRows(t, owner, store.RowQuery{Kind: "grant"}, want)
			f.checkRows(t, owner, store.RowQuery{Kind: "grant", Index: "index", Prefix: []byte("en")}, want)
		}
		for scope, want := range map[store.Scope]int{store.Tenant("acme"): 2, store.Tenant("beta"): 1, store.System(): 4} {
			for _, q := range []store.RowQuery{{Kind: "grant"}, {Kind: "grant", Index: "index"}} {
				if got := mustRows(t, f.h[round], scope, q); len(got) != want {
					t.Errorf("%+v: Rows(%+v) = %d rows, want %d", scope, q, len(got), want)
				}
			}
		}
		f.reopen(t)
	}
	f.append(t, scopeRows(bob(), remove("grant", "key", 2)))
	f.checkRows(t, bob(), q)
	f.checkRows(t, alice(), q, row(store.TaskID{}, "grant", "key", 1, "alice"))
	for _, s := range []store.Scope{store.System(), store.Tenant("acme")} {
		if _, err := do(t.Context(), f.h[0], scopeRows(s, put("grant", "key", store.Any, ""))); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("Append() = %v, want %v", err, store.ErrInvalid)
		}
	}
}
