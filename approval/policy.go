package approval

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"a2a-server/approval/condition"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// An Action is the answer of a policy for a call. When several gates match, deny wins over
// ask, and ask over allow.
type Action string

// The actions.
const (
	ActionAllow Action = "allow"
	ActionAsk   Action = "ask"
	ActionDeny  Action = "deny"
)

// A Predicate says whether a gate matches a call. It is called concurrently and must not
// change args. An error or a panic makes the policy ask.
type Predicate func(ctx agent.ReadonlyContext, t tool.Tool, args map[string]any) (bool, error)

// Unpinned returns the [Predicate] that matches the calls of tools whose definition is not the pinned
// one, by the digests of the definitions by tool. No gate that allows overrides one with it: its author
// has seen the pinned definition.
func Unpinned(pins map[string]string) Predicate {
	return func(_ agent.ReadonlyContext, t tool.Tool, _ map[string]any) (bool, error) {
		digest, err := tool.Digest(tool.ToDefinition(t))
		return !strings.EqualFold(digest, pins[t.Name()]), err
	}
}

// A Gate is a rule of a policy.
type Gate struct {
	// Name is the gate's name in approvals and in the audit; no two gates of a policy
	// have the same. Defaults to "gate:" and Tool.
	Name string `yaml:"name" text:"gate" doc:"Unique name in approvals and in the audit. Default: gate: and the tool; a list of tools needs a name."`
	// Tool names the tools: a single tool exactly, or several with a pattern in which *
	// matches any text, or all with "*".
	Tool string
	// Tools names more tools in the same way. A gate with any has a Name.
	Tools []string `yaml:"tool" required:"yes" form:"a name, \"*\" for all, or a list" fill:"the name of a tool, or \"*\" for all" doc:"Name of a tool, a pattern in which * matches any text, or a list of these. A name that no tool has is an error at the start."`
	// Action defaults to ActionAsk. ActionAllow means that this gate does not object. It never
	// overrides other gates that ask, and overrides the tool's own gate only when the
	// gate names the tool exactly: then an operator has said that this very tool need not ask.
	Action Action `yaml:"action" default:"ask" oneof:"an action: ask, allow, deny" doc:"Only an allow with the exact name overrides the tool's own gate."`
	// Condition, Who and When limit the gate to some calls: each that is set has to hold.
	// Default to all calls. At most 64 gates with a Condition may be about a tool.
	Condition *condition.Condition `yaml:"when" as:"condition" form:"a condition such as args.amount > 100" doc:"Limits the gate to calls about which this is true (CEL; docs/policy.md)."`
	Who       *Who                 `yaml:"who" as:"who" form:"{callers: [\"corp:*\"], roles: [ops], tenants: [acme], agents: [desk], annotations: [destructive]}" doc:"Limits the gate to these requesters, agents and tools: in each list, any."`
	When      Predicate
	// Hint is the question to the person, or the explanation of a denial. {name} and
	// {/json/pointer} stand for arguments, as JSON text, shortened when long and with hidden
	// characters escaped; an unknown name stays as it is, and a masked argument is [Masked].
	// Defaults to the hint of the tool's own gate, else to a hint with the name and all
	// arguments.
	Hint string `yaml:"hint" doc:"Question, or reason of a denial; {name} and {/json/pointer} become arguments of the call."`
	// Terms are the gate's demands on its approvals. If several gates ask about a call, all
	// demands count; see [Policy.Judge]. Gate is set to Name. Terms without a value come from
	// [PolicyConfig].Defaults; a negative Expires means that the defaults set no deadline.
	Terms Terms `yaml:",inline"`
}

// PolicyConfig configures a [Policy]. The zero value asks about the calls whose tools ask
// themselves, without deadlines; the server's configuration sets a deadline of 7 days.
type PolicyConfig struct {
	Gates []Gate
	// Defaults complete each gate, and are the terms of the tools' own gates; but beside a
	// gate that asks, the tool's own gate has no deadline. A bool that is true here is true
	// everywhere, and so is each entry of Mask. Gate is unused.
	Defaults Terms
	// IgnoreDeclared switches the tools' own gates off, so that only Gates ask.
	IgnoreDeclared bool
}

// A Policy decides on calls. It is immutable and safe for concurrent use. A nil *Policy
// asks about everything.
type Policy struct {
	gates          []Gate // as they were given, with their actions
	names          map[string]bool
	index          index
	defaults       Terms
	denials        []string // the gates that deny
	opaque         bool     // one of them has a predicate in Go
	ignoreDeclared bool

	also     []string // places that are masked beside those of the gates; see Masking
	keepsAll bool
}

// gate is a [Gate] made ready: with a name and an action, and copies of its values.
type gate struct {
	Gate
	at   int    // in the policy
	asks string // about what, and how: see Verdict.asks
}

// identity returns the text by which a gate is the same for a [Grant]. A predicate in Go has no text.
func (g *gate) identity() string {
	var who Who
	if g.Who != nil {
		who = *g.Who
	}
	return fmt.Sprintf("%q", []any{g.Name, g.Condition.String(), who, g.Hint})
}

// Conditional reports whether g may be about some calls of a tool only.
func (g Gate) Conditional() bool { return g.Who != nil || g.Condition != nil || g.When != nil }

// NewPolicy returns a policy with this configuration, or all its problems, joined.
func NewPolicy(c PolicyConfig) (*Policy, error) {
	p := &Policy{
		gates: slices.Clone(c.Gates), names: map[string]bool{}, index: index{exact: map[string][]*gate{}, patterns: map[string][]pattern{}}, defaults: c.Defaults.clone(), ignoreDeclared: c.IgnoreDeclared,
	}
	problems := slices.Concat(checkTerms(c.Defaults), checkTimes(c.Defaults))
	if c.Defaults.Expires < 0 {
		problems = append(problems, fmt.Errorf("expiry %v is negative: use 0 for none", c.Defaults.Expires))
	}
	locate("the default terms", problems)
	for i, g := range c.Gates {
		ready, errs := makeGate(i, g, c.Defaults)
		problems = append(problems, errs...)
		p.gates[i].Action = ready.Action
		if p.names[ready.Name] {
			problems = append(problems, fmt.Errorf("gate %d: the name %s is taken by an earlier gate: give each its own Name", i, quote(ready.Name)))
		}
		p.names[ready.Name] = true
		if ready.Action == ActionDeny {
			p.denials = append(p.denials, fmt.Sprintf("%s %q", ready.asks, g.Patterns()))
			p.opaque = p.opaque || g.When != nil
		}
		p.index.add(ready, g.Patterns())
	}
	problems = append(problems, p.crowded()...)
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("approval policy: %w", err)
	}
	return p, nil
}

// NoDenials is the result of [Policy.Denials] for a policy that denies nothing.
const NoDenials = "none"

// Denials returns a hash of the gates that deny: two policies that have the same deny the same calls. It
// is "" if one of these gates has a predicate in Go, which has no text to compare.
func (p *Policy) Denials() string {
	switch {
	case p == nil || len(p.denials) == 0:
		return NoDenials
	case p.opaque:
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(p.denials, "\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Has reports whether the policy has a gate with this name, or it is the name of the tools' own gates
// or of calls without a gate. Approvals about an unknown outcome have the name of the call's gate.
func (p *Policy) Has(name string) bool {
	name = strings.TrimSuffix(name, outcomeSuffix)
	return name == GateTool || name == GateDefault || p.names[name]
}

// makeGate returns the i-th gate ready for use, with all that is wrong with it.
func makeGate(i int, g Gate, defaults Terms) (*gate, []error) {
	ready := &gate{Gate: g, at: i}
	ready.Name, ready.Who, ready.Terms, ready.Action = g.Named(), g.Who.clone(), g.Terms.clone(), cmp.Or(g.Action, ActionAsk)
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	switch {
	case slices.Contains(g.Patterns(), ""):
		add("names no tool: use \"*\" for all")
	case len(g.Tools) > 0 && g.Name == "":
		add("is for several tools: give it a Name")
	}
	if ready.Name == GateTool || ready.Name == GateDefault {
		add("the name %q is reserved: choose another", ready.Name)
	}
	if !slices.Contains([]Action{ActionAsk, ActionAllow, ActionDeny}, ready.Action) {
		add("unknown action %q: use ask, allow or deny", g.Action)
	}
	if g.Terms.Gate != "" && g.Terms.Gate != ready.Name {
		add("Terms.Gate is %s: leave it empty and set Name", quote(g.Terms.Gate))
	}
	if problem := g.Who.problem(); problem != "" {
		add("%s", problem)
	}
	problems = slices.Concat(problems, checkTerms(g.Terms), checkTimes(g.Terms.Completed(defaults)))
	locate(fmt.Sprintf("gate %d (tool %s)", i, quote(g.Tool)), problems)
	ready.asks = ready.identity()
	return ready, problems
}

// locate says where problems are.
func locate(where string, problems []error) {
	for i, problem := range problems {
		problems[i] = fmt.Errorf("%s: %w", where, problem)
	}
}

// clone returns a copy that shares nothing with t.
func (t Terms) clone() Terms {
	t.Allowed, t.Approvers = slices.Clone(t.Allowed), t.Approvers.clone()
	t.Mask, t.Notify, t.Needs = slices.Clone(t.Mask), slices.Clone(t.Notify), slices.Clone(t.Needs)
	t.Escalate = t.Escalate.clone()
	t.Grants = t.Grants.clone()
	return t
}

// checkTerms returns the mistakes in t.
func checkTerms(t Terms) (problems []error) {
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	switch t.OnExpiry {
	case "", ExpiryRejects, ExpiryCancels, ExpiryKeeps:
	default:
		add("unknown outcome of a deadline %q: use reject, cancel or keep", t.OnExpiry)
	}
	if t.WaitingState != "" && !slices.Contains(WaitingStates(), t.WaitingState) {
		add("unknown waiting state %q: use working, auth_required or input_required", t.WaitingState)
	}
	if t.Expires > 0 && t.Expires < time.Millisecond {
		add("expiry %v is less than a millisecond", t.Expires)
	}
	for _, v := range t.Allowed {
		if !v.known() {
			add("unknown decision %q: use approve, edit, reject, respond or cancel", v)
		}
	}
	if problem := t.Approvers.problem(); problem != "" {
		add("%s", problem)
	}
	switch {
	case t.People < 0 || t.People > MaxPeople:
		add("%d people: write a number from 1 to %d", t.People, MaxPeople)
	case t.Approvers != nil && len(t.Approvers.Roles) == 0 && len(t.Approvers.Subjects) < t.People:
		add("%d people have to approve, and Approvers has only %d subjects: name more, or roles", t.People, len(t.Approvers.Subjects))
	case t.Needs != nil:
		add("Needs is for the merged terms of several gates: set People and Approvers")
	}
	for _, problem := range t.timeProblems() {
		add("%s", problem)
	}
	if t.Grants != nil {
		if err := t.Grants.check(); err != nil {
			add("%w", err)
		}
	}
	if t.Risk.rank() < 0 {
		add("unknown risk %q: use low, medium or high", t.Risk)
	}
	for _, pointer := range t.Mask {
		if err := CheckMask(pointer); err != nil {
			add("Mask: %s %w", quote(pointer), err)
		}
	}
	for _, name := range t.Notify {
		if err := CheckNotify(name); err != nil {
			add("Notify: %s %w", quote(name), err)
		}
	}
	if t.Allowed != nil && len(AllowedDecisions(KindCall, t)) == 0 {
		add("no decision about a call is allowed: name approve, edit, reject or cancel, or leave Allowed out for all")
	}
	return problems
}

// checkTimes returns what of whole terms never comes.
func checkTimes(whole Terms) (problems []error) {
	for _, key := range whole.Late() {
		problems = append(problems, fmt.Errorf("%s never comes, because the approval ends after %s: set a shorter time", key, Span(whole.Expires)))
	}
	return problems
}

// Completed returns t with its open terms taken from d.
func (t Terms) Completed(d Terms) Terms {
	t.Expires = max(cmp.Or(t.Expires, d.Expires), 0)
	t.OnExpiry = cmp.Or(t.OnExpiry, d.OnExpiry)
	if t.Allowed == nil {
		t.Allowed = d.Allowed
	}
	t.Approvers = cmp.Or(t.Approvers, d.Approvers)
	t.Risk = cmp.Or(t.Risk, d.Risk)
	if t.Notify == nil {
		t.Notify = d.Notify
	}
	t.Remind = cmp.Or(t.Remind, d.Remind)
	if t.Escalate.IsZero() {
		t.Escalate = d.Escalate
	}
	t = t.clone()
	t.Mask, t.Notify = Union(t.Mask, d.Mask), Union(t.Notify, nil)
	t.People = max(t.People, d.People)
	t.AddExclusions(d)
	t.MaskTask = t.MaskTask || d.MaskTask
	t.WaitingState = cmp.Or(t.WaitingState, d.WaitingState)
	t.Destructive = t.Destructive || d.Destructive
	t.CancelsTask = t.CancelsTask || d.CancelsTask
	return t
}

// Matches reports whether g is about the tool of this name.
func (g Gate) Matches(name string) bool {
	return matches(g.Tool, name) || slices.ContainsFunc(g.Tools, func(p string) bool { return matches(p, name) })
}

// Patterns returns Tool and Tools.
func (g Gate) Patterns() []string { return append([]string{g.Tool}, g.Tools...) }

// Named returns the name of g in approvals and in the audit.
func (g Gate) Named() string { return cmp.Or(g.Name, "gate:"+g.Tool) }

// Gates returns the gates of the policy, in their order, each with its action. The slice must not be
// changed.
func (p *Policy) Gates() []Gate {
	if p == nil {
		return nil
	}
	return p.gates
}

// Terms returns the terms of a gate of the policy, with its open terms taken from the
// defaults.
func (p *Policy) Terms(g Gate) Terms { return g.Terms.Completed(p.defaults) }

// matches reports whether name is the text of a pattern, with any text for each *.
func matches(pattern, name string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	name, begins := strings.CutPrefix(name, first)
	for wild && begins {
		first, rest, wild = strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(name, first)
		}
		_, name, begins = strings.Cut(name, first)
	}
	return begins && name == ""
}
