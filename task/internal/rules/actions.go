package rules

import (
	"encoding/json"
	"fmt"
	"reflect"

	"a2a-server/tool/agent"
)

// maxActions bounds the actions of a call, in bytes.
const maxActions = 16 << 10

// actions is the form of [agent.EventActions] in the log, without the changes of the
// state, which have a place of their own.
type actions struct {
	ArtifactDelta      map[string]int64 `json:"artifactDelta,omitempty"`
	SkipSummarization  bool             `json:"skipSummarization,omitempty"`
	TransferToAgent    string           `json:"transferToAgent,omitempty"`
	Escalate           bool             `json:"escalate,omitempty"`
	RequireInput       bool             `json:"requireInput,omitempty"`
	InputPrompt        string           `json:"inputPrompt,omitempty"`
	LongRunningToolIDs []string         `json:"longRunningToolIds,omitempty"`
}

// EncodeActions encodes the actions of a call for [RunEnded].Actions; nil if there are none.
// It returns an error above maxActions.
func EncodeActions(a *agent.EventActions) (json.RawMessage, error) {
	if reflect.ValueOf(a).Elem().IsZero() {
		return nil, nil // as nearly always
	}
	raw, err := json.Marshal(actions{
		a.ArtifactDelta, a.SkipSummarization, a.TransferToAgent, a.Escalate, a.RequireInput, a.InputPrompt, a.LongRunningToolIDs,
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("encode actions: %w", err)
	case string(raw) == "{}":
		return nil, nil
	case len(raw) > maxActions:
		return nil, fmt.Errorf("its actions have %d bytes; at most %d are allowed", len(raw), maxActions)
	}
	return raw, nil
}

// decodeActions decodes the result of EncodeActions.
func decodeActions(raw json.RawMessage) (a agent.EventActions) {
	if raw == nil {
		return a
	}
	var in actions
	if json.Unmarshal(raw, &in) != nil {
		return a
	}
	return agent.EventActions{
		ArtifactDelta: in.ArtifactDelta, SkipSummarization: in.SkipSummarization, TransferToAgent: in.TransferToAgent, Escalate: in.Escalate,
		RequireInput: in.RequireInput, InputPrompt: in.InputPrompt, LongRunningToolIDs: in.LongRunningToolIDs,
	}
}
