package config

import (
	"cmp"
	"fmt"
	"slices"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
)

// gateKeys returns the keys of an entry of gates.
func gateKeys(g *approval.Gate) []key {
	verb := func(to *approval.Verb) setting.Value {
		return setting.Choice(to, "a decision", approval.Approve, approval.Edit, approval.Reject, approval.Respond, approval.Cancel)
	}
	pointer := func(to *string) setting.Value {
		return setting.Text(to, "a JSON pointer such as /card/number", saying(approval.CheckMask))
	}
	notified := func(to *string) setting.Value { return setting.Text(to, "a name", saying(approval.CheckNotify)) }
	return []key{
		one("name", "", setting.Text(&g.Name, "a string", setting.NotEmpty("a name, or remove the line"), setting.OneLine, notReserved),
			"The gate's name in approvals and in the audit. It must be unique. Without it, gate: and the tool."),
		one("tool", "", setting.Text(&g.Tool, "a string", setting.NotEmpty("the name of a tool, or * for all"), setting.OneLine),
			"Required. The name of a tool, or a pattern in which * matches any text. A name that no tool has is an error at startup, unless a toolset may have more tools later; then, and for a pattern that matches nothing, the log has a warning."),
		one("action", "ask", setting.Choice(&g.Action, "an action", approval.ActionAsk, approval.ActionAllow, approval.ActionDeny),
			"ask lets a person decide, deny refuses the call, allow lets it run. When several gates match a tool, deny wins over ask, and ask over allow. Only an allow that names a tool exactly, without *, overrides the gate that the tool itself declares."),
		one("hint", "", setting.Text(&g.Hint, "a string"),
			"The question, or the reason for a denial. {name} and {/json/pointer} are replaced by arguments of the call, and a masked one by •••, because hints are in lists. Without it, the tool's own hint, which mask does not change."),
		one("expires", "", setting.Deadline(&g.Terms.Expires, -1),
			"How long the approval may be pending. Without it, deadlines.expires."),
		one("on_expiry", "", setting.Choice(&g.Terms.OnExpiry, "an outcome of a deadline", expiries()...),
			"What happens then. Without it, deadlines.on_expiry."),
		many("allowed", "", &g.Terms.Allowed, verb,
			"The decisions that are offered. Without it, all that make sense for the question.", decides),
		one("four_eyes", "false", setting.Bool(&g.Terms.FourEyes),
			"The person who caused the call may not decide on it, and neither may anybody who acted for them. It needs authentication."),
		one("elsewhere", "false", setting.Bool(&g.Terms.Elsewhere),
			"The A2A client may not decide; somebody else has to, as with 'a2a-server approvals'. It needs authentication."),
		shaped("approvers", "roles and subjects, as in {roles: [sre], subjects: [\"corp:alice\"]}", &g.Terms.Approvers, approversOf,
			"Only these may decide: those with one of the roles, and these subjects, in any tenant or, as acme/corp:alice, in one. They also need the right to decide: the role approver, or their own task and the role requester. Without it, everybody with that right. It needs authentication."),
		one("destructive", "false", setting.Bool(&g.Terms.Destructive),
			"Shown as destructive. A word approves it only with the code of the question; without one it may still reject it."),
		one("no_text", "false", setting.Bool(&g.Terms.NoText),
			"Never decided by text, be it a word or JSON: only by clients that send decisions as data, and outside the conversation."),
		one("on_reject", "continue", setting.Either(&g.Terms.CancelsTask, "cancel", "continue"),
			"What a rejection does in addition to rejecting the call: cancel cancels the task, continue leaves it to the planner."),
		one("risk", "", setting.Choice(&g.Terms.Risk, "a risk", approval.RiskLow, approval.RiskMedium, approval.RiskHigh),
			"How much a wrong decision may cost; the highest of all gates that ask counts. It is shown and decides nothing. Without it, high for a destructive call and medium for any other."),
		many("mask", "", &g.Terms.Mask, pointer,
			"Arguments that lists, mails and logs show as •••, by JSON pointer: /iban, /card/number, or, as * is every member or element, /users/*/name. Whoever decides sees them. A pointer that meets nothing masks nothing."),
		many("notify", "", &g.Terms.Notify, notified,
			"Names of those to notify; kept with the approval for the notifications that a later version sends. Nothing reads them yet."),
	}
}

// saying returns a check of a text whose error begins with the text.
func saying(check func(string) error) func(string) error {
	return func(text string) error {
		if err := check(text); err != nil {
			return fmt.Errorf("%s %w", quote(text), err)
		}
		return nil
	}
}

func notReserved(name string) error {
	if name == approval.RuleTool || name == approval.RuleDefault {
		return fmt.Errorf("%s is reserved by the server; choose another name", quote(name))
	}
	return nil
}

// decides refuses a list without a decision that is allowed for calls: nobody could answer.
func decides(verbs []approval.Verb) error {
	if len(verbs) == 0 || len(approval.AllowedVerbs(approval.KindCall, approval.Terms{Allowed: verbs})) == 0 {
		return fmt.Errorf("allows no decision about a call; name approve, edit, reject or cancel, or remove the line for all")
	}
	return nil
}

// checkGate checks what depends on several keys of one gate.
func checkGate(l *loader, g *approval.Gate, n strictyaml.Node) {
	if _, given := l.given(n, "tool"); !given {
		n.Below("tool").Add("is missing; write the name of a tool, or \"*\" for all")
	}
	l.checkGateName(g, n)
	if g.Action == approval.ActionAsk {
		l.checkGateDeciders(g, n)
	} else if !l.refused[n.Below("action").Path()] {
		l.checkGateUse(g, n)
	}
}

// checkGateName refuses the name of an earlier gate. A gate without a name is named after its
// tool.
func (l *loader) checkGateName(g *approval.Gate, n strictyaml.Node) {
	from, name := "name", g.Name
	at, given := l.given(n, from)
	if !given {
		from, name = "tool", "gate:"+g.Tool
		at, given = l.given(n, from)
	}
	path := n.Below(from).Path()
	if !given || l.refused[path] {
		return
	}
	if first, taken := l.gateAt[name]; taken {
		l.report.Add(at.key, path, "the gate on line %d is also called %s; give each gate its own name", first, quote(name))
		return
	}
	l.gateAt[name] = at.key.Line
}

// checkGateUse refuses keys without effect: an operator who writes four_eyes for a gate with
// action allow believes that it asks.
func (l *loader) checkGateUse(g *approval.Gate, n strictyaml.Node) {
	useful := []string{"name", "tool", "action"}
	if g.Action == approval.ActionDeny {
		useful = append(useful, "hint", "mask")
	}
	for _, k := range gateKeys(g) {
		if at, given := l.given(n, k.name); given && !slices.Contains(useful, k.name) {
			l.report.Add(at.key, n.Below(k.name).Path(), "has no effect with action %s, which asks nobody; remove it, or use action: ask", g.Action)
		}
	}
}

func approversOf(_ *loader, n strictyaml.Node) (*approval.Approvers, bool) {
	roles, subjects, ok := namesIn(n, "roles", "subjects")
	if ok && len(roles)+len(subjects) == 0 {
		n.Add("names nobody; write roles or subjects, or remove approvers if everybody may decide who has the right")
		ok = false
	}
	return &approval.Approvers{Roles: roles, Subjects: subjects}, ok
}

// checkGateDeciders refuses gates on which nobody could decide: the calls would wait
// forever. The policy itself accepts such terms, from programs with their own way to decide.
func (l *loader) checkGateDeciders(g *approval.Gate, n strictyaml.Node) {
	terms := g.Terms
	l.references = append(l.references, func() {
		if l.source.Callers { // the program knows who decides, and how
			return
		}
		refuse := func(key, why string) { l.at(n.Below(key).Path(), "nobody could decide: %s, or remove the line", why) }
		known := l.authenticated()
		if terms.FourEyes && !known {
			refuse("four_eyes", "there is no authentication, so nobody can be told apart from the requester; set auth (docs/security.md)")
		}
		if terms.Approvers != nil && !known {
			refuse("approvers", "there is no authentication, so nobody is known to be one of them; set auth (docs/security.md)")
		}
		if !l.sound("auth.socket", "auth.default_roles", "auth.tenant") {
			return
		}
		for key, given := range map[string]bool{"four_eyes": terms.FourEyes && known, "elsewhere": terms.Elsewhere} {
			if given && !slices.ContainsFunc(l.config.Auth.Socket, l.decides) && !l.config.Auth.mayApprove() {
				refuse(key, l.noDecider())
			}
		}
	})
}

// mayApprove reports whether a caller on the network may have the role approver. Whose keys have
// it, the file of keys says, which may change at any time.
func (a *Auth) mayApprove() bool {
	approves := func(roles []string) bool {
		if len(roles) == 0 {
			roles = a.DefaultRoles
		}
		return slices.Contains(roles, auth.RoleApprover)
	}
	from := func(r RolesFrom) bool {
		if r.Name == "" {
			return approves(r.Fixed)
		}
		for _, roles := range r.Map {
			if slices.Contains(roles, auth.RoleApprover) {
				return true
			}
		}
		return approves(nil)
	}
	return a.Keys.File != "" || a.MTLS.Given() && approves(a.MTLS.Roles) || a.Proxy.Header != "" && from(a.Proxy.Roles) ||
		slices.ContainsFunc(a.OIDC, func(o OIDC) bool { return from(o.Roles) })
}

// decides reports whether a local user may decide what others have asked for.
func (l *loader) decides(u SocketUser) bool {
	roles := u.Roles
	if len(roles) == 0 {
		roles = l.config.Auth.DefaultRoles
	}
	if !l.authenticated() {
		return slices.Contains(roles, auth.RoleAdmin) // everything is anonymous's
	}
	return slices.Contains(roles, auth.RoleApprover) && cmp.Or(u.Tenant, l.config.Auth.Tenant) != ""
}

// noDecider says whom auth.socket lacks.
func (l *loader) noDecider() string {
	if !l.authenticated() {
		return "the A2A client may not, and without authentication only an admin may decide for it; map a local user with the role admin in auth.socket, for 'a2a-server approvals'"
	}
	return "the A2A client may not, and nobody has the role approver; give it to somebody in auth, such as with roles of auth.oidc or of auth.proxy, or to a local user in auth.socket"
}
