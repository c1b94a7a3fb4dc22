package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task/internal/record"
)

// modelHook is a webhook of a task, as it was set once.
type modelHook struct {
	t      *modelTask
	id     string
	n      uint64
	url    string
	legacy bool // it gets the task
	base   uint64
	told   map[uint64]bool // of base and later: the notifications that it, or a webhook that it replaces, has accepted
	newest uint64          // of notifications that it has accepted itself
	cursor uint64
	dead   bool
}

// untold returns the first event after base and up to a seq that h has not been told of, 0
// if there is none.
func (h *modelHook) untold(upTo uint64) uint64 {
	for i := range h.t.public {
		e := &h.t.public[i]
		if e.Seq > h.base && e.Seq <= upTo && record.Pushable(e) && !h.told[e.Seq] {
			return e.Seq
		}
	}
	return 0
}

// hookRows applies the webhook rows of a batch with these events.
func (m *model) hookRows(t *modelTask, c *Committed, events []store.Event) {
	for i := range c.Batch.Rows {
		row := &c.Batch.Rows[i]
		switch row.Kind {
		case record.KindPush:
			m.hookSet(t, row, c)
		case record.KindPushCursor:
			m.hookCursor(t, row, c)
		}
	}
	for i := range events {
		e := &events[i]
		var v struct {
			ID string
			N  uint64
		}
		if !strings.HasPrefix(e.Kind, "push.") || json.Unmarshal(e.Data, &v) != nil {
			continue
		}
		if h := t.hooks[v.ID]; (h != nil) != (v.N > 0) || h != nil && h.n != v.N { // a deletion has no number
			m.fail(t, "rows say what the log says", "event %d, %s of webhook %s: %+v", e.Seq, e.Kind, v.ID, h)
		}
	}
}

func (m *model) hookSet(t *modelTask, row *store.RowChange, c *Committed) {
	if row.Delete {
		delete(t.hooks, string(row.Key))
		return
	}
	w, err := record.ParseWebhook(&store.Row{Value: row.Value})
	if err != nil {
		m.fail(t, "rows can be read", "webhook %s: %v", row.Key, err)
		return
	}
	secrets, err := w.Open(t.id, plain{}.Open)
	if err != nil {
		m.fail(t, "rows can be read", "secrets of webhook %s: %v", row.Key, err)
		return
	}
	h := &modelHook{t: t, id: w.ID, n: w.N, url: secrets.URL, legacy: w.Version == "0.3", base: w.Start, told: map[uint64]bool{}, newest: w.Start, cursor: w.Start}
	if old := t.hooks[w.ID]; old != nil {
		m.tools.coverage.Count("a webhook is replaced")
		if old.dead {
			m.tools.coverage.Count("a webhook is revived")
		}
		h.base, h.told = old.base, old.told
		if w.Start > old.cursor || w.N <= old.n {
			m.fail(t, "what a webhook has missed goes to the one that replaces it", "%s begins after %d, and the one before has been told up to %d", h.url, w.Start, old.cursor)
		}
	} else if w.Start >= c.Receipt.First {
		m.fail(t, "a webhook is told of all that follows it", "%s, set at %d, begins after %d", h.url, c.Receipt.First, w.Start)
	}
	if t.hooks == nil {
		t.hooks = map[string]*modelHook{}
	}
	t.hooks[w.ID] = h
	m.everSet[h.url] = true
}

// hookCursor checks how far a webhook is said to have been told.
func (m *model) hookCursor(t *modelTask, row *store.RowChange, by *Committed) {
	id, n, _ := record.ParsePushKey(row.Key)
	h := t.hooks[id]
	switch {
	case row.Delete:
		return
	case h == nil || h.n > n:
		m.fail(t, "nothing is kept of a webhook that was deleted", "the cursor of %s, number %d", id, n)
		return
	case h.n < n:
		return // it is set in the same batch, below
	}
	c, err := record.ParsePushCursor(&store.Row{Value: row.Value})
	if err != nil {
		m.fail(t, "rows can be read", "cursor of %s: %v", id, err)
		return
	}
	if c.Epoch > by.Epoch {
		m.fail(t, "a webhook of a younger process is left alone", "%s of epoch %d records that it has told %s, of epoch %d", by.Process.name, by.Epoch, h.url, c.Epoch)
	}
	if c.Seq < h.cursor || c.Seq > t.seq {
		m.fail(t, "the cursor of a webhook only moves on", "%s from %d to %d of %d", h.url, h.cursor, c.Seq, t.seq)
	}
	if e := h.untold(c.Seq); e != 0 {
		m.fail(t, "the cursor of a webhook passes nothing that it was not told of", "%s has not been told of event %d, and its cursor is at %d", h.url, e, c.Seq)
	}
	if h.cursor = c.Seq; c.Dead && !h.dead {
		m.tools.coverage.Count("a webhook dies")
	}
	h.dead = c.Dead
}

// saw notes that the routine that runs has read a webhook.
func (m *model) saw(id store.TaskID, w *record.Webhook) {
	t := m.tasks[id]
	if t == nil || t.hooks[w.ID] == nil || t.hooks[w.ID].n != w.N {
		m.s.Fail("rows say what the log says", "webhook %s of task %s, number %d", w.ID, id, w.N)
		return
	}
	m.seen[m.s.current] = t.hooks[w.ID]
}

// notification is a notification that is sent.
type notification struct {
	hook *modelHook
	seq  uint64
}

// notified checks a notification that a process begins to send. newest says that no process
// was started later.
func (m *model) notified(p *Process, path, id string, body []byte, newest bool) (n notification) {
	h := m.seen[m.s.current]
	delete(m.seen, m.s.current)
	if h == nil || !strings.HasSuffix(h.url, path) {
		m.s.Fail("a webhook is looked at before each notification, so that none that was deleted is told", "%s notifies %s of %s", p.name, path, id)
		return n
	}
	if m.tasks[h.t.id].hooks[h.id] != h {
		m.tools.coverage.Count("a webhook is deleted or replaced while it is told")
	}
	n = notification{hook: h}
	name := h.t.id.String() + "-"
	if _, err := fmt.Sscanf(strings.TrimPrefix(id, name), "%d", &n.seq); err != nil || !strings.HasPrefix(id, name) {
		m.fail(h.t, "a notification names its event", "%s: %v", id, err)
		return n
	}
	var e *store.Event
	state := a2a.TaskState("")
	for i := range h.t.public {
		if one := &h.t.public[i]; one.Seq <= n.seq {
			e, state = one, stateAfter(state, one)
		}
	}
	switch {
	case e == nil || e.Seq != n.seq || !record.Pushable(e) || n.seq <= h.base:
		m.fail(h.t, "a webhook is told of what happens", "%s of %s", h.url, id)
	case h.legacy && string(body) != string(state), !h.legacy && !bytes.Equal(body, e.Data):
		m.fail(h.t, "a webhook is told what the log says", "%s of %s: %s", h.url, id, body)
	case h.untold(n.seq-1) != 0:
		m.fail(h.t, "a webhook is told of everything in its order", "%s of %s, before %d", h.url, id, h.untold(n.seq-1))
	case newest && h.t.hooks[h.id] == h && n.seq < h.newest:
		m.fail(h.t, "only the newest notification is repeated", "%s is told of %s after %d", h.url, id, h.newest)
	}
	if h.told[n.seq] {
		m.tools.coverage.Count("a notification is repeated")
	}
	return n
}

// stateAfter returns the state of a task after an event.
func stateAfter(state a2a.TaskState, e *store.Event) a2a.TaskState {
	var u struct {
		Task, StatusUpdate struct {
			Status struct{ State a2a.TaskState }
		}
	}
	if json.Unmarshal(e.Data, &u) != nil {
		return state
	}
	for _, to := range []a2a.TaskState{u.Task.Status.State, u.StatusUpdate.Status.State} {
		if to != "" {
			state = to
		}
	}
	return state
}

// told notes that a webhook has accepted a notification.
func (m *model) told(n notification) {
	if n.hook != nil {
		n.hook.told[n.seq] = true
		n.hook.newest = max(n.hook.newest, n.seq)
	}
}
