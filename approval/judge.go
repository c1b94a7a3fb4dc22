package approval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// A Verdict is what a policy says about one call.
type Verdict struct {
	Action Action
	Hint   string // the question, for ActionAsk
	Reason string // why, for the planner and the log
	Terms  Terms  // of the approval; Rule is always set
	Failed error  // what failed while judging, for the log; may be nil
}

// Judge says whether t may run with args. It never panics, and no failure ends in
// ActionAllow: an error or a panic of a gate's predicate, of the tool's
// own gate or of a template makes it ask, unless another gate denies. The hint says that
// something failed; Failed says what, which the person who is asked does not see.
//
// The terms and the hint are those of the most specific gate that asks: exact ones
// first, then patterns, each in the order of the configuration, then the tool's own.
// A tool that is declared destructive makes the terms so.
func (p *Policy) Judge(ctx agent.ReadonlyContext, t tool.Tool, args map[string]any) (v Verdict) {
	j := judgement{policy: p, ctx: ctx, tool: t, args: args}
	defer func() {
		if r := recover(); r != nil {
			v = j.broken(r)
		}
	}()
	if p == nil {
		return j.broken("there is no policy")
	}
	j.name = t.Name()

	ownGate := !p.optIn
	for _, g := range p.exact[j.name] {
		if j.consider(g) && g.action == ActionAllow {
			ownGate = false
			j.allowed = g
		}
	}
	for _, g := range p.globs {
		if matches(g.glob, j.name) && j.consider(g) && g.action == ActionAllow && j.allowed == nil {
			j.allowed = g
		}
	}
	if j.denied != nil {
		return j.deny()
	}
	if ownGate {
		j.considerTool()
	}
	if j.asks == nil && j.failed == nil && !j.toolAsks {
		return j.allow()
	}
	return j.ask()
}

// judgement is what Judge has found out so far about one call.
type judgement struct {
	policy *Policy
	ctx    agent.ReadonlyContext
	tool   tool.Tool
	name   string
	args   map[string]any

	denied, asks *gate // the first of each
	failed       *gate // the first whose predicate failed
	allowed      *gate
	toolAsks     bool
	toolHint     string
	problems     []string // where something went wrong, for the hint
	errs         []error  // what it was, for the log
}

// consider looks whether g speaks about the call, notes what it says, and reports
// whether it does speak.
func (j *judgement) consider(g *gate) bool {
	if g.when != nil {
		ok, err := j.holds(g)
		if err != nil {
			j.problem(fmt.Sprintf("the condition of rule %s", quote(g.name)), err)
			if j.failed == nil {
				j.failed = g
			}
			return false
		}
		if !ok {
			return false
		}
	}
	switch g.action {
	case ActionDeny:
		if j.denied == nil {
			j.denied = g
		}
	case ActionAsk:
		if j.asks == nil {
			j.asks = g
		}
	case ActionAllow:
	}
	return true
}

// holds asks the predicate of g, which may panic.
func (j *judgement) holds(g *gate) (ok bool, err error) {
	defer caught(&err)
	return g.when(j.ctx, j.tool, j.copied())
}

// copied returns the arguments for code that is not ours: what it does to them changes
// neither what is shown nor what runs.
func (j *judgement) copied() map[string]any {
	args, _ := strictjson.Clone(j.args).(map[string]any)
	return args
}

// considerTool asks the tool's own gate, which may panic.
func (j *judgement) considerTool() {
	err := func() (err error) {
		defer caught(&err)
		args := j.args
		if _, gated := tool.As[tool.Gater](j.tool); gated {
			args = j.copied()
		}
		j.toolAsks, j.toolHint, err = tool.NeedsApproval(j.ctx, j.tool, args)
		return err
	}()
	if err != nil {
		j.toolAsks = true
		j.problem("the tool's own gate", err)
	}
}

func (j *judgement) allow() Verdict {
	if j.allowed != nil {
		return Verdict{Action: ActionAllow, Reason: "allowed by rule " + quote(j.allowed.name), Terms: j.allowed.frozen()}
	}
	return Verdict{Action: ActionAllow, Terms: Terms{Rule: RuleDefault}}
}

func (j *judgement) deny() Verdict {
	reason := fmt.Sprintf("the rule %s does not allow this call of %s", quote(j.denied.name), quote(j.name))
	// A denial stays one, also when its explanation cannot be written.
	if text, err := j.fill(j.denied.hint); err == nil && text != "" {
		reason += ": " + text
	}
	return Verdict{Action: ActionDeny, Reason: reason, Terms: j.denied.frozen()}
}

func (j *judgement) ask() Verdict {
	v := Verdict{Action: ActionAsk}
	// A gate whose condition failed may be one that allows, with loose terms: one that
	// asks goes first.
	from := j.asks
	if from == nil && !j.toolAsks {
		from = j.failed
	}
	if from != nil {
		v.Terms = from.frozen()
		v.Reason = "rule " + quote(from.name) + " asks"
		v.Hint = j.hint(from.hint)
	} else {
		v.Terms = withDefaults(Terms{}, j.policy.defaults)
		v.Terms.Rule = RuleTool
		v.Reason = "the tool itself asks"
		v.Hint = j.hint(nil)
	}
	if destructive, err := j.destructive(); err != nil {
		j.problem("the annotations of the tool", err)
		v.Terms.Destructive = true
	} else if destructive {
		v.Terms.Destructive = true
	}
	if len(j.problems) > 0 {
		what := strings.Join(j.problems, "; ")
		v.Reason += "; failed: " + what
		v.Hint += "\nIts rule failed, so you are asked: " + what
	}
	v.Failed = errors.Join(j.errs...)
	return v
}

// hint returns the question: t's, with what the tool says below it, else what the
// tool says, else the default.
func (j *judgement) hint(t template) string {
	text, err := j.fill(t)
	if err != nil {
		j.problem("the hint", err)
	}
	own := visible.Shorten(visible.Text(j.toolHint), maxHint)
	switch {
	case text != "" && own != "":
		return text + "\nThe tool says: " + own
	case text != "":
		return text
	case own != "":
		return own
	}
	text, err = j.defaultHint()
	if err != nil {
		j.problem("showing the arguments", err)
		return fmt.Sprintf("May the tool %s run? Its arguments cannot be shown.", quote(j.name))
	}
	return text
}

// fill fills a template. Values may have methods, and those may panic.
func (j *judgement) fill(t template) (text string, err error) {
	defer caught(&err)
	return t.fill(j.args)
}

func (j *judgement) defaultHint() (text string, err error) {
	defer caught(&err)
	return DefaultHint(j.name, j.args)
}

func (j *judgement) destructive() (is bool, err error) {
	defer caught(&err)
	return tool.AnnotationsOf(j.tool).Destructive, nil
}

func (j *judgement) problem(what string, err error) {
	j.problems = append(j.problems, what)
	j.errs = append(j.errs, fmt.Errorf("%s: %s", what, reason(err)))
}

// broken is the verdict when judging itself failed. It takes nothing from the call
// but the name: whatever is there may be what failed.
func (j *judgement) broken(r any) Verdict {
	v := Verdict{
		Action: ActionAsk,
		Hint:   fmt.Sprintf("May the tool %s run?\nIts rule failed, so you are asked: the policy", quote(j.name)),
		Reason: "the policy failed",
		Failed: fmt.Errorf("the policy: %s", reason(panicError(r))),
		// Nobody knows what the rule would have been, so a keyword must not approve.
		Terms: Terms{Destructive: true},
	}
	if j.policy != nil {
		v.Terms = withDefaults(v.Terms, j.policy.defaults)
	}
	v.Terms.Rule = RuleDefault
	return v
}

// frozen returns the terms of g for one approval, sharing nothing with the policy.
func (g *gate) frozen() Terms {
	t := g.terms
	t.Allowed, t.Approvers = slices.Clone(t.Allowed), t.Approvers.clone()
	return t
}

// caught turns a panic of the function that defers it into its error.
func caught(err *error) {
	if r := recover(); r != nil {
		*err = panicError(r)
	}
}

// panicError makes an error of what was recovered. fmt survives values whose own
// methods panic.
func panicError(r any) error { return fmt.Errorf("panic: %v", r) }

// reason returns err in a form that people may be shown. Like panicError it leaves
// calling the error's methods to fmt.
func reason(err error) string {
	return visible.Shorten(visible.Line(fmt.Sprint(err)), maxReason)
}
