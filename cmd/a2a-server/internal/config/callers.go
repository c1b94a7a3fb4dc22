package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"a2a-server/auth"
	"a2a-server/internal/lists"
	"a2a-server/internal/suggest"
	"a2a-server/internal/visible"
)

// A Caller is a caller that a configuration lets in, or all callers of one way to authenticate: the subject then
// ends with a colon.
type Caller struct {
	auth.Principal
	AnyTenant bool // the credential names the tenant
}

// Callers returns the callers of a configuration: holders of API keys, which are given, local users, and
// the callers of issuers, certificates and the proxy with all roles that they may have.
func Callers(c *Config, keys []auth.Principal) (callers []Caller) {
	a := &c.Auth
	add := func(p auth.Principal, tenant From) {
		p.Tenant, p.Roles = cmp.Or(tenant.Text, a.Tenant), a.RolesOr(p.Roles)
		callers = append(callers, Caller{p, tenant.Name != ""})
	}
	for i := range keys {
		add(keys[i], From{Text: keys[i].Tenant})
	}
	for _, u := range a.Socket {
		add(auth.Principal{Subject: "socket:" + u.Subject, Person: u.Person, Roles: u.Roles}, From{Text: u.Tenant})
	}
	for _, m := range a.methods() {
		if m.name != "key" && m.name != "socket" {
			add(auth.Principal{Subject: m.name + ":", Roles: a.rolesFrom(m.roles)}, m.tenant)
		}
	}
	return callers
}

// rolesFrom returns all roles that callers may have by their section.
func (a *Auth) rolesFrom(from RolesFrom) []string {
	if from.Name == "" {
		return a.RolesOr(from.Fixed)
	}
	roles := slices.Clone(a.DefaultRoles) // of callers in no group
	for _, group := range slices.Sorted(maps.Keys(from.Map)) {
		roles = append(roles, from.Map[group]...)
	}
	return roles
}

// InertRoles returns the reasons why roles of callers have no effect: they need a tenant, and the callers
// have none.
func InertRoles(callers []Caller) []string {
	inert := func(c *Caller) []string {
		if c.AnyTenant {
			return nil
		}
		return c.Inert(auth.Review)
	}
	return perRole(callers, inert, func(role string) string {
		return "the role " + role + " has no effect without a tenant: set auth.tenant, or give a tenant to each of these callers"
	})
}

// UnnamedRoles returns a warning for each role that grants nothing, and that no gate, tool or condition of the
// configuration names.
func UnnamedRoles(c *Config, callers []Caller) []string {
	roles, named := namedRoles(c)
	unnamed := func(c *Caller) []string { return slices.DeleteFunc(slices.Clone(c.Roles), named) }
	return perRole(callers, unnamed, func(role string) string {
		return "the role " + visible.Line(role) + " has no effect: it grants nothing, and no gate or tool names it" + suggest.DidYouMean(role, "", roles)
	})
}

// UnmetApprovers returns a warning for each role of approvers that no caller has, and a problem for each gate of
// whose approvers there is none. Both are empty while there are no callers.
func UnmetApprovers(c *Config, callers []Caller) (problems, warnings []string) {
	var held []string
	for i := range callers {
		held = append(held, callers[i].Roles...)
	}
	for _, g := range writtenGates(c) {
		a := g.Terms.Approvers
		if a == nil || len(callers) == 0 {
			continue
		}
		var unheld []string
		roles := slices.Concat(a.Roles, g.Terms.Escalate.AddRoles)
		for _, role := range roles {
			if !slices.Contains(held, role) {
				unheld = append(unheld, "no caller has the role "+quote(role)+suggest.DidYouMean(role, "", held))
			}
		}
		unmet := len(unheld) == len(roles) && !slices.ContainsFunc(callers, func(k Caller) bool { return k.among(a.Subjects) })
		path := g.path + ".approvers"
		at := c.Problem(path, "%s", strings.Join(unheld, ", "))
		at.Key = path
		switch {
		case unmet:
			at.Problem = strings.Join(append(unheld, "no caller may decide calls of this gate: correct the names, or give a caller such a role, for a key with 'a2a-server keys add --rule-role'"), "; ")
			problems = append(problems, at.String())
		case len(unheld) > 0:
			warnings = append(warnings, at.String())
		}
	}
	return problems, warnings
}

// among reports whether a caller, or a caller of the way to authenticate, may be in a list of subjects.
func (k *Caller) among(subjects []string) bool {
	return slices.ContainsFunc(subjects, func(subject string) bool {
		if strings.HasSuffix(k.Subject, ":") {
			return strings.Contains("/"+subject, "/"+k.Subject)
		}
		return subject == k.Subject || k.Tenant != "" && subject == k.Tenant+"/"+k.Subject
	})
}

// namedRoles returns the roles that grant rights or that lists of the configuration name, and a function that reports
// whether a role is one of them, or in a condition.
func namedRoles(c *Config) (roles []string, named func(role string) bool) {
	roles = auth.Roles()
	var conditions strings.Builder
	for _, t := range c.Tools.Entries {
		if t.For != nil {
			roles = append(roles, t.For.Roles...)
		}
	}
	for _, g := range writtenGates(c) {
		if g.Who != nil {
			roles = append(roles, g.Who.Roles...)
		}
		if a := g.Terms.Approvers; a != nil {
			roles = append(roles, a.Roles...)
			conditions.WriteString(a.When)
		}
		if g.Condition != nil {
			conditions.WriteString(g.Condition.String())
		}
		roles = append(roles, g.Terms.Escalate.AddRoles...)
	}
	return roles, func(role string) bool {
		return slices.Contains(roles, role) || strings.Contains(conditions.String(), `"`+role+`"`) || strings.Contains(conditions.String(), "'"+role+"'")
	}
}

// perRole returns a text for each of some roles of callers, with the callers that have it.
func perRole(callers []Caller, some func(*Caller) []string, text func(role string) string) []string {
	holders := map[string][]string{}
	for i := range callers {
		subject := callers[i].Subject
		if strings.HasSuffix(subject, ":") { // all callers of one way to authenticate
			subject += "*"
		}
		for _, role := range some(&callers[i]) {
			holders[role] = append(holders[role], visible.Line(subject))
		}
	}
	return lists.Map(slices.Sorted(maps.Keys(holders)), func(role string) string {
		return text(role) + " (" + strings.Join(slices.Compact(holders[role]), ", ") + ")"
	})
}

// UnknownSubjects returns a warning for each entry of for.callers, approvers.subjects and auth.people
// that no caller can match, or callers of several tenants. key returns the tenant of the API key with a subject, and whether
// there is such a key that is valid.
func UnknownSubjects(c *Config, key func(subject string) (tenant string, ok bool)) (warnings []string) {
	look := func(where string, entries []string) {
		for _, entry := range entries {
			if why := unknownSubject(c, entry, key); why != "" {
				warnings = append(warnings, fmt.Sprintf("%s: %s: %s", where, quote(entry), why))
			}
		}
	}
	for i, t := range c.Tools.Entries {
		if t.For != nil {
			look(fmt.Sprintf("tools[%d].for.callers", i), t.For.Callers)
		}
	}
	for _, g := range writtenGates(c) {
		if a := g.Terms.Approvers; a != nil {
			look(g.path+".approvers.subjects", a.Subjects)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Auth.People)) {
		look("auth.people."+name, c.Auth.People[name])
	}
	return warnings
}

// unknownSubject returns why an entry does not name exactly one caller, or "".
func unknownSubject(c *Config, entry string, key func(subject string) (tenant string, ok bool)) string {
	names := SubjectMethods(&c.Auth)
	first, method := len(entry), ""
	for _, name := range names {
		if at := strings.Index("/"+entry, "/"+name+":"); at >= 0 && at < first {
			first, method = at, name
		}
	}
	tenant, subject := strings.TrimSuffix(entry[:first], "/"), entry[first:]
	switch method {
	case "":
		return "no caller matches, because a subject begins with how its caller is authenticated, here " + strings.Join(names, ": or ") + ":, and may have a tenant and a slash before it"
	case "key":
		has, ok := key(subject)
		if !ok {
			return "no caller matches, because there is no valid API key with this id"
		}
		if tenant != "" && tenant != has {
			return "no caller matches, because the tenant of this API key is " + quote(has)
		}
	case "proxy":
		if tenant == "" && c.Auth.Proxy.Tenant.Name != "" {
			return "the proxy names tenants, and another tenant may have this name, too: write tenant/" + subject
		}
	case "socket":
		if !slices.ContainsFunc(c.Auth.Socket, func(u SocketUser) bool { return "socket:"+u.Subject == subject }) {
			return "no caller matches, because auth.socket has no such subject"
		}
	}
	return ""
}

// SubjectMethods returns the first parts of the subjects that callers may have.
func SubjectMethods(a *Auth) []string {
	names := lists.Map(a.methods(), func(m method) string { return m.name })
	slices.Sort(names)
	return slices.Compact(names)
}
