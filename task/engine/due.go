package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"a2a-server/store"
	"a2a-server/task/engine/internal/call"
	"a2a-server/task/engine/internal/due"
	"a2a-server/task/engine/internal/env"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
)

// dueWorkers is for how many rows work is done at once, and cancels; looks have [call.Looks].
const dueWorkers = 16

// logs puts inputs into the logs of tasks, in their own right.
type logs interface {
	Changed(ctx context.Context, s store.Scope, id store.TaskID, in rules.Input) error
	Notify(id store.TaskID) // its turn, if it runs here
}

// tools are the tools of suspended and of canceled calls.
type tools interface {
	Look(c *fold.Call, f *fold.Fold) (waits []tool.Waiting, same, looked bool)
	CancelJob(p *rules.ChildCancel, f *fold.Fold) error
}

// dueWork does the work of due rows.
type dueWork struct {
	env    *env.Env
	reader *tasklog.Reader
	logs   logs
	tools  tools
}

// waits reports whether due work stays undone for now: that of tasks that were not brought up to
// date after a restoration, and all that continues calls and plans while a restored store waits for
// its operator. Retries go on then: they ask about calls whose tools were out of reach, and start
// only calls that were approved since.
func (w *dueWork) waits(row *store.Due) bool {
	if w.unsettled(row) || row.Kind == record.DueLook || row.Kind == record.DueChildCancel {
		return true
	}
	return row.Kind == record.DueWake && !rules.Retries(row) && !w.env.Held().IsZero()
}

// waitsExcept returns waits for the cancels of work that calls have running elsewhere, or for the looks at
// suspended calls.
func (w *dueWork) waitsExcept(kind string) func(row *store.Due) bool {
	return func(row *store.Due) bool {
		return w.unsettled(row) || row.Kind != kind || !w.env.Held().IsZero()
	}
}

func (w *dueWork) unsettled(row *store.Due) bool {
	_, unsettled := w.reader.Unsettled.Load(row.Task)
	return unsettled
}

// put puts the input that a row is for into the log of its task. The turn of a call whose time has come is
// notified: it continues by itself.
func (w *dueWork) put(row *store.Due, in rules.Input) error {
	err := w.logs.Changed(w.env.Ctx, store.System(), row.Task, in)
	if errors.Is(err, rules.ErrNotYet) && (row.Kind == record.DueWake || row.Kind == record.DueLook) {
		w.logs.Notify(row.Task)
	}
	return err
}

// look has the tool of a suspended call look at the call, and does what follows. The row stays, and
// the look is repeated, until the call is entered or ends.
func (w *dueWork) look(row store.Due) (err error) {
	if row.Damaged {
		return fmt.Errorf("%w: due work", store.ErrDataLoss)
	}
	f, err := w.reader.LoadTurn(w.env.Ctx, store.System(), row.Task)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	in := rules.Look{Row: row}
	if c := rules.Looks(f, &row); c != nil {
		looked := !w.env.Now().Before(*c.Wake)
		if in.N = c.Suspended; looked && !c.Looked {
			in.Waits, in.Same, looked = w.tools.Look(c, f)
		}
		if !looked {
			return rules.ErrNotYet
		}
	}
	err = w.put(&row, in)
	if err == nil && (in.Same || len(in.Waits) > 0) {
		return due.ErrAgain
	}
	return err
}

// handle does the work of a due row. The row is removed in the same batch.
func (w *dueWork) handle(row store.Due) (err error) {
	w.env.At(env.PointDue)
	if row.Damaged {
		return fmt.Errorf("%w: due work", store.ErrDataLoss)
	}
	switch row.Kind {
	case store.DueDelete:
		err = w.env.Store.Delete(w.env.Ctx, store.System(), row.Task, nil /* audit: its first step is done */)
	case record.DueExpiry:
		err = w.put(&row, rules.Expiry{Row: row})
	case record.DueEscalate, record.DueRemind:
		err = w.put(&row, rules.Waiting{Row: row})
	case record.DueProviderTimeout:
		err = w.put(&row, rules.ProviderTimeout{Row: row})
	case record.DueWake:
		err = w.put(&row, rules.Wake{Row: row})
	case record.DueChildCancel:
		err = w.childCancel(row)
	default:
		err = fmt.Errorf("due work of kind %q is not known to this program: use the newer one that wrote it", row.Kind)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// childCancel does due work of kind [record.DueChildCancel].
func (w *dueWork) childCancel(row store.Due) error {
	f, err := w.reader.LoadTurn(w.env.Ctx, store.System(), row.Task)
	if err != nil {
		return err
	}
	var p rules.ChildCancel
	if err := json.Unmarshal(row.Payload, &p); err != nil {
		return fmt.Errorf("decode child cancel: %w", err)
	}
	result := rules.ChildCancelResult{Row: row}
	if p.Kept {
		var kept bool
		p.State, kept = f.Kept(p.Call)
		result.Nothing = !kept
	}
	if !result.Nothing {
		result.Failed = w.tools.CancelJob(&p, f)
		_, result.Unreachable = errors.AsType[*call.UnreachableError](result.Failed)
	}
	return w.put(&row, result)
}
