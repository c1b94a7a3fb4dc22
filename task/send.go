package task

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/auth"
	"a2a-server/store"
)

// Send is a message to the engine.
type Send struct {
	By      auth.Principal
	Message *a2a.Message // must not be changed afterwards
}

// Sent says what a message has become: a direct answer, or a task.
type Sent struct {
	Direct *a2a.Message // not nil: the whole answer; there is no task
	Task   store.TaskID
	// From is the seq behind which the stream of a follow-up begins; before it
	// stands the task as it was. 0 for a new task: its log is the stream.
	From uint64
	// Duplicate: the message had been sent before, and Task is what it made then.
	Duplicate bool

	scope store.Scope
	landed
}

// ScopeOf returns the scope of what belongs to a principal.
func ScopeOf(p auth.Principal) store.Scope {
	if p.IsZero() {
		return store.Scope{}
	}
	return store.Owner(p.Tenant, p.Subject)
}

// maxID bounds the ids that clients choose, in bytes.
const maxID = 256

// Send takes a message in: it makes a task, or goes to the one that it names. It
// returns when the message is durable; [Engine.Await] and [Engine.Stream] wait for
// the rest.
//
// Errors: [InvalidError], [ErrTaskNotFound], [StateError], *approval.Error,
// [ErrBusy], and those of the store.
func (e *Engine) Send(ctx context.Context, s Send) (*Sent, error) {
	m := s.Message
	switch {
	case s.By.IsZero():
		return nil, ErrTaskNotFound
	case len(m.ID) > maxID:
		return nil, invalid("message.messageId", "has %d bytes; at most %d are allowed", len(m.ID), maxID)
	case len(m.ContextID) > maxID:
		return nil, invalid("message.contextId", "has %d bytes; at most %d are allowed", len(m.ContextID), maxID)
	}
	raw, err := encodeMessage(m)
	if err != nil {
		return nil, invalid("message", "cannot be encoded: %v", err)
	}
	if limit := e.cfg.Limits.Event - 64<<10; len(raw) > limit {
		return nil, invalid("message", "has %d bytes; at most %d are allowed", len(raw), limit)
	}
	hash := messageHash(s.By, raw)
	if m.TaskID != "" {
		return e.followUp(ctx, s, hash)
	}
	return e.create(ctx, s, hash)
}

// messageHash is the key of a message for idempotency. raw is the SDK's encoding of
// the decoded message, in which equal messages are equal bytes.
func messageHash(by auth.Principal, raw []byte) store.Hash {
	b := make([]byte, 0, 16+len(by.Tenant)+len(by.Subject)+len(raw))
	for _, s := range [...]string{by.Tenant, by.Subject} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	sum := sha256.Sum256(append(b, raw...))
	return store.Hash(sum[:16])
}

// create makes a task of a message.
func (e *Engine) create(ctx context.Context, s Send, hash store.Hash) (*Sent, error) {
	r := e.readonly(ctx, s.By)
	tools, err := e.listTools(r)
	if err != nil {
		return nil, err
	}
	request := &Request{Message: s.Message, Tools: tools}
	direct, err := e.accept(r, request)
	if err != nil || direct != nil {
		return &Sent{Direct: direct}, err
	}
	id := e.cfg.NewID()
	contextID := s.Message.ContextID
	if contextID == "" {
		contextID = store.NewTaskID().String()
	} else if err := e.roomIn(ctx, ScopeOf(s.By), contextID); err != nil {
		return nil, err
	}
	f := newFold(id, contextID)
	t := e.newTurn(id)
	t.fence = 1
	t.fold, t.ids, t.tools, t.kept = f, f.view.ids, tools, request.Kept
	d := e.draft(f)
	kept, raw, err := inTask(s.Message, f.view)
	if err != nil {
		return nil, err
	}
	if err := d.private(kindMessage, &messageReceived{Message: raw, By: s.By, For: forPlanner}); err != nil {
		return nil, err
	}
	f.Messages[0].decoded = kept
	if err := d.task(a2a.TaskStateSubmitted); err != nil {
		return nil, err
	}
	run, err := e.goOn(t, d)
	if err != nil {
		t.cancel(nil)
		return nil, err
	}
	if d.phase == 0 {
		d.phase = store.Live
	}
	b := d.batch(ScopeOf(s.By), 0, nil)
	b.Change.Context = contextID
	if !e.cfg.NoIdempotency {
		b.Dedup = hash
	}
	c := e.store.Append(ctx, b)
	e.at(PointCreated)
	sent := &Sent{Task: id, scope: ScopeOf(s.By), landed: landed{turn: t}}
	t.seq = uint64(len(b.Events))
	receipt, err := c.Wait()
	if err != nil {
		e.release(t, run)
		return e.duplicate(sent, err)
	}
	t.rev, f.header.Rev, f.header.Fence, sent.seq = receipt.Rev, receipt.Rev, receipt.Fence, receipt.Last
	e.started(t, d, receipt, run)
	return sent, nil
}

// inTask returns a message with the ids of the task that it belongs to, and its JSON.
func inTask(m *a2a.Message, v *View) (*a2a.Message, json.RawMessage, error) {
	kept := *m
	kept.TaskID, kept.ContextID = a2a.TaskID(v.TaskID()), v.ContextID()
	raw, err := encodeMessage(&kept)
	if err != nil {
		return nil, nil, fmt.Errorf("encode message: %w", err)
	}
	return &kept, raw, nil
}

// roomIn refuses a new task in a context in which too many wait already.
func (e *Engine) roomIn(ctx context.Context, s store.Scope, contextID string) error {
	var parked int64
	for _, state := range []store.State{stateInputRequired, stateAuthRequired} {
		page, err := e.store.Tasks(ctx, s, store.Query{Context: contextID, State: state, Limit: 1})
		if err != nil {
			return err
		}
		parked += page.Total
	}
	if limit := e.cfg.Limits.Parked; parked >= int64(limit) {
		return invalid("message.contextId", "has %d tasks that wait for input, which is the most it may have: answer or cancel some first", parked)
	}
	return nil
}

// accept asks the planner, which is not ours, whether it takes a message.
func (e *Engine) accept(r *readonlyContext, q *Request) (m *a2a.Message, err error) {
	defer func() {
		if p := recover(); p != nil {
			e.log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).Msg("planner panicked")
			m, err = nil, errPlannerPanicked
		}
	}()
	return e.planner.Accept(r, q)
}

// duplicate turns the refusal of a second create into the first one's task.
func (e *Engine) duplicate(sent *Sent, err error) (*Sent, error) {
	var d *store.DuplicateError
	if !errors.As(err, &d) {
		return nil, err
	}
	return &Sent{Task: d.Task, Duplicate: true, scope: sent.scope}, nil
}

// followUp gives a message to the task that it names.
func (e *Engine) followUp(ctx context.Context, s Send, hash store.Hash) (*Sent, error) {
	id, ok := store.ParseTaskID(string(s.Message.TaskID))
	if !ok {
		return nil, ErrTaskNotFound
	}
	sent := &Sent{Task: id, scope: ScopeOf(s.By)}
	received := &messageReceived{Hash: hex.EncodeToString(hash[:]), By: s.By}
	l, err := e.changeFresh(ctx, sent.scope, id, func(t *turn, d *draft) error {
		sent.From = d.f.header.Seq
		if c := s.Message.ContextID; c != "" && c != d.f.view.ContextID() {
			return invalid("message.contextId", "is not the context of task %s", id)
		}
		if !e.cfg.NoIdempotency && d.f.seen(hash) {
			sent.Duplicate = true
			return errNothing
		}
		var err error
		if s.Message, received.Message, err = inTask(s.Message, d.f.view); err != nil {
			return err
		}
		return e.receive(t, d, s, received)
	})
	if err != nil {
		return nil, translate(err)
	}
	sent.landed = l
	return sent, nil
}

// receive decides what a follow-up message is: decisions, an answer to the
// planner, or no answer to what is asked.
func (e *Engine) receive(t *turn, d *draft, s Send, received *messageReceived) error {
	all := d.f.all()
	answers, err := e.presenter.Answers(s.Message, all)
	if err != nil {
		return err
	}
	if len(answers) > 0 {
		return e.decide(t, d, answers, s.By, "a2a", received)
	}
	pending := d.f.pending()
	step := d.f.step()
	switch {
	case d.f.header.Phase == store.Final:
		return &StateError{Task: d.f.header.Task, State: d.f.view.State()}
	case d.f.header.Phase == store.Live:
		return &StateError{Task: d.f.header.Task, State: d.f.view.State()}
	case len(pending) > 0:
		received.For = forNobody
		if err := d.private(kindMessage, received); err != nil {
			return err
		}
		d.phase = store.Parked
		return t.question(d, pending, "This message was not understood as a decision.")
	case step != nil && step.Ask != nil && !step.Done:
		received.For = forPlanner
		if err := d.private(kindMessage, received); err != nil {
			return err
		}
		d.f.Messages[len(d.f.Messages)-1].decoded = s.Message
		return nil
	}
	return &StateError{Task: d.f.header.Task, State: d.f.view.State()} // it waits for a timer
}

// all returns every approval of the task, oldest first.
func (f *fold) all() []*approval.Approval {
	all := make([]*approval.Approval, len(f.Approvals))
	for i, a := range f.Approvals {
		all[i] = &a.Approval
	}
	return all
}
