package rules

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/guard"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/output"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

var (
	errWithheld    = errors.New("the call has run, but its result is withheld, because a hook that checks it failed; see the server's log")
	errHiddenError = errors.New("the call failed, and so did a hook that looks at its error; see the server's log")
	errNoOutcome   = errors.New("it left neither a result, as JSON, nor an error")
)

// After runs the hooks on the outcome of a run; the changed outcome may be written. ctx is the
// context of the run.
func After(ctx context.Context, r *Rules, o *RunEnded) {
	if len(r.AfterHooks)+len(r.ErrorHooks) == 0 || o.GivenUp != nil || o.Unknown || o.Rejected || o.Suspension != nil || len(o.Asks) > 0 {
		return
	}
	seen := *o.Entry.Context
	seen.Context = ctx
	for _, hook := range r.ErrorHooks {
		if o.Err == nil {
			break
		}
		if err := runAfter(&seen, r, hook, "an error hook", o); err != nil {
			o.Err = errHiddenError
			return
		}
	}
	for _, hook := range r.AfterHooks {
		if o.Err != nil {
			return
		}
		if err := runAfter(&seen, r, hook, "an after hook", o); err != nil {
			o.Err, o.Result, o.Parts = errWithheld, nil, nil
		}
	}
}

// runAfter runs one hook and adopts its changes.
func runAfter(ctx *task.ReadonlyContext, r *Rules, hook task.AfterHook, what string, o *RunEnded) error {
	call := tool.ToolCall{ID: o.Entry.Call, Name: o.Entry.Name}
	var err error
	// The tool may have changed the arguments that it was given.
	if call.Args, err = tool.DecodeArgs(o.Entry.checked.raw); err == nil {
		seen := &task.Result{Call: call, Outcome: task.OutcomeOK, Content: bytes.Clone(o.Result), Decision: o.Entry.decision, Note: o.Entry.note}
		if o.Err != nil {
			seen.Outcome, seen.Content, seen.Error = task.OutcomeError, nil, o.Err.Error()
			if seen.Error == "" {
				seen.Error = "the tool failed and did not say why"
			}
		}
		if err = r.callAfter(ctx, hook, what, seen, o.Entry); err == nil {
			err = adopt(o, seen)
		}
	}
	var panicked *PanicError
	if err != nil && !errors.As(err, &panicked) { // a panic has been reported
		r.report(Problem{Task: ctx.TaskID(), What: what + " failed", Err: redacted(o.Entry.Private, err), Wrong: true})
	}
	return err
}

func (r *Rules) callAfter(ctx *task.ReadonlyContext, hook task.AfterHook, what string, seen *task.Result, e *Execution) (err error) {
	defer r.guard(ctx.TaskID(), what, &err)
	defer func() {
		if p := recover(); p != nil {
			panic(e.Logged(p)) // for guard
		}
	}()
	if err := hook(ctx, seen.Call, seen); err != nil {
		return errors.New(err.Error()) // its methods are the application's code
	}
	return nil
}

// adopt makes the changes of a hook the outcome.
func adopt(o *RunEnded, seen *task.Result) error {
	switch {
	case seen.Error != "":
		if o.Err == nil || o.Err.Error() != seen.Error {
			o.Err = errors.New(seen.Error)
		}
		o.Result, o.Parts = nil, nil
		return nil
	case !utf8.Valid(seen.Content) || !json.Valid(seen.Content):
		return errNoOutcome
	case output.CheckDepth(seen.Content) != nil:
		return output.CheckDepth(seen.Content)
	case o.Err != nil || !bytes.Equal(seen.Content, o.Result):
		parts := o.Parts != nil
		o.Err, o.Result, o.Parts = nil, event.Compact(bytes.Clone(seen.Content)), nil
		if parts {
			o.Parts = partsIn(o.Result)
		}
	}
	return nil
}

// partsIn returns the parts that a JSON array in the form of A2A holds, joined by commas,
// or nil if it is something else.
func partsIn(raw json.RawMessage) json.RawMessage {
	var list []*a2a.Part
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return nil
	}
	if slices.ContainsFunc(list, func(p *a2a.Part) bool { return p == nil || p.Content == nil }) {
		return nil
	}
	joined, err := joinParts(list)
	if err != nil {
		return nil
	}
	return joined
}

// joinParts returns the JSON of parts, joined by commas.
func joinParts(parts []*a2a.Part) (joined json.RawMessage, err error) {
	for i, p := range parts {
		data, err := event.EncodePart(p)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i+1, err)
		}
		joined = event.Join(joined, data)
	}
	return joined, nil
}

// hooks runs the hooks in order. It continues after a failure: a later hook may still
// deny.
func (r *Rules) hooks(ctx agent.ReadonlyContext, c *fold.Call, raw json.RawMessage) (result task.HookResult, failed error) {
	for _, hook := range r.Hooks {
		if result.Args != nil {
			raw = result.Args
		}
		args, err := tool.DecodeArgs(raw)
		if err != nil {
			return result, nil //nolint:nilerr // the schema check says it better
		}
		h, err := callHook(hook, ctx, tool.ToolCall{ID: c.ID, Name: c.Tool, Args: args})
		if err != nil {
			failed = err
			continue
		}
		if h.Deny != "" {
			return h, nil
		}
		if h.Args != nil {
			result.Args = h.Args
		}
	}
	return result, failed
}

func callHook(hook task.Hook, ctx agent.ReadonlyContext, c tool.ToolCall) (h task.HookResult, err error) {
	defer guard.Recover(&err, "panic")
	return hook(ctx, c)
}
