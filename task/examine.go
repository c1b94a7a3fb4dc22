package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"a2a-server/approval"
	"a2a-server/task/internal/event"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Hook looks at a planned call before the policy does: it may change the arguments or
// deny the call with a reason. If a hook fails or panics, the call requires approval.
// Hooks run again when a call is entered again, or when an approved call is about to run;
// they may still deny it, but the arguments do not change.
type Hook func(ctx agent.ReadonlyContext, c tool.ToolCall) (HookResult, error)

// HookResult is the decision of a Hook. The zero value lets the call pass.
type HookResult struct {
	Deny string          // not empty: why the call must not run
	Args json.RawMessage // not nil: replaces the arguments
}

// examined is what the pipeline currently finds about a call.
type examined struct {
	checked
	hook    bool // a hook has replaced the arguments
	changed bool // the call is no longer what was approved

	// The first of these that is set, in this order, is the outcome.
	trouble error // the tool cannot be looked up now; nothing is said about the call
	invalid error // there is no such tool, or the arguments are wrong: the call cannot run
	verdict approval.Verdict
}

// checked is what a call would run.
type checked struct {
	ctx   *ReadonlyContext
	entry *tool.Entry     // nil if the tool was not found
	raw   json.RawMessage // the arguments to run with, as they are shown
	args  map[string]any  // the same arguments decoded, if they are valid
	proof tool.Checked    // that they are valid
}

// examine puts a call through the pipeline up to the verdict: known tool, hooks, strict
// decode, schema, policy. A failure that says nothing about the call itself means ask.
// Hooks may replace raw only if open is true.
func (d *Draft) examine(c *call, raw json.RawMessage, open bool) (x examined) {
	ctx := d.readonly()
	x.ctx, x.raw = ctx, raw
	entry, err := d.rules.Tools.Lookup(ctx, c.Tool)
	switch {
	case errors.Is(err, tool.ErrUnknownTool):
		x.invalid = fmt.Errorf("there is no tool %q", c.Tool)
		return x
	case err != nil:
		x.trouble = err
		return x
	}
	x.entry = entry
	hooked, hookErr := d.rules.hooks(ctx, c, raw)
	if hooked.Deny != "" {
		x.verdict = approval.Verdict{Action: approval.ActionDeny, Reason: hooked.Deny}
		return x
	}
	if hooked.Args != nil && !sameArgs(hooked.Args, raw) {
		x.hook = true
		if open {
			x.raw = event.Compact(hooked.Args)
		}
	}
	if n, limit := argsSize(x.raw), d.rules.Limits.Args; n > limit {
		x.invalid = fmt.Errorf("arguments of %s have %d bytes; at most %d are allowed", c.Tool, n, limit)
		return x
	}
	if x.args, err = tool.DecodeArgs(x.raw); err == nil {
		x.proof, err = entry.Schema.Check(x.args)
	}
	if err != nil {
		x.invalid = fmt.Errorf("arguments of %s: %w", c.Tool, err)
		return x
	}
	x.verdict = d.rules.Policy.Judge(ctx, entry.Tool, x.args)
	if err := x.verdict.Failed; err != nil {
		d.rules.report(Problem{Task: d.f.View.ids.Task, What: GateFailed, Err: fmt.Errorf("tool %s: %w", c.Tool, err), Wrong: true})
	}
	if hookErr != nil && x.verdict.Action == approval.ActionAllow {
		x.verdict = d.rules.Policy.Ask(entry.Tool, x.args, "a hook failed: "+hookErr.Error())
	}
	return x
}

// sameArgs reports whether two JSON texts are the same arguments.
func sameArgs(a, b json.RawMessage) bool {
	x, errX := tool.DecodeArgs(a)
	y, errY := tool.DecodeArgs(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// argsSize returns the size of arguments as stored, in bytes, not counting the HTML
// escapes, which nobody has sent.
func argsSize(raw json.RawMessage) int {
	n := len(raw)
	for _, escape := range []string{`\u003c`, `\u003e`, `\u0026`} {
		n -= bytes.Count(raw, []byte(escape)) * (len(escape) - 1)
	}
	return n
}

// hooks runs the hooks in order. It continues after a failure: a later hook may still
// deny.
func (r *Rules) hooks(ctx agent.ReadonlyContext, c *call, raw json.RawMessage) (result HookResult, failed error) {
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

func callHook(hook Hook, ctx agent.ReadonlyContext, c tool.ToolCall) (h HookResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			h, err = HookResult{}, fmt.Errorf("panic: %v", p)
		}
	}()
	return hook(ctx, c)
}

// lookup finds the tool of a call and checks the arguments against its schema, without
// evaluating the policy.
func (d *Draft) lookup(c *call) (x examined) {
	x.raw = c.Args
	entry, err := d.rules.Tools.Lookup(d.readonly(), c.Tool)
	switch {
	case errors.Is(err, tool.ErrUnknownTool):
		x.invalid = fmt.Errorf("there is no tool %q any more", c.Tool)
	case err != nil:
		x.trouble = err
	default:
		x.entry = entry
		if x.args, err = tool.DecodeArgs(c.Args); err == nil {
			err = entry.Schema.Validate(x.args)
		}
		if err != nil {
			x.invalid = fmt.Errorf("arguments of %s: %w", c.Tool, err)
		}
	}
	return x
}
