package storetest

import (
	"fmt"

	"a2a-server/store"
)

// Four owners that a careless key could mix up.
func alice() store.Scope      { return store.Owner("acme", "alice") }
func bob() store.Scope        { return store.Owner("acme", "bob") }
func otherAlice() store.Scope { return store.Owner("beta", "alice") }
func shifted() store.Scope    { return store.Owner("acmea", "lice") }

func owners() []store.Scope {
	return []store.Scope{alice(), bob(), otherAlice(), shifted()}
}

// strangers may not see alice's tasks, and seers may.
func strangers() []store.Scope {
	return []store.Scope{bob(), otherAlice(), shifted(), store.Tenant("beta"), store.Tenant(""), store.Owner("acme", ""), store.Owner("", "alice"), {}}
}

func seers() []store.Scope { return []store.Scope{alice(), store.Tenant("acme"), store.System()} }

// scopes are all of them.
func scopes() []store.Scope {
	return append(owners(), store.Tenant("acme"), store.Tenant("beta"), store.System(), store.Scope{})
}

type fence uint64

// with adds parts to b: rows, due work, audit entries (strings), and single fields.
func with(b *store.Batch, parts ...any) *store.Batch {
	for _, part := range parts {
		switch p := part.(type) {
		case store.RowChange:
			b.Rows = append(b.Rows, p)
		case []store.RowChange:
			b.Rows = append(b.Rows, p...)
		case store.DueChange:
			b.Due = append(b.Due, p)
		case string:
			b.Audit = append(b.Audit, []byte(p))
		case store.Change:
			b.Change = p
		case *store.Status:
			b.Change.Status = p
		case store.Scope:
			b.Scope = p
		case store.TaskID:
			b.Task = p
		case fence:
			b.Fence = new(uint64(p))
		case *store.Snapshot:
			b.Snapshot = p
		default:
			panic(fmt.Sprintf("a batch has no %T", part))
		}
	}
	return b
}

// moveTo is a change of nothing but the phase.
func moveTo(id store.TaskID, rev uint64, phase store.Phase) *store.Batch {
	return with(change(id, rev), store.Change{Phase: phase})
}

// rich is a task that has something of everything.
func rich(owner store.Scope, phase store.Phase) *store.Batch {
	return with(createIn(phase, owner, mixed(5, "rich")...), put("kind", "key", 0, "value", indexed("index", "entry")), dueAt(50, "key", "payload"), "entry")
}

// create is a Live task of owner; a case changes the fields under test.
func create(owner store.Scope, events ...store.Event) *store.Batch {
	return &store.Batch{
		Scope:  owner,
		Task:   store.NewTaskID(),
		Rev:    new(uint64(0)),
		Change: store.Change{Context: "context", Status: status(2, 1000), Phase: store.Live},
		Events: events,
	}
}

func createIn(phase store.Phase, owner store.Scope, events ...store.Event) *store.Batch {
	b := create(owner, events...)
	b.Change.Phase = phase
	return b
}

// chunks is a batch of a turn with that fence.
func chunks(id store.TaskID, fence uint64, events ...store.Event) *store.Batch {
	return &store.Batch{Scope: store.System(), Task: id, Fence: new(fence), Events: events}
}

// change is a batch from no turn, computed from rev.
func change(id store.TaskID, rev uint64, events ...store.Event) *store.Batch {
	return &store.Batch{Scope: store.System(), Task: id, Rev: new(rev), Events: events}
}

// aside is a batch of a reader of the log.
func aside(id store.TaskID, rows ...store.RowChange) *store.Batch {
	return &store.Batch{Scope: store.System(), Task: id, Rows: rows}
}

// scopeRows is a batch without a task.
func scopeRows(owner store.Scope, rows ...store.RowChange) *store.Batch {
	return &store.Batch{Scope: owner, Rows: rows}
}

func status(state store.State, t store.Millis) *store.Status {
	return &store.Status{State: state, Time: t}
}

func put(kind, key string, ifRev uint64, value string, index ...store.IndexKey) store.RowChange {
	return store.RowChange{Kind: kind, Key: []byte(key), IfRev: ifRev, Value: []byte(value), Index: index}
}

func remove(kind, key string, ifRev uint64) store.RowChange {
	return store.RowChange{Kind: kind, Key: []byte(key), IfRev: ifRev, Delete: true}
}

func indexed(index, key string) store.IndexKey {
	return store.IndexKey{Index: index, Key: []byte(key)}
}

func dueAt(t store.Millis, key, payload string) store.DueChange {
	return store.DueChange{Time: t, Kind: "due", Key: []byte(key), Payload: []byte(payload)}
}

func dueGone(t store.Millis, key string) store.DueChange {
	return store.DueChange{Time: t, Kind: "due", Key: []byte(key), Delete: true}
}

func public(format string, args ...any) store.Event {
	return store.Event{Public: true, Kind: "wire", Time: 1000, Data: fmt.Appendf(nil, format, args...)}
}

func private(format string, args ...any) store.Event {
	return store.Event{Kind: "step.v1", Time: 1001, Data: fmt.Appendf(nil, format, args...)}
}

// mixed returns n events, some of them private.
func mixed(n int, label string) []store.Event {
	events := make([]store.Event, n)
	for i := range events {
		if i%3 == 1 {
			events[i] = private("%s %d", label, i)
		} else {
			events[i] = public("%s %d", label, i)
		}
	}
	return events
}

// history is the events that a test wrote to a task, numbered as the store must.
type history struct {
	events []store.Event
	pub    uint64
}

func (h *history) add(events ...store.Event) {
	for _, e := range events {
		e.Seq, e.Pub = uint64(len(h.events))+1, 0
		if e.Public {
			h.pub++
			e.Pub = h.pub
		}
		h.events = append(h.events, e)
	}
}

func (h *history) after(seq uint64) []store.Event {
	return h.events[min(seq, uint64(len(h.events))):]
}

// numbered is the log that holds just these events.
func numbered(events ...store.Event) []store.Event {
	var h history
	h.add(events...)
	return h.events
}
