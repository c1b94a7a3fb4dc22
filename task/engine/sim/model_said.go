package sim

import (
	"encoding/json"
	"regexp"
	"strconv"

	"a2a-server/store"
)

// wholeText is what a planner that speaks says in a step, whatever it says on the way.
const wholeText = "one two"

// saidText is the text that a planner has published for a step.
type saidText struct {
	step     int
	text     string
	complete bool
}

var saidID = regexp.MustCompile(`^s(\d+)$`)

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

// stepped counts a step, whose text is whole.
func (m *model) stepped(t *modelTask) {
	t.steps++
	if s := t.said; s.step == t.steps && (s.text != wholeText || !s.complete) {
		m.fail(t, "a planner's text is whole", "of step %d it is %q, complete: %v", t.steps, s.text, s.complete)
	}
}
