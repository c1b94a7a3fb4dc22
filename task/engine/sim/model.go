package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// model is what the log says, read independently of the engine: commit by commit, and
// each commit has to keep the rules.
type model struct {
	s     *Scheduler
	tools *Toolbox
	by    map[string]Traits // by the name of the tool
	tasks map[store.TaskID]*modelTask
	order []*modelTask
	// optimistic says that read-only tools may be entered before that is durable.
	optimistic bool
}

func newModel(s *Scheduler, b *Toolbox) *model {
	m := &model{s: s, tools: b, by: map[string]Traits{}, tasks: map[store.TaskID]*modelTask{}}
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
	runner    *Process // who has the fence
	asks      bool     // the planner waits for a message
	waits     bool     // the planner waits for a time
}

type callPhase int

const (
	planned callPhase = iota
	running
	suspended
	unknown
	finished
)

var callPhaseNames = [...]string{"planned", "running", "suspended", "unknown", "finished"}

func (p callPhase) String() string { return callPhaseNames[p] }

// modelCall is a call of a task.
type modelCall struct {
	id, tool   string
	args       json.RawMessage // as planned
	phase      callPhase
	starts     int
	rights     []*entry // starts that are durable and were not used; a cancel, or another process, does not take them away
	claims     int      // of the task, when it was started last
	timer      bool     // it is suspended until a time, too
	retry      bool     // it is put off until a time
	outcome    task.Outcome
	result     json.RawMessage
	late       []json.RawMessage
	lateErrors int
}

func (c *modelCall) String() string {
	if c == nil {
		return "no call"
	}
	return fmt.Sprintf("call %s of %s, %s", c.id, c.tool, c.phase)
}

// entry is the right to enter a tool once: a start that is durable.
type entry struct {
	p          *Process
	args       json.RawMessage
	definition string // "" when nobody had to approve it
}

type modelApproval struct {
	approval.Approval
	used bool
}

func (a *modelApproval) String() string {
	if a == nil {
		return "never asked"
	}
	return string(a.State)
}

// event is what the rules need of a private event, whichever it is.
type event struct {
	Call       string              `json:"call"`
	ID         string              `json:"id"`
	State      json.RawMessage     `json:"state"` // of an approval; of a step or a suspension it is theirs
	Resolution approval.Resolution `json:"resolution"`
	Digest     string              `json:"digest"`
	Args       json.RawMessage     `json:"args"`
	Outcome    task.Outcome        `json:"outcome"`
	Result     json.RawMessage     `json:"result"`
	Error      string              `json:"error"`
	Wake       *string             `json:"wake"`
	Until      *string             `json:"until"`
	Ask        json.RawMessage     `json:"ask"`
	For        string              `json:"for"`
	Calls      []struct {
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
		t.runner = p
	}
}

// committed applies a commit, and checks it.
func (m *model) committed(c Committed) {
	b, r := c.Batch, c.Receipt
	if c.Err != nil || b.Task.IsZero() {
		return
	}
	t := m.tasks[b.Task]
	if t == nil {
		t = &modelTask{id: b.Task, owner: alice, calls: map[string]*modelCall{}}
		if b.Scope == engine.ScopeOf(carol) {
			t.owner = carol
		}
		m.tasks[b.Task] = t
		m.order = append(m.order, t)
	}
	m.numbers(t, b, r)
	if b.Change.TakeFence || t.runner == nil {
		t.runner = c.Process
	} else if b.Fence != nil && t.runner != c.Process {
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
	for _, e := range b.Number(r) {
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
		m.rows(t, b)
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
var moves = task.Moves()

func (m *model) public(t *modelTask, e *store.Event) {
	if e.Pub != t.pub+1 {
		m.fail(t, "public events have no gaps", "%d follows %d", e.Pub, t.pub)
	}
	t.pub = e.Pub
	t.public = append(t.public, *e)
	if e.Kind == "artifact" {
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
	if e.Kind == "task" {
		state = u.Task.Status.State
	}
	if !slices.ContainsFunc(moves, func(m task.Move) bool { return m.From == t.state && m.To == state }) {
		m.fail(t, "the table of states", "event %d goes from %q to %q", e.Seq, t.state, state)
	}
	t.state = state
}

func (m *model) private(t *modelTask, p *Process, e *store.Event) {
	kind, _, _ := strings.Cut(e.Kind, ".v")
	if kind == "approval.requested" {
		a := &modelApproval{}
		if err := json.Unmarshal(e.Data, &a.Approval); err != nil {
			m.fail(t, "events can be read", "event %d: %v", e.Seq, err)
			return
		}
		m.asked(t, a)
		return
	}
	var v event
	if err := json.Unmarshal(e.Data, &v); err != nil {
		m.fail(t, "events can be read", "event %d: %v", e.Seq, err)
		return
	}
	switch kind {
	case "message.received":
		if v.For == "planner" {
			t.asks = false
		}
	case "step.planned":
		t.asks, t.waits = len(v.Ask) > 0, v.Until != nil
		for _, c := range v.Calls {
			call := &modelCall{id: c.ID, tool: c.Tool, args: c.Args}
			t.calls[c.ID], t.planned = call, append(t.planned, call)
		}
	case "wait.elapsed":
		t.waits = false
	case "approval.resolved":
		m.resolved(t, &v)
	case "call.started", "call.suspended", "call.resumed", "call.finished", "call.unknown", "call.postponed", "call.finished_late":
		c := t.calls[v.Call]
		if c == nil {
			m.fail(t, "a call is planned first", "event %d is of call %q", e.Seq, v.Call)
			return
		}
		m.call(t, c, p, kind, &v)
	}
}

func (m *model) call(t *modelTask, c *modelCall, p *Process, kind string, v *event) {
	was := c.phase
	c.retry = c.retry && kind == "call.finished_late"
	bad := func() {
		m.fail(t, "the life of a call", "%s of call %s, which is %s", kind, c.id, was)
	}
	switch kind {
	case "call.started":
		if was != planned && was != unknown {
			bad()
		}
		m.started(t, c, p, v)
	case "call.resumed":
		if was != suspended {
			bad()
		}
		c.phase, c.claims = running, t.claims
		c.rights = append(c.rights, &entry{p: p, args: c.args})
	case "call.suspended":
		if was != running {
			bad()
		}
		c.phase, c.timer = suspended, v.Wake != nil
	case "call.postponed":
		if was == running || was == finished {
			bad()
		}
		c.retry = true
	case "call.unknown":
		if was != running {
			bad()
		}
		c.phase = unknown
	case "call.finished":
		if was == finished {
			bad()
		}
		c.phase, c.outcome, c.result = finished, v.Outcome, v.Result
	case "call.finished_late":
		c.late = append(c.late, v.Result)
		if v.Error != "" {
			c.lateErrors++
		}
	}
}

// started checks that a call may start: for the first time when nobody has to approve
// it or somebody has; again when a person says so, or it may be repeated and whoever
// ran it has gone.
func (m *model) started(t *modelTask, c *modelCall, p *Process, v *event) {
	traits := m.by[c.tool]
	e := &entry{p: p, args: c.args}
	if v.Args != nil {
		e.args = v.Args
	}
	switch {
	case c.starts == 0:
		a := t.newest(c.id, approval.KindCall)
		if a == nil && traits.Gated {
			m.fail(t, "no gated call runs without an approval", "call %s of %s started", c.id, c.tool)
		}
		if a != nil {
			m.useApproval(t, c, a, e, v)
		}
	case traits.Effect == Once:
		a := t.newest(c.id, approval.KindOutcome)
		if a != nil {
			// When the tool has changed since, the call is asked for again.
			if b := t.newest(c.id, approval.KindCall); b != nil && b.Supersedes == a.ID {
				m.useApproval(t, c, b, e, v)
				break
			}
		}
		if a == nil || a.used || a.State != approval.Approved {
			m.fail(t, "what may not be repeated runs again only when a person says so", "call %s of %s started again", c.id, c.tool)
			break
		}
		a.used = true
		e.definition = a.Definition
	case c.claims == t.claims:
		if a := t.newest(c.id, approval.KindOutcome); a != nil && !a.used && a.State == approval.Approved {
			a.used = true
			break
		}
		m.fail(t, "a call is repeated only after a crash", "call %s of %s started again in the process that ran it", c.id, c.tool)
	}
	c.phase, c.claims, c.rights = running, t.claims, append(c.rights, e)
	c.starts++
	c.args = e.args
}

func (m *model) useApproval(t *modelTask, c *modelCall, a *modelApproval, e *entry, v *event) {
	want, args := a.Digest, a.Args
	if a.State == approval.Edited {
		want, args = a.Resolution.Digest, a.Resolution.Args
	} else if a.State != approval.Approved {
		m.fail(t, "no gated call runs without an approval", "call %s of %s started, approval %s is %s", c.id, c.tool, a.ID, a.State)
	}
	if a.used {
		m.fail(t, "an approved call runs once", "call %s of %s started again by approval %s", c.id, c.tool, a.ID)
	}
	if v.Digest != want {
		m.fail(t, "what runs is what was approved", "call %s of %s started with digest %q, approved was %q", c.id, c.tool, v.Digest, want)
	}
	if !sameJSON(e.args, args) {
		m.fail(t, "what runs is what was approved", "call %s of %s started with %s, approved was %s", c.id, c.tool, e.args, args)
	}
	a.used = true
	e.definition = a.Definition
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return string(mustJSON(x)) == string(mustJSON(y))
}

// newest returns the newest approval of a kind of a call that no running tool asked.
func (t *modelTask) newest(call string, kind approval.Kind) *modelApproval {
	for i := len(t.approvals) - 1; i >= 0; i-- {
		if a := t.approvals[i]; a.Call == call && a.Kind == kind && a.Ask == "" {
			return a
		}
	}
	return nil
}

func (t *modelTask) approval(id string) *modelApproval {
	for _, a := range t.approvals {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// pending returns what waits for an answer.
func (t *modelTask) pending() []*approval.Approval {
	var all []*approval.Approval
	for _, a := range t.approvals {
		if a.State == approval.Pending {
			all = append(all, &a.Approval)
		}
	}
	return all
}

func (m *model) asked(t *modelTask, a *modelApproval) {
	if t.approval(a.ID) != nil {
		m.fail(t, "an approval is asked once", "%s is asked again", a.ID)
	}
	if a.Ask == "" {
		for _, o := range t.approvals {
			if o.Call == a.Call && o.Ask == "" && o.State == approval.Pending {
				m.fail(t, "a call is asked for once at a time", "%s is asked while %s waits", a.ID, o.ID)
			}
		}
	}
	t.approvals = append(t.approvals, a)
}

func (m *model) resolved(t *modelTask, v *event) {
	a := t.approval(v.ID)
	if a == nil || a.State != approval.Pending {
		m.fail(t, "an approval is resolved once", "%s is resolved as %s, and was %s", v.ID, v.State, a)
		return
	}
	if err := json.Unmarshal(v.State, &a.State); err != nil {
		m.fail(t, "events can be read", "the state of %s: %v", a.ID, err)
	}
	r := v.Resolution
	a.Resolution = &r
}

// rows checks that the rows of approvals say what the log says.
func (m *model) rows(t *modelTask, b *store.Batch) {
	newest := map[string]int{} // one that is asked and resolved at once has two rows
	for i := range b.Rows {
		newest[b.Rows[i].Kind+string(b.Rows[i].Key)] = i
	}
	for i := range b.Rows {
		row := &b.Rows[i]
		if row.Kind != "approval" || row.Delete || newest[row.Kind+string(row.Key)] != i {
			continue
		}
		var a approval.Approval
		if err := json.Unmarshal(row.Value, &a); err != nil {
			m.fail(t, "rows can be read", "%v", err)
			return
		}
		if o := t.approval(a.ID); o == nil || o.State != a.State || len(row.Index) > 0 != (a.State == approval.Pending) {
			m.fail(t, "rows say what the log says", "the row of %s says %s with %d entries, the log %s", a.ID, a.State, len(row.Index), o)
		}
	}
}

// askDoubt begins the names of the server's own questions.
const askDoubt = "unavailable."

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
	}
	for _, a := range pending {
		c := t.calls[a.Call]
		if c == nil || c.phase == finished || a.Ask != "" && c.phase != suspended && !strings.HasPrefix(a.Ask, askDoubt) || a.Kind == approval.KindOutcome && c.phase != unknown {
			m.fail(t, "what is asked is still open", "%s of kind %s waits, and there is %v", a.ID, a.Kind, c)
		}
	}
	waits := t.state == a2a.TaskStateInputRequired || t.state == a2a.TaskStateAuthRequired
	switch t.phase {
	case store.Parked:
		if (len(pending) > 0 || t.asks) != waits {
			m.fail(t, "a task at rest says what it waits for", "%d approvals wait, the planner asks: %v, the state is %s", len(pending), t.asks, t.state)
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

// entered checks that a tool may be entered.
func (m *model) entered(r *Run) {
	id, _ := store.ParseTaskID(r.Task)
	t := m.tasks[id]
	if t == nil {
		if m.optimistic && r.Traits.Effect == ReadOnly {
			return
		}
		m.s.Fail("a tool is entered after its start is durable", "run %d of task %s, which does not exist", r.N, r.Task)
		return
	}
	var e *entry
	c := t.calls[r.Call]
	if c != nil {
		for i, right := range c.rights {
			if right.p == r.Process {
				e, c.rights = right, append(c.rights[:i:i], c.rights[i+1:]...)
				break
			}
		}
	}
	if e == nil {
		if !m.optimistic || r.Traits.Effect != ReadOnly {
			m.fail(t, "a tool is entered after its start is durable", "run %d of %s, call %s, in process %s", r.N, r.Traits.Name(), r.Call, r.Process.name)
		}
		return
	}
	if !sameJSON(e.args, []byte(r.Args)) {
		m.fail(t, "what runs is what was approved", "run %d of %s has %s, started was %s", r.N, r.Traits.Name(), r.Args, e.args)
	}
	if e.definition != "" && e.definition != m.tools.Digest(r.Traits, r.Version) {
		m.fail(t, "what runs is what was approved", "run %d is of version %d of %s, which is not what was shown", r.N, r.Version, r.Traits.Name())
	}
	if property := map[bool]string{false: `"n"`, true: `"m"`}[r.Version%3 == 2]; !strings.Contains(r.Args, property) {
		m.fail(t, "a tool gets arguments that fit its schema", "run %d of version %d of %s has %s", r.N, r.Version, r.Traits.Name(), r.Args)
	}
}
