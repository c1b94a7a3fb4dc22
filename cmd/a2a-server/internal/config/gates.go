package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"

	"a2a-server/approval"
	"a2a-server/approval/condition"
	"a2a-server/auth"
	"a2a-server/internal/strictyaml"
	"a2a-server/internal/visible"
)

// checkGate checks the keys of a gate that depend on each other.
func checkGate(l *loader, g *approval.Gate, n strictyaml.Node) {
	l.checkGateName(g, n)
	if t := g.Terms.Grants; t != nil && t.Max > approval.MaxGrantTime {
		l.at(n.Below("grants").Path(), "max is %v; a grant is for at most %v", t.Max, approval.MaxGrantTime)
	}
	if w := g.Who; w != nil && len(w.Callers)+len(w.Roles)+len(w.Tenants) > 0 {
		l.needsCallers(n.Below("who").Path(), "without authentication requesters cannot be told apart; set auth (docs/security.md), or remove callers, roles and tenants")
	}
	if g.Action == approval.ActionAsk {
		if a := g.Terms.Approvers; a != nil && len(a.Roles) == 0 && len(a.Subjects) > 0 && len(a.Subjects) < g.Terms.People {
			l.at(n.Below("people").Path(), "%d people have to approve, and approvers names only %d; name more, or roles", g.Terms.People, len(a.Subjects))
		}
		l.checkGateDeciders(g, n)
		checkGateRoutes(l, g, n)
		terms := g.Terms
		l.references = append(l.references, func() { // the defaults are known then
			for key, wrong := range wrongTimes(&terms, terms.Completed(l.config.terms())) {
				l.refuse(!l.refused[n.Path()+".escalate.after"], n.Path()+"."+key, "%s", wrong)
			}
		})
	} else if !l.refused[n.Below("action").Path()] {
		l.checkGateUse(g, n)
	}
}

// checkGateName refuses the name of an earlier gate. A gate without a name is named after its
// tool.
func (l *loader) checkGateName(g *approval.Gate, n strictyaml.Node) {
	path, name := n.Path()+".name", g.Name
	if !l.given(path) {
		path, name = n.Path()+".tool", g.Named()
	}
	switch {
	case !l.has(path):
		return
	case g.Name == "" && len(g.Tools) > 0:
		l.atKey(path, "lists several tools; add a name to this gate")
		return
	}
	at := l.config.origins[path]
	if first, taken := l.gateAt[name]; taken {
		where := fmt.Sprintf("on line %d", first.key.Line)
		if first.name != at.name {
			where = fmt.Sprintf("at %s:%d", visible.Line(first.name), first.key.Line)
		}
		l.atKey(path, "the gate %s is also called %s; give each gate its own name", where, quote(name))
		return
	}
	l.gateAt[name] = at
}

// checkGateUse refuses keys without effect: an operator who writes four_eyes for a gate with
// action allow believes that it asks.
func (l *loader) checkGateUse(g *approval.Gate, n strictyaml.Node) {
	useful := []string{"name", "tool", "action", "when", "who", "mask"}
	if g.Action == approval.ActionDeny {
		useful = append(useful, "hint")
	}
	for _, k := range keysOf(g) {
		path := n.Path() + "." + k.name
		l.refuseKey(l.given(path) && !slices.Contains(useful, k.name), path, "has no effect with action %s, which never asks; remove it, or use action: ask", g.Action)
	}
}

// wrongTimes returns the problems of reminders and escalations, by key. whole is t with the defaults.
func wrongTimes(t *approval.Terms, whole approval.Terms) map[string]string {
	e, wrong := &t.Escalate, map[string]string{}
	switch {
	case e.After > 0 && len(e.Notify)+len(e.AddRoles) == 0:
		wrong["escalate.after"] = "needs notify or add_roles, or it has no effect"
	case e.After <= 0 && len(e.Notify) > 0:
		wrong["escalate.notify"] = "needs escalate.after, such as 8h"
	case e.After <= 0 && len(e.AddRoles) > 0:
		wrong["escalate.add_roles"] = "needs escalate.after, such as 8h"
	case len(e.AddRoles) > 0 && t.Approvers == nil:
		wrong["escalate.add_roles"] = "adds roles to a gate that everybody with the right may decide; add approvers, or remove the line"
	}
	for _, key := range whole.Late() {
		wrong[key] = fmt.Sprintf("is not before the deadline of %s; write a shorter time, or remove the line", approval.Span(whole.Expires))
	}
	return wrong
}

// checkGateDeciders refuses gates that no caller could decide: the calls would wait forever.
// The policy itself accepts such terms, from programs with their own way to decide.
func (l *loader) checkGateDeciders(g *approval.Gate, n strictyaml.Node) {
	terms := g.Terms
	l.references = append(l.references, func() {
		if l.source.Callers || l.source.Later { // the program has its own rules for decisions
			return
		}
		refuse := func(wrong bool, key, why string) {
			l.refuse(wrong, n.Below(key).Path(), "no caller could decide: %s, or remove the line", why)
		}
		known := l.authenticated()
		refuse(terms.FourEyes && !known, "four_eyes", "without authentication no approver can be told apart from the requester; set auth (docs/security.md)")
		refuse(terms.People > 1 && !known, "people", "without authentication all callers are one; set auth (docs/security.md)")
		refuse(terms.Approvers != nil && !known, "approvers", "without authentication no caller is known to be an approver; set auth (docs/security.md)")
		nobody := l.sound("auth.socket", "auth.default_roles", "auth.tenant") && !slices.ContainsFunc(l.config.Auth.Socket, l.decides) && !l.config.Auth.mayApprove()
		refuse(nobody && terms.FourEyes && known, "four_eyes", l.noDecider())
		refuse(nobody && terms.Elsewhere, "elsewhere", l.noDecider())
		refuse(nobody && terms.People > 1 && known, "people", "each may decide only their own calls, and no caller has the role approver; grant it in auth, such as with roles of auth.oidc")
	})
}

// mayApprove reports whether a caller on the network may have the role approver. An API key
// may always get it, because the file of keys may change at any time.
func (a *Auth) mayApprove() bool {
	return slices.ContainsFunc(a.methods(), func(m method) bool {
		return m.name == "key" || m.name != "socket" && slices.Contains(a.rolesFrom(m.roles), auth.RoleApprover)
	})
}

// decides reports whether a local user may decide calls of other requesters.
func (l *loader) decides(u SocketUser) bool {
	roles := l.config.Auth.RolesOr(u.Roles)
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
	return "the A2A client may not, and no caller has the role approver; grant it in auth, such as with roles of auth.oidc or of auth.proxy, or to a local user in auth.socket"
}

// filePath returns the path of file i of policy.files, with which the paths of its keys begin.
func filePath(i int) string { return fmt.Sprintf("policy.files[%d]", i) }

// policyFiles reads the files of policy.files. A file without gates is refused, because it may
// have lost them.
func policyFiles(l *loader) {
	c := l.config
	if !l.sound("policy.files") {
		return
	}
	c.fileGates = make([][]approval.Gate, len(c.PolicyFiles))
	c.PolicyFiles = slices.Clone(c.PolicyFiles)
	for i := range c.PolicyFiles {
		l.locate("policy.files", &c.PolicyFiles[i])
		if at := slices.Index(c.PolicyFiles[:i], c.PolicyFiles[i]); at >= 0 {
			l.at("policy.files", "%s is in the list twice; remove one", quote(filepath.Base(c.PolicyFiles[i])))
			continue
		}
		if err := strictyaml.Stat(c.PolicyFiles[i]); errors.Is(err, fs.ErrNotExist) {
			l.at("policy.files", "%s does not exist, so its gates would be missing; it was looked for at %s", quote(filepath.Base(c.PolicyFiles[i])), visible.Line(c.PolicyFiles[i]))
			continue
		}
		gates, _ := find(l.keys, "gates")
		gates.field = reflect.ValueOf(&c.fileGates[i]).Elem()
		l.read(c.PolicyFiles[i], filePath(i), []key{gates})
	}
}

// compiled reads a condition; nil: it is wrong.
func compiled(n strictyaml.Node, compile func(string) (*condition.Condition, error)) *condition.Condition {
	text, ok := n.One()
	if !ok {
		return nil
	}
	c, err := compile(text)
	var wrong *condition.Error
	switch {
	case errors.As(err, &wrong):
		n.AddInside(wrong.Line, wrong.Column, "%s", wrong.Message)
	case err != nil:
		n.Add("%v", err)
	}
	return c
}
