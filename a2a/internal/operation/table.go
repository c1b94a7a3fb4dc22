package operation

import (
	"context"
	"net/http"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	v03 "a2a-server/a2a/internal/v03"
	"a2a-server/auth"
	"a2a-server/task/engine"
)

// Operation is an operation of A2A 1.0 §3.1, with its routes and its implementation. Code that
// serves or describes all operations walks their [Table].
type Operation struct {
	Name    string      // in A2A 1.0: the method in JSON-RPC and in the gRPC service
	Action  auth.Action // the action to authorize
	Summary string      // its effect, in a sentence
	Routes  []Route     // of HTTP+JSON, the preferred route first
	Sends   bool        // its request is a message
	Private bool        // only the client may cache the response
	Legacy  *Legacy     // its requests and responses in A2A 0.3; nil: 0.3 does not have it
	pushes  bool        // it is about push notifications, and not supported without them

	// Either Respond or Stream is set. Respond runs the operation and appends its response to
	// b; Stream begins a stream, and returns the events with which it continues, for the sink
	// that open has returned; nil: it is over.
	Respond func(s *Service, ctx context.Context, c Request, in Input, b []byte) ([]byte, error)
	Stream  func(s *Service, ctx context.Context, c Request, in Input, open Opener) (*engine.Subscription, error)
}

// Route is a method and path of an operation in HTTP+JSON (§11.3). Parameters of the path are
// in braces; a colon after a parameter begins a verb.
type Route struct {
	Method string
	Path   string
	From   Source
}

// Source is where the request of a route is, besides the path.
type Source uint8

// The places of a request.
const (
	InQuery        Source = iota + 1 // in the parameters of the query (§11.5)
	InBody                           // in the body
	InOptionalBody                   // in the body, if there is one
)

// Table returns all operations. A new operation needs an entry here and a method of
// [Service] that runs it.
func Table() []Operation {
	return []Operation{
		{
			Name: "SendMessage", Action: auth.Create,
			Legacy:  &Legacy{Method: "message/send", Read: v03.SendRequest, Write: v03.AppendEvent},
			Summary: "Sends a message to the agent, and waits until its task ends or waits for input, unless the request says otherwise.",
			Routes:  []Route{{http.MethodPost, "/message:send", InBody}},
			Respond: responds(readSend, (*Service).send),
			Sends:   true,
		},
		{
			Name: "SendStreamingMessage", Action: auth.Create,
			Legacy:  &Legacy{Method: "message/stream", Read: v03.SendRequest},
			Summary: "Sends a message to the agent, and streams its task until the task ends or waits for input.",
			Routes:  []Route{{http.MethodPost, "/message:stream", InBody}},
			Stream:  streams(readSend, (*Service).stream),
			Sends:   true,
		},
		{
			Name: "GetTask", Action: auth.Read,
			Legacy:  &Legacy{Method: "tasks/get", Write: v03.AppendTask},
			Summary: "Returns a task.",
			Routes:  []Route{{http.MethodGet, "/tasks/{id}", InQuery}},
			Respond: responds(reads(func(r *a2apb.GetTaskRequest, path []string) { r.Id = path[0] }), (*Service).get),
		},
		{
			Name: "ListTasks", Action: auth.List,
			Legacy:  &Legacy{Query: v03.ListQuery, Write: v03.AppendTasks},
			Summary: "Lists the tasks of the caller, those that changed last first.",
			Routes:  []Route{{http.MethodGet, "/tasks", InQuery}},
			Respond: responds(readListTasks, (*Service).list),
		},
		{
			Name: "CancelTask", Action: auth.Cancel,
			Legacy:  &Legacy{Method: "tasks/cancel", Write: v03.AppendTask},
			Summary: "Cancels a task, and returns it.",
			Routes:  []Route{{http.MethodPost, "/tasks/{id}:cancel", InOptionalBody}},
			Respond: responds(reads(func(r *a2apb.CancelTaskRequest, path []string) { r.Id = path[0] }), (*Service).cancel),
		},
		{
			Name: "SubscribeToTask", Action: auth.Follow,
			Legacy:  &Legacy{Method: "tasks/resubscribe"},
			Summary: "Streams a task until it ends: its current state and every change after that, or every event after the one in Last-Event-ID.",
			Routes: []Route{ // GET in the proto, POST in the tables of the text (D3)
				{http.MethodGet, "/tasks/{id}:subscribe", InQuery},
				{http.MethodPost, "/tasks/{id}:subscribe", InOptionalBody},
			},
			Stream: streams(reads(func(r *a2apb.SubscribeToTaskRequest, path []string) { r.Id = path[0] }), (*Service).subscribe),
		},
		{
			Name: "CreateTaskPushNotificationConfig", Action: auth.Push,
			Legacy:  &Legacy{Method: "tasks/pushNotificationConfig/set", Read: v03.CreatePushConfig, Write: v03.AppendPushConfig},
			Summary: "Sets a webhook of a task. One with the same id is replaced. Not supported unless the agent card says so.",
			Routes:  []Route{{http.MethodPost, "/tasks/{task_id}/pushNotificationConfigs", InBody}},
			Respond: responds(readCreatePush, (*Service).createPush),
			pushes:  true,
		},
		{
			Name: "GetTaskPushNotificationConfig", Action: auth.Push,
			Legacy:  &Legacy{Method: "tasks/pushNotificationConfig/get", Read: v03.PushConfigRequest, Write: v03.AppendPushConfig},
			Summary: "Returns a webhook of a task, without its token and credentials. Not supported unless the agent card says so.",
			Routes:  []Route{{http.MethodGet, "/tasks/{task_id}/pushNotificationConfigs/{id}", InQuery}},
			Respond: responds(reads(func(r *a2apb.GetTaskPushNotificationConfigRequest, path []string) { r.TaskId, r.Id = path[0], path[1] }), (*Service).getPush),
			pushes:  true,
		},
		{
			Name: "ListTaskPushNotificationConfigs", Action: auth.Push,
			Legacy:  &Legacy{Method: "tasks/pushNotificationConfig/list", Read: v03.ListPushConfigsRequest, Write: v03.AppendPushConfigs},
			Summary: "Lists the webhooks of a task, without their tokens and credentials. Not supported unless the agent card says so.",
			Routes:  []Route{{http.MethodGet, "/tasks/{task_id}/pushNotificationConfigs", InQuery}},
			Respond: responds(reads(func(r *a2apb.ListTaskPushNotificationConfigsRequest, path []string) { r.TaskId = path[0] }), (*Service).listPush),
			pushes:  true,
		},
		{
			Name: "DeleteTaskPushNotificationConfig", Action: auth.Push,
			Legacy:  &Legacy{Method: "tasks/pushNotificationConfig/delete", Read: v03.PushConfigRequest, Write: v03.AppendDeleted},
			Summary: "Deletes a webhook of a task, if there is one with the id. Not supported unless the agent card says so.",
			Routes:  []Route{{http.MethodDelete, "/tasks/{task_id}/pushNotificationConfigs/{id}", InQuery}},
			Respond: responds(reads(func(r *a2apb.DeleteTaskPushNotificationConfigRequest, path []string) {
				r.TaskId, r.Id = path[0], path[1]
			}), (*Service).deletePush),
			pushes: true,
		},
		{
			Name: "GetExtendedAgentCard", Action: auth.Read,
			Legacy:  &Legacy{Method: "agent/getAuthenticatedExtendedCard", Path: "/card", Write: copied},
			Summary: "Returns the agent card with the skills that the caller may use. Not supported without authentication.",
			Routes:  []Route{{http.MethodGet, "/extendedAgentCard", InQuery}},
			Respond: (*Service).extendedCard,
			Private: true,
		},
	}
}

// responds returns the Respond function of an operation with one response, which run appends.
func responds[R any](read func(Input) (*R, error), run func(*Service, context.Context, Request, *R, []byte) ([]byte, error),
) func(*Service, context.Context, Request, Input, []byte) ([]byte, error) {
	return func(s *Service, ctx context.Context, c Request, in Input, b []byte) ([]byte, error) {
		req, err := decode(ctx, s, c.By, in, read)
		if err != nil {
			return nil, err
		}
		return run(s, ctx, c, req, b)
	}
}

// streams returns the Stream function of an operation.
func streams[R any](read func(Input) (*R, error), run func(*Service, context.Context, Request, *R, Opener) (*engine.Subscription, error),
) func(*Service, context.Context, Request, Input, Opener) (*engine.Subscription, error) {
	return func(s *Service, ctx context.Context, c Request, in Input, open Opener) (*engine.Subscription, error) {
		req, err := decode(ctx, s, c.By, in, read)
		if err != nil {
			return nil, err
		}
		return run(s, ctx, c, req, open)
	}
}
