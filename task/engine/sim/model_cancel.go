package sim

import (
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
)

// afterCancel checks that nothing begins in a call that was canceled: whatever runs comes to
// its end.
func (m *model) afterCancel(t *modelTask, c *modelCall, kind string) {
	if c.canceled && slices.Contains([]string{"call.started", "call.resumed", "call.suspended", "call.postponed", "call.unknown"}, kind) {
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
