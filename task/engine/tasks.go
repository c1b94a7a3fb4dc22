package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/failure"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/rules"
)

// Tasks lets overseers of a tenant list, read, cancel and delete its tasks: a command line, an
// API. Callers reach the tasks of their scope (see [ScopeFor]); a foreign task is answered
// like a missing task. A principal without the right for any task gets an *[auth.DeniedError],
// before anything is read. It is safe for concurrent use.
type Tasks struct {
	core      *core
	anonymous bool // only tasks of anonymous
}

// OfAnonymous returns the tasks that were created without authentication instead. They need
// [auth.Admin].
func (t *Tasks) OfAnonymous() *Tasks { return &Tasks{t.core, true} }

// scope returns where by may do an action.
func (t *Tasks) scope(by auth.Principal, what auth.Action) (store.Scope, error) {
	asks := what
	if t.anonymous {
		asks = auth.Admin
	}
	if err := by.May(asks); err != nil {
		return store.Scope{}, err
	}
	return scopeIn(by, what, t.anonymous), nil
}

// one returns that scope and the id of a task.
func (t *Tasks) one(by auth.Principal, what auth.Action, id string) (store.Scope, store.TaskID, error) {
	scope, err := t.scope(by, what)
	if err != nil {
		return store.Scope{}, store.TaskID{}, err
	}
	parsed, ok := store.ParseTaskID(id)
	if !ok {
		return store.Scope{}, store.TaskID{}, task.ErrTaskNotFound
	}
	return scope, parsed, nil
}

// TaskQuery selects tasks.
type TaskQuery struct {
	Context string
	State   a2a.TaskState // "": any
	Owner   string        // subject of the creator; "": any
	Limit   int           // Defaults to 50; at most 1,000.
	Cursor  string        // TaskList.Next of the previous page; "": the first page
}

// TaskList is one page of tasks: the newest first or, for the tasks of a single owner, by the
// time of their status, the newest first.
type TaskList struct {
	Tasks []Header
	Next  string // "": last page
}

// List lists tasks: of the tenant for a principal with [auth.Oversee], and else of the caller.
func (t *Tasks) List(ctx context.Context, by auth.Principal, q TaskQuery) (TaskList, error) {
	scope, err := t.scope(by, auth.Oversee)
	if err != nil && !t.anonymous && by.May(auth.List) == nil {
		scope, err = t.scope(by, auth.List)
	}
	if err != nil {
		return TaskList{}, err
	}
	if q.Owner != "" {
		tenant := by.Tenant
		if t.anonymous {
			tenant = auth.Anonymous().Tenant
		}
		one := store.Owner(tenant, q.Owner)
		if !scope.Covers(one) {
			return TaskList{}, nil // foreign tasks, which are not shown, or there are none
		}
		scope = one
	}
	sq := store.Query{Context: q.Context, Limit: store.PageSize(q.Limit), Cursor: q.Cursor}
	if q.State != "" {
		if sq.State, err = task.StateOf(q.State); err != nil {
			return TaskList{}, task.Invalid("state", "%v", err)
		}
	}
	// Tasks of a tenant are found by a scan of all tasks.
	end, err := t.core.Processor(ctx, by)
	if err != nil {
		return TaskList{}, err
	}
	defer end()
	page, err := t.core.env.Store.Tasks(ctx, scope, sq)
	if err != nil {
		return TaskList{}, listError(err, "cursor")
	}
	return TaskList{page.Tasks, page.Next}, nil
}

// Openings calls each with the message that created a task, as A2A JSON, and the place of the
// task in ids. It leaves out tasks that by may not read, or that a gate keeps from them, missing and damaged tasks, and all
// tasks after Config.Page bytes of messages. It reads one event of each log, however long that
// is.
func (t *Tasks) Openings(ctx context.Context, by auth.Principal, ids []string, each func(i int, message []byte)) error {
	scope, err := t.scope(by, auth.Read)
	if err != nil {
		return nil // by may list tasks, and read none
	}
	end, err := t.core.Processor(ctx, by)
	if err != nil {
		return err
	}
	defer end()
	var read int64
	for i, id := range ids {
		parsed, ok := store.ParseTaskID(id)
		if !ok || read > t.core.cfg.Page {
			continue
		}
		page, err := t.core.env.Store.Read(ctx, scope, parsed, store.After(0), store.Limit{Events: 1, Bytes: 1})
		if err == nil {
			var sees taskSight
			if sees, err = t.core.taskSight(ctx, by, scope, page.Header.Owner, parsed); err == nil && sees.bare {
				continue
			}
		}
		switch {
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrDataLoss), err == nil && len(page.Events) == 0:
			continue
		case err != nil:
			return tasklog.Translate(err)
		}
		read += int64(len(page.Events[0].Data))
		if m, ok := fold.Opening(&page.Events[0]); ok {
			each(i, m)
		}
	}
	return nil
}

// Get returns a task as its client sees it, for an answer to the same caller.
func (t *Tasks) Get(ctx context.Context, a *ReadReservation, id string) (*task.View, Header, error) {
	scope, parsed, err := t.one(a.by, auth.Read, id)
	if err != nil {
		return nil, Header{}, err
	}
	return a.read(ctx, scope, parsed, 0 /* last */, false /* done */)
}

// Calls returns the calls of a task, and reserves the memory for its log in a.
func (t *Tasks) Calls(ctx context.Context, a *ReadReservation, id string) ([]task.CallStatus, error) {
	scope, parsed, err := t.one(a.by, auth.Read, id)
	if err != nil {
		return nil, err
	}
	f, err := a.outline(ctx, scope, parsed)
	if err != nil {
		return nil, err
	}
	sees, err := t.core.taskSight(ctx, a.by, scope, f.Header.Owner, parsed)
	return sees.calls(f.Calls()), err
}

// Prompt returns what the planner has asked a language model for a step of a task, which counts from
// 1. It needs [auth.Admin] and the right to read the task: a prompt has the instructions of the
// server, and values that gates mask. The error is a [*task.InvalidError] if the step has asked none.
func (t *Tasks) Prompt(ctx context.Context, by auth.Principal, id string, step int) (task.Prompt, error) {
	if err := by.May(auth.Admin); err != nil {
		return task.Prompt{}, err
	}
	scope, parsed, err := t.one(by, auth.Read, id)
	if err != nil {
		return task.Prompt{}, err
	}
	f, err := t.core.reader.LoadTurn(ctx, scope, parsed)
	if err != nil {
		return task.Prompt{}, tasklog.Translate(err)
	}
	prompt, err := t.core.turns.Prompt(ctx, f, step)
	return prompt, tasklog.Translate(err)
}

// CancelCall cancels a call of a task, by its id or alias: see [rules.CancelCall]. When it returns nil that is
// durable, and a restart continues it.
func (t *Tasks) CancelCall(ctx context.Context, by auth.Principal, id, call string) error {
	scope, parsed, err := t.one(by, auth.Cancel, id)
	if err != nil {
		return err
	}
	return tasklog.Translate(t.core.turns.Changed(ctx, scope, parsed, rules.CancelCall{By: by, Via: approval.ViaAPI, Call: call}))
}

// Cancel cancels a task. Canceling a canceled task again changes nothing.
func (t *Tasks) Cancel(ctx context.Context, by auth.Principal, id string) error {
	scope, parsed, err := t.one(by, auth.Cancel, id)
	if err != nil {
		return err
	}
	return tasklog.Translate(t.core.turns.Changed(ctx, scope, parsed, rules.Cancel{By: by}))
}

// DeleteWebhook deletes a webhook of a task, if number is not 0 only the webhook with that
// number, and reports whether it was there. It needs the right to delete tasks, and works
// while push notifications are switched off. Once it returns, no notification is sent any more
// except one in flight.
func (t *Tasks) DeleteWebhook(ctx context.Context, by auth.Principal, id, webhook string, number uint64) (deleted bool, err error) {
	scope, parsed, err := t.one(by, auth.Delete, id)
	if err != nil {
		return false, err
	}
	_, err = t.core.turns.Change(ctx, scope, parsed, rules.DeleteWebhook{ID: webhook, N: number, By: by, Overseen: true})
	if errors.Is(err, rules.ErrNoChange) {
		return false, nil
	}
	return err == nil, tasklog.Translate(err)
}

// NotDeletableError says why a task cannot be deleted now.
type NotDeletableError struct {
	Task  store.TaskID
	State a2a.TaskState
	Work  bool // it has ended, but not everything that follows from that is done
}

// Error names the reason and the next step.
func (e *NotDeletableError) Error() string {
	if e.Work {
		return fmt.Sprintf("task %s has ended, and work for it is left, such as canceling what it runs elsewhere: try again later", e.Task)
	}
	return fmt.Sprintf("task %s is in state %s and cannot be deleted: cancel it first", e.Task, e.State)
}

// Kind says that the task has to end first.
func (*NotDeletableError) Kind() failure.Kind { return failure.NotDeletable }

// Delete deletes a task that has ended, with its approvals and its log; its audit entries
// stay. The first step, which makes the task unfindable and adds the deletion to the audit, is
// one commit; the rest is removed after it, if need be by due work. The error is a
// [*NotDeletableError] if the task cannot be deleted now.
func (t *Tasks) Delete(ctx context.Context, by auth.Principal, id string) error {
	scope, parsed, err := t.one(by, auth.Delete, id)
	if err != nil {
		return err
	}
	h, err := t.core.header(ctx, scope, parsed)
	if err != nil {
		return err
	}
	not := &NotDeletableError{Task: parsed, State: task.StateName(h.State), Work: h.Phase == store.Final}
	if h.Phase != store.Final || h.Due > 0 {
		return not
	}
	entry, data, err := rules.Deletion(parsed, h.Owner, by, t.core.env.Now())
	if err != nil {
		return err
	}
	err = t.core.env.Store.Delete(ctx, scope, parsed, data)
	switch {
	case errors.Is(err, store.ErrBusy):
		return not
	case errors.Is(err, store.ErrUnfinished): // it is gone
		t.core.env.Log.Warn().Err(err).Str("task_id", id).Msg("a deleted task is not removed yet; retrying")
		t.core.due.Wake()
	case err != nil:
		return tasklog.Translate(err)
	}
	t.core.observers.audited([]rules.Audited{entry})
	t.core.audited()
	return nil
}

// A PlannedCall is a call as a planner wanted it, and what the policy said then.
type PlannedCall struct {
	Task, Call, Tool string
	Args             json.RawMessage
	Mask             []string        // places in Args that lists do not show
	At               time.Time       // of the newest status of the task when the call was planned
	By               auth.Principal  // requester of the call
	Was              approval.Action // "": no gate was asked, or none has answered yet
	Why              string          // the first gate that asked, or why it was denied
	Terms            *approval.Terms // of the approval that was asked for; nil: none
}

// Planned calls each with the calls that tasks of all owners have planned since a time, the newest
// task first, and with a call without a tool for a damaged task. It has one task in memory at a time.
func Planned(ctx context.Context, s store.Store, since time.Time, each func(*PlannedCall)) error {
	for h, err := range store.AllTasks(ctx, s, store.System(), store.Query{Since: store.MillisOf(since), Limit: 1000}) {
		if err != nil {
			return fmt.Errorf("list the tasks: %w", err)
		}
		if err := plannedBy(ctx, s, h.Task, since, each); errors.Is(err, store.ErrDataLoss) {
			each(&PlannedCall{Task: h.Task.String()})
		} else if err != nil && !errors.Is(err, store.ErrNotFound) { // deleted in the meantime
			return fmt.Errorf("read task %s: %w", h.Task, err)
		}
	}
	return nil
}

// plannedBy is Planned for a task.
func plannedBy(ctx context.Context, s store.Store, id store.TaskID, since time.Time, each func(*PlannedCall)) error {
	f := fold.New(id, "")
	f.View.Omit(true /* artifacts */, true /* history */)
	var at []time.Time      // of each step
	var by []auth.Principal // likewise
	for from, more := store.After(0), true; more; {
		page, err := s.Read(ctx, store.System(), id, from, store.Limit{NoBulk: true})
		if err != nil {
			return err
		}
		for i := range page.Events {
			if err := f.Apply(&page.Events[i]); err != nil {
				return fmt.Errorf("%w: event %d: %w", store.ErrDataLoss, page.Events[i].Seq, err)
			}
			if len(at) < len(f.Steps) {
				at, by = append(at, cmp.Or(f.View.StatusTime(), id.Created()).Time()), append(by, f.Sender())
			}
		}
		from, more = page.Next, page.More
	}
	for i, step := range f.Steps {
		for k, c := range step.Progress {
			if !at[i].Before(since) {
				p := PlannedCall{Task: id.String(), Call: c.ID, Tool: c.Tool, Args: step.Calls[k].Args, Mask: c.Mask, At: at[i], By: by[i]}
				p.judged(f, c)
				each(&p)
			}
		}
	}
	return nil
}

// judged says what the policy said about a call.
func (p *PlannedCall) judged(f *fold.Fold, c *fold.Call) {
	if c.Attempt > 0 {
		p.Was = approval.ActionAllow
	}
	if c.Grant != "" || c.Outcome == task.OutcomeRejected {
		p.Was = approval.ActionAsk // a grant, or an earlier rejection, has answered
	}
	for _, a := range f.Approvals {
		if a.Call == c.ID {
			p.Mask = approval.Union(p.Mask, a.Terms.Mask)
			if a.Kind == approval.KindCall && a.Ask == "" && p.Terms == nil { // a later one is of an edit
				p.Was, p.Why, p.Terms = approval.ActionAsk, a.Terms.Gate, &a.Terms
			}
		}
	}
	if c.Outcome == task.OutcomeDenied {
		p.Was, p.Why = approval.ActionDeny, c.Error
	}
}
