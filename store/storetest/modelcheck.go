package storetest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"a2a-server/store"
)

func testModel(seed uint64) func(t *testing.T, f *fixture) {
	return func(t *testing.T, f *fixture) {
		m := newModel(t, f, seed)
		for range 3 {
			for range 2 {
				m.run(t, 150)
				m.check(t)
			}
			f.reopen(t)
			m.check(t)
			m.reopened(t)
		}
	}
}

// check compares everything that can be read, by either handle, with the model.
func (m *modelRun) check(t *testing.T) {
	t.Helper()
	var headers []store.Header
	for _, id := range m.ids {
		if task := m.tasks[id]; !task.deleted {
			headers = append(headers, task.header)
		}
	}
	h := m.f.next()
	for _, id := range m.ids {
		m.checkTask(t, h, id)
	}
	m.checkLists(t, h, headers)
	m.checkRows(t, h)
	m.checkDue(t, h)
	same(t, m.audit, mustAudit(t, h, 0, len(m.audit)+1), "step %d: Audit()", m.step)
}

func (m *modelRun) checkTask(t *testing.T, h store.Handle, id store.TaskID) {
	t.Helper()
	task := m.tasks[id]
	if task.deleted {
		if _, err := h.Read(t.Context(), store.System(), id, store.After(0), store.Limit{}); !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("step %d: Read() of a deleted task = %v, want %v", m.step, err, store.ErrNotFound)
		}
		return
	}
	from := pick(m, store.After(0), store.After(m.random.Uint64N(task.header.Seq+2)))
	for _, from := range []store.From{store.AtSnapshot(), from} {
		limit := store.Limit{Events: pick(m, 0, 0, 3), NoBulk: m.chance(3)}
		same(t, task.header, checkRead(t, h, pick(m, store.System(), task.header.Owner, store.Tenant(task.header.Owner.TenantName())), id, from, limit, &task.log, task.fold), "step %d: header", m.step)
	}
}

func (m *modelRun) checkLists(t *testing.T, h store.Handle, headers []store.Header) {
	t.Helper()
	var want store.States
	for i := range headers {
		want[headers[i].State]++
	}
	if got, err := h.States(t.Context()); err != nil || got != want {
		t.Fatalf("step %d: States() = %v, %v, want %v", m.step, got, err, want)
	}
	for _, s := range scopes() {
		for _, context := range append([]string{"", "absent"}, contexts()...) {
			for _, state := range []store.State{0, 1, 2, store.MaxState} {
				if m.chance(2) {
					continue // another check asks
				}
				q := store.Query{Context: context, State: state, Since: pick(m, 0, 0, store.Millis(1000+m.random.IntN(22))), Limit: pick(m, 3, 20, 1000)}
				want, wantTotal := bruteForce(headers, s, q)
				got, total := mustList(t, h, s, q)
				if s.IsZero() {
					// The zero scope sees nothing, and its total is not fixed.
					total = wantTotal
				}
				if d := diff(want, got); d != "" || total != wantTotal {
					t.Fatalf("step %d: %+v: Tasks(%+v) total %d, want %d (-want +got)\n%s", m.step, s, q, total, wantTotal, d)
				}
			}
		}
	}
}

func (m *modelRun) checkRows(t *testing.T, h store.Handle) {
	t.Helper()
	check := func(s store.Scope, q store.RowQuery, selects func(k rowKey, r modelRow) bool) []store.Row {
		t.Helper()
		var want []store.Row
		for k, r := range m.rows {
			if k.kind == q.Kind && s.Covers(k.owner) && selects(k, r) {
				r := row(k.task, k.kind, k.key, r.rev, r.value)
				r.Owner, r.Context = k.owner, k.context
				want = append(want, r)
			}
		}
		got := mustRows(t, h, s, q)
		same(t, sortRows(want), sortRows(got), "step %d: %+v: Rows(%+v)", m.step, s, q)
		return got
	}
	for _, kind := range kinds() {
		for _, s := range scopes() {
			check(s, store.RowQuery{Kind: kind, Limit: pick(m, 0, 3, 1000)}, func(rowKey, modelRow) bool { return true })
			for _, index := range indexes() {
				for _, prefix := range []string{"", pick(m, "a", "aa", "a\x00"), pick(m, "b", "\xff", "c")} {
					q := store.RowQuery{Kind: kind, Index: index, Prefix: []byte(prefix), Limit: pick(m, 0, 3, 1000)}
					got := check(s, q, func(_ rowKey, r modelRow) bool {
						entry, ok := r.index[index]
						return ok && strings.HasPrefix(entry, prefix)
					})
					m.checkIndexOrder(t, s, q, got)
				}
			}
		}
		for _, id := range m.ids {
			got := check(store.System(), store.RowQuery{Kind: kind, Task: id, Limit: pick(m, 0, 1, 2)}, func(k rowKey, _ modelRow) bool { return k.task == id })
			same(t, sortRows(got), got, "step %d: Rows() of a task is not in the order of keys", m.step)
		}
		for _, owner := range owners() {
			for _, key := range modelKeys() {
				check(owner, store.RowQuery{Kind: kind, Key: []byte(key)}, func(k rowKey, _ modelRow) bool { return k.task.IsZero() && k.context == "" && k.key == key })
			}
			for _, context := range contexts() {
				if context == "" {
					continue
				}
				in := func(k rowKey, _ modelRow) bool { return k.context == context }
				got := check(owner, store.RowQuery{Kind: kind, Context: context, Limit: pick(m, 0, 1, 3)}, in)
				same(t, sortRows(got), got, "step %d: Rows() of a context is not in the order of keys", m.step)
				index := pick(m, indexes()...)
				check(owner, store.RowQuery{Kind: kind, Context: context, Index: index, Limit: pick(m, 0, 1, 3)}, func(k rowKey, r modelRow) bool {
					_, ok := r.index[index]
					return ok && in(k, r)
				})
			}
		}
	}
}

// checkIndexOrder knows the owner of a row of a scope only where the query does.
func (m *modelRun) checkIndexOrder(t *testing.T, s store.Scope, q store.RowQuery, rows []store.Row) {
	t.Helper()
	var entries []string
	for _, r := range rows {
		owner := s
		if task := m.tasks[r.Task]; task != nil {
			owner = task.header.Owner
		}
		if entry, ok := m.rows[rowKey{owner, r.Task, r.Context, r.Kind, string(r.Key)}]; ok {
			entries = append(entries, entry.index[q.Index])
		}
	}
	if !slices.IsSorted(entries) {
		t.Fatalf("step %d: %+v: Rows(%+v) has entries in the order %q", m.step, s, q, entries)
	}
}

func (m *modelRun) checkDue(t *testing.T, h store.Handle) {
	t.Helper()
	var want []store.Due
	for k, payload := range m.due {
		want = append(want, store.Due{Time: k.time, Task: k.task, Kind: k.kind, Key: []byte(k.key), Payload: []byte(payload)})
	}
	want = sortDue(want)
	same(t, want, allDue(t, h), "step %d: Due()", m.step)
	now, limit := store.Millis(m.random.IntN(7)), 1+m.random.IntN(20)
	n := 0
	for n < len(want) && want[n].Time <= now {
		n++
	}
	wantNext := store.Millis(0)
	if n < len(want) {
		wantNext = want[n].Time
	}
	got, next := dueFrom(t, h, now, "", limit)
	if len(got) != n || next != wantNext {
		t.Fatalf("step %d: Due(%d) in pages of %d = %d rows, next %d, want %d, next %d", m.step, now, limit, len(got), next, n, wantNext)
	}
}
