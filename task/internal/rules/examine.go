package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/tool"
)

// look is the result of one lookup of a call's tool. Tools may change at any time, so a
// comparison with the shown definition and all that follows from it (checks, digest and entry)
// use the same look.
type look struct {
	ctx   *task.ReadonlyContext
	entry *tool.Registered // nil if the tool was not found

	trouble error // the tool cannot be looked up now; nothing is said about the call
	invalid error // there is no such tool, or the arguments are wrong: the call cannot run
}

// lookUp looks up the tool of a call.
func lookUp(b basis, c *fold.Call) look {
	l := look{ctx: readonly(b)}
	entry, err := b.Tools.Lookup(l.ctx, c.Tool)
	switch {
	case errors.Is(err, tool.ErrUnknownTool):
		l.invalid = fmt.Errorf("there is no tool %+q", c.Tool)
	case err != nil:
		l.trouble = err
	default:
		l.entry = entry
	}
	return l
}

// differs reports whether the tool is gone, or its definition differs from the definition
// shown with an approval. A tool that cannot be looked up now does not differ.
func (l *look) differs(a *approval.Approval) bool {
	return l.invalid != nil || l.entry != nil && l.entry.Digest != a.Definition
}

// examined is the result of putting a call through the pipeline.
type examined struct {
	checked
	hook    bool   // a hook has replaced the arguments
	changed bool   // the call differs from the approved call
	lapsed  string // why a grant that fits does not cover the call, or its approval is too old, as a sentence; "": neither

	supersedes string            // the question about the outcome that is replaced
	editor     *approval.Decider // whose edit it is and votes for it; nil: none

	verdict approval.Verdict // without trouble, and if the call is valid
}

// said returns the verdict as observers get it.
func (x *examined) said() Verdict { return Verdict{x.verdict.Action, x.verdict.Terms.Gate} }

// checked is the content of a call as it would run.
type checked struct {
	look
	raw   json.RawMessage // the arguments to run with, as they are shown
	args  map[string]any  // the same arguments decoded, if they are valid
	proof tool.Checked    // that they are valid
}

// examine puts a call, whose tool was looked up, through the pipeline up to the verdict: known
// tool, hooks, strict decode, schema, policy. A failure that says nothing about the call
// itself means ask. Hooks may replace raw only if open is true.
func examine(b basis, c *fold.Call, l look, raw json.RawMessage, open bool) examined {
	x := examined{checked: checked{look: l, raw: raw}}
	if x.entry == nil {
		return x
	}
	hooked, hookErr := b.hooks(x.ctx, c, raw)
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
	if validate(b, c, &x); x.invalid != nil {
		return x
	}
	x.verdict = policy(b, c).Judge(x.ctx, x.entry.Tool, x.args)
	if err := x.verdict.Failed; err != nil {
		b.report(Problem{Task: b.View.IDs().Task, What: GateFailed, Err: fmt.Errorf("tool %s: %w", c.Tool, err), Wrong: true})
	}
	switch {
	case hookErr == nil:
	case x.verdict.Action == approval.ActionAllow:
		x.verdict = policy(b, c).Ask(x.entry.Tool, x.args, "a hook failed: "+hookErr.Error())
	case x.verdict.Action == approval.ActionAsk:
		x.verdict.Terms.Grants = nil // what the hook would have said is unknown
		x.verdict.Notes = strings.TrimSpace(x.verdict.Notes + " A check before the policy failed.")
	}
	return x
}

// validated returns a look with the arguments of a call, which are checked if the tool was found.
func validated(b basis, c *fold.Call, l look) examined {
	x := examined{checked: checked{look: l, raw: c.Args}}
	if x.entry != nil {
		validate(b, c, &x)
	}
	return x
}

// judged returns a look with the arguments of a call and, if they are valid, the verdict of the policy, without
// asking hooks.
func judged(b basis, c *fold.Call, l look) examined {
	x := validated(b, c, l)
	if x.entry != nil && x.invalid == nil {
		x.verdict = policy(b, c).Judge(x.ctx, x.entry.Tool, x.args)
	}
	return x
}

// policy returns the policy for a call: it masks what gates of the tool have masked since the call was
// planned.
func policy(b basis, c *fold.Call) *approval.Policy {
	mask, keepsTask := c.Mask, c.MaskTask
	for _, a := range b.Approvals {
		if a.Call == c.ID {
			mask, keepsTask = approval.Union(mask, a.Terms.Mask), keepsTask || a.Terms.MaskTask
		}
	}
	return b.Policy.Masking(mask, keepsTask)
}

// masks reports whether gates of its tool mask arguments of a call, or keep its task.
func masks(b basis, c *fold.Call) bool {
	mask, keepsTask := policy(b, c).Mask(c.Tool)
	return len(mask) > 0 || keepsTask
}

// hides is masks, or another call keeps the task.
func hides(b basis, c *fold.Call) bool { return masks(b, c) || b.KeepsTask() }

// validate checks the arguments, without asking hooks or the policy.
func validate(b basis, c *fold.Call, x *examined) {
	if n, limit := argsSize(x.raw), b.Limits.Args; n > limit {
		x.invalid = fmt.Errorf("arguments of %s have %d bytes; at most %d are allowed", c.Tool, n, limit)
		return
	}
	var err error
	if x.args, err = tool.DecodeArgs(x.raw); err == nil {
		if at, masked := approval.FindMasked(x.args); masked {
			err = tool.Invalid(at, "is %s, which stands for a value that a gate masks; give the value itself", approval.Masked)
		}
	}
	if err == nil {
		x.proof, err = x.entry.Schema.Check(x.args)
	}
	if err != nil {
		x.invalid = fmt.Errorf("arguments of %s: %w", c.Tool, err)
	}
}

// sameArgs reports whether two JSON texts are the same arguments.
func sameArgs(a, b json.RawMessage) bool {
	x, errX := tool.DecodeArgs(a)
	y, errY := tool.DecodeArgs(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// argsSize returns the size of arguments as stored, in bytes, without the HTML escapes, which
// the encoder added.
func argsSize(raw json.RawMessage) int {
	n := len(raw)
	for _, escape := range []string{`\u003c`, `\u003e`, `\u0026`} {
		n -= bytes.Count(raw, []byte(escape)) * (len(escape) - 1)
	}
	return n
}

func readonly(b basis) *task.ReadonlyContext { return b.Owned(b.Ctx, b.Fold) }

// lookOf looks up the tool of a call that waits for an approval of kind call or outcome. For a
// question of a running tool, which does not depend on the definition, it returns an empty
// look.
func lookOf(b basis, a *approval.Approval) look {
	if a.Ask != "" || a.Kind == approval.KindQuestion {
		return look{}
	}
	return lookUp(b, b.Call(a.Call))
}

// running reports whether a call that the log says is running does run here, or is about
// to, by one of launch. If not, its process is gone.
func running(b basis, c *fold.Call, launch []*Execution) bool {
	return b.At.Running != nil && b.At.Running(c.ID) || slices.ContainsFunc(launch, func(e *Execution) bool { return e.Call == c.ID })
}

// hasChildren reports whether the tool of a call is a [tool.JobStopper]. A tool that cannot be looked up
// now may be one; one that panics cannot be called.
func hasChildren(b basis, c *fold.Call) (has bool) {
	defer func() { _ = recover() }()
	l := lookUp(b, c)
	if l.entry == nil {
		return l.trouble != nil // else the tool is gone, and with it the way to its children
	}
	_, has = tool.As[tool.JobStopper](l.entry.Tool)
	return has
}

// questionDigest returns the digest of the question that a asks, about a call as it was checked.
func questionDigest(b basis, a *approval.Approval, call *checked) (string, error) {
	restored := b.Restored.IDs()
	return a.QuestionDigest(b.Agent, call.entry.Definition.Name, call.entry.Digest, call.args, restored...)
}

// callDigest returns the digest of a call as it was checked.
func callDigest(b basis, call *checked) (string, error) {
	return approval.Digest(b.Agent, call.entry.Definition.Name, call.entry.Digest, call.args, b.Restored.IDs()...)
}

// bound reports whether an approval is for exactly this call, as it was shown or as its edit has it.
func bound(b basis, a *fold.Approval, call *checked) (bool, error) {
	digest, err := questionDigest(b, &a.Approval, call)
	return err == nil && digest == a.GrantedDigest(), err
}

// takesPayload reports whether a tool declares that it reads the payload of a decision. A
// tool that panics declares nothing.
func takesPayload(t tool.Tool) (takes bool) {
	defer func() { _ = recover() }()
	p, ok := tool.As[tool.TakesPayload](t)
	return ok && p.TakesPayload()
}

// annotationsOf returns the annotations of a tool. A tool that panics declares nothing.
func annotationsOf(t tool.Tool) (is tool.Annotations) {
	defer func() { _ = recover() }()
	return tool.AnnotationsOf(t)
}

// repeatable reports whether a tool says that repeating its calls has no further effect.
func repeatable(t tool.Tool) bool {
	is := annotationsOf(t)
	return is.ReadOnly || is.Idempotent || tool.IsDecision(t)
}

// hasRun reports whether a call may have had an effect before its process died, so that a
// person has to decide about its outcome. Only a call with a checkpoint is entered again
// without that.
func (x *examined) hasRun(c *fold.Call) bool {
	return c.State == fold.CallUncertain && (!c.Safe || !repeatable(x.entry.Tool))
}
