package task

import (
	"encoding/json"
	"errors"
	"fmt"

	"a2a-server/approval"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Hook looks at a planned call before the policy does: it may change the arguments
// or deny the call with a reason. A hook that fails or panics makes the call ask.
type Hook func(ctx agent.ReadonlyContext, c tool.ToolCall) (HookResult, error)

// HookResult is what a Hook decided. Its zero value lets the call pass.
type HookResult struct {
	Deny string          // not empty: why the call must not run
	Args json.RawMessage // not nil: replaces the arguments
}

// examined is what the pipeline found about a call.
type examined struct {
	invalid    bool            // err is about the tool or its arguments
	err        error           // the call cannot run at all
	args       json.RawMessage // not nil: a hook replaced them
	decoded    map[string]any  // the arguments, when they are valid
	verdict    approval.Verdict
	definition string
	digest     string // set when the verdict is ask, or when asked for
}

// examine puts a call through the pipeline up to the verdict: known tool, hooks,
// strict decode, schema, policy. What fails in a way that says nothing about the
// call itself means ask.
func (e *Engine) examine(ctx *readonlyContext, c *call) (v examined) {
	entry, err := e.cfg.Tools.Lookup(ctx, c.Tool)
	if err != nil {
		if errors.Is(err, tool.ErrUnknownTool) {
			err = fmt.Errorf("there is no tool %q", c.Tool)
		}
		return examined{invalid: true, err: err}
	}
	v.definition = entry.Digest
	hooked, hookErr := e.hooks(ctx, c)
	if hooked.Deny != "" {
		v.verdict = approval.Verdict{Action: approval.ActionDeny, Reason: hooked.Deny}
		return v
	}
	raw := c.Args
	if hooked.Args != nil {
		raw, v.args = hooked.Args, hooked.Args
	}
	if limit := e.cfg.Limits.Args; len(raw) > limit {
		v.invalid, v.err = true, fmt.Errorf("arguments of %s have %d bytes; at most %d are allowed", c.Tool, len(raw), limit)
		return v
	}
	args, err := tool.DecodeArgs(raw)
	if err == nil {
		err = entry.Schema.Validate(args)
	}
	if err != nil {
		v.invalid, v.err = true, fmt.Errorf("arguments of %s: %w", c.Tool, err)
		return v
	}
	v.decoded = args
	v.verdict = e.policy.Judge(ctx, entry.Tool, args)
	if hookErr != nil && v.verdict.Action == approval.ActionAllow {
		v.verdict = e.policy.Ask(entry.Tool, args, "a hook failed: "+hookErr.Error())
	}
	if v.verdict.Action == approval.ActionAsk {
		if v.digest, err = approval.Digest(e.cfg.Agent, c.Tool, entry.Digest, args); err != nil {
			v.invalid, v.err = true, fmt.Errorf("arguments of %s: %w", c.Tool, err)
		}
	}
	return v
}

// hooks runs the hooks in their order. A failure does not end it: a later hook may
// still deny.
func (e *Engine) hooks(ctx agent.ReadonlyContext, c *call) (result HookResult, failed error) {
	for _, hook := range e.cfg.Hooks {
		tc := tool.ToolCall{ID: c.ID, Name: c.Tool}
		raw := c.Args
		if result.Args != nil {
			raw = result.Args
		}
		args, err := tool.DecodeArgs(raw)
		if err != nil {
			return result, nil //nolint:nilerr // the schema check says it better
		}
		tc.Args = args
		r, err := callHook(hook, ctx, tc)
		if err != nil {
			failed = err
			continue
		}
		if r.Deny != "" {
			return r, nil
		}
		if r.Args != nil {
			result.Args = r.Args
		}
	}
	return result, failed
}

func callHook(hook Hook, ctx agent.ReadonlyContext, c tool.ToolCall) (r HookResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = HookResult{}, fmt.Errorf("panic: %v", p)
		}
	}()
	return hook(ctx, c)
}

// annotations returns what the tool declares; nothing when it is gone.
func (e *Engine) annotations(ctx *readonlyContext, name string) tool.Annotations {
	entry, err := e.cfg.Tools.Lookup(ctx, name)
	if err != nil {
		return tool.Annotations{}
	}
	return tool.AnnotationsOf(entry.Tool)
}

// bind returns what an approval of the call, as it stands, is bound to: the digest
// of the tool's definition, and of all that is shown.
func (e *Engine) bind(ctx *readonlyContext, c *call) (definition, digest string, err error) {
	entry, err := e.cfg.Tools.Lookup(ctx, c.Tool)
	if err != nil {
		return "", "", fmt.Errorf("there is no tool %q any more", c.Tool)
	}
	args, err := tool.DecodeArgs(c.Args)
	if err != nil {
		return "", "", fmt.Errorf("arguments of %s: %w", c.Tool, err)
	}
	digest, err = approval.Digest(e.cfg.Agent, c.Tool, entry.Digest, args)
	return entry.Digest, digest, err
}

// listTools returns the tools that a caller may use. A toolset that fails takes its
// own tools away, not those of the others.
func (e *Engine) listTools(ctx *readonlyContext) ([]tool.Tool, error) {
	tools, err := e.cfg.Tools.Tools(ctx)
	if err != nil && len(tools) == 0 {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	if err != nil {
		e.log.Warn().Err(err).Msg("some tools cannot be listed")
	}
	return tools, nil
}
