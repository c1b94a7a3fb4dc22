package sim

import (
	"encoding/json"
	"slices"
	"strconv"

	"a2a-server/store"
)

// maxAgain is how often a call is entered again by itself.
const maxAgain = 3

// keptState is the state that a call is entered again with.
type keptState struct {
	keeps   bool            // it has kept something by a checkpoint
	paused  bool            // it was suspended
	state   json.RawMessage // the newest
	answers bool            // there may be answers with it
	asks    bool            // the newest suspension asks something
}

// startedAgain checks that a call may start again without a person: its previous process has
// gone, and it has not been started too often.
func (m *model) startedAgain(t *modelTask, c *modelCall) {
	if c.claims == t.claims || c.cause != "" && c.cause != "died" { // it was not written at first
		m.fail(t, "a call is repeated only after a crash", "call %s of %s started again in the process that ran it; it was unknown because of %q", c.id, c.tool, c.cause)
	}
	if c.again++; c.again > maxAgain {
		m.fail(t, "a call is repeated a few times only", "call %s of %s started again by itself, time %d", c.id, c.tool, c.again)
	}
}

// enteredWith checks that a tool gets the state that its call has kept.
func (m *model) enteredWith(t *modelTask, r *Run, kept *keptState) {
	if r.Resumed != (kept.keeps || kept.paused) || r.State != string(kept.state) && !sameJSON([]byte(r.State), kept.state) || r.Answers > 0 && !kept.answers {
		m.fail(t, "a call is entered again with what it kept", "run %d of %s, call %s: told %v, %s and %d answers; kept %+v, %s",
			r.N, r.Traits.Name(), r.Call, r.Resumed, r.State, r.Answers, *kept, kept.state)
	}
	if r.Resumed && kept.keeps {
		m.tools.coverage.Count("a call continues from its checkpoint")
	}
}

// kept checks that a state acknowledged to a tool as kept is in the log.
func (m *model) kept(r *Run, state string) {
	if t := m.taskOf(r); t == nil || t.calls[r.Call] == nil || !slices.Contains(t.calls[r.Call].states, state) {
		m.s.Fail("a checkpoint is durable when it returns", "run %d of %s, call %s of task %s: %s", r.N, r.Traits.Name(), r.Call, r.Task, state)
	}
}

// checkUnsure compares the ledger with the log: outcomes unknown to a tool are unknown in the
// log.
func (w *world) checkUnsure() {
	type call struct{ task, id string }
	unsure := map[call]int{}
	for _, r := range w.tools.Ledger.Runs {
		if r.Returned && r.Unsure && !r.Process.dead && !w.stopped(r.Process) {
			unsure[call{r.Task, r.Call}]++
		}
	}
	for _, t := range w.model.order {
		for _, c := range t.planned {
			if n := unsure[call{t.id.String(), c.id}]; n > c.unsure+c.lateErrors {
				w.s.Fail("what a tool does not know is unknown", "%d runs of call %s of task %s did not know, the log has %d, and %d late:\n%s", n, c.id, t.id, c.unsure, c.lateErrors, w.log(t))
			}
		}
	}
}

// says adds a chunk of a planner's text, which comes before its step.
func (m *model) says(t *modelTask, e *store.Event) {
	var u struct {
		ArtifactUpdate struct {
			Append, LastChunk bool
			Artifact          struct {
				ArtifactID string
				Parts      []struct{ Text string }
			}
		}
	}
	if err := json.Unmarshal(e.Data, &u); err != nil {
		m.fail(t, "events can be read", "event %d: %v", e.Seq, err)
		return
	}
	a := &u.ArtifactUpdate
	id := saidID.FindStringSubmatch(a.Artifact.ArtifactID)
	if id == nil {
		return
	}
	step, _ := strconv.Atoi(id[1])
	if step != t.steps+1 {
		m.fail(t, "a planner's text comes before its step", "event %d is of step %d, after %d steps", e.Seq, step, t.steps)
	}
	if step != t.said.step {
		t.said = saidText{step: step}
		if a.Append {
			m.fail(t, "a planner's text begins anew", "event %d appends to nothing", e.Seq)
		}
	}
	if !a.Append {
		if t.said.text != "" {
			m.tools.coverage.Count("a planner's text is replaced")
		}
		t.said.text = ""
	}
	for _, p := range a.Artifact.Parts {
		t.said.text += p.Text
	}
	t.said.complete = a.LastChunk
}
