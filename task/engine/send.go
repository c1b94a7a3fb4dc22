package engine

import (
	"context"
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine/internal/tasklog"
	"a2a-server/task/engine/internal/turn"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/rules"
)

// Send is a message to the engine.
type Send struct {
	By      auth.Principal
	Message *a2a.Message // must not be changed afterwards
	Bytes   int          // size of the encoded message, if known
	Renew   Renewal      // for a message to a task, see [Approvals.Renewing]; nil: it counts for By as it is
	Push    *PushConfig  // a webhook for the task, set in the batch of the message; nil: none
}

// Sent is the outcome of a message: a direct answer, or a task.
type Sent struct {
	Direct *a2a.Message // if not nil, the whole answer; there is no task
	Task   store.TaskID
	// From is the seq after which the stream of a follow-up begins: the task's last seq before
	// the message. It is 0 for a new task: its whole log is the stream.
	From uint64
	// Duplicate: the message had been sent before, and Task is the task that it created
	// then.
	Duplicate bool

	scope  store.Scope
	landed turn.Landed
}

// maxID bounds the ids that clients choose, in bytes.
const maxID = 256

// Send accepts a message: it creates a task, or goes to the task that it names. Send returns
// when the message is durable; [ReadReservation.Await] and [Engine.Stream] wait for the events that
// follow.
//
// Errors: [task.InvalidError], [task.ErrTaskNotFound], [task.StateError], *approval.Error,
// *[DiskError], [ErrBusy], and those of the store; [store.ErrUnavailable] also while a restored store waits
// for its operator, if the message would create a task or answer a planner.
func (e *Engine) Send(ctx context.Context, s Send) (*Sent, error) {
	m := s.Message
	switch {
	case ScopeFor(s.By, auth.Create) == (store.Scope{}):
		return nil, task.ErrTaskNotFound
	case len(m.ID) > maxID:
		return nil, task.Invalid("message.messageId", "has %d bytes; at most %d are allowed", len(m.ID), maxID)
	case len(m.ContextID) > maxID:
		return nil, task.Invalid("message.contextId", "has %d bytes; at most %d are allowed", len(m.ContextID), maxID)
	}
	if s.Push != nil {
		if err := e.mayPush(s.By); err != nil {
			return nil, err
		}
		if err := s.Push.validate(); err != nil {
			return nil, err
		}
	}
	var raw []byte
	if err := e.Process(ctx, s.By, s.Bytes, func() (err error) {
		if raw, err = rules.EncodeMessage(m); err != nil {
			return task.Invalid("message", "cannot be encoded: %v", err)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if limit := e.env.Limits.Content(); len(raw) > limit {
		return nil, task.Invalid("message", "has %d bytes; at most %d are allowed", len(raw), limit)
	}
	if m.TaskID != "" {
		return e.followUp(ctx, s, raw)
	}
	return e.create(ctx, s, raw)
}

// createTries is how often a message tries to create a task. A try fails for an equal message, whose task the next
// finds, or while the row of the message is being removed, at most for some pages of a sweep.
const createTries = 20

// create creates a task from a message, unless the message has created one. The batch that creates the task puts
// the row of the message: of equal messages only one passes, and the conflict of another is answered after that one
// is durable.
func (e *Engine) create(ctx context.Context, s Send, raw []byte) (*Sent, error) {
	scope := ScopeFor(s.By, auth.Create)
	if e.env.Rules().NoIdempotency {
		return e.begin(ctx, scope, s, raw, nil)
	}
	message := &turn.Message{Hash: rules.MessageHash(s.By, raw)}
	for try := 1; ; try++ {
		removals := e.messages.removalsDone.Load()
		first, rev, err := e.sentBefore(ctx, scope, message.Hash)
		if err != nil {
			return nil, tasklog.Translate(err)
		}
		if !first.IsZero() {
			return &Sent{Task: first, Duplicate: true, scope: scope}, nil
		}
		message.Rev, message.Holds = rev, nil
		if rev != 0 { // the row of a task that is gone
			message.Holds = func() bool { return e.messages.removalsBegun.Load() == removals }
		}
		sent, err := e.begin(ctx, scope, s, raw, message)
		if try == createTries || !errors.Is(err, store.ErrConflict) {
			return sent, err
		}
	}
}

// begin creates a task from a message, unless a restored store waits for its operator. nil: the message has no
// row.
func (e *Engine) begin(ctx context.Context, scope store.Scope, s Send, raw []byte, message *turn.Message) (*Sent, error) {
	if held := e.env.Held(); !held.IsZero() {
		return nil, &rules.HeldError{Moment: held}
	}
	session := &fold.Session{At: e.reader.SessionAt()} // of a new context
	if id := s.Message.ContextID; id != "" {
		var err error
		if session, err = e.reader.Session(ctx, scope, id); err != nil {
			return nil, err
		}
	}
	current := e.env.Rules()
	r := current.Readonly(ctx, s.By).WithState(session.Values())
	direct, listed, err := current.Accept(r, s.Message, func() ([]string, error) { return e.waiting(ctx, scope, s.Message.ContextID) })
	if err != nil || direct != nil {
		return &Sent{Direct: direct}, err
	}
	n := rules.New{ID: e.cfg.NewID(), Message: s.Message, JSON: raw, Context: r, Listed: listed, Session: session}
	if n.Refers, err = e.endedMeanwhile(ctx, scope, s.Message.ContextID); err != nil {
		return nil, tasklog.Translate(err)
	}
	if s.Push != nil {
		if n.Webhook, err = e.webhook(ctx, s.By, scope, n.ID, s.Push, true /* created */); err != nil {
			return nil, err
		}
	}
	sent := &Sent{Task: n.ID, scope: scope}
	var used store.Disk
	if sent.landed, used, err = e.turns.Create(ctx, scope, n, message); err != nil {
		return nil, e.refused(scope, err)
	}
	e.disk.look(e.env, scope, used)
	if s.Renew != nil {
		e.env.Accepted(ctx, s.By)
	}
	return sent, nil
}

// refused translates the store's refusal of a create into an error that says which limit the caller has reached.
func (e *Engine) refused(scope store.Scope, err error) error {
	if full, ok := errors.AsType[*store.ParkedError](err); ok {
		return task.Invalid("message.contextId", "names a context with %d unfinished tasks; at most %d are allowed: answer or cancel some of them, wait until others end, or use another context", full.Open, full.Limit)
	}
	if full, ok := errors.AsType[*store.DiskError](err); ok {
		used := store.Disk{Owner: full.Used}
		if full.All {
			used = store.Disk{All: full.Used}
		}
		e.disk.look(e.env, scope, used) // tasks that grow reach a limit without a new one
		return &DiskError{Used: full.Used, Limit: full.Limit, Caller: !full.All}
	}
	return err
}

// followUp gives a message to the task that it names.
func (e *Engine) followUp(ctx context.Context, s Send, raw []byte) (*Sent, error) {
	id, ok := store.ParseTaskID(string(s.Message.TaskID))
	if !ok {
		return nil, task.ErrTaskNotFound
	}
	sent := &Sent{Task: id, scope: ScopeFor(s.By, auth.Create)}
	in := &rules.FollowUp{By: s.By, Message: s.Message, JSON: raw}
	l, err := e.turns.ChangeAs(ctx, turn.Sender{By: s.By, Via: approval.ViaA2A, Renew: s.Renew}, sent.scope, id, func(by auth.Principal) (_ rules.Input, err error) {
		in.By = by
		if s.Push != nil {
			in.Webhook, err = e.webhook(ctx, s.By, ScopeFor(s.By, auth.Push), id, s.Push, false /* created */)
		}
		return in, err
	})
	sent.Duplicate = errors.Is(err, rules.ErrDuplicate)
	if err != nil && !errors.Is(err, rules.ErrNoChange) {
		return nil, tasklog.Translate(err)
	}
	sent.From, sent.landed = in.Before, l
	return sent, nil
}
