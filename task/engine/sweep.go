package engine

import (
	"errors"
	"fmt"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
)

// pending reads the pending approvals of all tasks: see [tasklog.Reader.EachPending].
type pending interface {
	EachPending(otherwise string, yield func(store.TaskID, *approval.Approval) bool) (all bool)
}

// reviewer brings pending approvals up to date with rules.
type reviewer struct {
	env     *env.Env
	pending pending
	logs    logs
	audited func() // tells the watchers of the audit
}

// review brings pending approvals up to date with rules that came into force by a reload, or else by a start,
// until other rules are in force. It asks again about calls whose tool has another definition, as a decision
// now would, and if the gates that deny are not those of the newest sweep, it ends approvals of calls that
// they deny. A tool that cannot be looked up stays as it is.
func (r *reviewer) review(current *rules.Rules, reloaded bool) {
	began := r.env.Now()
	s := r.beginSweep(current)
	if !reloaded && s == nil {
		return
	}
	all := r.pending.EachPending("what it asks may be out of date until it is decided", func(id store.TaskID, a *approval.Approval) bool {
		if !a.Asked.After(began) && r.inForce(current) {
			r.reviewApproval(current, id, a, rules.Refresh{Denied: s != nil})
		}
		return r.inForce(current)
	})
	if s == nil || !all || !r.inForce(current) {
		return
	}
	if s.Done = r.env.Now(); r.writeSweep(s, false /* begins */) == nil { // else the next start sweeps again
		r.env.Log.Info().Uint64("sweep", s.N).Msg("pending approvals were checked against the gates that deny")
	}
}

// reviewApproval brings an approval, and the others of its task, up to date. While the store is not available,
// it tries again.
func (r *reviewer) reviewApproval(current *rules.Rules, id store.TaskID, a *approval.Approval, how rules.Refresh) {
	for tries := 1; ; tries++ {
		err := r.logs.Changed(r.env.Ctx, store.System(), id, how)
		switch again := errors.Is(err, store.ErrUnavailable) || errors.Is(err, ErrBusy); {
		case err == nil || r.env.Ctx.Err() != nil:
			return
		case again && how.Denied && r.env.Pause(env.RetryPause(tries)) && r.inForce(current):
			continue
		}
		r.env.Log.Warn().Err(err).Str("task_id", a.Task).Str("approval_id", a.ID).Msg("an approval is not up to date with the tools and the policy until it is decided")
		return
	}
}

// inForce reports whether rules are those of the engine, which has not ended.
func (r *reviewer) inForce(current *rules.Rules) bool {
	return r.env.Ctx.Err() == nil && r.env.Rules() == current
}

// sweep is a [record.Sweep] with the rev of its row; 0: it is not written.
type sweep struct {
	record.Sweep
	rev uint64
}

// beginSweep returns the sweep that rules need, written; nil: they need none, or are not in force any more.
func (r *reviewer) beginSweep(current *rules.Rules) *sweep {
	denials, written := current.Policy.Denials(), false
	for tries := 1; r.inForce(current); tries++ {
		s, err := r.newestSweep()
		if err == nil {
			switch same := s.Denials == denials && (denials != "" || written); {
			case same && !s.Done.IsZero(), s.rev == 0 && denials == approval.NoDenials:
				return nil
			case same: // written now, or interrupted by a crash or a reload
				return s
			}
			s.Sweep = record.Sweep{V: record.Version, N: s.N + 1, Denials: denials, Begun: r.env.Now()}
			if denials == approval.NoDenials { // there is nothing to end
				s.Done = s.Begun
			}
			err = r.writeSweep(s, true /* begins */)
		}
		switch written = err == nil; {
		case written, errors.Is(err, store.ErrConflict):
		case !errors.Is(err, store.ErrUnavailable) || !r.env.Pause(env.RetryPause(tries)):
			if r.env.Ctx.Err() == nil {
				r.env.Log.Error().Err(err).Msg("pending approvals are not checked against the gates that deny: a denied call is stopped when it would run")
			}
			return nil
		}
	}
	return nil
}

// newestSweep returns the newest sweep of the store. A damaged one is of other gates.
func (r *reviewer) newestSweep() (*sweep, error) {
	page, err := r.env.Store.Rows(r.env.Ctx, record.RestorationOwner(), store.RowQuery{Kind: record.KindSweep})
	if err != nil || len(page.Rows) == 0 {
		return &sweep{}, err
	}
	s := &sweep{rev: page.Rows[0].Rev}
	if s.Sweep, err = record.ParseSweep(&page.Rows[0]); err != nil {
		r.env.Log.Warn().Err(err).Msg("the newest sweep of pending approvals cannot be read: they are checked again")
		s.Sweep = record.Sweep{}
	}
	return s, nil
}

// writeSweep writes a sweep that begins, with an entry of the audit, or has ended, unless another was written
// since it was read.
func (r *reviewer) writeSweep(s *sweep, begins bool) error {
	row, err := s.Row(s.rev)
	if err != nil {
		return err
	}
	b := &store.Batch{Scope: record.RestorationOwner(), Rows: []store.RowChange{row}}
	if begins {
		entry, err := rules.OfStore(approval.AuditSweep, auth.Principal{}, fmt.Sprintf("sweep %d: the gates that deny have changed", s.N), s.Begun)
		if err != nil {
			return err
		}
		b.Audit = [][]byte{entry}
	}
	if _, err = r.env.Append(r.env.Ctx, b, "", func(store.Receipt, error) {}); err == nil {
		r.audited()
	}
	return err
}
