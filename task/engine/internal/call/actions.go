package call

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"a2a-server/task/internal/rules"
)

// finishActions applies a tool's actions: state changes as if the tool had set them, the rest
// for the planner. Invalid actions fail a call that has no error yet. It never panics.
func (x *toolContext) finishActions(o *rules.RunEnded) {
	defer func() {
		if p := recover(); p != nil { // values encode themselves, which is the tool's own code
			failRun(o, errors.New("what it has set cannot be encoded: that panicked; see the server's log"))
			x.run.panicked(p)
		}
	}()
	acts := x.acts
	keys := make([]string, 0, len(acts.StateDelta))
	for key := range acts.StateDelta {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if err := x.State().Set(key, acts.StateDelta[key]); err != nil {
			failRun(o, err)
		}
	}
	x.mu.Lock()
	if len(x.saved) > 0 {
		saved := maps.Clone(x.saved)
		maps.Copy(saved, acts.ArtifactDelta)
		acts.ArtifactDelta = saved
	}
	x.mu.Unlock()
	var err error
	if o.Actions, err = rules.EncodeActions(&acts); err != nil {
		failRun(o, err)
	}
}

// failRun makes a run that has succeeded fail.
func failRun(o *rules.RunEnded, err error) {
	if o.Err == nil {
		o.Err = fmt.Errorf("the call has run, but %w", err)
	}
}
