package engine

import (
	"context"
	"fmt"

	"a2a-server/internal/auth"
	"a2a-server/store"
	"a2a-server/task"
)

// Event is a public event of a task: the bytes of an A2A StreamResponse, and the
// number that a reader continues after. Data must not be changed.
type Event = store.Event

// Header is what is known of a task without its log.
type Header = store.Header

// Await returns the task as it stands at its next rest: at its end, or when it
// waits for input or authorisation.
func (e *Engine) Await(ctx context.Context, sent *Sent) (*task.View, error) {
	if v, err := e.awaitTurn(ctx, sent.landed); v != nil || err != nil {
		return v, err
	}
	wakes, stop := e.store.Watch(sent.scope, sent.Task)
	defer stop()
	n := sent.seq
	for {
		v, err := e.store.Read(ctx, sent.scope, sent.Task, store.After(n), store.Limit{Events: 1, Bytes: 1})
		if err != nil {
			return nil, translate(err)
		}
		if rests(&v.Header) {
			view, h, err := e.viewAt(ctx, sent.scope, &v.Header)
			if err != nil || rests(&h) {
				return view, translate(err)
			}
			v.Header = h // it has gone on meanwhile
		}
		n = v.Header.Seq
		switch e.wait(wakes, ctx.Done(), e.ctx.Done()) {
		case 1:
			return nil, fmt.Errorf("wait for task %s: %w", sent.Task, context.Cause(ctx))
		case 2:
			return nil, ErrBusy
		}
	}
}

// Accepted returns the task as it stands, without waiting for it to rest.
func (e *Engine) Accepted(ctx context.Context, sent *Sent) (*task.View, error) {
	return e.read(ctx, sent.scope, sent.Task)
}

// viewAt returns a task that a header has just been read of, with the header that the
// view belongs to.
func (e *Engine) viewAt(ctx context.Context, s store.Scope, h *store.Header) (*task.View, store.Header, error) {
	if v := e.views.get(h.Task, h.Seq); v != nil {
		return v, *h, nil
	}
	return e.loadView(ctx, s, h.Task)
}

// view is viewAt without the header.
func (e *Engine) view(ctx context.Context, s store.Scope, h *store.Header) (*task.View, error) {
	v, _, err := e.viewAt(ctx, s, h)
	return v, translate(err)
}

// rests reports whether a client that waits for the task has its answer.
func rests(h *store.Header) bool {
	return h.Phase == store.Final ||
		h.Phase == store.Parked && (h.State == task.StateInputRequired || h.State == task.StateAuthRequired)
}

// awaitTurn waits for the turn that goes on from an input, and returns the task as
// the turn left it: durable, and what reading the log would give, without reading
// it. It returns neither a view nor an error when the log has to be read: there is
// no such turn here, it was cut off, or it did not come to a rest that answers a
// client, or did so before the input.
func (e *Engine) awaitTurn(ctx context.Context, l landed) (*task.View, error) {
	t := l.turn
	if t == nil {
		return nil, nil
	}
	switch e.wait(t.done, t.ctx.Done(), ctx.Done()) {
	case 1:
		if !closed(t.done) { // a turn that has left is canceled too, right after
			return nil, nil
		}
	case 2:
		return nil, fmt.Errorf("wait for task %s: %w", t.id, context.Cause(ctx))
	}
	if t.restAt < l.seq {
		return nil, nil
	}
	return t.rest, nil
}

func (e *Engine) read(ctx context.Context, s store.Scope, id store.TaskID) (*task.View, error) {
	v, _, err := e.loadView(ctx, s, id)
	if err != nil {
		return nil, translate(err)
	}
	return v, nil
}

// Get returns a task as it stands.
func (e *Engine) Get(ctx context.Context, by auth.Principal, id string) (*task.View, error) {
	parsed, ok := store.ParseTaskID(id)
	if !ok {
		return nil, task.ErrTaskNotFound
	}
	return e.read(ctx, ScopeOf(by), parsed)
}

// Snapshot is a task and the seq up to which it is folded: a stream continues
// after it.
type Snapshot struct {
	View   *task.View
	Header Header
}

// Snapshot returns a task to begin a stream with.
func (e *Engine) Snapshot(ctx context.Context, by auth.Principal, id store.TaskID) (*Snapshot, error) {
	v, h, err := e.loadView(ctx, ScopeOf(by), id)
	if err != nil {
		return nil, translate(err)
	}
	return &Snapshot{View: v, Header: h}, nil
}

// Until says where a stream ends.
type Until int

// The ends of a stream.
const (
	UntilEnd   Until = iota // at the end of the task only
	UntilInput              // also when it waits for input; not for authorisation
)

// Follow calls yield with the public events after seq n, page by page, as they
// become durable, until the stream has its end, ctx ends (its cause is returned),
// or yield fails (its error is returned). A slow yield delays nobody but itself.
func (e *Engine) Follow(ctx context.Context, by auth.Principal, id store.TaskID, n uint64, until Until, yield func([]Event) error) error {
	scope := ScopeOf(by)
	wakes, stop := e.store.Watch(scope, id)
	defer stop()
	for {
		v, err := e.store.Read(ctx, scope, id, store.After(n), store.Limit{})
		if err != nil {
			return translate(err)
		}
		if len(v.Events) > 0 {
			n = v.Events[len(v.Events)-1].Seq
			if public := publicOf(v.Events); len(public) > 0 {
				if err := yield(public); err != nil {
					return err
				}
			}
		}
		if v.More {
			continue
		}
		h := &v.Header
		if n >= h.Seq && (h.Phase == store.Final || until == UntilInput && h.Phase == store.Parked && h.State == task.StateInputRequired) {
			return nil
		}
		if n < h.Seq {
			continue
		}
		switch e.wait(wakes, ctx.Done(), e.ctx.Done()) {
		case 1:
			return context.Cause(ctx)
		case 2:
			return ErrBusy
		}
	}
}

// publicOf returns the public events of a page, which may be shared: it is copied
// only when something is left out.
func publicOf(events []Event) []Event {
	private := 0
	for i := range events {
		if !events[i].Public {
			private++
		}
	}
	if private == 0 {
		return events
	}
	public := make([]Event, 0, len(events)-private)
	for i := range events {
		if events[i].Public {
			public = append(public, events[i])
		}
	}
	return public
}

// Stream follows what a message has become, from its beginning: begin is called
// once, with the task as it was before a follow-up, or nil for a new task, whose
// first event is the task.
func (e *Engine) Stream(ctx context.Context, by auth.Principal, sent *Sent, begin func(*Snapshot) error, yield func([]Event) error) error {
	n := sent.From
	var first *Snapshot
	if n > 0 || sent.Duplicate {
		var err error
		if first, err = e.Snapshot(ctx, by, sent.Task); err != nil {
			return err
		}
		n = first.Header.Seq
	}
	if err := begin(first); err != nil {
		return err
	}
	return e.Follow(ctx, by, sent.Task, n, UntilInput, yield)
}

// ID names a task.
type ID = store.TaskID

// ParseID reads the text form of an ID. What is no ID can name no task: answer it
// with [task.ErrTaskNotFound].
func ParseID(s string) (ID, bool) { return store.ParseTaskID(s) }
