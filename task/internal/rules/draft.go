package rules

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/view"
)

// newDraft returns an empty draft that has room for so many bytes before it grows.
func newDraft(r *Rules, at At, f *fold.Fold, bytes int) *Draft {
	at.Now = at.Now.UTC()
	d := &Draft{environment: at, rev: f.Header.Rev}
	d.added.buf = slices.Grow([]byte(nil), bytes)
	d.basis = basis{rules: r, at: &d.environment, f: f}
	d.added.events, d.added.audit = d.firstEvents[:0], d.firstAudit[:0]
	return d
}

// Input is something that happens to a task. It adds its immediate consequences, or is refused;
// [Draft.Advance] decides the rest.
type Input interface {
	put(add additions, b basis) (additions, error)
}

// LogChanged is the [Input] for a change of the log by another writer since the task was last
// advanced.
type LogChanged struct{}

func (LogChanged) put(add additions, b basis) (additions, error) {
	add.told = true
	return add, nil
}

// On puts inputs into a draft on f, which it consumes. If it returns an error, the inputs
// are refused, and the draft must be discarded unwritten. [ErrNoChange]: there is nothing
// to write. [ErrStale]: apply [Refresh] first. A fold that is Unsettled takes nothing but
// [Restored].
func On(r *Rules, at At, f *fold.Fold, in ...Input) (d *Draft, err error) {
	defer r.guard(f.View.TaskID(), "code supplied by the application", &err)
	d = newDraft(r, at, f, draftBytes)
	for _, i := range in {
		if _, settles := i.(Restored); f.Unsettled && !settles {
			return d, unsettled(f.Header.Task)
		}
		d.added, err = i.put(d.added, d.basis)
		if err = cmp.Or(err, d.added.err); err != nil {
			return d, err
		}
	}
	return d, nil
}

// New is a message that creates a task.
type New struct {
	ID      store.TaskID
	Message *a2a.Message // must not be changed any more
	JSON    []byte       // as [EncodeMessage] gives it
	Context *task.ReadonlyContext
	Listed  Lookup
	Session *fold.Session // of its context; nil: it is not known
	Webhook *SetWebhook   // nil: none
	Refers  []a2a.TaskID  // added to the tasks that the message refers to
}

// Create returns the draft of a new task: the message, the task and its submitted state.
func Create(r *Rules, at At, n New) (d *Draft, err error) {
	id := n.ID.String()
	defer r.guard(id, "code supplied by the application", &err)
	contextID := n.Message.ContextID
	if contextID == "" {
		contextID = r.NewID()
	}
	f := fold.NewWithText(n.ID, id, contextID)
	if n.Session != nil {
		f.Join(n.Session)
	}
	d = newDraft(r, at, f, draftBytes+len(n.JSON))
	d.accepted = n.Listed
	kept, raw, err := n.inTask(f.View)
	if err != nil {
		return d, err
	}
	if d.added, err = addMessage(d.added, d.basis, &event.MessageReceived{Message: raw, By: n.Context.Owner(), For: event.ForPlanner}); err != nil {
		return d, err
	}
	f.Messages[0].Decoded = kept
	d.added = keepMailbox(d.added, d.basis, n.Context.Owner().Email)
	d.added = begin(d.added, d.basis, a2a.TaskStateSubmitted)
	if n.Webhook != nil {
		d.added, err = setWebhook(d.added, d.basis, n.Webhook, 0)
	}
	return d, cmp.Or(d.added.err, err)
}

// inTask is inTask for the message, with the tasks that it refers to.
func (n *New) inTask(v *view.View) (*a2a.Message, json.RawMessage, error) {
	m, raw := *n.Message, n.JSON
	for _, id := range n.Refers {
		if !slices.Contains(m.ReferenceTasks, id) {
			m.ReferenceTasks = append(slices.Clip(m.ReferenceTasks), id)
		}
	}
	if len(m.ReferenceTasks) > len(n.Message.ReferenceTasks) {
		var err error
		if raw, err = EncodeMessage(&m); err != nil {
			return nil, nil, fmt.Errorf("encode message: %w", err)
		}
	}
	kept, in := inTask(&m, raw, v)
	return kept, in, nil
}

// Plan prepares the planner's input for the next step of f, and returns a function that
// asks the planner, with what with adds to the input. That function no longer uses f. Plan is
// for planners that are not inline; put the function's results into [Planned].
func Plan(ctx context.Context, r *Rules, f *fold.Fold, with func(*task.Progress)) func() (*task.Step, error) {
	p, err := progress(basis{r, &At{Ctx: ctx}, f}, nil /* tools */)
	return func() (*task.Step, error) {
		if err != nil {
			return nil, err
		}
		with(p)
		return r.ask(ctx, p)
	}
}

// Prompt returns what the planner has asked a language model for a step of f, with what with adds to
// the planner's input. The error is a [*task.InvalidError] if it has asked none.
func Prompt(ctx context.Context, r *Rules, f *fold.Fold, step int, with func(*task.Progress)) (prompt task.Prompt, err error) {
	defer r.guard(f.View.TaskID(), "the planner", &err)
	planner, is := r.Planner.(task.Prompter)
	if !is {
		return task.Prompt{}, task.Invalid("step", "has no prompt: the planner of this server asks no model")
	}
	p, err := progress(basis{r, &At{Ctx: ctx}, f}, nil /* tools */)
	if err != nil {
		return task.Prompt{}, err
	}
	with(p)
	return planner.Prompt(ctx, p, step)
}
