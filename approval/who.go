package approval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"a2a-server/auth"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Who limits a gate to calls of some requesters, agents and tools. Each list that is not empty
// has to match. In Callers, Tenants and Agents * matches any text.
type Who struct {
	// Callers are subjects of requesters, such as "corp:alice", or "acme/corp:alice" in a
	// tenant. The parties that act for a requester count, too: one that matches is enough for a
	// gate that denies or asks; for a gate that allows, all have to.
	Callers []string `json:"callers,omitempty" yaml:"callers" text:"pattern"`
	// Roles: of the requester
	Roles   []string `json:"roles,omitempty" yaml:"roles" fill:"a name, or remove it"`
	Tenants []string `json:"tenants,omitempty" yaml:"tenants" text:"pattern"`
	// Agents: names of agents, as in their cards
	Agents []string `json:"agents,omitempty" yaml:"agents" text:"pattern"`
	// Annotations are the words of [tool.Annotations]. What a tool only claims counts for a
	// gate that denies or asks. There a tool with claims that are not trusted is destructive, whatever
	// it claims.
	Annotations []string `json:"annotations,omitempty" yaml:"annotations" oneof:"an annotation: read-only, idempotent, destructive"`
}

// errNobody says that there is no requester to look at.
var errNobody = errors.New("the requester is unknown")

// annotationWords are the words that Who.Annotations may have.
func annotationWords() []string {
	return tool.Annotations{ReadOnly: true, Idempotent: true, Destructive: true}.Words()
}

// clone returns a copy that shares nothing with w.
func (w *Who) clone() *Who {
	if w == nil {
		return nil
	}
	return &Who{
		Callers: slices.Clone(w.Callers), Roles: slices.Clone(w.Roles), Tenants: slices.Clone(w.Tenants),
		Agents: slices.Clone(w.Agents), Annotations: slices.Clone(w.Annotations),
	}
}

// problem returns the mistake in w, or "".
func (w *Who) problem() string {
	if w == nil {
		return ""
	}
	some := false
	for _, list := range [][]string{w.Callers, w.Roles, w.Tenants, w.Agents, w.Annotations} {
		if slices.Contains(list, "") {
			return "Who has an empty name: remove it"
		}
		if list != nil && len(list) == 0 { // of nobody, which would be everybody
			return "Who has an empty list: remove it, or name somebody"
		}
		some = some || len(list) > 0
	}
	for _, word := range w.Annotations {
		if !slices.Contains(annotationWords(), word) {
			return fmt.Sprintf("Who.Annotations: unknown annotation %s: use %s", quote(word), strings.Join(annotationWords(), ", "))
		}
	}
	if !some {
		return "Who is empty: name callers, roles, tenants, agents or annotations, or leave it out"
	}
	return ""
}

// excludes returns the list that does not match a call, in words; "": all match. It may
// panic as t may.
func (w *Who) excludes(action Action, by auth.Principal, ctx agent.ReadonlyContext, t tool.Tool) (list string, _ error) {
	if w == nil {
		return "", nil
	}
	if (len(w.Callers)+len(w.Roles)+len(w.Tenants) > 0) && by.IsZero() {
		return "", errNobody
	}
	within := func(list []string, name string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return matches(p, name) })
	}
	caller := func(name string) bool {
		return within(w.Callers, name) || by.Tenant != "" && within(w.Callers, by.Tenant+"/"+name)
	}
	parties := append([]string{by.Subject}, by.Chain...)
	switch {
	case len(w.Callers) == 0:
	case action == ActionAllow && slices.ContainsFunc(parties, func(n string) bool { return !caller(n) }),
		action != ActionAllow && !slices.ContainsFunc(parties, caller):
		return "callers", nil
	}
	switch {
	case len(w.Roles) > 0 && !slices.ContainsFunc(w.Roles, by.Has):
		return "roles", nil
	case len(w.Tenants) > 0 && !within(w.Tenants, by.Tenant):
		return "tenants", nil
	case len(w.Agents) > 0 && (ctx == nil || !within(w.Agents, ctx.AgentName())):
		return "agents", nil
	case len(w.Annotations) > 0:
		words := tool.AnnotationsOf(t).Words()
		if claimant, is := tool.As[tool.Claimant](t); is && action != ActionAllow && !claimant.Trusted() {
			words = slices.Concat(words, claimant.Claims(), []string{tool.ClaimDestructive}) // no claim takes it out of the gate
		}
		if !slices.ContainsFunc(w.Annotations, func(a string) bool { return slices.Contains(words, a) }) {
			return "annotations", nil
		}
	}
	return "", nil
}

// requesterOf returns the requester of a call; the zero Principal: it is unknown.
func requesterOf(ctx agent.ReadonlyContext) auth.Principal {
	switch owned, is := ctx.(interface{ Owner() auth.Principal }); {
	case is:
		return owned.Owner()
	case ctx == nil:
		return auth.Principal{}
	}
	return auth.Principal{Subject: ctx.UserID(), Tenant: ctx.Tenant(), Roles: ctx.Roles()}
}
