package approval

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"a2a-server/approval/condition"
	"a2a-server/internal/guard"
	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

const (
	// maxConditions is how many gates with a Condition may be about a tool.
	maxConditions = 64
	// judgeTime is how long the conditions about a call may take together. The time is that of the
	// machine, so that a slow machine asks more, and allows nothing.
	judgeTime = 100 * time.Millisecond
)

// A Verdict is the result of a policy for a call.
type Verdict struct {
	Action Action
	Hint   string      // the words of gates and the tool, for ActionAsk; "": none
	Notes  string      // for ActionAsk: what has failed, in sentences
	Reason string      // why, for the planner and the log
	Terms  Terms       // of the approval; Gate is always set
	Firm   bool        // for ActionDeny: no condition of the gate that denies has failed
	Failed error       // failures while judging, for the log; may be nil
	Gates  []AskedGate // that ask; GateTool if the tool asks

	own  string   // why the tool's own gate asks, where Terms has Grants; "": it does not ask
	asks []string // the gates that ask: the name, when, who and hint of each; sorted
}

// Judge decides whether t may run with args. It never panics, and no failure ends in
// ActionAllow. A predicate that fails, with an error or a panic, counts as true for a gate
// that denies or asks, and makes a gate that allows ask; a failure of the tool's own gate or
// of a hint asks. Notes mention the failure; Failed has its details, which the decider
// does not see, and not the details where a gate about the tool masks arguments: code from
// elsewhere may repeat them in any form. Texts are made last, of arguments that all gates that ask
// have masked; so is the tool's own hint, see [tool.Hinter]. A hint that cannot be made of them is
// left out.
//
// The terms combine the demands of all gates that ask: every restriction, the approvers of
// each, the decisions that all of them allow (without a common decision, reject and cancel),
// the shortest time and its strictest end. The defaults complete each gate first, so a gate
// without a time has the default time beside any other. The risk is the highest of all, and
// arguments masked by any gate are masked, also in the hint and in the reason of a denial. A
// tool that is declared destructive makes the terms so. The tool's own gate demands the
// defaults, but beside other gates no deadline: a gate can set a deadline for a tool that asks
// by itself. Gate is the most specific gate that asks: exact gates first, then patterns, each in
// the order of the configuration, then the tool's own gate. The hint has the questions of all
// gates, in that order.
func (p *Policy) Judge(ctx agent.ReadonlyContext, t tool.Tool, args map[string]any) Verdict {
	return p.judge(ctx, t, args, nil /* tell */)
}

// judge is Judge. It tells what each gate says, if tell is not nil.
func (p *Policy) judge(ctx agent.ReadonlyContext, t tool.Tool, args map[string]any, tell func(Considered)) (v Verdict) {
	j := judgement{policy: p, ctx: ctx, tool: t, args: args, tell: tell}
	defer func() {
		if r := recover(); r != nil {
			v = j.broken(r)
		}
	}()
	j.name = t.Name()
	if p == nil {
		return j.broken("there is no policy")
	}
	ownGate := p.Heeds(t)
	exact, others := p.index.of(j.name)
	j.mask, j.keeps = p.Mask(j.name)
	for _, g := range exact {
		if j.consider(g) && g.Action == ActionAllow {
			ownGate = false
			j.allowed = g
		}
	}
	for _, g := range others {
		if j.consider(g) && g.Action == ActionAllow && j.allowed == nil {
			j.allowed = g
		}
	}
	if j.denied != nil {
		return j.deny()
	}
	if ownGate {
		j.considerTool()
	}
	if len(j.asks)+len(j.failed) == 0 && !j.toolAsks {
		return j.allow()
	}
	return j.ask()
}

// judgement is the state of Judge for a call.
type judgement struct {
	policy *Policy
	ctx    agent.ReadonlyContext
	tool   tool.Tool
	name   string
	args   map[string]any
	mask   []string         // of the hint, the reason and the terms
	keeps  bool             // gates of the tool mask its tasks
	tell   func(Considered) // nil: nobody asks for the gates
	facts  *condition.Facts // nil: no condition has asked for them
	looked int              // conditions

	denied   *gate   // the first whose condition did not fail, else the first
	firm     bool    // the condition of denied did not fail
	asks     []*gate // the most specific first
	failed   []*gate // allowing gates whose predicate failed
	allowed  *gate
	toolAsks bool
	toolSays bool     // its hint belongs to the question
	problems []string // where something went wrong, for the hint
	errs     []error  // for the log
}

// consider applies g to the call, and reports whether g covers it.
func (j *judgement) consider(g *gate) bool {
	why, err := "always", error(nil)
	if g.Conditional() {
		why, err = j.fits(g)
	}
	if err != nil {
		j.problem(fmt.Sprintf("the condition of gate %s", quote(g.Name)), err)
		if g.Action == ActionAllow {
			j.failed = append(j.failed, g)
			j.explain(g, true, true, "its condition fails, so it asks: "+reason(err))
			return false
		}
		why = "its condition fails, so it counts as true: " + reason(err)
	}
	if why == "" {
		return false
	}
	j.explain(g, true, err != nil, why)
	switch g.Action {
	case ActionDeny:
		if j.denied == nil || !j.firm && err == nil {
			j.denied, j.firm = g, err == nil
		}
	case ActionAsk:
		j.asks = append(j.asks, g)
	case ActionAllow:
	}
	return true
}

// fits reports whether the call is one that g is limited to: why it is, or "".
func (j *judgement) fits(g *gate) (why string, _ error) {
	if g.Who != nil {
		list, err := guard.Call(func() (string, error) { return g.Who.excludes(g.Action, requesterOf(j.ctx), j.ctx, j.tool) })
		if err != nil {
			return "", err
		}
		if list != "" {
			j.explain(g, false, false, "the "+list+" under who do not include this call")
			return "", nil
		}
		why = "who includes this call"
	}
	if g.Condition != nil {
		is, err := j.holds(g.Condition)
		if err != nil {
			return "", err
		}
		if !is {
			j.explain(g, false, false, "when is false")
			return "", nil
		}
		why = "when is true"
	}
	if g.When != nil {
		is, err := guard.Call(func() (bool, error) { return g.When(j.ctx, j.tool, j.copied()) })
		if err != nil {
			return "", err
		}
		if !is {
			j.explain(g, false, false, "its condition in Go is false")
			return "", nil
		}
		why = "its condition in Go is true"
	}
	return why, nil
}

// holds reports whether a condition is true about the call. All conditions share the facts and
// their time.
func (j *judgement) holds(c *condition.Condition) (bool, error) {
	if j.looked++; j.looked > maxConditions {
		return false, fmt.Errorf("more than %d gates with when are about the tool", maxConditions)
	}
	return guard.Call(func() (bool, error) {
		if j.facts == nil {
			agentName := ""
			if j.ctx != nil {
				agentName = j.ctx.AgentName()
			}
			j.facts = factsOf(j.args, j.name, agentName, requesterOf(j.ctx))
		}
		return c.Match(j.facts)
	})
}

// copied returns a copy of the arguments for foreign code, so that its changes affect neither
// the question nor the call.
func (j *judgement) copied() map[string]any { return strictjson.Clone(j.args) }

// considerTool asks the tool's own gate, which may panic.
func (j *judgement) considerTool() {
	_, err := guard.Call(func() (_ struct{}, err error) {
		args := j.args
		for t := range tool.Chain(j.tool) {
			if tool.Gates(t) {
				args = j.copied()
				break
			}
		}
		j.toolAsks, err = tool.NeedsApproval(j.ctx, j.tool, args)
		return struct{}{}, err
	})
	if err != nil {
		j.toolAsks = true
		j.problem("the tool's own gate", err)
	}
	j.toolSays = j.toolAsks
	if j.tell != nil {
		j.tell(Considered{Gate: -1, Action: ActionAsk, Applies: j.toolAsks, Why: map[bool]string{true: "the tool asks by itself", false: "the tool does not ask by itself"}[j.toolAsks]})
	}
}

func (j *judgement) allow() Verdict {
	if j.allowed != nil {
		return Verdict{Action: ActionAllow, Reason: "allowed by gate " + quote(j.allowed.Name), Terms: j.of(j.allowed)}
	}
	return Verdict{Action: ActionAllow, Terms: Terms{Gate: GateDefault, Mask: j.mask}}
}

func (j *judgement) deny() Verdict {
	reason := fmt.Sprintf("the gate %s does not allow this call of %s", quote(j.denied.Name), quote(j.name))
	// A denial stays a denial if its explanation cannot be written.
	if text, err := j.fill(j.denied.Hint); err == nil && text != "" {
		reason += ": " + text
	}
	if len(j.problems) > 0 {
		reason += "; failed: " + strings.Join(j.problems, "; ")
	}
	return Verdict{Action: ActionDeny, Reason: reason, Terms: j.of(j.denied), Firm: j.firm, Failed: errors.Join(j.errs...)}
}

func (j *judgement) ask() Verdict {
	v := Verdict{Action: ActionAsk}
	all := slices.Concat(j.asks, j.failed)
	for _, g := range all {
		v.asks = append(v.asks, g.asks)
	}
	slices.Sort(v.asks)
	v.Gates = askedGates(all, j.toolAsks)
	v.Terms = together(all, j.toolAsks, j.policy.defaults)
	v.Terms.Mask, v.Terms.MaskTask = j.mask, j.keeps
	if len(j.asks) > 0 || !j.toolAsks {
		v.Terms.Gate = all[0].Name
		v.Reason = "gate " + quote(all[0].Name) + " asks"
		v.Hint = j.hint(all)
	} else {
		v.Terms.Gate = GateTool
		v.Reason = "the tool itself asks"
		v.Hint = j.hint(nil)
	}
	destructive, err := guard.Call(func() (bool, error) { return tool.AnnotationsOf(j.tool).Destructive, nil })
	if err != nil {
		j.problem("the annotations of the tool", err)
	}
	if v.Terms.Destructive || len(v.Terms.Needs) > 0 || v.Terms.FourEyes || j.keeps || len(j.problems) > 0 || j.calledDestructive() {
		v.Terms.Grants = nil
	}
	if v.Terms.Grants != nil && j.toolAsks {
		if gates := slices.ContainsFunc(slices.Collect(tool.Chain(j.tool)), tool.Gates); gates && len(j.mask) > 0 {
			v.Terms.Grants.Vary = nil // its reason is not known whole
		}
		why, err := guard.Call(func() ([]string, error) {
			return tool.Reasons(j.ctx, j.tool, j.copied(), maskedArgs(j.copied(), j.mask)), nil
		})
		if v.own = fmt.Sprintf("asks: %q", why); err != nil {
			v.Terms.Grants = nil
		}
	}
	v.Terms.Destructive = v.Terms.Destructive || destructive || err != nil
	if len(j.problems) > 0 {
		what := strings.Join(j.problems, "; ")
		v.Reason += "; failed: " + what
		v.Notes = "Its gate failed, so you are asked: " + what + "."
	}
	v.Failed = errors.Join(j.errs...)
	return v
}

// calledDestructive reports whether the tool, a wrapper of it, or the server that it comes from calls
// it destructive. The annotations of a tool with claims also say so of a missing claim.
func (j *judgement) calledDestructive() bool {
	says, err := guard.Call(func() (bool, error) {
		for t := range tool.Chain(j.tool) {
			if c, passedOn := t.(tool.Claimant); passedOn {
				return slices.Contains(c.Claims(), tool.ClaimDestructive), nil
			}
			if a, is := t.(tool.Annotated); is && a.Annotations().Destructive {
				return true, nil
			}
		}
		return false, nil
	})
	return says || err != nil
}

// hint returns the questions of gates, each once, with the tool's own text below them.
func (j *judgement) hint(gates []*gate) string {
	var questions []string
	for _, g := range gates {
		question, err := j.fill(g.Hint)
		if err != nil {
			j.problem("the hint", err)
		}
		if question != "" && !slices.Contains(questions, question) {
			questions = append(questions, question)
		}
	}
	text, own := visible.Shorten(strings.Join(questions, "\n"), maxHint), j.toolHint()
	if text != "" && own != "" {
		return text + "\nThe tool says: " + own
	}
	return text + own
}

// toolHint returns the text of the tool. It cannot be made of every masked argument.
func (j *judgement) toolHint() string {
	if !j.toolSays {
		return ""
	}
	text, err := guard.Call(func() (string, error) { return tool.Hint(j.ctx, j.tool, maskedArgs(j.copied(), j.mask)) })
	if err != nil && len(j.mask) == 0 {
		j.problem("the tool's hint", err)
	}
	return visible.Shorten(visible.Text(text), maxHint)
}

// fill fills the text of a gate. Values may have methods, which may panic.
func (j *judgement) fill(hint string) (string, error) {
	return guard.Call(func() (string, error) { return FillHint(hint, maskedArgs(j.args, j.mask)) })
}

func (j *judgement) problem(what string, err error) {
	j.problems = append(j.problems, what)
	if len(j.mask) > 0 || j.keeps { // foreign code may repeat what is masked
		err = tool.ErrMasked
	}
	j.errs = append(j.errs, fmt.Errorf("%s: %s", what, reason(err)))
}

// broken is the verdict after a failure of judging itself. It uses only the name of the call:
// any other part may be the cause.
func (j *judgement) broken(r any) Verdict {
	v := Verdict{
		Action: ActionAsk,
		Notes:  "Its gate failed, so you are asked: the policy.",
		Reason: "the policy failed",
		Failed: fmt.Errorf("the policy: %s", reason(fmt.Errorf("panic: %v", r))),
	}
	if j.policy != nil {
		v.Terms = together(nil, true /* own */, j.policy.defaults)
		if v.Terms.Mask, v.Terms.MaskTask = j.policy.Mask(j.name); len(v.Terms.Mask) > 0 || v.Terms.MaskTask {
			v.Failed = fmt.Errorf("the policy: %w", tool.ErrMasked)
		}
	}
	v.Terms.Gate, v.Terms.Destructive = GateDefault, true // the gate is unknown, so a keyword must not approve
	return v
}

// of returns a copy of the terms of a gate.
func (j *judgement) of(g *gate) Terms {
	t := together([]*gate{g}, false /* own */, j.policy.defaults)
	t.Gate, t.Mask = g.Name, j.mask
	return t
}

// reason returns err in a form that people may be shown. It leaves calling the error's methods, which
// may panic, to fmt.
func reason(err error) string {
	return visible.Shorten(visible.Line(fmt.Sprint(err)), maxReason)
}

// Considered is what a gate says about a call.
type Considered struct {
	Gate    int // in [Policy.Gates]; -1: the tool's own gate
	Action  Action
	Applies bool
	Failed  bool   // its condition; a gate that allows asks then
	Why     string // in words
}

// Explain is [Policy.Judge], and returns what each gate about the tool says: first the gates
// with its exact name, then the others, then the tool's own gate.
func (p *Policy) Explain(ctx agent.ReadonlyContext, t tool.Tool, args map[string]any) (Verdict, []Considered) {
	var all []Considered
	v := p.judge(ctx, t, args, func(c Considered) { all = append(all, c) })
	return v, all
}

// explain tells the observer of j about a gate.
func (j *judgement) explain(g *gate, applies, failed bool, why string) {
	if j.tell != nil {
		j.tell(Considered{Gate: g.at, Action: g.Action, Applies: applies, Failed: failed, Why: why})
	}
}
