package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/tool"
)

// ChildCanceler is a tool whose suspended calls have something running elsewhere,
// a remote agent for example, that has to be told when their task is canceled.
// CancelChild is called from due work, again after a failure, and possibly twice.
type ChildCanceler interface {
	CancelChild(ctx context.Context, callID string, state json.RawMessage) error
}

// childCancel is the payload of due work of kind dueChild.
type childCancel struct {
	Tool  string          `json:"tool"`
	Call  string          `json:"call"`
	State json.RawMessage `json:"state,omitempty"`
	Try   int             `json:"try,omitempty"`
}

const (
	childTries   = 8
	childTimeout = 30 * time.Second
	dueBatch     = 64
	dueWorkers   = 16
	dueRetry     = time.Second
	maxSleep     = time.Minute // clocks jump; look at least this often
)

// errLater, from a handler, leaves its row for whoever has the task, and for a later
// look: without a pause a task that waits for a turn would be looked at all the time.
var errLater = errors.New("somebody else does it")

// rearm wakes the scheduler when a draft has put due work.
func (e *Engine) rearm(d *draft) {
	if len(d.due) > 0 {
		wake(e.due)
	}
}

// schedule does due work until ctx ends: one timer for all of it.
func (e *Engine) schedule(ctx context.Context) error {
	workers := make(chan struct{}, dueWorkers)
	type failure struct {
		key   string
		again time.Time
	}
	done := make(chan failure, dueWorkers)
	busy := map[string]bool{}
	waiting := map[string]time.Time{} // failed, not to be tried before
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			for len(busy) > 0 {
				f := <-done
				delete(busy, f.key)
			}
			return nil
		case f := <-done:
			delete(busy, f.key)
			if !f.again.IsZero() {
				waiting[f.key] = f.again
			}
		case <-timer.C:
		case <-e.due:
		}
		now := e.now()
		maps.DeleteFunc(waiting, func(_ string, again time.Time) bool { return !again.After(now) })
		// Those that failed, or are being done, must not hide the others.
		rows, next, err := e.store.Due(ctx, store.MillisOf(now), "", dueBatch+len(waiting)+len(busy))
		if err != nil {
			if ctx.Err() != nil {
				continue
			}
			return fmt.Errorf("read due work: %w", err)
		}
		sleep := maxSleep
		if next != 0 {
			sleep = min(sleep, next.Time().Sub(now))
		}
		for _, row := range rows {
			key := fmt.Sprintf("%d %x %s %q", row.Time, row.Task, row.Kind, row.Key)
			if again, ok := waiting[key]; ok {
				sleep = min(sleep, again.Sub(now))
				continue
			}
			if busy[key] || len(busy) == dueWorkers {
				continue
			}
			busy[key] = true
			workers <- struct{}{}
			e.busy.Go(func() {
				f := failure{key: key}
				err := e.handle(row)
				if err != nil {
					f.again = e.now().Add(dueRetry)
				}
				if err != nil && !errors.Is(err, errLater) && e.ctx.Err() == nil {
					e.log.Warn().Err(err).Str("kind", row.Kind).Str("task_id", row.Task.String()).Msg("due work failed; it is tried again")
				}
				<-workers
				done <- f
			})
		}
		timer.Reset(max(sleep, time.Millisecond))
	}
}

// handle does one row of due work. The row is removed in the batch that does it.
func (e *Engine) handle(row store.Due) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	e.at(PointDue)
	remove := store.DueChange{Time: row.Time, Kind: row.Kind, Key: row.Key, Delete: true}
	switch row.Kind {
	case store.DueDelete:
		err = e.store.Delete(e.ctx, store.System(), row.Task)
	case dueExpiry:
		_, err = e.change(e.ctx, store.System(), row.Task, func(t *turn, d *draft) error {
			a := d.f.approval(string(row.Key))
			if a == nil || a.State != approval.Pending || a.Deadline == nil || !approval.Overdue(&a.Approval, d.now) {
				d.due = append(d.due, remove)
				return nil
			}
			_, err := e.expire(t, d, a)
			return err
		})
	case dueWake:
		_, err = e.change(e.ctx, store.System(), row.Task, func(t *turn, d *draft) error { return e.wakeStep(d, remove) })
		if r := e.running(row.Task); r != nil {
			r.tell()
		}
	case dueChild:
		err = e.cancelChildNow(row)
	default:
		err = fmt.Errorf("due work of kind %q is not known to this program: use the newer one that wrote it", row.Kind)
	}
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

func stepKey(n int) []byte { return fmt.Appendf(nil, "step %d", n) }

// wakeStep ends a wait of the planner, or lets a suspended call be resumed: that
// is advance's to see.
func (e *Engine) wakeStep(d *draft, row store.DueChange) error {
	s := d.f.step()
	if s != nil && s.Until != nil && !s.Done && string(row.Key) == string(stepKey(s.Step)) {
		d.due = append(d.due, row)
		return d.private(kindElapsed, &waitElapsed{Step: s.Step})
	}
	if c := d.f.call(string(row.Key)); c != nil && c.State == callWaiting && c.Wake != nil && store.MillisOf(*c.Wake) == row.Time {
		if d.f.header.Phase == store.Live {
			return errLater // its turn resumes it, and removes the row in the same batch
		}
		d.force = true
		return nil
	}
	d.due = append(d.due, row) // of something that is over
	return nil
}

// cancelChild puts due work for what a suspended call has running elsewhere.
func (e *Engine) cancelChild(t *turn, d *draft, c *call) error {
	if c.State != callWaiting {
		return nil // what runs here is told by its context
	}
	entry, err := e.cfg.Tools.Lookup(t.readonly(d.f), c.Tool)
	if err != nil {
		return nil //nolint:nilerr // the tool is gone, and with it the way to its children
	}
	if _, ok := tool.As[ChildCanceler](entry.Tool); !ok {
		return nil
	}
	payload, err := json.Marshal(childCancel{Tool: c.Tool, Call: c.ID, State: c.ToolState})
	if err != nil {
		return fmt.Errorf("encode child cancel: %w", err)
	}
	d.due = append(d.due, store.DueChange{Time: d.at(), Kind: dueChild, Key: []byte(c.ID), Payload: payload})
	return nil
}

// cancelChildNow tells the tool of a canceled call. A failure is tried again,
// later and later, and given up after a while.
func (e *Engine) cancelChildNow(row store.Due) error {
	var p childCancel
	if err := json.Unmarshal(row.Payload, &p); err != nil {
		return fmt.Errorf("decode child cancel: %w", err)
	}
	ctx, cancel := context.WithTimeout(e.ctx, childTimeout)
	defer cancel()
	failed := e.callChildCanceler(ctx, p)
	remove := store.DueChange{Time: row.Time, Kind: row.Kind, Key: row.Key, Delete: true}
	_, err := e.change(e.ctx, store.System(), row.Task, func(_ *turn, d *draft) error {
		d.due = append(d.due, remove)
		if failed != nil && p.Try+1 < childTries {
			p.Try++
			payload, err := json.Marshal(p)
			if err != nil {
				return fmt.Errorf("encode child cancel: %w", err)
			}
			again := d.now.Add(time.Second << p.Try)
			d.due = append(d.due, store.DueChange{Time: store.MillisOf(again), Kind: dueChild, Key: row.Key, Payload: payload})
			return nil
		}
		entry := approval.Audit{What: approval.AuditCanceled, Call: p.Call, Tool: p.Tool}
		if failed != nil {
			entry.Reason = "gave up telling what it runs elsewhere: " + failed.Error()
		}
		return d.record(entry)
	})
	return err
}

func (e *Engine) callChildCanceler(ctx context.Context, p childCancel) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	entry, err := e.cfg.Tools.Lookup(e.readonly(ctx, e.system()), p.Tool)
	if err != nil {
		return err
	}
	c, ok := tool.As[ChildCanceler](entry.Tool)
	if !ok {
		return nil
	}
	return c.CancelChild(ctx, p.Call, p.State)
}
