package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
)

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
	resumes    int
	claims     int  // of the task, when it was started last
	timer      bool // it is suspended until a time, too
	retry      bool // it is put off until a time
	outcome    task.Outcome
	result     json.RawMessage
	late       []json.RawMessage
	lateErrors int

	grant string // that has let it start

	keptState
	states  []string // of all checkpoints
	attempt int
	again   int    // how often this attempt was started again by itself
	cause   string // why it was unknown last
	unsure  int    // how often its tool did not know its outcome

	restored bool      // it was open at a restoration, and has not run since
	canceled bool      // by itself
	stood    callPhase // when it was canceled
	ended    bool      // its end after that has been checked
}

func (c *modelCall) String() string {
	if c == nil {
		return "no call"
	}
	return fmt.Sprintf("call %s of %s, %s", c.id, c.tool, c.phase)
}

func (m *model) call(t *modelTask, c *modelCall, p *Process, kind string, v *event) {
	was := c.phase
	c.retry = c.retry && kind == "call.finished_late"
	bad := func() {
		m.fail(t, "the life of a call", "%s of call %s, which is %s", kind, c.id, was)
	}
	m.afterCancel(t, c, kind)
	switch kind {
	case "call.cancel":
		if was == finished || c.canceled {
			bad()
		}
		c.canceled, c.stood = true, was
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
		mayEnter(m, t, c, p, false /* first */)
		c.resumes++
		c.answers = c.asks
		c.rights = append(c.rights, &entry{p: p, args: c.args, kept: c.keptState, state: t.view()})
	case "call.checkpoint":
		if was != running {
			bad()
		}
		c.keeps, c.state, c.answers = true, v.State, false // in place of whatever was kept, and of answers
		c.states = append(c.states, string(v.State))
	case "call.suspended":
		if was != running {
			bad()
		}
		c.phase, c.timer = suspended, v.Wake != nil
		c.paused, c.asks = true, len(v.Asks) > 0
		if v.State != nil || !c.keeps {
			c.state = v.State
		}
	case "call.looked":
		if was != suspended {
			bad()
		}
	case "call.postponed":
		if was == running || was == finished {
			bad()
		}
		c.retry = true
	case "call.unknown":
		if was != running && (v.Cause != "restored" || was == planned || was == finished) {
			bad()
		}
		c.phase, c.cause = unknown, v.Cause
		if v.Cause == "tool" {
			c.unsure++
		}
	case "call.finished":
		if was == finished {
			bad()
		}
		c.phase, c.outcome, c.result = finished, v.Outcome, v.Result
		if c.outcome == task.OutcomeDenied {
			m.tools.coverage.Count("a gate denies a call")
		}
		if c.canceled && c.outcome == task.OutcomeUnknown {
			c.unsure++ // if its tool was
		}
		m.set(t, c, v, was)
	case "call.finished_late":
		c.late = append(c.late, v.Result)
		if v.Error != "" {
			c.lateErrors++
		}
	}
}

// started checks that a call may start: for the first time when it needs no approval or has
// been approved; again when a person says so, or it may be repeated, or has kept its progress,
// and its previous process has gone.
func (m *model) started(t *modelTask, c *modelCall, p *Process, v *event) {
	traits := m.by[c.tool]
	e := &entry{p: p, args: c.args, kept: c.keptState, state: t.view()}
	if v.Args != nil {
		e.args = v.Args
	}
	c.grant = v.Grant
	mayEnter(m, t, c, p, c.starts == 0)
	switch {
	case c.starts == 0:
		a := t.newest(c.id, approval.KindCall)
		byGrant(m, t, c, v.Grant, e)
		if a != nil {
			m.useApproval(t, c, a, e, v)
		}
	case v.Attempt == c.attempt && (traits.Effect != Once || c.keeps):
		m.startedAgain(t, c)
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
	if v.Attempt != c.attempt {
		c.attempt, c.again = v.Attempt, 0
	}
	c.args = e.args
}

func (m *model) useApproval(t *modelTask, c *modelCall, a *modelApproval, e *entry, v *event) {
	want, args := a.Digest, a.Args
	if a.State == approval.Edited {
		want, args = a.Resolution.Digest, a.Resolution.Args
	} else if a.State != approval.Approved {
		m.fail(t, "no gated call runs without an approval", "call %s of %s started, approval %s is %s", c.id, c.tool, a.ID, a.State)
	}
	needsPeople(m, t, a, want)
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

// entered checks that a tool may be entered.
func (m *model) entered(r *Run) {
	t := m.taskOf(r)
	if t == nil {
		if m.optimistic && r.Traits.Effect == ReadOnly {
			return
		}
		m.s.Fail("a tool is entered after its start is durable", "run %d of task %s, which does not exist", r.N, r.Task)
		return
	}
	var e *entry
	var rights []*entry
	c := t.calls[r.Call]
	if c != nil {
		rights = c.rights
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
	m.enteredWith(t, r, &e.kept)
	m.sees(t, r, rights)
	if property := map[bool]string{false: `"n"`, true: `"m"`}[r.Version%3 == 2]; !strings.Contains(r.Args, property) {
		m.fail(t, "a tool gets arguments that fit its schema", "run %d of version %d of %s has %s", r.N, r.Version, r.Traits.Name(), r.Args)
	}
}

// afterCancel checks that nothing begins in a call that was canceled: whatever runs comes to
// its end.
func (m *model) afterCancel(t *modelTask, c *modelCall, kind string) {
	if c.canceled && slices.Contains([]string{"call.started", "call.resumed", "call.suspended", "call.looked", "call.postponed", "call.unknown"}, kind) {
		m.fail(t, "a canceled call is never entered again", "%s of %s", kind, c)
	}
}

// canceledRest checks the state of a canceled call after a change. Only a running call may
// continue, and it ends with its result, as unknown, or with an error if there is no room for
// the state that its tool sets. It ends as canceled if it has never been entered, or if its
// tool says that it had no effect, which it only says if that is so. A task that is ended ends
// its calls in its own way.
func (m *model) canceledRest(t *modelTask, c *modelCall) {
	if !c.canceled || c.ended {
		return
	}
	if c.phase != finished {
		if c.phase != running {
			m.fail(t, "a canceled call ends at once unless it runs", "%s", c)
		}
		return
	}
	if c.ended = true; t.state == a2a.TaskStateCanceled {
		return
	}
	m.tools.coverage.Count("a canceled call ends: " + string(c.outcome))
	ok, runs := false, m.tools.Ledger.Of(t.id.String(), c.id)
	switch c.outcome { //nolint:exhaustive // it ends in no other way
	case task.OutcomeOK:
		ok = c.stood == running
	case task.OutcomeError:
		ok = len(runs) > 0 && runs[len(runs)-1].NoRoom
	case task.OutcomeUnknown:
		ok = c.starts > 0
	case task.OutcomeCanceled:
		ok = c.starts == 0 && len(runs) == 0 || len(runs) > 0 && runs[len(runs)-1].NoEffect && !slices.ContainsFunc(runs, func(r *Run) bool { return r.Effect })
	}
	if !ok {
		m.fail(t, "a canceled call ends as what is known of it", "%s, which was %s and started %d times, ended %s", c, c.stood, c.starts, c.outcome)
	}
}
