package sim

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
)

// Limits of the state of a context.
const (
	maxStateKeys  = 1000
	maxStateBytes = 64 << 10
)

// modelContext is the state that the tasks of an owner in a context share: all that was
// set, in the order in which it became durable.
type modelContext struct {
	id     string
	owner  auth.Principal
	writes []stateWrite
	tasks  []*modelTask
}

// stateWrite is a key that was set.
type stateWrite struct{ key, value string }

// stateView is the part of the state of its context that a call may see: the state at some
// time between two, and on top of it the keys that its task has set since then.
type stateView struct {
	of       *modelContext
	from, to int // so many of the writes
	own      []stateWrite
	task     map[string]string // keys of the task alone
}

// contextOf returns the state of the context of a new task.
func (m *model) contextOf(t *modelTask, id string) *modelContext {
	for _, c := range m.contexts {
		if c.id == id && c.owner.Subject == t.owner.Subject {
			c.tasks = append(c.tasks, t)
			return c
		}
	}
	c := &modelContext{id: id, owner: t.owner, tasks: []*modelTask{t}}
	m.contexts = append(m.contexts, c)
	return c
}

// at returns the state after n writes.
func (c *modelContext) at(n int) map[string]string {
	state := map[string]string{}
	for _, w := range c.writes[:n] {
		state[w.key] = w.value
	}
	return state
}

// size returns how many keys and bytes a state has.
func size(state map[string]string) (keys, bytes int) {
	for key, value := range state {
		bytes += len(key) + len(value)
	}
	return len(state), bytes
}

func fits(state map[string]string) bool {
	keys, bytes := size(state)
	return keys <= maxStateKeys && bytes <= maxStateBytes
}

// view returns the view of a call that is entered by the batch at hand.
func (t *modelTask) view() stateView {
	return stateView{of: t.context, from: t.known, to: len(t.context.writes), own: slices.Clone(t.setting), task: maps.Clone(t.temp)}
}

// shows reports whether a call may see this.
func (v *stateView) shows(state map[string]any) bool {
	got := map[string]string{}
	for key, value := range state {
		got[key] = string(mustJSON(value))
	}
	for n := v.from; n <= v.to; n++ {
		want := v.of.at(n)
		for _, w := range v.own {
			want[w.key] = w.value
		}
		maps.Copy(want, v.task)
		if maps.Equal(got, want) {
			return true
		}
	}
	return false
}

// sees checks the state that a run was entered with: at least the state at the previous change
// of its task, and only durable values.
func (m *model) sees(t *modelTask, r *Run, rights []*entry) {
	if len(r.Seen) > 0 {
		m.tools.coverage.Count("a call sees the state of its context")
	}
	for _, e := range rights {
		if e.p == r.Process && e.state.shows(r.Seen) {
			return
		}
	}
	m.fail(t, "a call sees the state of its context", "run %d of %s, call %s sees %.300v", r.N, r.Traits.Name(), r.Call, r.Seen)
}

// set applies the keys that a call has set when it ended: all keys of the run which ended it,
// or nothing if there is no room.
func (m *model) set(t *modelTask, c *modelCall, v *event, was callPhase) {
	var sets map[string]json.RawMessage
	r := m.setter(t, c, v, was)
	if r != nil {
		sets = r.Sets
	}
	switch {
	case maps.EqualFunc(v.Delta, sets, func(a, b json.RawMessage) bool { return sameJSON(a, b) }):
	case r != nil && len(v.Delta) == 0 && v.Outcome == task.OutcomeError && m.tooMuch(t, c) != nil:
		r = m.tooMuch(t, c)
		r.NoRoom = true
		m.tools.coverage.Count("the state of a context is full")
	default:
		m.fail(t, "what a call has set is kept", "call %s has ended %s with %.300s; it has set %.300s", c.id, v.Outcome, mustJSON(v.Delta), mustJSON(sets))
	}
	for key, value := range v.Delta {
		w := stateWrite{key, string(canonical(value))}
		if !strings.HasPrefix(key, tempPrefix) {
			t.setting = append(t.setting, w)
			continue
		}
		if t.temp == nil {
			t.temp = map[string]string{}
		}
		t.temp[w.key] = w.value
	}
}

// tooMuch returns the run of a call that has set more than there was room for, nil if there is
// none. Several runs may have returned: a run of a process that was cut off changes nothing.
func (m *model) tooMuch(t *modelTask, c *modelCall) *Run {
	for _, r := range slices.Backward(m.tools.Ledger.Of(t.id.String(), c.id)) {
		if r.Returned && !r.Paused && r.Process == t.runner && len(r.Sets) > 0 && !m.hasRoom(t, r) {
			return r
		}
	}
	return nil
}

// setter returns the run that has ended a call with the keys it has set, nil if none has: a
// run that pauses sets nothing.
func (m *model) setter(t *modelTask, c *modelCall, v *event, was callPhase) *Run {
	n := 0
	for _, value := range v.Delta {
		n = runOf(value)
	}
	if v.Outcome == task.OutcomeOK {
		n = runOf(v.Result)
	}
	// What a call has set is lost with its outcome, as after its time limit.
	failed := was != unknown && v.Outcome == task.OutcomeError && (strings.Contains(v.Error, errTool.Error()) || strings.Contains(v.Error, "it has set"))
	for _, r := range slices.Backward(m.tools.Ledger.Of(t.id.String(), c.id)) {
		if r.Returned && !r.Paused && len(r.Sets) > 0 && (r.N == n || n == 0 && failed) {
			return r
		}
	}
	return nil
}

// hasRoom reports whether the keys of a run would have fit into every state that its context
// may have had when that was decided.
func (m *model) hasRoom(t *modelTask, r *Run) bool {
	if len(mustJSON(r.Sets)) > maxStateBytes {
		return false
	}
	for n := t.known; n <= len(t.context.writes); n++ {
		state := t.context.at(n)
		for _, w := range t.setting {
			state[w.key] = w.value
		}
		for key, value := range r.Sets {
			if !strings.HasPrefix(key, tempPrefix) {
				state[key] = string(value)
			}
		}
		if !fits(state) {
			return false
		}
	}
	return true
}

// stateRows checks that a batch changes the state of its context as the calls that end in
// it have set it, and that the context has room for it.
func (m *model) stateRows(t *modelTask, b *store.Batch) {
	want, got := map[string]string{}, map[string]string{}
	for _, w := range t.setting {
		want[w.key] = w.value
	}
	for i := range b.Rows {
		if r := &b.Rows[i]; r.Kind == record.KindState {
			got[string(r.Key)] = string(canonical(r.Value))
		}
	}
	if !maps.Equal(got, want) {
		m.fail(t, "what a call has set is kept", "a batch sets %.300v, its calls %.300v", got, want)
	}
	t.context.writes = append(t.context.writes, t.setting...)
	t.setting = nil
	t.known = len(t.context.writes)
	if len(want) == 0 {
		return
	}
	m.tools.coverage.Count("a call sets the state of its context")
	if state := t.context.at(t.known); !fits(state) {
		keys, bytes := size(state)
		m.fail(t, "the state of a context is bounded", "it has %d keys and %d bytes", keys, bytes)
	}
}

// canonical returns JSON as mustJSON writes it.
func canonical(raw []byte) []byte {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return raw
	}
	return mustJSON(v)
}

// checkState compares the state of each context with the log. Then it deletes the tasks, which
// are all parked by then: the state ends with the last.
func (m *model) checkState(d *Disk) {
	h := d.Durable()
	ctx := context.Background()
	for _, c := range m.contexts {
		want := c.at(len(c.writes))
		last := len(c.tasks) - 1
		for i := range c.tasks {
			if i == 0 || i == last {
				m.wantState(h, c, want)
			}
			if err := h.Delete(ctx, store.System(), c.tasks[(i+len(want))%len(c.tasks)].id, nil); err != nil {
				m.s.Fail("a task that has ended can be deleted", "%s: %v", c.tasks[i].id, err)
				return
			}
		}
		m.wantState(h, c, nil)
	}
}

// wantState checks the rows of a context.
func (m *model) wantState(h store.Handle, c *modelContext, want map[string]string) {
	page, err := h.Rows(context.Background(), engine.ScopeFor(c.owner, auth.Read), store.RowQuery{Kind: record.KindState, Context: c.id, Limit: maxStateKeys})
	got := map[string]string{}
	for i := range page.Rows {
		got[string(page.Rows[i].Key)] = string(canonical(page.Rows[i].Value))
	}
	if err == nil && maps.Equal(got, want) {
		return
	}
	if want == nil {
		m.s.Fail("the state of a context ends with its last task", "context %q of %s has %d keys: %v", c.id, c.owner.Subject, len(got), err)
		return
	}
	m.s.Fail("the state of a context is what was set last", "context %q of %s has %.300v, want %.300v: %v", c.id, c.owner.Subject, got, want, err)
}
