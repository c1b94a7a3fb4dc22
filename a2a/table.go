package a2a

import (
	"context"
	"net/http"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	v03 "a2a-server/a2a/v03"
	"a2a-server/auth"
	"a2a-server/task/engine"
)

// operation is an operation of A2A 1.0 §3.1, with its routes and its implementation. Code that
// serves or describes all operations walks their [table].
type operation struct {
	name    string      // in A2A 1.0: the method in JSON-RPC and in the gRPC service
	old     string      // the method of A2A 0.3 in JSON-RPC; empty: 0.3 has none
	action  auth.Action // the action to authorize
	summary string      // its effect, in a sentence
	routes  []route     // of HTTP+JSON, the preferred route first
	private bool        // only the client may cache the answer
	legacy  *legacy     // its requests and responses in A2A 0.3; nil: 0.3 does not have it
	pushes  bool        // it is about push notifications, and not supported without them

	// Either answer or stream is set. answer runs the operation and appends its result to b;
	// stream begins a stream, and returns the events with which it continues, for the sink
	// that open has returned; nil: it is over.
	answer func(s *service, ctx context.Context, c operationRequest, in input, b []byte) ([]byte, error)
	stream func(s *service, ctx context.Context, c operationRequest, in input, open opener) (*engine.Subscription, error)
}

// route is a method and path of an operation in HTTP+JSON (§11.3). Parameters of the path are
// in braces; a colon after a parameter begins a verb.
type route struct {
	method string
	path   string
	from   source
}

// source is where the request of a route is, besides the path.
type source uint8

const (
	query    source = iota + 1 // in the parameters of the query (§11.5)
	body                       // in the body
	someBody                   // in the body, if there is one
)

// table returns all operations. A new operation needs an entry here and a method of
// [service] that runs it.
func table() []operation {
	return []operation{
		{
			name: "SendMessage", old: "message/send", action: auth.Create,
			legacy:  &legacy{read: v03.SendRequest, write: v03.AppendEvent},
			summary: "Sends a message to the agent, and waits until its task ends or waits for input, unless the request says otherwise.",
			routes:  []route{{http.MethodPost, "/message:send", body}},
			answer:  answers(readSend, (*service).send),
		},
		{
			name: "SendStreamingMessage", old: "message/stream", action: auth.Create,
			legacy:  &legacy{read: v03.SendRequest},
			summary: "Sends a message to the agent, and streams its task until the task ends or waits for input.",
			routes:  []route{{http.MethodPost, "/message:stream", body}},
			stream:  streams(readSend, (*service).stream),
		},
		{
			name: "GetTask", old: "tasks/get", action: auth.Read,
			legacy:  &legacy{write: v03.AppendTask},
			summary: "Returns a task.",
			routes:  []route{{http.MethodGet, "/tasks/{id}", query}},
			answer:  answers(reads(func(r *a2apb.GetTaskRequest, path []string) { r.Id = path[0] }), (*service).get),
		},
		{
			name: "ListTasks", action: auth.List,
			legacy:  &legacy{query: v03.ListQuery, write: v03.AppendTasks},
			summary: "Lists the tasks of the caller, those that changed last first.",
			routes:  []route{{http.MethodGet, "/tasks", query}},
			answer:  answers(readListTasks, (*service).list),
		},
		{
			name: "CancelTask", old: "tasks/cancel", action: auth.Cancel,
			legacy:  &legacy{write: v03.AppendTask},
			summary: "Cancels a task, and returns it.",
			routes:  []route{{http.MethodPost, "/tasks/{id}:cancel", someBody}},
			answer:  answers(reads(func(r *a2apb.CancelTaskRequest, path []string) { r.Id = path[0] }), (*service).cancel),
		},
		{
			name: "SubscribeToTask", old: "tasks/resubscribe", action: auth.Follow,
			legacy:  &legacy{},
			summary: "Streams a task until it ends: its current state and every change after that, or every event after the one in Last-Event-ID.",
			routes: []route{ // GET in the proto, POST in the tables of the text (D3)
				{http.MethodGet, "/tasks/{id}:subscribe", query},
				{http.MethodPost, "/tasks/{id}:subscribe", someBody},
			},
			stream: streams(reads(func(r *a2apb.SubscribeToTaskRequest, path []string) { r.Id = path[0] }), (*service).subscribe),
		},
		{
			name: "CreateTaskPushNotificationConfig", old: "tasks/pushNotificationConfig/set", action: auth.Push,
			legacy:  &legacy{read: v03.CreatePushConfig, write: v03.AppendPushConfig},
			summary: "Sets a webhook of a task. One with the same id is replaced. Not supported unless the agent card says so.",
			routes:  []route{{http.MethodPost, "/tasks/{task_id}/pushNotificationConfigs", body}},
			answer:  answers(readCreatePush, (*service).createPush),
			pushes:  true,
		},
		{
			name: "GetTaskPushNotificationConfig", old: "tasks/pushNotificationConfig/get", action: auth.Push,
			legacy:  &legacy{read: v03.PushConfigRequest, write: v03.AppendPushConfig},
			summary: "Returns a webhook of a task, without its token and credentials. Not supported unless the agent card says so.",
			routes:  []route{{http.MethodGet, "/tasks/{task_id}/pushNotificationConfigs/{id}", query}},
			answer:  answers(reads(func(r *a2apb.GetTaskPushNotificationConfigRequest, path []string) { r.TaskId, r.Id = path[0], path[1] }), (*service).getPush),
			pushes:  true,
		},
		{
			name: "ListTaskPushNotificationConfigs", old: "tasks/pushNotificationConfig/list", action: auth.Push,
			legacy:  &legacy{read: v03.ListPushConfigsRequest, write: v03.AppendPushConfigs},
			summary: "Lists the webhooks of a task, without their tokens and credentials. Not supported unless the agent card says so.",
			routes:  []route{{http.MethodGet, "/tasks/{task_id}/pushNotificationConfigs", query}},
			answer:  answers(reads(func(r *a2apb.ListTaskPushNotificationConfigsRequest, path []string) { r.TaskId = path[0] }), (*service).listPush),
			pushes:  true,
		},
		{
			name: "DeleteTaskPushNotificationConfig", old: "tasks/pushNotificationConfig/delete", action: auth.Push,
			legacy:  &legacy{read: v03.PushConfigRequest, write: v03.AppendDeleted},
			summary: "Deletes a webhook of a task, if there is one with the id. Not supported unless the agent card says so.",
			routes:  []route{{http.MethodDelete, "/tasks/{task_id}/pushNotificationConfigs/{id}", query}},
			answer: answers(reads(func(r *a2apb.DeleteTaskPushNotificationConfigRequest, path []string) {
				r.TaskId, r.Id = path[0], path[1]
			}), (*service).deletePush),
			pushes: true,
		},
		{
			name: "GetExtendedAgentCard", old: "agent/getAuthenticatedExtendedCard", action: auth.Read,
			legacy:  &legacy{path: "/card", write: copied},
			summary: "Returns the agent card with the skills that the caller may use. Not supported without authentication.",
			routes:  []route{{http.MethodGet, "/extendedAgentCard", query}},
			answer:  (*service).extendedCard,
			private: true,
		},
	}
}

// answers returns the answer function of an operation with one answer.
func answers[R any, A interface {
	append(b []byte) ([]byte, error)
}](
	read func(input) (*R, error), run func(*service, context.Context, operationRequest, *R) (A, error),
) func(*service, context.Context, operationRequest, input, []byte) ([]byte, error) {
	return func(s *service, ctx context.Context, c operationRequest, in input, b []byte) ([]byte, error) {
		req, err := decode(ctx, s, c.by, in, read)
		if err != nil {
			return nil, err
		}
		out, err := run(s, ctx, c, req)
		if err != nil {
			return nil, err
		}
		return out.append(b)
	}
}

// streams returns the stream function of an operation.
func streams[R any](read func(input) (*R, error), run func(*service, context.Context, operationRequest, *R, opener) (*engine.Subscription, error),
) func(*service, context.Context, operationRequest, input, opener) (*engine.Subscription, error) {
	return func(s *service, ctx context.Context, c operationRequest, in input, open opener) (*engine.Subscription, error) {
		req, err := decode(ctx, s, c.by, in, read)
		if err != nil {
			return nil, err
		}
		return run(s, ctx, c, req, open)
	}
}
