package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
)

// model is the state in the log, read independently of the engine: commit by commit, and each
// commit has to keep the rules.
type model struct {
	s     *Scheduler
	tools *Toolbox
	by    map[string]Traits // by the name of the tool
	tasks map[store.TaskID]*modelTask
	order []*modelTask

	everSet map[string]bool         // URLs of webhooks
	seen    map[*routine]*modelHook // that a routine has read since it has sent a notification

	contexts []*modelContext
	gates    map[*Process][]gateSet // of each server since it was idle, the newest last
	grants   map[string]*modelGrant // that are there
	revoked  map[string]bool        // grants whose revocation is acknowledged
	heldTime time.Duration          // for how long a call may be held

	held, everRestored bool // the disk was restored, and waits for its operator
	// optimistic says that read-only tools may be entered before that is durable.
	optimistic bool
}

func newModel(s *Scheduler, b *Toolbox) *model {
	m := &model{s: s, tools: b, by: map[string]Traits{}, tasks: map[store.TaskID]*modelTask{}, everSet: map[string]bool{}, seen: map[*routine]*modelHook{}, gates: map[*Process][]gateSet{}, grants: map[string]*modelGrant{}, revoked: map[string]bool{}}
	for _, t := range b.traits {
		m.by[t.Name()] = t
	}
	return m
}

// modelTask is a task.
type modelTask struct {
	id        store.TaskID
	owner     auth.Principal
	seq, pub  uint64
	rev       uint64
	fence     uint64
	phase     store.Phase
	state     a2a.TaskState
	snapshots int
	public    []store.Event
	private   []store.Event
	calls     map[string]*modelCall
	planned   []*modelCall // in their order
	approvals []*modelApproval
	claims    int      // how often it was taken over
	runner    *Process // holder of the fence
	untold    bool     // another process has changed it since its turn wrote last, and cannot tell it
	asks      bool     // the planner waits for a message
	waits     bool     // the planner waits for a time
	steps     int      // planned
	said      saidText // by the planner, for the newest step that it spoke in

	restorations int // after which it was not brought up to date

	context *modelContext
	known   int               // writes to the state of the context, when the task was changed last
	setting []stateWrite      // keys set by the batch at hand
	temp    map[string]string // state of the task alone
	hooks   map[string]*modelHook
}

// taskOf returns the task of a run, nil when the log has none.
func (m *model) taskOf(r *Run) *modelTask {
	id, _ := store.ParseTaskID(r.Task)
	return m.tasks[id]
}

// entry is the right to enter a tool once: a start that is durable.
type entry struct {
	p          *Process
	args       json.RawMessage
	definition string // "" without required approval
	kept       keptState
	state      stateView
}

// event is the part of a private event of any kind that the rules need.
type event struct {
	Call       string              `json:"call"`
	ID         string              `json:"id"`
	State      json.RawMessage     `json:"state"` // of an approval; of a step, a checkpoint or a suspension it is theirs
	Attempt    int                 `json:"attempt"`
	Cause      string              `json:"cause"`
	Asks       []json.RawMessage   `json:"asks"`
	Resolution approval.Resolution `json:"resolution"`
	Vote       approval.Vote       `json:"vote"`
	Digest     string              `json:"digest"`
	Grant      string              `json:"grant"`
	Args       json.RawMessage     `json:"args"`
	Outcome    task.Outcome        `json:"outcome"`
	Result     json.RawMessage     `json:"result"`
	Error      string              `json:"error"`

	Delta map[string]json.RawMessage `json:"delta"`

	Wake  *string               `json:"wake"`
	Until *string               `json:"until"`
	At    *time.Time            `json:"at"`
	Waits approval.WaitingState `json:"waits"`
	Ask   json.RawMessage       `json:"ask"`
	For   string                `json:"for"`
	Calls []struct {
		ID, Tool, Alias string
		Args            json.RawMessage
	} `json:"calls"`
}

// claimed notes that tasks were taken over.
func (m *model) claimed(p *Process, headers []store.Header) {
	for i := range headers {
		h := &headers[i]
		t := m.tasks[h.Task]
		if t == nil {
			continue
		}
		if h.Rev != t.rev+1 || h.Fence != t.fence+1 {
			m.s.Fail("numbers of a task", "a claim of %s gave rev %d after %d, fence %d after %d", h.Task, h.Rev, t.rev, h.Fence, t.fence)
		}
		t.rev, t.fence = h.Rev, h.Fence
		t.claims++
		t.untold = true // until its turn has come
		t.known = len(t.context.writes)
		t.runner = p
	}
}

// committed applies a commit, and checks it.
func (m *model) committed(c Committed) {
	b, r := c.Batch, c.Receipt
	if b.Task.IsZero() {
		if c.Err == nil {
			grantRows(m, b)
			if slices.ContainsFunc(b.Rows, func(row store.RowChange) bool { return row.Kind == record.KindRestored }) {
				m.held = false // only an operator writes it
			}
		}
		return
	}
	t := m.tasks[b.Task]
	if c.Err != nil {
		if t != nil && b.Rev != nil && *b.Rev == t.rev && errors.Is(c.Err, store.ErrConflict) && b.CheckHolds() == nil && !usesGrants(b) {
			m.fail(t, "what is recorded of webhooks conflicts with no change of the task", "one of rev %d: %v", *b.Rev, c.Err)
		}
		return
	}
	if t == nil {
		t = &modelTask{id: b.Task, owner: alice, calls: map[string]*modelCall{}}
		if b.Scope == engine.ScopeFor(carol, auth.Read) {
			t.owner = carol
		}
		t.context = m.contextOf(t, b.Change.Context)
		m.tasks[b.Task] = t
		m.order = append(m.order, t)
	}
	m.numbers(t, b, r)
	if b.Rev == nil && b.Fence == nil { // an aside
		m.hookRows(t, &c, nil)
		return
	}
	switch {
	case b.Change.TakeFence || t.runner == nil:
		t.runner, t.untold = c.Process, false
	case b.Fence == nil:
		t.untold = t.untold || t.runner != c.Process
	case b.Rev != nil:
		t.untold = false
	}
	if b.Fence != nil && t.runner != c.Process {
		m.fail(t, "a turn writes under its own fence", "%s has fence %d, %s writes seq %d under it", t.runner.name, t.fence, c.Process.name, r.Last)
	}
	if b.Snapshot != nil {
		t.snapshots++
		m.tools.coverage.Count("a snapshot is written")
	}
	final := t.phase == store.Final
	if b.Change.Phase != 0 {
		t.phase = b.Change.Phase
	}
	events := b.Number(r)
	for _, e := range events {
		if e.Public {
			if final {
				m.fail(t, "the end of a task is its end", "public event %d follows it", e.Seq)
			}
			m.public(t, &e)
			continue
		}
		t.private = append(t.private, e)
		m.private(t, c.Process, &e)
	}
	if b.Rev != nil {
		grantRows(m, b)
		m.hookRows(t, &c, events)
		m.rows(t, b)
		m.stateRows(t, b)
		m.rest(t, b)
	}
}

func (m *model) fail(t *modelTask, rule, format string, args ...any) {
	m.s.Fail(rule, "task %s: "+format, append([]any{t.id}, args...)...)
}

func (m *model) numbers(t *modelTask, b *store.Batch, r store.Receipt) {
	rev, fence := t.rev, t.fence
	if b.Rev != nil {
		rev++
	}
	if b.Change.TakeFence || fence == 0 {
		fence++
	}
	if r.First != t.seq+1 || r.Last != t.seq+uint64(len(b.Events)) || b.Rev != nil && r.Rev != rev || r.Fence != fence {
		m.fail(t, "numbers of a task", "%+v follows seq %d, rev %d, fence %d", r, t.seq, t.rev, t.fence)
	}
	t.seq, t.rev, t.fence = r.Last, rev, fence
}

// moves are the lines of the state table.
var moves = rules.Moves()

func (m *model) public(t *modelTask, e *store.Event) {
	if e.Pub != t.pub+1 {
		m.fail(t, "public events have no gaps", "%d follows %d", e.Pub, t.pub)
	}
	t.pub = e.Pub
	t.public = append(t.public, *e)
	if e.Kind == "artifact" {
		m.says(t, e)
		return
	}
	if bytes.Contains(e.Data, []byte("waits for its turn")) {
		m.tools.coverage.Count("a task says that it waits for its turn")
	}
	var u struct {
		Task, StatusUpdate struct {
			Status struct{ State a2a.TaskState }
		}
	}
	if err := json.Unmarshal(e.Data, &u); err != nil {
		m.fail(t, "events can be read", "event %d: %v", e.Seq, err)
	}
	state := u.StatusUpdate.Status.State
	if e.Kind == "progress" {
		m.progress(t, e, state)
		return
	}
	if e.Kind == "task" {
		state = u.Task.Status.State
	}
	if !slices.ContainsFunc(moves, func(m rules.Move) bool { return m.From == t.state && m.To == state }) {
		m.fail(t, "the table of states", "event %d goes from %q to %q", e.Seq, t.state, state)
	}
	t.state = state
}

// progress checks a report: it is made only by a running call of a task at work, or of a call that has
// votes and waits for others, and leaves the status as it is.
func (m *model) progress(t *modelTask, e *store.Event, state a2a.TaskState) {
	var u struct {
		StatusUpdate struct {
			Status   struct{ Message json.RawMessage }
			Metadata map[string]json.RawMessage
		}
	}
	var at struct{ CallID string }
	err := json.Unmarshal(e.Data, &u)
	if err == nil {
		err = json.Unmarshal(u.StatusUpdate.Metadata[task.ProgressKey], &at)
	}
	if err != nil {
		m.fail(t, "events can be read", "event %d: %v", e.Seq, err)
		return
	}
	c := t.calls[at.CallID]
	runs := c != nil && c.phase == running && t.state == a2a.TaskStateWorking
	voted := slices.ContainsFunc(t.approvals, func(a *modelApproval) bool {
		return a.Call == at.CallID && a.State == approval.Pending && len(a.Votes) > 0
	})
	if !runs && !voted || state != t.state || u.StatusUpdate.Status.Message != nil {
		m.fail(t, "only a running call reports progress", "event %d in state %s: %s", e.Seq, t.state, e.Data)
	}
	m.tools.coverage.Count("a call reports its progress")
}

func (m *model) private(t *modelTask, p *Process, e *store.Event) {
	kind := e.Kind[:max(strings.LastIndex(e.Kind, ".v"), 0)]
	if kind == "approval.requested" {
		a := &modelApproval{}
		if err := json.Unmarshal(e.Data, &a.Approval); err != nil {
			m.fail(t, "events can be read", "event %d: %v", e.Seq, err)
			return
		}
		m.afterRestoration(t, kind, &event{})
		m.asked(t, p, a)
		return
	}
	var v event
	if err := json.Unmarshal(e.Data, &v); err != nil {
		m.fail(t, "events can be read", "event %d: %v", e.Seq, err)
		return
	}
	m.afterRestoration(t, kind, &v)
	switch kind {
	case "task.restored":
		m.upToDate(t)
	case "message.received":
		if v.For == "planner" {
			t.asks = false
		}
	case "step.planned":
		t.steps++
		// A step that waits may have taken its text back.
		if s := t.said; s.step == t.steps && (s.text != wholeText && (v.Until == nil || s.text != "") || !s.complete) {
			m.fail(t, "a planner's text is whole", "of step %d it is %q, complete: %v", t.steps, s.text, s.complete)
		}
		t.asks, t.waits = len(v.Ask) > 0, v.Until != nil
		for _, c := range v.Calls {
			call := &modelCall{id: c.ID, tool: c.Tool, args: c.Args}
			t.calls[c.ID], t.planned = call, append(t.planned, call)
		}
	case "wait.elapsed":
		t.waits = false
	case "approval.voted":
		m.voted(t, &v)
	case "approval.resolved":
		m.resolved(t, p, &v)
	case "approval.reminded", "approval.escalated":
		m.toldAgain(t, kind, &v)
	case "approval.extended":
		m.extended(t, &v)
	case "approval.kept":
		if a := t.approval(v.ID); a != nil {
			a.Deadline = nil
		}
	case "call.cancel", "call.started", "call.checkpoint", "call.suspended", "call.looked", "call.resumed", "call.finished", "call.unknown", "call.postponed", "call.finished_late":
		c := t.calls[v.Call]
		if c == nil {
			m.fail(t, "a call is planned first", "event %d is of call %q", e.Seq, v.Call)
			return
		}
		m.call(t, c, p, kind, &v)
	}
}

// rest checks where a change leaves the task.
func (m *model) rest(t *modelTask, b *store.Batch) {
	pending := t.pending()
	if n := b.Change.Pending; n != nil && int(*n) != len(pending) {
		m.fail(t, "the header counts what is pending", "it says %d of %d", *n, len(pending))
	}
	timer, open := t.waits, 0
	for _, c := range t.planned {
		switch c.phase {
		case running:
			if t.phase == store.Parked || t.phase == store.Final {
				m.fail(t, "nothing runs in a task at rest", "call %s is running in phase %d", c.id, t.phase)
			}
		case suspended:
			timer = timer || c.timer
		case planned, unknown, finished:
		}
		timer = timer || c.retry
		if c.phase != finished {
			open++
		}
		m.canceledRest(t, c)
	}
	for _, a := range pending {
		c := t.calls[a.Call]
		again := c != nil && c.resumes > 0 && (c.phase == running || c.phase == unknown) // it has not said whether it still asks
		if c == nil || c.phase == finished || a.Ask != "" && !a.Held && c.phase != suspended && !again || a.Kind == approval.KindOutcome && a.Ask == "" && c.phase != unknown {
			m.fail(t, "what is asked is still open", "%s of kind %s waits, and there is %v", a.ID, a.Kind, c)
		}
	}
	m.holdsRest(t, b.Fence != nil)
	switch waits := len(pending) > 0 || t.asks; t.phase {
	case store.Parked:
		if want := t.waitingState(pending); t.state != want && (waits || t.state != a2a.TaskStateSubmitted) {
			m.fail(t, "a task at rest says what it waits for", "%d approvals wait, the planner asks: %v, the state is %s, want %s", len(pending), t.asks, t.state, want)
		}
		if !waits && !timer {
			m.fail(t, "a task at rest waits for something", "neither for an answer nor for a time; the state is %s", t.state)
		}
	case store.Final:
		if len(pending) > 0 || open > 0 || !t.state.Terminal() {
			m.fail(t, "nothing is open at the end", "%d approvals and %d calls in state %s", len(pending), open, t.state)
		}
	case store.Live:
		if t.state.Terminal() {
			m.fail(t, "a final task is not live", "state %s", t.state)
		}
	}
}
