package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/errordetails"

	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// RequestHandler returns the operations as the SDK's interface, for the SDK's transports.
// principal returns the caller of a call from its context, with the errors of an
// [auth.Authenticator]; it is called again before a decision is committed, and while a stream
// is open, which ends when the caller may no longer have it. Our own bindings do not use the handler: they send the bytes of the
// log, which it has to decode.
//
// The memory that an answer holds is released when the context of its call ends, which
// transports cancel once they have sent the answer. If the context cannot be canceled, it
// is released when the call returns.
//
// Errors wrap those of the SDK and carry the same details as in the other bindings. The
// handler is safe for concurrent use.
func (s *Server) RequestHandler(principal func(context.Context) (auth.Principal, error)) a2asrv.RequestHandler {
	return &handler{s: s, principal: principal}
}

type handler struct {
	s         *Server
	principal func(context.Context) (auth.Principal, error)
}

// fail converts err to the SDK's error.
func (h *handler) fail(ctx context.Context, err error, method string) error {
	if err == nil {
		return nil
	}
	w := h.s.wire(ctx, err, method).limited()
	base := sdk.ErrInternalError
	for _, e := range wireErrors {
		if e.theirs != nil && e.code == w.code {
			base = e.theirs
		}
	}
	switch w.status {
	case http.StatusUnauthorized:
		base = sdk.ErrUnauthenticated
	case http.StatusForbidden:
		base = sdk.ErrUnauthorized
	}
	out := sdk.NewError(base, w.message).WithTypedDetails(errordetails.NewErrorInfo(w.reason, errorDomain, w.metadata))
	if w.own != "" {
		out = out.WithTypedDetails(errordetails.NewErrorInfo(w.own, ownDomain, w.metadata))
	}
	if len(w.violations) > 0 {
		fields := make([]any, len(w.violations))
		for i, v := range w.violations {
			fields[i] = map[string]any{"field": v.Field, "description": v.Description}
		}
		out = out.WithTypedDetails(errordetails.NewTyped(typeBadField, map[string]any{"fieldViolations": fields}))
	}
	return out
}

// caller returns who calls a method, if they may.
func (h *handler) caller(ctx context.Context, method string, req any) (auth.Principal, error) {
	by, wrong := h.s.requests.Check(h.principal(ctx))
	if wrong != nil {
		return auth.Principal{}, h.fail(ctx, wrong, method)
	}
	err := allow(by, h.s.methods[method].op)
	if err == nil {
		err = h.s.extensions.check(h.activate(ctx))
	}
	if err == nil {
		err = checkTenant(by, "" /* path */, req)
	}
	return by, h.fail(ctx, err, method)
}

// activate tells the SDK which of the requested extensions are active, and returns them.
func (h *handler) activate(ctx context.Context) []string {
	called, ok := a2asrv.ExtensionsFrom(ctx)
	if !ok {
		return nil
	}
	active := h.s.extensions.active(called.RequestedURIs())
	for _, uri := range active {
		called.Activate(&sdk.AgentExtension{URI: uri})
	}
	return active
}

// answer returns an answer that is released when ctx ends, and a function to run when the
// call returns.
func (h *handler) answer(ctx context.Context, by auth.Principal) (a *engine.Answer, returned func()) {
	a = h.s.ops.engine.Answer(by)
	if ctx.Done() == nil {
		return a, a.Release
	}
	return a, func() {
		a.Made()
		context.AfterFunc(ctx, a.Release) // nobody else touches it from here on
	}
}

// checkSent checks a message that the SDK has decoded.
func checkSent(m *sdk.Message) error {
	if m == nil {
		return (*messageFacts)(nil).check()
	}
	return (&messageFacts{id: m.ID, fromUser: m.Role == sdk.MessageRoleUser, count: len(m.Parts), part: func(i int) partFacts {
		if p := m.Parts[i]; p != nil {
			return partFacts{p.Content != nil && p.Content != sdk.URL("")}
		}
		return partFacts{}
	}}).check()
}

// SendMessage implements [a2asrv.RequestHandler].
func (h *handler) SendMessage(ctx context.Context, req *sdk.SendMessageRequest) (sdk.SendMessageResult, error) {
	by, err := h.caller(ctx, "SendMessage", req)
	if err != nil {
		return nil, err
	}
	if err := checkSent(req.Message); err != nil {
		return nil, h.fail(ctx, err, "SendMessage")
	}
	a, returned := h.answer(ctx, by)
	defer returned()
	renew := h.s.requests.Verifies(h.principal)
	during, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer h.s.requests.Lease(during, by, renew, end, auth.Create)()
	out, err := h.s.ops.send(during, call{by: by, renew: renew, answer: a}, req)
	if errors.Is(context.Cause(during), httpd.ErrEnded) {
		err = h.s.requests.Ended()
	}
	if err != nil {
		return nil, h.fail(ctx, err, "SendMessage")
	}
	if out.message != nil {
		return out.message, nil
	}
	return h.task(ctx, out.task)
}

// task returns a task as the SDK's type.
func (h *handler) task(ctx context.Context, shown shown) (*sdk.Task, error) {
	var t sdk.Task
	if err := json.Unmarshal(shown.view.AppendTask(nil, shown.options), &t); err != nil {
		return nil, h.fail(ctx, fmt.Errorf("decode task: %w", err), "")
	}
	return &t, nil
}

// GetTask implements [a2asrv.RequestHandler].
func (h *handler) GetTask(ctx context.Context, req *sdk.GetTaskRequest) (*sdk.Task, error) {
	by, err := h.caller(ctx, "GetTask", req)
	if err != nil {
		return nil, err
	}
	a, returned := h.answer(ctx, by)
	defer returned()
	out, err := h.s.ops.get(ctx, call{by: by, answer: a}, req)
	if err != nil {
		return nil, h.fail(ctx, err, "GetTask")
	}
	return h.task(ctx, out)
}

// ListTasks implements [a2asrv.RequestHandler].
func (h *handler) ListTasks(ctx context.Context, req *sdk.ListTasksRequest) (*sdk.ListTasksResponse, error) {
	by, err := h.caller(ctx, "ListTasks", req)
	if err != nil {
		return nil, err
	}
	a, returned := h.answer(ctx, by)
	defer returned()
	found, err := h.s.ops.list(ctx, call{by: by, answer: a}, req)
	if err != nil {
		return nil, h.fail(ctx, err, "ListTasks")
	}
	list := found.list
	out := &sdk.ListTasksResponse{Tasks: []*sdk.Task{}, TotalSize: int(list.Total), PageSize: list.PageSize, NextPageToken: list.NextCursor}
	for _, v := range list.Tasks {
		t, err := h.task(ctx, shown{v, found.options})
		if err != nil {
			return nil, err
		}
		out.Tasks = append(out.Tasks, t)
	}
	return out, nil
}

// CancelTask implements [a2asrv.RequestHandler].
func (h *handler) CancelTask(ctx context.Context, req *sdk.CancelTaskRequest) (*sdk.Task, error) {
	by, err := h.caller(ctx, "CancelTask", req)
	if err != nil {
		return nil, err
	}
	a, returned := h.answer(ctx, by)
	defer returned()
	out, err := h.s.ops.cancel(ctx, call{by: by, answer: a}, req)
	if err != nil {
		return nil, h.fail(ctx, err, "CancelTask")
	}
	return h.task(ctx, out)
}

// SendStreamingMessage implements [a2asrv.RequestHandler].
func (h *handler) SendStreamingMessage(ctx context.Context, req *sdk.SendMessageRequest) iter.Seq2[sdk.Event, error] {
	return h.events(ctx, "SendStreamingMessage", req, func(ctx context.Context, by auth.Principal, open opener) (*engine.Subscription, error) {
		if err := checkSent(req.Message); err != nil {
			return nil, err
		}
		return h.s.ops.stream(ctx, call{by: by, renew: h.s.requests.Verifies(h.principal)}, req, open)
	})
}

// SubscribeToTask implements [a2asrv.RequestHandler].
func (h *handler) SubscribeToTask(ctx context.Context, req *sdk.SubscribeToTaskRequest) iter.Seq2[sdk.Event, error] {
	return h.events(ctx, "SubscribeToTask", req, func(ctx context.Context, by auth.Principal, open opener) (*engine.Subscription, error) {
		return h.s.ops.subscribe(ctx, call{by: by}, req, open)
	})
}

// errStopped ends a stream whose reader has stopped.
var errStopped = errors.New("the reader has stopped")

// events decodes the events of a stream one by one.
func (h *handler) events(ctx context.Context, method string, req any, begin func(context.Context, auth.Principal, opener) (*engine.Subscription, error)) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		by, err := h.caller(ctx, method, req)
		if err != nil {
			yield(nil, err)
			return
		}
		give, err := h.s.streams.Take(by, 1)
		if err != nil {
			yield(nil, h.fail(ctx, err, method))
			return
		}
		defer give()
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer h.s.requests.Lease(ctx, by, h.s.requests.Verifies(h.principal), cancel, h.s.methods[method].op.action)()
		page := func(events []engine.Event) error {
			if err := context.Cause(ctx); errors.Is(err, httpd.ErrEnded) {
				return err
			}
			for i := range events {
				var e sdk.StreamResponse
				if err := json.Unmarshal(events[i].Data, &e); err != nil {
					return fmt.Errorf("decode event %d: %w", events[i].Seq, err)
				}
				if !yield(e.Event, nil) {
					return errStopped
				}
			}
			return nil
		}
		rest, err := begin(ctx, by, func(engine.ID) sink { return page })
		if rest != nil {
			err = rest.Follow(ctx, page)
		}
		if errors.Is(context.Cause(ctx), httpd.ErrEnded) {
			err = h.s.requests.Ended()
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, h.fail(ctx, err, method))
		}
	}
}

// GetExtendedAgentCard implements [a2asrv.RequestHandler]. The URL of its interfaces is that
// of [Card].
func (h *handler) GetExtendedAgentCard(ctx context.Context, req *sdk.GetExtendedAgentCardRequest) (*sdk.AgentCard, error) {
	by, err := h.caller(ctx, "GetExtendedAgentCard", req)
	if err != nil {
		return nil, err
	}
	of, card, err := h.s.extendedCard(ctx, by, h.s.cfg.Card.URL)
	if err != nil {
		return nil, h.fail(ctx, err, "GetExtendedAgentCard")
	}
	text, err := of.encode(card)
	if err == nil && h.s.signer != nil {
		card.Signatures, err = h.s.signer.sign(text)
	}
	if err != nil {
		return nil, h.fail(ctx, err, "GetExtendedAgentCard")
	}
	card, _ = of.secured(card)
	return card, nil
}
