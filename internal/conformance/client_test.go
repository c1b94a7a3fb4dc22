package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// client is a client of A2A: a form of its messages over a transport. Its errors are a *fault
// if the server answered with one, errNotOffered if the binding has no such operation, io.EOF at
// the end of a stream, and otherwise say in what way an answer is against the specification. It
// is safe for concurrent use.
type client struct {
	form
	over   carrier
	public *wire // HTTP, where the card is
}

// carrier carries the requests of a client.
type carrier interface {
	// call returns the answer to a request.
	call(context.Context, request) ([]byte, error)
	// follow begins a stream, if after is not empty behind the event with this id.
	follow(ctx context.Context, r request, after string, read func([]byte) (*event, error)) *stream
	// garbled sends a message in a way that the encoding allows and the protocol does not.
	garbled(context.Context, request, garble) error
}

// request is the request of an operation.
type request struct {
	op           string // as 1.0 calls it
	task, config string // ids
	params       map[string]any
}

// operations are where the bindings have them. 0.3 has no ListTasks in JSON-RPC.
var operations = map[string]struct{ method, grpc, verb, path string }{
	"SendMessage":                      {"message/send", "", "POST", "/message:send"},
	"SendStreamingMessage":             {"message/stream", "", "POST", "/message:stream"},
	"GetTask":                          {"tasks/get", "", "GET", "/tasks/{task}"},
	"ListTasks":                        {"", "", "GET", "/tasks"},
	"CancelTask":                       {"tasks/cancel", "", "POST", "/tasks/{task}:cancel"},
	"SubscribeToTask":                  {"tasks/resubscribe", "TaskSubscription", "GET", "/tasks/{task}:subscribe"},
	"CreateTaskPushNotificationConfig": {"tasks/pushNotificationConfig/set", "", "POST", "/tasks/{task}/pushNotificationConfigs"},
	"GetTaskPushNotificationConfig":    {"tasks/pushNotificationConfig/get", "", "GET", "/tasks/{task}/pushNotificationConfigs/{config}"},
	"ListTaskPushNotificationConfigs":  {"tasks/pushNotificationConfig/list", "ListTaskPushNotificationConfig", "GET", "/tasks/{task}/pushNotificationConfigs"},
	"DeleteTaskPushNotificationConfig": {"tasks/pushNotificationConfig/delete", "", "DELETE", "/tasks/{task}/pushNotificationConfigs/{config}"},
	"GetExtendedAgentCard":             {"agent/getAuthenticatedExtendedCard", "GetAgentCard", "GET", "/extendedAgentCard"},
	"ForgetTask":                       {"tasks/forget", "", "POST", "/message:forget"}, // there is none
}

// ask makes a request with one answer, and reads it.
func ask[T any](ctx context.Context, c *client, r request, from func(object) *T) (*T, error) {
	raw, err := c.over.call(ctx, r)
	if err != nil {
		return nil, err
	}
	return read(c.form, raw, from)
}

func (c *client) follow(ctx context.Context, r request, after string) *stream {
	return c.over.follow(ctx, r, after, func(raw []byte) (*event, error) { return read(c.form, raw, readEvent) })
}

// card returns the public card.
func (c *client) card(ctx context.Context) (*card, error) {
	got, err := c.public.do(ctx, http.MethodGet, "/.well-known/agent-card.json", nil)
	if err != nil {
		return nil, err
	}
	return readCard(form{old: c.old}, got.body)
}

func (c *client) send(ctx context.Context, s sending) (*sent, error) {
	return ask(ctx, c, request{op: "SendMessage", params: c.form.send(s)}, readSent)
}

func (c *client) stream(ctx context.Context, s sending) *stream {
	return c.follow(ctx, request{op: "SendStreamingMessage", params: c.form.send(s)}, "")
}

func (c *client) get(ctx context.Context, id string, history *int) (*task, error) {
	r := request{op: "GetTask", task: id, params: map[string]any{}}
	if history != nil {
		r.params["historyLength"] = *history
	}
	return ask(ctx, c, r, readTask)
}

func (c *client) list(ctx context.Context, l listing) (*page, error) {
	if c.kinds {
		return nil, errNotOffered
	}
	return ask(ctx, c, request{op: "ListTasks", params: c.form.list(l)}, readPage)
}

func (c *client) cancel(ctx context.Context, id string, metadata map[string]any) (*task, error) {
	r := request{op: "CancelTask", task: id}
	if metadata != nil && (!c.old || !c.numbers) { // gRPC of 0.3 has none
		r.params = map[string]any{"metadata": metadata}
	}
	return ask(ctx, c, r, readTask)
}

// subscribe follows a task from its current state or, if after is not empty, from what comes
// after the event with this id.
func (c *client) subscribe(ctx context.Context, id, after string) *stream {
	return c.follow(ctx, request{op: "SubscribeToTask", task: id}, after)
}

func (c *client) setPush(ctx context.Context, p pushConfig) (*pushConfig, error) {
	r := request{op: "CreateTaskPushNotificationConfig", task: p.Task, params: c.push(p)}
	if c.old {
		r.params = map[string]any{"pushNotificationConfig": r.params}
	}
	if c.old && c.numbers {
		r.params = map[string]any{"configId": p.ID, "config": r.params}
	}
	return ask(ctx, c, r, readPush)
}

func (c *client) getPush(ctx context.Context, task, id string) (*pushConfig, error) {
	return ask(ctx, c, request{op: "GetTaskPushNotificationConfig", task: task, config: id}, readPush)
}

func (c *client) listPush(ctx context.Context, task string) ([]pushConfig, error) {
	raw, err := c.over.call(ctx, request{op: "ListTaskPushNotificationConfigs", task: task})
	if err != nil {
		return nil, err
	}
	return readPushes(c.form, raw)
}

func (c *client) deletePush(ctx context.Context, task, id string) error {
	raw, err := c.over.call(ctx, request{op: "DeleteTaskPushNotificationConfig", task: task, config: id})
	if err == nil && c.kinds && raw != nil && string(raw) != "null" {
		return fmt.Errorf("the result is %s, want null", raw)
	}
	return err
}

func (c *client) extendedCard(ctx context.Context) (*card, error) {
	raw, err := c.over.call(ctx, request{op: "GetExtendedAgentCard"})
	if err != nil {
		return nil, err
	}
	return readCard(c.form, raw)
}

// garbled sends a message that is broken.
func (c *client) garbled(ctx context.Context, how garble) error {
	r := request{op: "SendMessage", params: c.form.send(sending{Message: &message{ID: "garbled", Role: "user", Parts: []part{text("garbled text")}}})}
	if how == unknownCall {
		r = request{op: "ForgetTask", params: map[string]any{}}
	}
	return c.over.garbled(ctx, r, how)
}

// garble is a way to break a request that has been encoded.
type garble string

const (
	notEncoded    garble = "not in the encoding at all"
	cut           garble = "cut off"
	wrongType     garble = "parts is no list"
	wrongScalar   garble = "messageId is an object"
	duplicateName garble = "messageId is there twice"
	notUTF8       garble = "a text is not UTF-8"
	hugeNumber    garble = "an integer that a double cannot hold"
	notDeclared   garble = "a media type that nobody knows"
	unknownField  garble = "a field that nobody knows"  // which is to be ignored
	noRequest     garble = "not a request, but encoded" // which a path or a service always is
	wrongMethod   garble = "a method of HTTP that its path does not have"
	unknownCall   garble = "an operation that does not exist"
)

// errNotOffered is the error of an operation that a binding does not have.
var errNotOffered = errors.New("not offered")

// caller is who calls, and what goes with each request.
type caller struct {
	key        string // "": no credential
	version    *string
	extensions []string
	activated  func([]string) // is told the extensions that an answer lists; nil: nobody wants to know
}

// binding is a binding of a version of A2A.
type binding struct {
	name    string // of the test
	version string // Major.Minor
	form    form
	connect func(*world, caller, form) carrier
	resumes bool // a stream can continue after an event
	lists   bool // it has ListTasks
}

// bindings are all that the server speaks.
func bindings() []binding {
	return []binding{
		{name: "JSON-RPC-1.0", version: "1.0", resumes: true, lists: true, connect: connectRPC},
		{name: "REST-1.0", version: "1.0", resumes: true, lists: true, connect: connectREST},
		{name: "gRPC-1.0", version: "1.0", form: form{numbers: true}, lists: true, connect: connectGRPC},
		{name: "JSON-RPC-0.3", version: "0.3", form: form{old: true, kinds: true}, resumes: true, connect: connectRPC},
		{name: "REST-0.3", version: "0.3", form: form{old: true}, resumes: true, lists: true, connect: connectREST},
		{name: "gRPC-0.3", version: "0.3", form: form{old: true, numbers: true}, lists: true, connect: connectGRPC},
	}
}

// client returns a client of the binding.
func (b binding) client(w *world, by caller) *client {
	return &client{b.form, b.connect(w, by, b.form), wireTo(w, by, b.form)}
}

// stream is a stream of events. It is not safe for concurrent use.
type stream struct {
	next  func() (*event, error) // blocks; io.EOF at the end
	close func()                 // ends the stream; may be called twice
}

// broken returns the stream of a request that was refused or failed.
func broken(err error) *stream {
	return &stream{next: func() (*event, error) { return nil, err }, close: func() {}}
}

// rest returns all events up to the end.
func (s *stream) rest() ([]event, error) {
	var all []event
	for {
		e, err := s.next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, *e)
	}
}
