package operation

import (
	"context"
	"errors"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task"
	"a2a-server/task/engine"
)

// viewOptions returns how much of a task a response includes. nil: the whole history.
func viewOptions[N int | int32](historyLength *N) task.ViewOptions {
	if historyLength == nil {
		return task.ViewOptions{HistoryLength: -1}
	}
	return task.ViewOptions{HistoryLength: int(*historyLength)}
}

func checkHistory[N int | int32](field string, n *N) error {
	if n != nil && *n < 0 {
		return wire.InvalidField(field, "must not be negative")
	}
	return nil
}

// prepare checks the values of a send that decoding does not, and returns its configuration and
// the message for the engine.
func (s *Service) prepare(c Request, req *sdk.SendMessageRequest) (config sdk.SendMessageConfig, send engine.Send, err error) {
	send = engine.Send{By: c.By, Message: req.Message, Bytes: c.Bytes, Renew: c.Renew}
	if err = modes(s.InputModes).check(req.Message); err != nil || req.Config == nil {
		return config, send, err
	}
	config = *req.Config
	if config.PushConfig != nil && s.Push == nil {
		return config, send, noPush()
	}
	if err = checkHistory("configuration.historyLength", config.HistoryLength); err == nil && config.PushConfig != nil {
		send.Push, err = s.inline(c, req)
	}
	return config, send, err
}

// send passes a message to the engine and waits until its task ends or waits for input,
// unless the request says otherwise (§3.2.2). When too many sends are waiting, a message
// that would create a task is refused. A message to an existing task may be a decision, so it is
// accepted; if its task is still running then, the response is an error that names the task.
func (s *Service) send(ctx context.Context, c Request, req *sdk.SendMessageRequest, b []byte) ([]byte, error) {
	config, message, err := s.prepare(c, req)
	if err != nil {
		return nil, err
	}
	var full error // no place to wait is left
	if !config.ReturnImmediately {
		var give func()
		switch give, full = s.Waiting.Take(c.By, 1); {
		case full == nil:
			defer give()
		case req.Message.TaskID == "":
			return nil, full
		}
	}
	out, err := s.Engine.Send(ctx, message)
	if err != nil {
		return nil, err
	}
	if out.Direct != nil {
		return appendJSON(b, sdk.StreamResponse{Event: out.Direct}, nil)
	}
	wait := c.Answer.Await
	switch {
	case config.ReturnImmediately || full != nil:
		wait = c.Answer.Accepted
	case c.Waits != nil:
		c.Waits(out.Task)
	}
	view, err := wait(ctx, out)
	if err != nil && (errors.Is(context.Cause(ctx), httpd.ErrStopping) || errors.Is(err, engine.ErrBusy)) && !errors.As(err, new(*engine.RecordedError)) {
		err = &engine.RecordedError{Task: out.Task, Cause: err}
	}
	if err != nil {
		return nil, err
	}
	if full != nil && !rests(view.State()) {
		return nil, wire.ErrBusy.Saying(full.Error()).Recorded(out.Task.String())
	}
	return append(view.AppendTask(append(b, `{"task":`...), viewOptions(config.HistoryLength)), '}'), nil
}

// rests reports whether a send that waits is answered with a task of this state (§3.2.2).
func rests(s sdk.TaskState) bool {
	return s.Terminal() || s == sdk.TaskStateInputRequired || s == sdk.TaskStateAuthRequired
}

// Sink receives the events of a stream, page by page. A page may be empty.
type Sink func([]engine.Event) error

// Opener begins a stream; a zero id is no task. A failure before the call is the
// request's error, a failure after it ends the stream.
type Opener func(id engine.ID) Sink

// stream passes a message to the engine and begins a stream of its task, until that ends or
// waits for input (D1). Without a task, the stream is over once it has begun, and where it
// continues is nil.
func (s *Service) stream(ctx context.Context, c Request, req *sdk.SendMessageRequest, open Opener) (*engine.Subscription, error) {
	config, message, err := s.prepare(c, req)
	if err != nil {
		return nil, err
	}
	out, err := s.Engine.Send(ctx, message)
	if err != nil {
		return nil, err
	}
	if out.Direct != nil {
		data, err := appendJSON(nil, sdk.StreamResponse{Event: out.Direct}, nil)
		if err != nil {
			return nil, err
		}
		return nil, open(engine.ID{})([]engine.Event{{Public: true, Data: data}})
	}
	return s.Engine.Stream(ctx, c.By, out, func(first *engine.StreamStart) error {
		yield := open(out.Task)
		if first == nil {
			return nil
		}
		event := snapshotEvent(first, viewOptions(config.HistoryLength))
		first.Made()
		return yield([]engine.Event{event})
	})
}

// subscribe begins a stream of a task until that ends (§3.1.6) or, in 0.3, also until it
// waits for input. A reader that names the last event it has seen continues from there, even
// if the task has ended. Any other reader begins with the current task, and is refused if
// that has ended.
func (s *Service) subscribe(ctx context.Context, c Request, req *a2apb.SubscribeToTaskRequest, open Opener) (*engine.Subscription, error) {
	id, err := taskID(req.GetId())
	if err != nil {
		return nil, err
	}
	n, resumes := uint64(0), false
	if c.From != nil {
		n, resumes = c.From(id)
	}
	if resumes {
		h, err := s.Engine.Header(ctx, c.By, id)
		if err != nil {
			return nil, err
		}
		resumes = n <= h.Seq
	}
	if resumes {
		err = open(id)(nil) // tell the reader at once that the stream is open
	} else {
		n, err = s.begin(ctx, c.By, id, open)
	}
	if err != nil {
		return nil, err
	}
	until := engine.UntilEnd
	if c.V03 { // where a stream ends with its final event
		until = engine.UntilInput
	}
	return s.Engine.Subscribe(c.By, id, n, until), nil
}

// begin begins a stream with the current task, and returns where it continues.
func (s *Service) begin(ctx context.Context, by auth.Principal, id engine.ID, open Opener) (n uint64, err error) {
	a := s.Engine.ReserveRead(by)
	defer a.Release()
	first, err := a.StreamStart(ctx, id)
	if err != nil {
		return 0, err
	}
	if first.View.State().Terminal() {
		return 0, wire.ErrUnsupported.Saying("the task has ended: get it instead, or resume a stream of it with the id of one of its events as Last-Event-ID")
	}
	event := snapshotEvent(first, viewOptions[int](nil))
	first.Made()
	return first.Header.Seq, open(id)([]engine.Event{event})
}

// snapshotEvent returns a task as the first event of a stream. Its id is that of the last
// event folded into it.
func snapshotEvent(first *engine.StreamStart, options task.ViewOptions) engine.Event {
	data := append(first.View.AppendTask([]byte(`{"task":`), options), '}')
	return engine.Event{Seq: first.Header.Seq, Public: true, Data: data}
}

// taskID parses the task id of a request.
func taskID(id string) (engine.ID, error) {
	if id == "" {
		return engine.ID{}, wire.ErrInvalidParams.Saying("task id cannot be empty")
	}
	parsed, ok := engine.ParseID(id)
	if !ok {
		return engine.ID{}, task.ErrTaskNotFound
	}
	return parsed, nil
}

func (s *Service) get(ctx context.Context, c Request, req *a2apb.GetTaskRequest, b []byte) ([]byte, error) {
	if err := checkHistory("historyLength", req.HistoryLength); err != nil {
		return nil, err
	}
	if _, err := taskID(req.GetId()); err != nil {
		return nil, err
	}
	view, err := c.Answer.Get(ctx, req.GetId())
	return appendTask(b, view, err, viewOptions(req.HistoryLength))
}

func (s *Service) list(ctx context.Context, c Request, req *a2apb.ListTasksRequest, b []byte) ([]byte, error) {
	options := viewOptions(req.HistoryLength)
	options.NoArtifacts = !req.GetIncludeArtifacts()
	q := engine.Query{Context: req.GetContextId(), PageSize: int(req.GetPageSize()), Cursor: req.GetPageToken(), Artifacts: req.GetIncludeArtifacts()}
	if req.GetStatus() != a2apb.TaskState_TASK_STATE_UNSPECIFIED {
		q.State = sdk.TaskState(req.GetStatus().String())
	}
	if after := req.GetStatusTimestampAfter(); after != nil {
		q.Since = after.AsTime()
	}
	list, err := c.Answer.List(ctx, q)
	if err != nil {
		return nil, err
	}
	return appendList(b, list, options), nil
}

// cancel cancels a task and returns it. It is idempotent (D5).
func (s *Service) cancel(ctx context.Context, c Request, req *a2apb.CancelTaskRequest, b []byte) ([]byte, error) {
	id, err := taskID(req.GetId())
	if err != nil {
		return nil, err
	}
	if c.V03 { // where canceling is not idempotent (0.3 §7.4)
		if h, err := s.Engine.Header(ctx, c.By, id); err == nil && task.StateName(h.State) == sdk.TaskStateCanceled {
			return nil, &task.StateError{Task: id, State: sdk.TaskStateCanceled, NotCancelable: true}
		}
	}
	view, err := c.Answer.Cancel(ctx, id)
	return appendTask(b, view, err, viewOptions[int](nil))
}

// noPush is the error of every push notification operation of a server without [Push], as
// its card says.
func noPush() error { return wire.ErrPushUnsupported.Saying(wire.ErrPushUnsupported.Message) }
