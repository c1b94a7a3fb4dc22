package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"a2a-server/store"
	"a2a-server/task/internal/event"
	"a2a-server/tool"
)

// maxStateDepth bounds the nesting of JSON that a tool keeps, returns or publishes: it is
// nested further in events and snapshots, and encoding/json decodes at most 10,000 levels.
const maxStateDepth = 1000

// CheckDepth returns an error if valid JSON is nested too deep to be kept.
func CheckDepth(raw json.RawMessage) error {
	if len(raw) > maxStateDepth && depth(raw) > maxStateDepth {
		return fmt.Errorf("it is nested more than %d levels deep", maxStateDepth)
	}
	return nil
}

// checkState returns why a tool cannot keep a state, nil if it can.
func checkState(state json.RawMessage) error {
	switch {
	case len(state) > tool.MaxSuspensionState:
		return fmt.Errorf("the state has %d bytes; at most %d can be kept", len(state), tool.MaxSuspensionState)
	case !json.Valid(state):
		return errors.New("the state is not JSON")
	case depth(state) > maxStateDepth:
		return fmt.Errorf("the state is nested more than %d levels deep", maxStateDepth)
	}
	return nil
}

// depth returns how deep valid JSON is nested.
func depth(raw json.RawMessage) int {
	deepest, now, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// Checkpoint returns the event with which a running call keeps state, in place of the state it
// kept before. It is appended in a batch of chunks, in its order among them: if the checkpoint
// is in the log, so are the chunks published before it.
func (p Publisher) Checkpoint(now time.Time, call string, state json.RawMessage) (Chunk, error) {
	if err := checkState(state); err != nil {
		return Chunk{}, err
	}
	kept := &event.CallCheckpoint{Call: call, State: event.Compact(bytes.Clone(state))}
	data, err := event.Append(nil, kept)
	if err != nil {
		return Chunk{}, fmt.Errorf("encode event %s: %w", event.KindCheckpoint, err)
	}
	return Chunk{Event: store.Event{Kind: event.KindCheckpoint, Time: store.MillisOf(now), Data: data}, kept: kept}, nil
}

// IsCheckpoint reports whether the chunk was made by [Publisher.Checkpoint].
func (k *Chunk) IsCheckpoint() bool { return k.kept != nil }

// keep folds a checkpoint. It takes the place of the newest suspension, too: the tool has
// had its answers.
func (c *call) keep(e *event.CallCheckpoint) {
	c.Checkpoint, c.ToolState, c.Fresh = true, e.State, 0
}

// suspend folds the state of a suspension. If the call has a checkpoint, a suspension without
// a state keeps the newest checkpoint: the function that suspends, such as
// [tool.RequestConfirmation], does not know the tool's state.
func (c *call) suspend(state json.RawMessage) {
	if state != nil || !c.Checkpoint {
		c.ToolState = state
	}
}
