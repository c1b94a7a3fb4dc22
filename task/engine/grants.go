package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
)

// ErrNoGrant means that there is no grant with an id, or none that the caller may see.
var ErrNoGrant = errors.New("there is no such grant: it has ended, or was revoked")

// GrantPage is a page of grants.
type GrantPage struct {
	Grants  []approval.Grant
	Next    string // "": last page
	Damaged int    // grants of the page that cannot be read
}

// Grants lists the grants that are in force, those that end first before others: of by's own tasks, or
// of all tasks of the tenant if by may review them. A principal that may review nothing gets an
// *[auth.DeniedError].
func (a *Approvals) Grants(ctx context.Context, by auth.Principal, limit int, cursor string) (GrantPage, error) {
	if err := a.may(by, auth.Review); err != nil {
		return GrantPage{}, err
	}
	rows, err := a.core.env.Store.Rows(ctx, a.scope(by, auth.Review), store.RowQuery{
		Kind: record.KindGrant, Index: record.IndexGrants, Prefix: record.PendingPrefix(a.tenant(by)), Limit: limit, Cursor: cursor,
	})
	if err != nil {
		return GrantPage{}, listError(err, "cursor")
	}
	page := GrantPage{Next: rows.Next}
	for i := range rows.Rows {
		g, err := rules.ReadGrant(&rows.Rows[i])
		switch {
		case err != nil:
			a.core.env.Log.Error().Err(err).Msg("a grant cannot be read")
			page.Damaged++
		case g.Store == rules.Incarnation(a.core.env.Store) && a.core.env.Now().Before(g.Until):
			page.Grants = append(page.Grants, g)
		}
	}
	return page, nil
}

// RemoveEnded removes the grants of all owners that have ended.
func (a *Approvals) RemoveEnded(ctx context.Context) error {
	q := store.RowQuery{Kind: record.KindGrant, Index: record.IndexGrants}
	for row, err := range store.AllRows(ctx, a.core.env.Store, store.System(), q) {
		if err != nil {
			return fmt.Errorf("read grants: %w", err)
		}
		g, err := rules.ReadGrant(row)
		if err != nil || a.core.env.Now().Before(g.Until) {
			continue
		}
		_, err = a.core.env.Store.Append(ctx, &store.Batch{Scope: ownerOf(g.Owner), Rows: []store.RowChange{{Kind: record.KindGrant, Key: row.Key, IfRev: row.Rev, Delete: true}}}).Wait()
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("remove grant %s: %w", row.Key, err)
		}
	}
	return nil
}

// tenant returns the tenant whose approvals by sees.
func (a *Approvals) tenant(by auth.Principal) string {
	if a.anonymous {
		return auth.Anonymous().Tenant
	}
	return by.Tenant
}

// maxRevokes is how often in a row a revocation may meet a use of its grant.
const maxRevokes = 1000

// Revoke revokes a grant: when it returns nil, no call starts by the grant any more. The owner of
// the grant may, who made it, and approvers of the tenant. It returns [ErrNoGrant] for a foreign or
// missing grant, and an *[auth.DeniedError] for a principal that may decide nothing.
func (a *Approvals) Revoke(ctx context.Context, by auth.Principal, id, reason string) error {
	if err := a.may(by, auth.Decide); err != nil {
		return err
	}
	if len(reason) > approval.MaxReason {
		return task.Invalid("reason", "has %d bytes; at most %d are allowed", len(reason), approval.MaxReason)
	}
	for range maxRevokes {
		g, owner, rev, err := a.findGrant(ctx, by, id)
		if err != nil {
			return err
		}
		now := by
		if a.renew != nil {
			if now, err = a.renew(ctx); err != nil {
				return err
			}
		}
		if !a.mayRevoke(now, g) {
			return ErrNoGrant
		}
		entry := approval.Audit{
			V: approval.Version, At: a.core.env.Now(), What: approval.AuditGrantRevoked, Tenant: g.Owner.Tenant, Owner: g.Owner.Subject,
			Tool: g.Tool, Gate: g.Gate, Approval: g.Approval, Grant: g.ID, By: now, Via: approval.ViaAPI, Reason: reason,
		}
		b, err := rules.Revocation(owner, g, rev, entry)
		if err != nil {
			return err
		}
		_, err = a.core.env.Append(ctx, b, "", func(_ store.Receipt, err error) {
			if err == nil {
				a.core.observers.audited([]rules.Audited{{Audit: entry}})
				a.core.audited()
			}
		})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("revoke grant %s: %w: it is used too often at the same time; try again", id, ErrBusy)
}

// mayRevoke reports whether by may revoke a grant.
func (a *Approvals) mayRevoke(by auth.Principal, g *approval.Grant) bool {
	if a.may(by, auth.Decide) != nil || by.Validate() != nil {
		return false
	}
	if a.anonymous {
		return g.Owner.IsAnonymous()
	}
	own := by.Subject == g.Owner.Subject || by.Subject == g.By.Subject
	return by.Tenant == g.Owner.Tenant && (own && by.Tenant == g.By.Tenant || by.Whole(auth.Decide))
}

// findGrant returns a grant that by may revoke, its owner and the rev of its row.
func (a *Approvals) findGrant(ctx context.Context, by auth.Principal, id string) (*approval.Grant, store.Scope, uint64, error) {
	tenant := store.Tenant(a.tenant(by))
	rows, err := a.core.env.Store.Rows(ctx, tenant, store.RowQuery{Kind: record.KindGrant, Index: record.IndexGrantID, Prefix: []byte(id), Limit: 10})
	if err != nil {
		return nil, store.Scope{}, 0, err
	}
	i := slices.IndexFunc(rows.Rows, func(r store.Row) bool { return string(r.Key) == id })
	if i < 0 || strings.TrimSpace(id) == "" {
		return nil, store.Scope{}, 0, ErrNoGrant
	}
	g, err := rules.ReadGrant(&rows.Rows[i])
	if err != nil {
		return nil, store.Scope{}, 0, err
	}
	if !a.mayRevoke(by, &g) {
		return nil, store.Scope{}, 0, ErrNoGrant
	}
	return &g, ownerOf(g.Owner), rows.Rows[i].Rev, nil
}
