package output

import (
	"encoding/json"
	"errors"
	"fmt"

	"a2a-server/internal/strictjson"
	"a2a-server/tool"
)

// maxStateDepth bounds the nesting of JSON that a tool keeps, returns or publishes: it is
// nested further in events and snapshots, and encoding/json decodes at most 10,000 levels.
const maxStateDepth = 1000

// CheckDepth returns an error if valid JSON is nested too deep to be kept.
func CheckDepth(raw json.RawMessage) error {
	if len(raw) > maxStateDepth && strictjson.Depth(raw) > maxStateDepth {
		return fmt.Errorf("it is nested more than %d levels deep", maxStateDepth)
	}
	return nil
}

// CheckState returns why a tool cannot keep a state, nil if it can.
func CheckState(state json.RawMessage) error {
	switch {
	case len(state) > tool.MaxSuspensionState:
		return fmt.Errorf("the state has %d bytes; at most %d can be kept", len(state), tool.MaxSuspensionState)
	case !json.Valid(state):
		return errors.New("the state is not JSON")
	case strictjson.Depth(state) > maxStateDepth:
		return fmt.Errorf("the state is nested more than %d levels deep", maxStateDepth)
	}
	return nil
}
