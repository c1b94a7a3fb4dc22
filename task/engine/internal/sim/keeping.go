package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"a2a-server/tool"
)

// errUnsure is the error of a tool that does not know the outcome of its call.
var errUnsure = fmt.Errorf("no answer: %w", tool.ErrOutcomeUnknown)

// keepingWay returns the way of a run of a Keeping tool, which is way at first: a call that is
// entered often comes to an end.
func (t *simTool) keepingWay(ctx tool.Context, way Way) Way {
	if t.b.Ledger.entries[ctx.TaskID()+" "+ctx.FunctionCallID()] < 4 {
		return way
	}
	return Pick(t.b.s.choices, Outcomes, Keeps, Result, Fails)
}

// unsure returns an error for an unknown outcome.
func (t *simTool) unsure(r *Run) (map[string]any, error) {
	r.Effect = t.rarely(r, 2)
	r.Unsure = true
	return nil, errUnsure
}

// keep goes the ways that keep their progress.
func (t *simTool) keep(ctx tool.Context, r *Run) (map[string]any, error) {
	for i := range 1 + t.choose(r, 3) {
		if err := t.checkpoint(ctx, r, i); err != nil {
			return nil, err
		}
		if t.rarely(r, 3) {
			t.p.Sleep(time.Duration(1+t.choose(r, 30)) * time.Millisecond)
		}
	}
	switch r.Way { //nolint:exhaustive // the others do not keep anything
	case KeepsAndBlocks:
		if t.b.block(ctx, t.p, r, true /* heeds */) {
			return nil, context.Cause(ctx)
		}
	case KeepsLate:
		t.b.block(ctx, t.p, r, false /* heeds */)
		if err := t.checkpoint(context.WithoutCancel(ctx), r, 9); err != nil {
			return nil, err
		}
	case KeepsAndAsks:
		if r.Answers > 0 {
			break
		}
		s := &tool.Suspension{Asks: []tool.Question{{Kind: tool.AskQuestion, Hint: "which one?"}}}
		if t.rarely(r, 2) {
			s.State = fmt.Appendf(nil, `"suspended in run %d"`, r.N)
		}
		return nil, s
	case KeepsUnsure:
		return t.unsure(r)
	}
	return r.done()
}

// checkpoint keeps the progress of the run.
func (t *simTool) checkpoint(ctx context.Context, r *Run, n int) error {
	state := fmt.Sprintf(`{"run":%d,"n":%d}`, r.N, n)
	err := tool.Checkpoint(ctx, json.RawMessage(state))
	if err != nil {
		t.b.coverage.Count("a checkpoint is refused")
		return err
	}
	t.b.coverage.Count("a checkpoint is kept")
	if t.b.Kept != nil {
		t.b.Kept(r, state)
	}
	return nil
}

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
