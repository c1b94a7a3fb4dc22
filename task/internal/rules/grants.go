package rules

import (
	"encoding/json"
	"fmt"
	"slices"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
)

// Grants reads the grants of the owner of a task from the store, for a single draft. It is not safe
// for concurrent use.
type Grants struct {
	Owner store.Scope
	Store string // incarnation of the store
	// With returns the rows of the grants with a key.
	With func(key string) ([]store.Row, error)
	// Ending returns the rows of some grants, those that end first.
	Ending func() ([]store.Row, error)

	used []*usedGrant // by the draft
}

// usedGrant is a grant that lets calls of the draft start. It is part of the batch, so that the
// batch fails if the grant has changed or is revoked.
type usedGrant struct {
	approval.Grant
	rev      uint64
	promised int              // entries that were created by it, and have not started yet
	needed   bool             // a call has started, or goes on, by it
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
func (d *asking) grantKey(c *fold.Call, x *examined) string {
	if c.Restored || x.entry == nil {
		return ""
	}
	key, err := approval.GrantKey(&approval.GrantedCall{
		Requester: d.f.Sender(), Agent: d.rules.Agent, Tool: x.entry.Definition.Name, Definition: x.entry.Digest,
		Verdict: &x.verdict, Args: x.args, Restored: d.f.Restored.IDs(),
	})
	if err != nil {
		d.rules.report(Problem{Task: d.f.View.IDs().Task, What: "grants cannot be looked up, so the call is asked about", Err: err})
		return ""
	}
	return key
}

// standing returns the grant that lets a call start without asking, or be entered again after the
// suspension of a run that the grant has let start; nil if there is none. A grant covers no attempt
// after the first: its outcome may be unknown. If in doubt, there is none.
func (d *asking) standing(c *fold.Call, x *examined) *usedGrant {
	again := c.Paused && c.Grant != ""
	if d.at.Grants == nil || c.Attempt > 0 && !again {
		return nil
	}
	key := d.grantKey(c, x)
	if key == "" {
		return nil
	}
	fits := func(g *approval.Grant) bool {
		if again {
			return g.ID == c.Grant && g.Continues(key, d.f.View.IDs().Task, d.f.View.IDs().Context, d.at.Grants.Store, d.at.Now)
		}
		return g.Covers(key, d.f.View.IDs().Task, d.f.View.IDs().Context, d.at.Grants.Store, d.at.Now)
	}
	for _, u := range d.at.Grants.used {
		if g := u.Grant; u.Key == key {
			if g.Used += u.promised; fits(&g) {
				return u
			}
		}
	}
	rows, err := d.at.Grants.With(key)
	if err != nil {
		d.rules.report(Problem{Task: d.f.View.IDs().Task, What: "grants cannot be read, so the call is asked about", Err: err})
		return nil
	}
	for i := range rows {
		g, err := ReadGrant(&rows[i])
		if err != nil {
			d.rules.report(Problem{Task: d.f.View.IDs().Task, What: "a grant cannot be read", Err: err})
			continue
		}
		known := slices.ContainsFunc(d.at.Grants.used, func(u *usedGrant) bool { return u.ID == g.ID })
		if !known && fits(&g) {
			u := &usedGrant{Grant: g, rev: rows[i].Rev}
			d.at.Grants.used = append(d.at.Grants.used, u)
			return u
		}
	}
	return nil
}

// use makes the batch of the draft depend on the grant of an entry that starts or goes on. A start is
// counted.
func (d *asking) use(u *usedGrant, c *fold.Call) error {
	u.promised--
	u.needed = true
	if c.Paused || u.Uses == 0 {
		return nil
	}
	u.Used++
	row, err := grantRow(d.at.Grants.Owner, &u.Grant, u.rev)
	u.counts = &row
	return err
}

// withGrants adds to a batch the grants by which its calls start: a counted grant is changed, and
// any other is needed as it is.
func (d *batch) withGrants(b *store.Batch) {
	if d.at.Grants == nil {
		return
	}
	for _, u := range d.at.Grants.used {
		switch {
		case u.counts != nil:
			b.Rows = append(slices.Clip(b.Rows), *u.counts)
		case u.needed:
			b.Needs = append(b.Needs, store.RowRef{Of: d.at.Grants.Owner, Kind: task.RowGrant, Key: []byte(u.ID), Rev: u.rev})
		}
	}
}

// grantRow returns the change that writes a grant to a row with a rev.
func grantRow(owner store.Scope, g *approval.Grant, rev uint64) (store.RowChange, error) {
	value, err := json.Marshal(g)
	if err != nil {
		return store.RowChange{}, fmt.Errorf("encode grant %s: %w", g.ID, err)
	}
	return store.RowChange{Of: owner, Kind: task.RowGrant, Key: []byte(g.ID), IfRev: rev, Value: value, Index: []store.IndexKey{
		{Index: task.IndexGrantKey, Key: []byte(g.Key)},
		{Index: task.IndexGrantID, Key: []byte(g.ID)},
		{Index: task.IndexGrants, Key: fmt.Appendf(task.PendingPrefix(owner.TenantName()), "%016x", uint64(store.MillisOf(g.Until)))},
	}}, nil
}

// grant writes the grant that a decision makes, and removes grants of the owner that have ended.
func (d *asking) grant(a *fold.Approval, ask approval.GrantRequest, by auth.Principal) (*approval.Granted, error) {
	if d.at.Grants == nil {
		return nil, approval.NotAllowed(&a.Approval, "grants cannot be made here; approve it without a grant")
	}
	g, err := a.NewGrant(d.rules.NewID(), ask, d.f.Owner, by, d.at.Now)
	if err != nil {
		return nil, err
	}
	g.Store = d.at.Grants.Store
	row, err := grantRow(d.at.Grants.Owner, g, 0)
	if err != nil {
		return nil, err
	}
	d.rows = append(d.rows, row)
	old, err := d.at.Grants.Ending()
	if err != nil {
		return nil, fmt.Errorf("read the grants of the owner: %w", err)
	}
	for i := range old {
		if g, err := ReadGrant(&old[i]); err == nil && !d.at.Now.Before(g.Until) {
			d.rows = append(d.rows, store.RowChange{Of: d.at.Grants.Owner, Kind: task.RowGrant, Key: old[i].Key, IfRev: store.Any, Delete: true})
		}
	}
	return &approval.Granted{ID: g.ID, GrantRequest: ask}, nil
}

// rejectedBefore returns the rejection of the same call earlier in the task, nil if there is none. It
// decides before any grant: it is about this very call.
func (d *asking) rejectedBefore(c *fold.Call, x *examined) *fold.Approval {
	if c.Attempt > 0 || c.Restored {
		return nil
	}
	digest := ""
	return d.f.Newest(func(a *fold.Approval) bool {
		if a.Kind != approval.KindCall || a.Ask != "" || a.State != approval.Rejected || a.Void || a.Tool != c.Tool || a.Call == c.ID {
			return false
		}
		if digest == "" {
			var err error
			if digest, err = d.digest(approval.KindCall, x.entry, x.args, 0); err != nil {
				return false
			}
		}
		return a.Digest == digest
	})
}

// rejectedAgain ends a call that was rejected before, when the agent asks for it again.
func (d *entering) rejectedAgain(c *fold.Call, before *fold.Approval) error {
	text := fmt.Sprintf("the same call was rejected before in this task (%s)", before.ID)
	if why := before.Resolution.Reason; why != "" {
		text += ": " + why
	}
	d.artifact(&event.ArtifactUpdate{ID: c.ID, Name: c.Tool, Parts: event.TextPart(visible.Text(text)), Last: true})
	return d.notRun(c, task.OutcomeRejected, text)
}

// Revocation returns the batch that revokes a grant of an owner: once it is committed, no call
// starts by the grant. It fails with [store.ErrConflict] if the grant is not there.
func Revocation(owner store.Scope, g *approval.Grant, rev uint64, entry approval.Audit) (*store.Batch, error) {
	data, err := event.AppendAudit(nil, &entry)
	if err != nil {
		return nil, fmt.Errorf("encode audit entry: %w", err)
	}
	return &store.Batch{
		Scope: owner, Audit: [][]byte{data},
		Rows: []store.RowChange{{Kind: task.RowGrant, Key: []byte(g.ID), IfRev: rev, Delete: true}},
	}, nil
}
