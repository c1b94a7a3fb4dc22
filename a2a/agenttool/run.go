package agenttool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"a2a-server/approval/dialect"
	"a2a-server/internal/egress"
	"a2a-server/internal/visible"
	"a2a-server/tool"
)

// run is a run of a call: its first, or after a pause or a crash.
type run struct {
	*remoteAgent

	ctx     tool.Context
	yield   func(*tool.Result, error) bool
	stopped bool // yield wants nothing more
	client  *a2aclient.Client
	state   state
	open    []tool.Question // asked here and not answered; asked again while the child cannot be looked at
	view    view
	live    bool         // the view is published, so that pieces can be appended
	whole   bool         // the stream that is followed had a snapshot
	reply   *a2a.Message // the agent's answer without a task
}

// state is what the call keeps in checkpoints and while it is suspended.
type state struct {
	Attempt int        `json:"attempt"`
	Message string     `json:"message"` // id of the first message, which has been or will be sent
	Context string     `json:"context"` // that the message names
	Child   a2a.TaskID `json:"child,omitempty"`
	Of      string     `json:"of,omitempty"` // context of the child, which may have another
	Chain   delegation `json:"chain"`        // of the first message

	Asked   []question        `json:"asked,omitempty"`
	Status  string            `json:"status,omitempty"` // id of the message that asks
	Answer  *answer           `json:"answer,omitempty"`
	Refused map[string]string `json:"refused,omitempty"` // why the agent refused an answer, by id of the question
	Round   int               `json:"round,omitempty"`
	Polls   int               `json:"polls,omitempty"`
	Since   time.Time         `json:"since,omitzero"` // of the first pause without a question
	Seen    string            `json:"seen,omitempty"` // of the child, see [seenOf]; "": it could not be looked at
}

// question is a question of the child that was asked here.
type question struct {
	Ask   string            `json:"ask"` // id of the question here
	Kind  tool.QuestionKind `json:"kind"`
	Asked dialect.Asked     `json:"asked"`
	Shown string            `json:"shown"` // see [shownOf]
}

// answer is a message with answers, from before it is sent until the child has moved on.
type answer struct {
	Parts a2a.ContentParts `json:"parts"`
	To    []target         `json:"to"` // of the parts
}

// target is the question that a part of an answer is for.
type target struct {
	ID    string `json:"id"` // as the child has it
	Shown string `json:"shown"`
	Edits bool   `json:"edits,omitempty"`
}

// release forgets the child of the call.
func (r *run) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.children[r.state.Child] == r.name() {
		delete(r.children, r.state.Child)
	}
}

// name is the name of the call, unique in this process.
func (r *run) name() string { return r.ctx.TaskID() + "." + r.ctx.FunctionCallID() }

// call runs the call to its result, or to a *tool.Suspension.
func (r *run) call(message string) (*tool.Result, error) {
	attempt := tool.Attempt(r.ctx)
	again, resumed := tool.Resumed(r.ctx)
	if resumed && len(again.State) > 0 {
		if err := json.Unmarshal(again.State, &r.state); err != nil {
			return nil, r.unknown("the state of the call cannot be read")
		}
	}
	resumed = resumed && r.state.Message != ""
	if resumed {
		// The answers are kept first: the agent may be away.
		r.open = again.Open
		gaveUp, err := r.prepare(again.Answers)
		if err = errors.Join(gaveUp, err); err != nil {
			return nil, r.where(err)
		}
	}
	client, err := r.remote.connect(r.ctx)
	if !resumed {
		if err != nil {
			return nil, r.where(fmt.Errorf("nothing was sent: %w", err))
		}
		r.client = client
		return r.begin(message, attempt)
	}
	if err != nil {
		return nil, r.later(err)
	}
	r.client = client
	if r.state.Child == "" {
		found, err := r.find()
		if err != nil {
			return nil, r.later(err)
		}
		if found == "" && r.state.Attempt != attempt {
			return r.begin(message, attempt)
		}
		if found == "" {
			return nil, r.unknown("the server stopped while it sent the message, and the agent lists no task for it")
		}
		if err := r.bind(found, ""); err != nil {
			return nil, err
		}
	} else if err := r.claim(r.state.Child, r.name()); err != nil {
		return nil, r.where(err)
	}
	if r.state.Attempt != attempt {
		return r.repeat(message, attempt)
	}
	if err := r.look(); err != nil {
		return nil, err
	}
	return r.goOn()
}

// repeat runs a new attempt of a call that has a child from an earlier one. The child is continued,
// or its result used, if it has done its work or may still do it: only a child that has ended
// otherwise, or is gone, lets a new message be sent.
func (r *run) repeat(message string, attempt int) (*tool.Result, error) {
	err := r.look()
	switch s := r.view.status.State; {
	case errors.Is(err, errGone), s.Terminal() && s != a2a.TaskStateCompleted:
		r.release()
		return r.begin(message, attempt)
	case err != nil:
		return nil, err
	}
	r.state.Attempt, r.state.Since = attempt, time.Time{}
	return r.goOn()
}

// begin sends the message that makes the child.
func (r *run) begin(message string, attempt int) (*tool.Result, error) {
	chain, err := r.delegation()
	if err != nil {
		return nil, r.where(err)
	}
	scope := fmt.Appendf(nil, "%q", []string{r.ctx.Tenant(), r.ctx.UserID(), r.ctx.SessionID(), r.Name(), r.Card})
	r.state = state{
		Attempt: attempt, Message: fmt.Sprintf("%s.%s.%d", r.ctx.TaskID(), r.ctx.FunctionCallID(), attempt),
		Context: hashed(16, scope), Chain: chain,
	}
	if err := r.checkpoint(); err != nil {
		return nil, r.where(fmt.Errorf("nothing was sent: %w", err))
	}
	part := a2a.NewTextPart(message)
	part.Metadata = r.passedOn()
	m := &a2a.Message{
		ID: r.state.Message, ContextID: r.state.Context, Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{part},
		Metadata: r.passedOn(),
	}
	f := &egress.Trace{}
	r.live = true
	err = r.follow(r.send(egress.ContextWithTrace(r.ctx, f), m), "")
	switch refused, _ := errors.AsType[*a2a.Error](err); {
	case r.stopped:
		return nil, nil
	case err == nil:
		return r.rest()
	case errors.Is(err, errFatal):
		return nil, err
	case r.state.Child != "":
		return r.watch()
	case r.ctx.Err() != nil && f.Sent.Load():
		return nil, r.ended()
	case !f.Sent.Load():
		r.note(err)
		return nil, r.where(fmt.Errorf("nothing was sent: %w", public(err)))
	case refused != nil && !errors.Is(err, a2a.ErrInternalError) && !errors.Is(err, a2a.ErrServerError):
		return nil, r.where(fmt.Errorf("it refused the message: %w", public(err)))
	case f.Status.Load() >= 400 && f.Status.Load() < 500 && f.Status.Load() != http.StatusRequestTimeout && f.Status.Load() != 499:
		return nil, r.where(fmt.Errorf("it refused the message with HTTP status %d", f.Status.Load()))
	}
	r.note(err)
	found, findErr := r.find()
	if findErr != nil || found == "" {
		return nil, r.unknown("it did not answer the message with a task: " + public(err).Error())
	}
	if err := r.bind(found, ""); err != nil {
		return nil, err
	}
	return r.watch()
}

// send sends a message.
func (r *run) send(ctx context.Context, m *a2a.Message) iter.Seq2[a2a.Event, error] {
	req := &a2a.SendMessageRequest{Message: m, Config: &a2a.SendMessageConfig{}}
	if !r.remote.streams() {
		req.Config.ReturnImmediately = true
	}
	return r.client.SendStreamingMessage(ctx, req)
}

// goOn sends the answers that the child waits for, or goes on with its state.
func (r *run) goOn() (*tool.Result, error) {
	if a := r.due(); a != nil {
		return r.answer(a)
	}
	r.state.Answer = nil
	return r.rest()
}

const errGone = publicError("it no longer knows the task that it made of the message")

// look gets the child, and replaces the view. The error is final, such as errGone, or a suspension.
func (r *run) look() error {
	task, err := r.get()
	switch {
	case errors.Is(err, a2a.ErrTaskNotFound):
		return r.where(fmt.Errorf("%w: %w", tool.ErrOutcomeUnknown, errGone))
	case err != nil:
		r.note(err)
		return r.later(err)
	case task.ID != r.state.Child:
		return r.unknown("it answered with the task of another call")
	}
	if err := r.view.snapshot(task); err != nil {
		return r.unknown(err.Error())
	}
	r.live = false
	return nil
}

func (r *run) get() (*a2a.Task, error) {
	ctx, cancel := context.WithTimeout(r.ctx, requestTimeout)
	defer cancel()
	one := 1
	return r.client.GetTask(ctx, &a2a.GetTaskRequest{ID: r.state.Child, HistoryLength: &one})
}

// find returns the task that the agent made of the message, "" if it lists none. The error says
// that it could not be asked.
func (r *run) find() (a2a.TaskID, error) {
	ctx, cancel := context.WithTimeout(r.ctx, requestTimeout)
	defer cancel()
	history := 100
	req := &a2a.ListTasksRequest{ContextID: r.state.Context, PageSize: 20, HistoryLength: &history}
	for range 10 {
		page, err := r.client.ListTasks(ctx, req)
		if _, refused := errors.AsType[*a2a.Error](err); refused || errors.Is(err, a2a.ErrUnsupportedOperation) {
			return "", nil // it cannot list
		}
		if err != nil {
			return "", err
		}
		for _, task := range page.Tasks {
			if task != nil && task.ContextID == r.state.Context && slices.ContainsFunc(task.History, func(m *a2a.Message) bool { return m != nil && m.ID == r.state.Message }) {
				return task.ID, nil
			}
		}
		if page.NextPageToken == "" {
			return "", nil
		}
		req.PageToken = page.NextPageToken
	}
	return "", nil
}

// bind keeps the id of the child.
func (r *run) bind(child a2a.TaskID, of string) error {
	if child == "" || len(child) > maxID || len(of) > maxID {
		return r.fatal("it made a task without a usable id")
	}
	if err := r.claim(child, r.name()); err != nil {
		return r.fatal(err.Error())
	}
	r.state.Child, r.state.Of = child, of
	if err := r.checkpoint(); err != nil {
		return fmt.Errorf("%w: %w", errFatal, r.where(fmt.Errorf("%w: %w", tool.ErrOutcomeUnknown, err)))
	}
	return nil
}

func (r *run) checkpoint() error {
	raw, err := json.Marshal(r.state)
	if err != nil {
		return err
	}
	return tool.Checkpoint(r.ctx, raw)
}

// errFatal means that the stream of the child must not be followed any longer.
var errFatal = errors.New("the agent does not keep to the protocol")

// fatal returns the error for an agent that does not keep to the protocol. The outcome is unknown.
func (r *run) fatal(why string) error {
	return fmt.Errorf("%w: %w", errFatal, r.unknown(why))
}

// follow takes the events of a stream until the child rests: in a final state, or with a question
// that is not the one in the message ignored. Any other end is an error.
func (r *run) follow(events iter.Seq2[a2a.Event, error], ignored string) error {
	for e, err := range events {
		if errors.Is(err, errEndless) {
			return r.fatal(errEndless.Error())
		}
		if err != nil {
			return err
		}
		if err := r.take(e); err != nil {
			return err
		}
		if r.stopped || r.reply != nil || r.view.rests(ignored) || len(r.waits(&r.view.status)) > 0 {
			return nil
		}
	}
	return errCut
}

var errCut = publicError("the stream ended before the task")

// take takes an event of the child.
func (r *run) take(e a2a.Event) error {
	switch e := e.(type) {
	case *a2a.Message:
		if r.state.Child == "" && e != nil {
			r.reply = e
		}
		return nil
	case *a2a.Task:
		if err := r.of(e.ID, e.ContextID); err != nil {
			return err
		}
		if err := r.view.snapshot(e); err != nil {
			return r.fatal(err.Error())
		}
		r.live, r.whole = false, true
		if len(e.Artifacts) > 0 {
			r.publish()
		} else {
			r.live = true
		}
	case *a2a.TaskStatusUpdateEvent:
		if err := r.of(e.TaskID, e.ContextID); err != nil {
			return err
		}
		r.view.status = e.Status
		if e.Status.State == a2a.TaskStateWorking && e.Status.Message != nil {
			tool.Report(r.ctx, tool.Progress{Message: visible.Clip(textOf(e.Status.Message.Parts), 500)})
		}
	case *a2a.TaskArtifactUpdateEvent:
		if err := r.of(e.TaskID, e.ContextID); err != nil {
			return err
		}
		if e.Artifact == nil {
			return nil
		}
		if !r.live {
			r.publish()
		}
		if err := r.view.add(e.Artifact, e.Append); err != nil {
			return r.fatal(err.Error())
		}
		r.piece(e.Artifact.ID, e.Artifact.Parts, !e.Append)
	}
	return nil
}

// of checks that an event is of the child; the first event says which task that is.
func (r *run) of(task a2a.TaskID, of string) error {
	if r.state.Child == "" {
		return r.bind(task, of)
	}
	if task != r.state.Child {
		return r.fatal("it sent an event of another task")
	}
	return nil
}

// watch follows a child that works. If its stream is cut, it subscribes again; if that does not
// help, the call pauses.
func (r *run) watch() (*tool.Result, error) {
	for n := range reconnects {
		r.whole = false
		err := r.follow(r.client.SubscribeToTask(r.ctx, &a2a.SubscribeToTaskRequest{ID: r.state.Child}), "")
		switch {
		case r.stopped:
			return nil, nil
		case r.ctx.Err() != nil:
			return nil, r.ended()
		case err == nil && (r.whole || len(r.waits(&r.view.status)) > 0):
			return r.rest()
		case errors.Is(err, errFatal):
			return nil, err
		case err != nil:
			r.note(err)
		}
		// Without a snapshot, as in A2A 0.3, chunks from before the stream are missing.
		if err := r.look(); err != nil {
			return nil, err
		}
		if r.view.rests("") || len(r.waits(&r.view.status)) > 0 {
			return r.rest()
		}
		if !r.remote.streams() {
			break
		}
		select {
		case <-time.After(100 * time.Millisecond << n):
		case <-r.ctx.Done():
			return nil, r.ended()
		}
	}
	return nil, r.later(nil)
}

// rest returns the result of a child in a final state, asks its questions, or follows it.
func (r *run) rest() (*tool.Result, error) {
	switch s := r.view.status.State; {
	case r.reply != nil:
		return r.replied()
	case s.Terminal():
		return r.final()
	case s == a2a.TaskStateInputRequired || s == a2a.TaskStateAuthRequired:
		return nil, r.ask()
	}
	if waits := r.waits(&r.view.status); len(waits) > 0 {
		r.state.Since = time.Time{}
		return nil, r.suspend(nil, waits)
	}
	if r.overdue() {
		return nil, r.later(nil)
	}
	return r.watch()
}

// later returns the suspension of a call whose child is looked at again later. err says why it
// cannot be looked at now; nil: it works.
func (r *run) later(err error) error {
	now := r.Now()
	if r.state.Since.IsZero() {
		r.state.Since = now
	}
	if now.Sub(r.state.Since) > maxUnreached {
		why := "its task has not ended in time"
		if err != nil {
			why = public(err).Error()
		}
		return r.unknown(why)
	}
	if err != nil {
		r.view.status = a2a.TaskStatus{} // not seen
	}
	return r.suspend(r.open, nil)
}

// suspend returns a suspension with the state of the call, and a later time at which the child is looked
// at: by [remoteAgent.Watch], unless answers are to be sent to it.
func (r *run) suspend(asks []tool.Question, waits []tool.Waiting) error {
	r.state.Seen = r.seenOf(&r.view.status)
	watch, pause := r.state.Child != "" && r.state.Answer == nil, r.Poll
	if !watch {
		if pause = maxPoll; r.state.Polls < 16 {
			pause = min(maxPoll, r.Poll<<r.state.Polls)
		}
		r.state.Polls++
	}
	raw, err := json.Marshal(r.state)
	if err == nil && len(raw) > tool.MaxSuspensionState {
		err = errors.New("the questions of the agent are too large")
	}
	if err != nil {
		return r.where(err)
	}
	return &tool.Suspension{Asks: asks, Wake: r.Now().Add(pause), State: raw, Waits: waits, Watch: watch}
}

// unknown returns the error for an unknown outcome.
func (r *run) unknown(why string) error {
	return r.where(fmt.Errorf("%w: %s", tool.ErrOutcomeUnknown, why))
}

// ended returns the error of a call that was told to end. If its time is over, the child is looked at
// later; else the engine has the child canceled.
func (r *run) ended() error {
	if errors.Is(context.Cause(r.ctx), tool.ErrTimeLimit) && r.state.Child != "" {
		return r.later(nil)
	}
	return r.where(fmt.Errorf("%w: the call was ended before the agent was done: %w", tool.ErrOutcomeUnknown, context.Cause(r.ctx)))
}

// note logs what callers do not learn of a failure.
func (r *run) note(err error) {
	if tool.Private(r.ctx) {
		err = tool.ErrMasked
	}
	r.Logger.Warn().Str("agent", r.Name()).Str("error", visible.Clip(brief(err).Error(), maxError)).Msg("a request to an agent failed")
}
