package engine

import (
	"context"
	"fmt"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/engine/internal/turn"
	"a2a-server/task/internal/event"
)

// Event is a public event of a task: the bytes of an A2A StreamResponse, and the seq
// after which a reader continues. Data must not be changed.
type Event = store.Event

// Header is the part of a task that is known without reading its log.
type Header = store.Header

// Await waits until the task of a message ends, or waits for input or authorization, and
// returns it as of then; if there is no memory for it, with parts left out.
func (r *ReadReservation) Await(ctx context.Context, sent *Sent) (*task.View, error) {
	c := r.core
	if v, size, err := sent.landed.Await(ctx); err != nil {
		return nil, err
	} else if v != nil {
		return r.show(v, size), nil
	}
	wakes, stop := c.env.Store.Watch(sent.scope, sent.Task)
	defer stop()
	n := sent.landed.Seq
	for {
		v, err := c.env.Store.Read(ctx, sent.scope, sent.Task, store.After(n), store.Limit{Events: 1, Bytes: 1})
		if err != nil {
			return nil, tasklog.Translate(err)
		}
		if turn.Rests(&v.Header) {
			view, h, err := r.read(ctx, sent.scope, sent.Task, 0 /* last */, true /* done */)
			if err != nil || turn.Rests(&h) {
				return view, err
			}
			r.Release()
			v.Header = h // it has moved on meanwhile
		}
		n = v.Header.Seq
		switch c.env.Wait(wakes, ctx.Done(), c.env.Ctx.Done()) {
		case 1:
			return nil, fmt.Errorf("wait for task %s: %w", sent.Task, context.Cause(ctx))
		case 2:
			return nil, ErrBusy
		}
	}
}

// Header returns the Header of a task that by may follow, without reading its log.
func (e *Engine) Header(ctx context.Context, by auth.Principal, id store.TaskID) (Header, error) {
	return e.header(ctx, ScopeFor(by, auth.Follow), id)
}

// Until says when a stream ends.
type Until int

// The ends of a stream.
const (
	UntilEnd   Until = iota // only when the task ends
	UntilInput              // also when the task waits for input, but not for authorization
)

// Follow calls yield with the public events after seq n, page by page, as they become durable,
// until the stream ends, ctx ends (its cause is returned), or yield fails (its error is
// returned). A slow yield delays no other reader.
func (e *Engine) Follow(ctx context.Context, by auth.Principal, id store.TaskID, n uint64, until Until, yield func([]Event) error) error {
	return e.Subscribe(by, id, n, until).Follow(ctx, yield)
}

// Events calls yield with the public events after seq n that there are now, page by page. It
// returns when there are no more, ctx ends, or yield fails (its error is returned).
func (e *Engine) Events(ctx context.Context, by auth.Principal, id store.TaskID, n uint64, yield func([]Event) error) error {
	_, err := e.Subscribe(by, id, n, UntilEnd).next(ctx, yield)
	return err
}

// Subscription is the place of a reader in the events of a task.
type Subscription struct {
	core  *core
	by    auth.Principal
	scope store.Scope
	id    store.TaskID
	after uint64
	until Until
	sees  *taskSight // nil: not known yet
}

// Subscribe returns the place after seq n in the events of a task, for by. It reads nothing.
func (e *Engine) Subscribe(by auth.Principal, id store.TaskID, n uint64, until Until) *Subscription {
	return &Subscription{core: e.core, by: by, scope: ScopeFor(by, auth.Follow), id: id, after: n, until: until}
}

// Follow is [Engine.Follow] from the reader's place on, which moves with the events.
func (s *Subscription) Follow(ctx context.Context, yield func([]Event) error) error {
	wakes, stop := s.core.env.Store.Watch(s.scope, s.id)
	defer stop()
	for {
		// A function of its own: its variables are not on the stack while the reader waits.
		if over, err := s.next(ctx, yield); over || err != nil {
			return err
		}
		switch s.core.env.Wait(wakes, ctx.Done(), s.core.env.Ctx.Done()) {
		case 1:
			return context.Cause(ctx)
		case 2:
			return ErrBusy
		}
	}
}

// next yields the events that there are now, and reports whether the stream is over.
func (s *Subscription) next(ctx context.Context, yield func([]Event) error) (over bool, err error) {
	for {
		v, err := s.core.env.Store.Read(ctx, s.scope, s.id, store.After(s.after), store.Limit{})
		if err != nil {
			return false, tasklog.Translate(err)
		}
		if len(v.Events) > 0 {
			public, err := s.public(ctx, &v.Header, v.Events)
			if err != nil {
				return false, tasklog.Translate(err)
			}
			s.after = v.Events[len(v.Events)-1].Seq
			if len(public) > 0 {
				if err := yield(public); err != nil {
					return false, err
				}
			}
		}
		if h := &v.Header; !v.More && s.after >= h.Seq {
			return h.Phase == store.Final || s.until == UntilInput && h.State == task.StateInputRequired, nil
		}
	}
}

// public returns the public events of a page as the reader sees them. The page may be shared: it is
// copied only when something is left out or has two forms.
func (s *Subscription) public(ctx context.Context, h *Header, events []Event) ([]Event, error) {
	same, masked := true, false
	for i := range events {
		masked = masked || event.HasForms(&events[i])
		same = same && events[i].Public
	}
	if masked || s.sees == nil { // with a question in two forms an approval has come
		sees, err := s.core.taskSight(ctx, s.by, s.scope, h.Owner, s.id)
		if err != nil {
			return nil, err
		}
		s.sees = &sees
	}
	if same && !masked && !s.sees.bare {
		return events, nil
	}
	public := make([]Event, 0, len(events))
	for _, e := range events {
		if !e.Public {
			continue
		}
		data, err := s.sees.data(&e, s.id.String(), h.Context)
		if err != nil {
			return nil, err
		}
		if e.Data = data; data != nil {
			public = append(public, e)
		}
	}
	return public, nil
}

// Stream begins a stream of the task of a message, and returns the seq where it continues.
// begin is called once: with nil for a new task, whose first event is the task, and else with
// the task as the message left it, so that later changes come as events. It is the current
// task if the message changed nothing, or if a snapshot of the log is newer. If there is no
// memory for the task, begin gets it with parts left out.
func (e *Engine) Stream(ctx context.Context, by auth.Principal, sent *Sent, begin func(*StreamStart) error) (*Subscription, error) {
	n := sent.From
	if n > 0 || sent.Duplicate {
		a := e.ReserveRead(by)
		defer a.Release()
		first, err := a.snapshot(ctx, sent.scope, sent.Task, sent.landed.Seq, true /* done */)
		if err != nil {
			return nil, err
		}
		n = first.Header.Seq
		if err := begin(first); err != nil {
			return nil, err
		}
	} else if err := begin(nil); err != nil {
		return nil, err
	}
	return &Subscription{core: e.core, by: by, scope: sent.scope, id: sent.Task, after: n, until: UntilInput}, nil
}

// ID identifies a task.
type ID = store.TaskID

// ParseID parses the text form of an ID. If it reports false, no task can have that id:
// respond with [task.ErrTaskNotFound].
func ParseID(s string) (ID, bool) { return store.ParseTaskID(s) }
