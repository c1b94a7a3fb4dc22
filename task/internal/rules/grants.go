package rules

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/record"
)

// Limits of the grants that a draft reads.
const (
	maxGrants  = 1000 // in force, with the same scope and key: only if their makers may not decide a call are more needed
	grantsRead = 50   // at a time
	maxEnded   = 20   // that are removed when another is made
)

// Grants are the grants of the owner of a task, in a store. Without Store there are none.
type Grants struct {
	Owner store.Scope
	Store GrantStore
}

// GrantStore is the part of a [store.Handle] that has grants.
type GrantStore interface {
	Incarnation() uint64
	Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error)
}

// Incarnation returns the incarnation of a store as grants have it.
func Incarnation(s GrantStore) string { return fmt.Sprintf("%016x", s.Incarnation()) }

// rows yields the rows of grants that match a query.
func (g Grants) rows(ctx context.Context, q store.RowQuery) iter.Seq2[*store.Row, error] {
	return func(yield func(*store.Row, error) bool) {
		left := maxGrants
		for row, err := range store.AllRows(ctx, g.Store, g.Owner, q) {
			if err != nil {
				err = fmt.Errorf("read grants: %w", err)
			}
			if left--; !yield(row, err) || left == 0 {
				return
			}
		}
	}
}

// usedGrant is a grant that lets calls of the draft start. Once one does, the grant is part of the batch, so
// that the batch fails if the grant has changed or is revoked.
type usedGrant struct {
	approval.Grant
	rev      uint64
	starts   bool             // a call starts by it, or goes on
	by       auth.Principal   // its maker, as they are now
	promised int              // entries that were created by it, and have not started yet
	counts   *store.RowChange // of the calls that start by it, if they count
}

// ReadGrant decodes the row of a grant.
func ReadGrant(row *store.Row) (g approval.Grant, err error) {
	if row.Damaged {
		return g, store.ErrDataLoss
	}
	if err := json.Unmarshal(row.Value, &g); err != nil {
		return g, fmt.Errorf("%w: grant %s: %w", store.ErrDataLoss, row.Key, err)
	}
	return g, nil
}

// grantKey returns the key of the grants that cover a call, "" if none may: the call has not been
// entered, was not planned before a restoration, and its gates allow grants.
func grantKey(b basis, c *fold.Call, x *examined) string {
	if c.Restored || x.entry == nil {
		return ""
	}
	key, err := x.verdict.GrantKey(questionOf(b, x), x.args, b.Restored.IDs())
	if err != nil {
		problem(b, "grants cannot be looked up, so the call is asked about", err)
		return ""
	}
	return key
}

// questionOf returns the question about a call, as far as a grant is bound to it.
func questionOf(b basis, x *examined) *approval.Approval {
	return &approval.Approval{
		Kind: approval.KindCall, State: approval.Pending, Args: x.raw, Terms: x.verdict.Terms,
		Requester: b.Sender(), Agent: b.Agent, Tool: x.entry.Definition.Name, Definition: x.entry.Digest,
	}
}

// barred returns why a grant of a maker, as they are now, does not cover a call: they may not approve it, whose
// arguments may differ from those of the approved call. "": it covers the call.
func barred(b basis, x *examined, maker auth.Principal) string {
	err := questionOf(b, x).Permits(approval.Decider{By: maker, Via: approval.ViaAPI}, b.Now)
	if refused, is := errors.AsType[*approval.Error](err); is {
		return approval.BarredText(refused.Barred)
	}
	return ""
}

// standingGrant returns the grant that lets a call start without asking, or be entered again after the
// suspension of a run that the grant has let start; nil if there is none. A grant covers no attempt
// after the first: its outcome may be unknown. If in doubt, there is none. lapsed says why the first
// that fits does not cover the call, if there is one. A grant that was read is kept with the additions.
func standingGrant(add additions, b basis, c *fold.Call, x *examined) (_ *usedGrant, lapsed string) {
	again := c.Paused && c.Grant != ""
	if b.Grants.Store == nil || c.Attempt > 0 && !again {
		return nil, ""
	}
	key := grantKey(b, c, x)
	if key == "" {
		return nil, ""
	}
	digest, _ := callDigest(b, &x.checked) // without one, no exact grant fits
	keys := []string{key, approval.ExactGrantKey(key, digest)}
	in := Incarnation(b.Grants.Store)
	fits := func(g *approval.Grant) bool {
		if again {
			return g.ID == c.Grant && g.Continues(keys, b.View.IDs().Task, b.View.IDs().Context, in, b.Now)
		}
		return g.Covers(keys, b.View.IDs().Task, b.View.IDs().Context, in, b.Now)
	}
	for _, u := range add.grants {
		g := u.Grant
		if g.Used += u.promised; !fits(&g) {
			continue
		}
		if barred(b, x, u.by) == "" {
			return u, ""
		}
	}
	for _, rows := range grantRows(b, c, keys, again) {
		for row, err := range rows {
			if err != nil {
				problem(b, "grants cannot be read, so the call is asked about", err)
				return nil, lapsed
			}
			g, err := ReadGrant(row)
			if err != nil {
				problem(b, "a grant cannot be read", err)
				continue
			}
			if !b.Now.Before(g.Until) {
				break // the rows that follow have ended, too
			}
			known := slices.ContainsFunc(add.grants, func(u *usedGrant) bool { return u.ID == g.ID })
			if known || !fits(&g) {
				continue
			}
			by, why := maker(b, &g)
			if why == "" {
				why = barred(b, x, by)
			}
			if why == "" {
				u := &usedGrant{Grant: g, rev: row.Rev, by: by}
				add.grants = append(add.grants, u)
				return u, ""
			}
			if lapsed == "" {
				lapsed = fmt.Sprintf("The grant %s by %s does not cover it: %s.", g.ID, visible.Clip(g.By.Subject, 128), why)
			}
		}
	}
	return nil, lapsed
}

// maker returns the maker of a grant, as they are now, or why it covers nothing.
func maker(b basis, g *approval.Grant) (by auth.Principal, why string) {
	by, err := current(b, g.By)
	if err == nil {
		return by, ""
	}
	if gone, is := errors.AsType[*auth.WithdrawnError](err); is {
		return auth.Principal{}, gone.Why
	}
	problem(b, "the maker of a grant cannot be looked up, so the call is asked about", err)
	return auth.Principal{}, "it cannot be found out now what they may do"
}

// current returns the maker of a grant, a voter or a decider as they are now.
func current(b basis, was auth.Principal) (auth.Principal, error) {
	if b.Current == nil {
		return was, nil
	}
	return b.Current(context.WithoutCancel(b.Ctx), was) // the sender may leave while the draft waits for the disk
}

// grantRows returns the rows of the grants with one of some keys for the task, for its context, and
// for all tasks of the owner; or the row of the grant by which a call goes on again.
func grantRows(b basis, c *fold.Call, keys []string, again bool) (all []iter.Seq2[*store.Row, error]) {
	if again {
		return append(all, b.Grants.rows(b.Ctx, store.RowQuery{Kind: record.KindGrant, Key: []byte(c.Grant)}))
	}
	like := approval.Grant{Store: Incarnation(b.Grants.Store), Task: b.View.IDs().Task, Context: b.View.IDs().Context}
	for _, like.Scope = range approval.GrantScopes() {
		for _, like.Key = range keys {
			q := store.RowQuery{Kind: record.KindGrant, Index: record.IndexGrantKey, Prefix: grantPrefix(&like), Limit: grantsRead}
			all = append(all, b.Grants.rows(b.Ctx, q))
		}
	}
	return all
}

// use makes the batch depend on the grant of an entry that starts or goes on. A start is counted.
func (add *additions) use(b basis, u *usedGrant, c *fold.Call) {
	u.promised--
	u.starts = true
	if c.Paused || u.Uses == 0 {
		return
	}
	u.Used++
	row, err := grantRow(b.Grants.Owner, &u.Grant, u.rev)
	u.counts = &row
	add.fail(err)
}

// withGrants adds to the rows of a batch the grants by which its calls start: a counted grant is changed, and
// any other is needed as it is. The batch that ends the task removes its grants for the same task.
func withGrants(b basis, add *additions, rows []store.RowChange) (_ []store.RowChange, needs []store.RowRef) {
	for _, u := range add.grants {
		switch {
		case u.counts != nil:
			rows = append(rows, *u.counts)
		case u.starts:
			needs = append(needs, store.RowRef{Of: b.Grants.Owner, Kind: record.KindGrant, Key: []byte(u.ID), Rev: u.rev})
		}
	}
	if add.phase != store.Final {
		return rows, needs
	}
	for _, a := range b.Approvals {
		if r := a.Resolution; r != nil && r.Grant != nil && r.Grant.Scope == approval.GrantTask {
			rows = append(rows, store.RowChange{Of: b.Header.Owner, Kind: record.KindGrant, Key: []byte(r.Grant.ID), IfRev: store.Any, Delete: true})
		}
	}
	return rows, needs
}

// grantRow returns the change that writes a grant to a row with a rev.
func grantRow(owner store.Scope, g *approval.Grant, rev uint64) (store.RowChange, error) {
	row, err := record.Encode(record.KindGrant, []byte(g.ID), rev, g)
	until := uint64(store.MillisOf(g.Until))
	row.Of, row.Index = owner, []store.IndexKey{
		{Index: record.IndexGrantID, Key: []byte(g.ID)},
		{Index: record.IndexGrants, Key: fmt.Appendf(record.PendingPrefix(owner.TenantName()), "%016x", until)},
	}
	if g.Uses == 0 || g.Used < g.Uses {
		row.Index = append(row.Index, store.IndexKey{Index: record.IndexGrantKey, Key: fmt.Appendf(grantPrefix(g), "%016x", ^until)})
	}
	return row, err
}

// grantPrefix returns the key prefix in [record.IndexGrantKey] of the grants of the same store with the
// same scope and key as g.
func grantPrefix(g *approval.Grant) []byte {
	in := ""
	switch g.Scope {
	case approval.GrantTask:
		in = g.Task
	case approval.GrantContext:
		in = g.Context
	case approval.GrantTime:
	}
	return fmt.Appendf(nil, "%x", sha256.Sum256(fmt.Appendf(nil, "%q", []string{g.Store, string(g.Scope), in, g.Key})))
}

// makeGrant returns the grant that a decision makes, with the rows that write it and remove grants of the owner that
// have ended.
func makeGrant(b basis, a *fold.Approval, ask approval.GrantRequest, by auth.Principal) (*approval.Granted, []store.RowChange, error) {
	if b.Grants.Store == nil {
		return nil, nil, approval.NotAllowed(&a.Approval, "grants cannot be made here; approve it without a grant")
	}
	g, err := a.NewGrant(b.NewID(), ask, b.Owner, by, b.Now)
	if err != nil {
		return nil, nil, err
	}
	g.Store = Incarnation(b.Grants.Store)
	row, err := grantRow(b.Grants.Owner, g, 0)
	if err != nil {
		return nil, nil, err
	}
	rows := []store.RowChange{row}
	first := store.RowQuery{Kind: record.KindGrant, Index: record.IndexGrants, Prefix: record.PendingPrefix(b.Grants.Owner.TenantName()), Limit: maxEnded}
	old, err := b.Grants.Store.Rows(b.Ctx, b.Grants.Owner, first)
	if err != nil {
		return nil, nil, fmt.Errorf("read the grants of the owner: %w", err)
	}
	for i := range old.Rows {
		if g, err := ReadGrant(&old.Rows[i]); err == nil && !b.Now.Before(g.Until) {
			rows = append(rows, store.RowChange{Of: b.Grants.Owner, Kind: record.KindGrant, Key: old.Rows[i].Key, IfRev: store.Any, Delete: true})
		}
	}
	return &approval.Granted{ID: g.ID, GrantRequest: ask}, rows, nil
}

// Revocation returns the batch that revokes a grant of an owner: once it is committed, no call
// starts by the grant. It fails with [store.ErrConflict] if the grant is not there.
func Revocation(owner store.Scope, g *approval.Grant, rev uint64, entry approval.Audit) (*store.Batch, error) {
	data, err := encodeAudit(&entry)
	return &store.Batch{
		Scope: owner, Audit: [][]byte{data},
		Rows: []store.RowChange{{Kind: record.KindGrant, Key: []byte(g.ID), IfRev: rev, Delete: true}},
	}, err
}
