package api

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/task/engine"
)

// Grants lists the grants that are in force, as far as the caller may review them.
func (s *Service) Grants(ctx context.Context, c Caller, q client.GrantQuery) (client.GrantPage, error) {
	page := client.GrantPage{Items: []client.Grant{}}
	if err := bound(&q.Limit); err != nil {
		return page, err
	}
	list, err := s.approvals(c).Grants(ctx, c.By, q.Limit, q.Cursor)
	if err != nil {
		return page, err
	}
	for i := range list.Grants {
		g := &list.Grants[i]
		page.Items = append(page.Items, client.Grant{
			ID: g.ID, Words: g.String(), Scope: string(g.Scope), Task: g.Task, Context: g.Context, Agent: g.Agent, Tool: g.Tool, Gate: strings.TrimPrefix(g.Gate, "gate:"),
			Approval: g.Approval, Owner: PrincipalOf(g.Owner), By: PrincipalOf(g.By), Made: g.Made, Until: g.Until, Uses: g.Uses, Used: g.Used,
		})
	}
	page.Next, page.Damaged = list.Next, list.Damaged
	page.Reach = c.reach(auth.Review, "grants for")
	return page, nil
}

// RevokeGrant revokes a grant. When it returns nil, no call starts by the grant any more.
func (s *Service) RevokeGrant(ctx context.Context, c Caller, id, reason string) error {
	err := s.approvals(c).Revoke(ctx, c.By, id, reason)
	if errors.Is(err, engine.ErrNoGrant) {
		return problem(http.StatusNotFound, client.ReasonNotFound, engine.ErrNoGrant.Error()+": list the grants that you may see")
	}
	return err
}

// grantTermsOf returns what an approve of a may grant, nil if that is nothing.
func grantTermsOf(a *approval.Approval) *client.GrantTerms {
	if !a.Grantable() {
		return nil
	}
	t := a.Terms.Grants
	out := &client.GrantTerms{Scopes: []string{}, Seconds: int64(t.Longest() / time.Second), Uses: t.Uses, Vary: t.Vary}
	for _, scope := range t.Scopes {
		out.Scopes = append(out.Scopes, string(scope))
	}
	return out
}

// grantRequestOf returns a request of the API for a grant, nil for nil. Times that are too long stay
// too long.
func grantRequestOf(g *client.GrantRequest) *approval.GrantRequest {
	if g == nil {
		return nil
	}
	seconds := min(max(g.Seconds, -1), math.MaxInt64/int64(time.Second))
	return &approval.GrantRequest{Scope: approval.GrantScope(g.Scope), For: time.Duration(seconds) * time.Second, Uses: g.Uses, Exact: g.Exact}
}
