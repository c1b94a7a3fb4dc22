package sim

import (
	"encoding/json"
	"maps"
	"strings"

	"a2a-server/tool"
)

// Writes of a Sharing tool: keys of the context, a key of the task alone, and values of some
// bytes, of a size of which a context has room for a few, and of a size over the limit.
var sharedKeys = []string{"a", "b", "c", "d", ownKey}

const (
	ownKey      = tempPrefix + "own"
	tempPrefix  = "temp:" // of the keys of the task alone
	muchState   = 20 << 10
	tooMuchData = 70 << 10
)

// seen returns the state that a run is entered with.
func seen(ctx tool.Context) map[string]any { return maps.Collect(ctx.State().All()) }

// share goes the ways that set the state of the context.
func (t *simTool) share(ctx tool.Context, r *Run) (map[string]any, error) {
	if r.Way == SetsLate {
		t.b.block(ctx, t.p, r, false /* heeds */)
	}
	size := 0
	switch r.Way { //nolint:exhaustive // the others set little
	case SetsMuch:
		size = muchState
	case SetsTooMuch:
		size = tooMuchData
	}
	for range 1 + t.choose(r, 3) {
		key := sharedKeys[t.choose(r, len(sharedKeys))]
		value := map[string]any{"run": r.N}
		if size > 0 {
			value["fill"] = strings.Repeat("x", size)
		}
		if err := ctx.State().Set(key, value); err != nil {
			return nil, err
		}
		if r.Sets == nil {
			r.Sets = map[string]json.RawMessage{}
		}
		r.Sets[key] = mustJSON(value)
	}
	switch {
	case r.Way == SetsAndFails:
		return nil, errTool
	case r.Way == SetsAndAsks && r.Answers == 0:
		return nil, &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "which one?"}}}
	}
	return r.done()
}
