package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"a2a-server/store"
)

// modelRun drives a store and its model with the same random batches.
type modelRun struct {
	model
	f      *fixture
	random *rand.Rand
	epoch  [2]uint64
	step   int
}

// queued is a batch in flight, with its expected outcome.
type queued struct {
	batch  *store.Batch
	commit *store.Commit
	want   outcome
}

func newModel(t *testing.T, f *fixture, seed uint64) *modelRun {
	t.Helper()
	m := &modelRun{model: emptyModel(), f: f, random: rand.New(rand.NewPCG(seed, seed))}
	m.reopened(t)
	return m
}

// reopened learns the epochs of new handles from a task that each makes.
func (m *modelRun) reopened(t *testing.T) {
	t.Helper()
	last := m.epoch[1]
	for i, h := range m.f.h {
		b := create(alice())
		r := mustAppend(t, h, b)
		m.epoch[i] = mustHeader(t, h, b.Task).Epoch
		if m.epoch[i] <= last {
			t.Fatalf("epoch %d of a new handle, want more than %d", m.epoch[i], last)
		}
		last = m.epoch[i]
		if err := m.apply(b, m.epoch[i]).differs(r, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// chance is true once in n.
func (m *modelRun) chance(n int) bool { return m.random.IntN(n) == 0 }

func pick[T any](m *modelRun, from ...T) T { return from[m.random.IntN(len(from))] }

// run takes n random steps and compares every answer.
func (m *modelRun) run(t *testing.T, n int) {
	t.Helper()
	for range n {
		m.step++
		i := m.random.IntN(2)
		switch m.random.IntN(20) {
		case 0:
			m.claimSome(t, i)
		case 1, 2:
			m.deleteOne(t, i)
		case 3, 4, 5:
			m.chain(t, i)
		case 6, 7:
			m.one(t, i, m.scopeBatch())
		case 8, 9, 10:
			m.one(t, i, m.createBatch())
		default:
			id := pick(m, m.ids...)
			if m.chance(30) {
				id = store.NewTaskID()
			}
			m.one(t, i, m.taskBatch(id))
		}
	}
}

// queue appends b and tells the model, which answers at once.
func (m *modelRun) queue(t *testing.T, i int, b *store.Batch) queued {
	return queued{b, m.f.h[i].Append(t.Context(), b), m.apply(b, m.epoch[i])}
}

func (m *modelRun) answer(t *testing.T, q queued) {
	t.Helper()
	r, err := await(q.commit)
	if err := q.want.differs(r, err); err != nil {
		t.Fatalf("step %d: %v\nbatch (-none +this)\n%s", m.step, err, show(q.batch))
	}
}

func (m *modelRun) one(t *testing.T, i int, b *store.Batch) {
	t.Helper()
	m.answer(t, m.queue(t, i, b))
}

// chain queues batches of a task without waiting, but for its create.
func (m *modelRun) chain(t *testing.T, i int) {
	t.Helper()
	id := pick(m, m.ids...)
	if m.chance(2) {
		b := m.createBatch()
		id = b.Task
		m.one(t, i, b)
	}
	var chain []queued
	for range 2 + m.random.IntN(8) {
		chain = append(chain, m.queue(t, i, m.taskBatch(id)))
	}
	for _, q := range chain {
		m.answer(t, q)
	}
}

func (m *modelRun) claimSome(t *testing.T, i int) {
	t.Helper()
	limit := 1 + m.random.IntN(5)
	got := mustClaim(t, m.f.h[i], limit)
	if want := min(limit, m.claimable(m.epoch[i])); len(got) != want {
		t.Fatalf("step %d: Claim(%d) = %d headers, want %d", m.step, limit, len(got), want)
	}
	for _, h := range got {
		want, err := m.claim(h.Task, m.epoch[i])
		if err != nil {
			t.Fatalf("step %d: Claim() = %v", m.step, err)
		}
		same(t, want, h, "step %d: Claim()", m.step)
	}
}

func (m *modelRun) deleteOne(t *testing.T, i int) {
	t.Helper()
	s, id := m.scope(), pick(m, m.ids...)
	audit := pick(m, nil, fmt.Append(nil, "deleted ", m.step))
	want := m.delete(s, id, audit)
	if err := m.f.h[i].Delete(t.Context(), s, id, audit); !errors.Is(err, want) {
		t.Fatalf("step %d: Delete() = %v, want %v", m.step, err, want)
	}
}

// scope returns a scope, mostly with the rights for its use.
func (m *modelRun) scope() store.Scope {
	if m.chance(3) {
		return pick(m, append(owners(), store.Tenant("acme"), store.Tenant("beta"), store.Scope{})...)
	}
	return store.System()
}

func (m *modelRun) events() []store.Event {
	events := make([]store.Event, m.random.IntN(5))
	for i := range events {
		events[i] = store.Event{
			Seq: 70, Pub: 90, // ignored
			Public: m.chance(2), Bulk: m.chance(3), Kind: pick(m, "", "wire", "step.v1"), Time: store.Millis(m.random.IntN(1 << 40)),
			Data: fmt.Appendf(nil, "step %d event %d%*s", m.step, i, m.random.IntN(30), ""),
		}
	}
	return events
}

func (m *modelRun) status() *store.Status {
	return status(pick(m, 1, 2, 3, store.MaxState), store.Millis(1000+m.random.IntN(20)))
}

func modelKeys() []string { return []string{"", "a", "ab", "\x00", "a\x00", "\xff"} }

// side adds rows, due rows and audit to b.
func (m *modelRun) side(b *store.Batch, owner store.Scope, contextID string) {
	revs := map[rowKey]uint64{} // of rows that b has changed already
	for range m.random.IntN(4) {
		c := store.RowChange{Kind: pick(m, kinds()...), Key: []byte(pick(m, modelKeys()...))}
		c.OfContext = contextID != "" && m.chance(2)
		key := rowKeyOf(owner, contextID, b, &c)
		rev, changed := revs[key]
		if !changed {
			rev = m.rows[key].rev
		}
		c.IfRev, c.Value = rev, fmt.Append(nil, m.step, len(b.Rows))
		switch m.random.IntN(12) {
		case 0:
			c.IfRev = uint64(m.random.IntN(4))
		case 1, 2, 3:
			c.IfRev = store.Any
		}
		if c.Delete = m.chance(4); !c.Delete {
			for _, index := range indexes() {
				if m.chance(2) {
					c.Index = append(c.Index, indexed(index, pick(m, "", "a", "aa", "a\x00b", "b", "\xff")))
				}
			}
		}
		if revs[key] = rev + 1; c.Delete {
			revs[key] = 0
		}
		b.Rows = append(b.Rows, c)
	}
	for range m.random.IntN(3) {
		at, key := store.Millis(1+m.random.IntN(5)), pick(m, "a", "b")
		if m.chance(2) {
			b.Due = append(b.Due, dueGone(at, key))
		} else {
			b.Due = append(b.Due, dueAt(at, key, fmt.Sprint(m.step, len(b.Due))))
		}
	}
	for n := range m.random.IntN(3) {
		b.Audit = append(b.Audit, fmt.Append(nil, m.step, n))
	}
}

func (m *modelRun) scopeBatch() *store.Batch {
	b := scopeRows(pick(m, append(owners(), owners()...)...))
	switch m.random.IntN(20) {
	case 0:
		b.Scope = store.Scope{}
	case 1:
		b.Scope = store.System()
	case 2:
		b.Fence = new(uint64(1))
	}
	m.side(b, b.Scope, "")
	return b
}

func (m *modelRun) createBatch() *store.Batch {
	b := createIn(store.Phase(1+m.random.IntN(3)), pick(m, owners()...), m.events()...)
	b.Change.Context = pick(m, contexts()...)
	b.Change.Status = m.status()
	if m.chance(3) {
		b.Change.Pending = new(uint32(m.step))
	}
	if m.chance(5) {
		b.Task[0] = byte(m.random.IntN(256)) // an id that is not as new as it was made
	}
	if m.chance(2) {
		b.Parked = uint32(1 + m.random.IntN(4))
	}
	m.side(b, b.Scope, "")
	switch m.random.IntN(16) {
	case 0:
		b.Task = pick(m, m.ids...)
		if m.tasks[b.Task].deleted {
			b.Task = store.NewTaskID()
		}
	case 1:
		b.Scope = store.Scope{}
	case 2:
		b.Scope = store.Tenant("acme")
	case 3:
		b.Change.Status = nil
	case 4:
		b.Change.Context = string(make([]byte, store.MaxContext+1))
	case 5, 6, 7, 8:
		m.ofOwner(b, b.Scope)
	}
	return b
}

// ofOwner adds a row of the task's owner, or the need for one, mostly valid.
func (m *modelRun) ofOwner(b *store.Batch, owner store.Scope) {
	if m.chance(20) {
		owner = pick(m, owners()...)
	}
	kind, key := pick(m, kinds()...), []byte(pick(m, modelKeys()...))
	rev := m.rows[rowKey{owner: owner, kind: kind, key: string(key)}].rev
	if m.chance(8) {
		rev = uint64(m.random.IntN(4))
	}
	if m.chance(2) {
		b.Needs = append(b.Needs, store.RowRef{Of: owner, Kind: kind, Key: key, Rev: rev})
		return
	}
	b.Rows = append(b.Rows, store.RowChange{Kind: kind, Key: key, IfRev: rev, Value: fmt.Append(nil, m.step, " of owner"), Of: owner, Delete: m.chance(4)})
}

// taskBatch is chunks or a change of a task, mostly valid.
func (m *modelRun) taskBatch(id store.TaskID) *store.Batch {
	var h store.Header
	if task := m.tasks[id]; task != nil {
		h = task.header
	}
	b := &store.Batch{Scope: m.scope(), Task: id, Events: m.events()}
	if m.chance(3) {
		b.Snapshot = &store.Snapshot{After: h.Seq, Rev: h.Rev, Bytes: fmt.Append(nil, "fold of ", m.step)}
		if m.chance(2) {
			b.Snapshot.Bulk = fmt.Append(nil, "bulk of ", m.step)
		}
		switch m.random.IntN(6) {
		case 0, 1:
			b.Snapshot.After = m.random.Uint64N(h.Seq + 2)
		case 2:
			b.Snapshot.Rev = m.random.Uint64N(h.Rev + 2)
		}
	}
	if m.chance(6) {
		b.Events, b.Snapshot = nil, nil
		if m.side(b, h.Owner, ""); m.chance(20) {
			b.Events = m.events()
		}
		return b
	}
	if m.chance(3) {
		b.Fence = new(h.Fence)
		if m.chance(6) {
			b.Fence = new(m.random.Uint64N(h.Fence + 2))
		}
		if !m.chance(4) {
			return b
		}
	}
	// At least 1, for 0 would make it a create.
	b.Rev = new(max(1, h.Rev))
	if m.chance(10) {
		b.Rev = new(1 + m.random.Uint64N(h.Rev+1))
	}
	if h.Phase != store.Final || m.chance(10) {
		if m.chance(2) {
			b.Change.Status = m.status()
		}
		if m.chance(3) {
			b.Change.Phase = store.Phase(1 + m.random.IntN(3))
		}
		b.Change.TakeFence = m.chance(4)
	}
	if m.chance(4) {
		b.Change.Pending = new(uint32(m.step))
	}
	m.side(b, h.Owner, h.Context)
	if m.chance(3) {
		m.ofOwner(b, h.Owner)
	}
	if b.HasContextRows() && m.chance(2) {
		b.ContextRows = pick(m, store.RowBound{Rows: 1 + m.random.Uint64N(6)}, store.RowBound{Bytes: 1 + m.random.Uint64N(40)})
	}
	switch m.random.IntN(40) {
	case 4, 5:
		b.Rows = append(b.Rows, store.RowChange{Kind: "kind", Key: []byte("a"), IfRev: store.Any, OfContext: true}) // the task may have no context
	case 0:
		b.Change.Context = "context"
	case 2:
		b.Change.Phase = 4
	case 3:
		b.Events = append(slices.Clone(b.Events), store.Event{Kind: string(make([]byte, store.MaxKind+1))})
	}
	return b
}
