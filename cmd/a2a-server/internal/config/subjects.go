package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"a2a-server/internal/lists"
)

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
