package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"a2a-server/store"
	"a2a-server/task/engine/internal/call"
	"a2a-server/task/engine/internal/due"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
)

// dueWaits reports whether due work stays undone for now: that of tasks that were not brought up to
// date after a restoration, and all that continues calls and plans while a restored store waits for
// its operator. Retries go on then: they ask about calls whose tools were out of reach, and start
// only calls that were approved since.
func (e *Engine) dueWaits(row *store.Due) bool {
	if _, unsettled := e.reader.Unsettled.Load(row.Task); unsettled || row.Kind == record.DueLook || row.Kind == record.DueChildCancel {
		return true
	}
	return row.Kind == record.DueWake && !rules.Retries(row) && !e.env.Held().IsZero()
}

// waitsExcept returns dueWaits for the cancels of work that calls have running elsewhere, or for the looks at
// suspended calls.
func (e *Engine) waitsExcept(kind string) func(row *store.Due) bool {
	return func(row *store.Due) bool {
		_, unsettled := e.reader.Unsettled.Load(row.Task)
		return unsettled || row.Kind != kind || !e.env.Held().IsZero()
	}
}

// dueWorkers is for how many rows work is done at once, and cancels; looks have [call.Looks].
const dueWorkers = 16

// look has the tool of a suspended call look at the call, and does what follows. The row stays, and
// the look is repeated, until the call is entered or ends.
func (e *Engine) look(row store.Due) (err error) {
	if row.Damaged {
		return fmt.Errorf("%w: due work", store.ErrDataLoss)
	}
	f, err := e.reader.LoadTurn(e.env.Ctx, store.System(), row.Task)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	in := rules.Look{Row: row}
	if c := rules.Looks(f, &row); c != nil {
		looked := !e.env.Now().Before(*c.Wake)
		if in.N = c.Suspended; looked && !c.Looked {
			in.Waits, in.Same, looked = e.turns.Calls.Look(c, f)
		}
		if !looked {
			return rules.ErrNotYet
		}
	}
	err = e.turns.Changed(e.env.Ctx, store.System(), row.Task, in)
	if errors.Is(err, rules.ErrNotYet) {
		e.turns.Notify(row.Task)
	}
	if err == nil && (in.Same || len(in.Waits) > 0) {
		return due.ErrAgain
	}
	return err
}

// handleDue does the work of a due row. The row is removed in the same batch.
func (e *Engine) handleDue(row store.Due) (err error) {
	e.env.At(env.PointDue)
	if row.Damaged {
		return fmt.Errorf("%w: due work", store.ErrDataLoss)
	}
	switch row.Kind {
	case store.DueDelete:
		err = e.env.Store.Delete(e.env.Ctx, store.System(), row.Task, nil /* audit: its first step is done */)
	case record.DueExpiry:
		err = e.turns.Changed(e.env.Ctx, store.System(), row.Task, rules.Expiry{Row: row})
	case record.DueEscalate, record.DueRemind:
		err = e.turns.Changed(e.env.Ctx, store.System(), row.Task, rules.Waiting{Row: row})
	case record.DueProviderTimeout:
		err = e.turns.Changed(e.env.Ctx, store.System(), row.Task, rules.ProviderTimeout{Row: row})
	case record.DueWake:
		err = e.turns.Changed(e.env.Ctx, store.System(), row.Task, rules.Wake{Row: row})
		if errors.Is(err, rules.ErrNotYet) {
			e.turns.Notify(row.Task)
		}
	case record.DueChildCancel:
		err = e.childCancel(row)
	default:
		err = fmt.Errorf("due work of kind %q is not known to this program: use the newer one that wrote it", row.Kind)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// childCancel does due work of kind [record.DueChildCancel].
func (e *Engine) childCancel(row store.Due) error {
	f, err := e.reader.LoadTurn(e.env.Ctx, store.System(), row.Task)
	if err != nil {
		return err
	}
	var p rules.ChildCancel
	if err := json.Unmarshal(row.Payload, &p); err != nil {
		return fmt.Errorf("decode child cancel: %w", err)
	}
	if p.Kept {
		var kept bool
		if p.State, kept = f.Kept(p.Call); !kept {
			return e.turns.Changed(e.env.Ctx, store.System(), row.Task, rules.ChildCancelResult{Row: row, Nothing: true})
		}
	}
	failed := e.turns.Calls.CancelJob(&p, f)
	_, unreachable := errors.AsType[*call.UnreachableError](failed)
	return e.turns.Changed(e.env.Ctx, store.System(), row.Task, rules.ChildCancelResult{Row: row, Failed: failed, Unreachable: unreachable})
}
