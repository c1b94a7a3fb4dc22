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

// review brings pending approvals up to date with rules that came into force by a reload, or else by a start,
// until other rules are in force. It asks again about calls whose tool has another definition, as a decision
// now would, and if the gates that deny are not those of the newest sweep, it ends approvals of calls that
// they deny. A tool that cannot be looked up stays as it is.
func (e *Engine) review(current *rules.Rules, reloaded bool) {
	began := e.env.Now()
	s := e.beginSweep(current)
	if !reloaded && s == nil {
		return
	}
	all := e.reader.EachPending("what it asks may be out of date until it is decided", func(id store.TaskID, a *approval.Approval) bool {
		if !a.Asked.After(began) && e.inForce(current) {
			e.reviewApproval(current, id, a, rules.Refresh{Denied: s != nil})
		}
		return e.inForce(current)
	})
	if s == nil || !all || !e.inForce(current) {
		return
	}
	if s.Done = e.env.Now(); e.writeSweep(s, false /* begins */) == nil { // else the next start sweeps again
		e.env.Log.Info().Uint64("sweep", s.N).Msg("pending approvals were checked against the gates that deny")
	}
}

// reviewApproval brings an approval, and the others of its task, up to date. While the store is not available,
// it tries again.
func (e *Engine) reviewApproval(current *rules.Rules, id store.TaskID, a *approval.Approval, how rules.Refresh) {
	for tries := 1; ; tries++ {
		err := e.turns.Changed(e.env.Ctx, store.System(), id, how)
		switch again := errors.Is(err, store.ErrUnavailable) || errors.Is(err, ErrBusy); {
		case err == nil || e.env.Ctx.Err() != nil:
			return
		case again && how.Denied && e.env.Pause(env.RetryPause(tries)) && e.inForce(current):
			continue
		}
		e.env.Log.Warn().Err(err).Str("task_id", a.Task).Str("approval_id", a.ID).Msg("an approval is not up to date with the tools and the policy until it is decided")
		return
	}
}

// inForce reports whether rules are those of the engine, which has not ended.
func (e *Engine) inForce(current *rules.Rules) bool {
	return e.env.Ctx.Err() == nil && e.env.Rules() == current
}

// sweep is a [record.Sweep] with the rev of its row; 0: it is not written.
type sweep struct {
	record.Sweep
	rev uint64
}

// beginSweep returns the sweep that rules need, written; nil: they need none, or are not in force any more.
func (e *Engine) beginSweep(current *rules.Rules) *sweep {
	denials, written := current.Policy.Denials(), false
	for tries := 1; e.inForce(current); tries++ {
		s, err := e.newestSweep()
		if err == nil {
			switch same := s.Denials == denials && (denials != "" || written); {
			case same && !s.Done.IsZero(), s.rev == 0 && denials == approval.NoDenials:
				return nil
			case same: // written now, or interrupted by a crash or a reload
				return s
			}
			s.Sweep = record.Sweep{V: record.Version, N: s.N + 1, Denials: denials, Begun: e.env.Now()}
			if denials == approval.NoDenials { // there is nothing to end
				s.Done = s.Begun
			}
			err = e.writeSweep(s, true /* begins */)
		}
		switch written = err == nil; {
		case written, errors.Is(err, store.ErrConflict):
		case !errors.Is(err, store.ErrUnavailable) || !e.env.Pause(env.RetryPause(tries)):
			if e.env.Ctx.Err() == nil {
				e.env.Log.Error().Err(err).Msg("pending approvals are not checked against the gates that deny: a denied call is stopped when it would run")
			}
			return nil
		}
	}
	return nil
}

// newestSweep returns the newest sweep of the store. A damaged one is of other gates.
func (e *Engine) newestSweep() (*sweep, error) {
	page, err := e.env.Store.Rows(e.env.Ctx, record.RestorationOwner(), store.RowQuery{Kind: record.KindSweep})
	if err != nil || len(page.Rows) == 0 {
		return &sweep{}, err
	}
	s := &sweep{rev: page.Rows[0].Rev}
	if s.Sweep, err = record.ParseSweep(&page.Rows[0]); err != nil {
		e.env.Log.Warn().Err(err).Msg("the newest sweep of pending approvals cannot be read: they are checked again")
		s.Sweep = record.Sweep{}
	}
	return s, nil
}

// writeSweep writes a sweep that begins, with an entry of the audit, or has ended, unless another was written
// since it was read.
func (e *Engine) writeSweep(s *sweep, begins bool) error {
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
	if _, err = e.env.Append(e.env.Ctx, b, "", func(store.Receipt, error) {}); err == nil {
		e.audited()
	}
	return err
}
