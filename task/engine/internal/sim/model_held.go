package sim

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/tool"
)

// holder is the run that waits for the answer to a question that holds its call.
type holder struct {
	p      *Process
	fence  uint64 // of the task
	starts int    // of the call
}

// askedHeld checks a question that holds its call: the call runs, asks nothing else
// meanwhile, and waits for a limited time.
func (m *model) askedHeld(t *modelTask, p *Process, a *modelApproval) {
	c := t.calls[a.Call]
	if c == nil || c.phase != running || a.Kind != approval.KindQuestion || a.Deadline == nil || a.Deadline.Sub(m.s.now) > m.heldTime {
		m.fail(t, "a question that holds a call has a running call and a deadline", "%s of kind %s, asked %s, deadline %v, of %v", a.ID, a.Kind, a.Asked, a.Deadline, c)
		return
	}
	for _, o := range t.approvals {
		if o != a && o.Held && o.Call == a.Call && o.State == approval.Pending {
			m.fail(t, "a call is held by one question at a time", "%s is asked while %s waits", a.ID, o.ID)
		}
	}
	a.holder = holder{p: p, fence: t.fence, starts: c.starts}
	m.tools.coverage.Count("a call is held")
}

// resolvedHeld checks that a person's decision is for the run that asked: its process writes
// it, because only that process knows that the run still waits.
func (m *model) resolvedHeld(t *modelTask, p *Process, a *modelApproval) {
	c := t.calls[a.Call]
	switch a.State {
	case approval.Responded, approval.Rejected:
		if p != a.holder.p || t.fence != a.holder.fence || c.phase != running || c.starts != a.holder.starts {
			m.fail(t, "an answer is for the run that asked", "%s was asked by %s, fence %d, and is %s by %s, fence %d, of %s", a.ID, a.holder.p.name, a.holder.fence, a.State, p.name, t.fence, c)
		}
	case approval.Expired:
		if m.s.now.Before(*a.Deadline) {
			m.fail(t, "a question expires at its deadline", "%s at %s, its deadline is %s", a.ID, m.s.now, a.Deadline)
		}
	case approval.Superseded:
		if p != a.holder.p {
			m.tools.coverage.Count("another process closes the question of a call")
		}
	case approval.Pending, approval.Approved, approval.Edited, approval.Canceled:
	}
}

// holdsRest checks the questions that hold calls after a change: they are open only while
// their call runs, and when a turn leaves a task with only held calls running, the task says
// that it waits. A decision by another writer is a reason to work until the turn has seen it.
func (m *model) holdsRest(t *modelTask, turn bool) {
	for _, a := range t.pending() {
		if c := t.calls[a.Call]; a.Held && c.phase != running {
			m.fail(t, "a question holds a call while it runs", "%s waits, and there is %s", a.ID, c)
		}
	}
	if turn {
		m.heldWaits(t)
	}
}

// heldWaits checks that a task with only held calls running says that it waits.
func (m *model) heldWaits(t *modelTask) {
	held := map[string]bool{}
	for _, a := range t.pending() {
		if a.Held {
			held[a.Call] = true
		}
	}
	if len(held) == 0 || t.phase != store.Live {
		return
	}
	for _, c := range t.planned {
		if c.phase == running && !held[c.id] {
			return
		}
	}
	if want := t.waitingState(t.pending()); t.state != want {
		m.fail(t, "a task whose calls are held waits for input", "%d calls are held in state %s, want %s", len(held), t.state, want)
	}
}

// waitingState returns the state in which t waits at rest: the one among those of its pending approvals
// that interrupts its client the most, or that of its planner's question.
func (t *modelTask) waitingState(pending []*approval.Approval) a2a.TaskState {
	state := a2a.TaskStateWorking
	for _, a := range pending {
		switch a.Waits {
		case "", approval.WaitsInput:
			return a2a.TaskStateInputRequired
		case approval.WaitsAuth:
			state = a2a.TaskStateAuthRequired
		case approval.WaitsWorking:
		}
	}
	if t.asks {
		return a2a.TaskStateInputRequired
	}
	return state
}

// answered checks an answer given to a tool: an answer is durable before, and a durable answer
// is not lost. over: the tool did not want to wait any longer.
func (m *model) answered(r *Run, asked tool.Question, answer tool.Answer, err error, over bool) {
	t := m.taskOf(r)
	var a *modelApproval
	if t != nil {
		for _, o := range t.approvals {
			if o.Held && o.Call == r.Call && strings.HasSuffix(o.Hint, asked.Hint) {
				a = o
			}
		}
	}
	if err == nil {
		if a == nil || string(a.State) != answer.State || a.Resolution == nil || string(a.Resolution.Response) != string(answer.Response) {
			m.s.Fail("an answer is durable before its tool has it", "run %d of call %s of task %s is told %s %s; the log has %s", r.N, r.Call, r.Task, answer.State, answer.Response, a)
		}
		return
	}
	if a == nil || over || a.holder.p != r.Process || a.holder.fence != t.fence {
		return
	}
	if a.State == approval.Responded || a.State == approval.Rejected || a.State == approval.Expired {
		m.s.Fail("an answer reaches the tool that waits", "run %d of call %s of task %s is told %v; %s is %s", r.N, r.Call, r.Task, err, a.ID, a.State)
	}
}
