// Package reach tells which stored tasks the callers of a configuration may see, and counts the others: a
// change of tenant, or of how callers authenticate, leaves earlier tasks behind. It does not know the store.
package reach

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"a2a-server/auth"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/visible"
	"a2a-server/store"
)

// Unreached counts the tasks that no caller may see, and their pending approvals. Make one with [New].
type Unreached struct {
	anonymous bool                 // callers are, so that they see each other's tasks
	owners    map[store.Scope]bool // callers, who see their own tasks
	tenants   map[string]bool      // of which some caller sees all tasks
	methods   []config.Caller      // callers that are not known one by one
	counts    map[string]*count    // by the end of a text
}

type count struct{ tasks, pending int }

// New returns an Unreached without tasks. anonymous says that callers do not authenticate.
func New(callers []config.Caller, anonymous bool) *Unreached {
	u := &Unreached{anonymous: anonymous, owners: map[store.Scope]bool{}, tenants: map[string]bool{}, counts: map[string]*count{}}
	for _, c := range callers {
		if c.AnyTenant || strings.HasSuffix(c.Subject, ":") {
			u.methods = append(u.methods, c)
			continue
		}
		u.owners[store.Owner(c.Tenant, c.Subject)] = true
		if overseer(c.Roles) {
			u.tenants[c.Tenant] = true
		}
	}
	return u
}

// overseer reports whether roles show the tasks or approvals of others in a tenant.
func overseer(roles []string) bool {
	return (auth.Principal{Tenant: "any", Subject: "any", Roles: roles}).Whole(auth.Review)
}

// Add counts a task unless a caller may see it.
func (u *Unreached) Add(h *store.Header) {
	if h.Damaged && h.Owner.IsZero() || u.reaches(h.Owner) {
		return
	}
	tenant := "the tenant " + visible.Quote(h.Owner.TenantName(), 60)
	text := "of " + tenant + ", in which no caller may see them: add a caller with " + tenant + " and the role viewer, or give the creators of the tasks " + tenant + " again"
	switch {
	case h.Owner == store.Owner("", auth.Anonymous().Subject):
		text = "created without authentication: an admin lists them with --anonymous"
	case h.Owner.TenantName() == "":
		text = "without a tenant: their callers have a tenant by now, or are not let in any more; only the same callers without a tenant see them"
	}
	c := u.counts[text]
	if c == nil {
		c = &count{}
		u.counts[text] = c
	}
	c.tasks++
	c.pending += int(h.Pending)
}

func (u *Unreached) reaches(owner store.Scope) bool {
	tenant := owner.TenantName()
	if owner == store.Owner("", auth.Anonymous().Subject) {
		return u.anonymous
	}
	return u.owners[owner] || tenant != "" && u.tenants[tenant] || slices.ContainsFunc(u.methods, func(c config.Caller) bool {
		if tenant != c.Tenant && !c.AnyTenant || tenant == "" && c.AnyTenant {
			return false
		}
		return strings.HasPrefix(owner.Subject(), c.Subject) || tenant != "" && overseer(c.Roles)
	})
}

// maxTexts bounds the result of [Unreached.Warnings]: tasks may be of any number of tenants.
const maxTexts = 20

// Warnings returns a text for each tenant with tasks that no caller may see.
func (u *Unreached) Warnings() (texts []string) {
	for _, text := range slices.Sorted(maps.Keys(u.counts)) {
		if len(texts) == maxTexts {
			return append(texts, fmt.Sprintf("tasks out of reach: those of %d more tenants", len(u.counts)-maxTexts))
		}
		c := u.counts[text]
		texts = append(texts, fmt.Sprintf("tasks out of reach: %d (pending approvals: %d) %s", c.tasks, c.pending, text))
	}
	return texts
}
