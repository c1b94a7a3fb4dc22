package v03

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	a2apb "github.com/a2aproject/a2a-go/a2apb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Service returns the gRPC service of A2A 0.3. Its messages have the form [REST].
func Service() protoreflect.ServiceDescriptor {
	return a2apb.File_a2a_proto.Services().ByName("A2AService")
}

// MethodName returns the name of the method that 0.3 has in gRPC for an operation of 1.0.
func MethodName(operation string) string {
	return cmp.Or(map[string]string{
		"SubscribeToTask": "TaskSubscription", "ListTaskPushNotificationConfigs": "ListTaskPushNotificationConfig", "GetExtendedAgentCard": "GetAgentCard",
	}[operation], operation)
}

// NewGRPCRequest returns an empty request of a method of [Service].
func NewGRPCRequest(of protoreflect.MessageDescriptor) (proto.Message, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(of.FullName())
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", of.FullName(), err)
	}
	return kind.New().Interface(), nil
}

// GRPCRequest returns a request of [NewGRPCRequest] as that of 1.0, in JSON. An error is an
// [*Error]. It may change m.
func GRPCRequest(m proto.Message) ([]byte, error) {
	switch m := m.(type) {
	case *a2apb.SendMessageRequest:
		return nested(m, SendRequest)
	case *a2apb.CreateTaskPushNotificationConfigRequest:
		task, wrong := within(m.GetParent(), "parent")
		if wrong != nil {
			return nil, wrong
		}
		m.Parent = ""
		made, err := nested(m, CreatePushConfig)
		if err != nil {
			return nil, err
		}
		return withTask(made, task)
	case *a2apb.GetTaskRequest:
		return named(m.GetName(), func(id string) any { return taskRequest{id, int(m.GetHistoryLength())} })
	case *a2apb.CancelTaskRequest:
		return named(m.GetName(), func(id string) any { return taskRequest{ID: id} })
	case *a2apb.TaskSubscriptionRequest:
		return named(m.GetName(), func(id string) any { return taskRequest{ID: id} })
	case *a2apb.GetTaskPushNotificationConfigRequest:
		return configRequest(m.GetName())
	case *a2apb.DeleteTaskPushNotificationConfigRequest:
		return configRequest(m.GetName())
	case *a2apb.ListTaskPushNotificationConfigRequest:
		task, wrong := within(m.GetParent(), "parent")
		if wrong != nil {
			return nil, wrong
		}
		return json.Marshal(struct {
			TaskID    string `json:"taskId"`
			PageSize  int32  `json:"pageSize,omitempty"`
			PageToken string `json:"pageToken,omitempty"`
		}{task, m.GetPageSize(), m.GetPageToken()})
	case *a2apb.ListTasksRequest:
		return nested(m, listRequest)
	}
	return []byte("{}"), nil // it has no fields
}

// taskRequest is a request about a task. 0 is no length in 0.3, but the whole history.
type taskRequest struct {
	ID            string `json:"id"`
	HistoryLength int    `json:"historyLength,omitempty"`
}

// nested converts a request whose JSON the other bindings have, too.
func nested(m proto.Message, convert func([]byte, Form) ([]byte, error)) ([]byte, error) {
	raw, err := protojson.Marshal(m)
	if err != nil {
		return nil, &Error{"the message", "has a value that JSON has not"}
	}
	made, err := convert(raw, REST)
	if wrong, is := errors.AsType[*Error](err); is {
		// The proto of 0.3 calls them request and content, the JSON of ours message and parts.
		if rest, of := strings.CutPrefix(wrong.Field, "message"); of {
			return nil, &Error{"request" + strings.Replace(rest, ".parts", ".content", 1), wrong.Reason}
		}
	}
	return made, err
}

// within returns the id in tasks/{id}.
func within(name, field string) (id string, wrong *Error) {
	id, ok := strings.CutPrefix(name, "tasks/")
	if !ok || id == "" || strings.Contains(id, "/") {
		return "", &Error{field, "must be tasks/ and the id of a task"}
	}
	return id, nil
}

// named returns the request that made returns for the task of a name.
func named(name string, made func(id string) any) ([]byte, error) {
	id, wrong := within(name, "name")
	if wrong != nil {
		return nil, wrong
	}
	return json.Marshal(made(id))
}

// configRequest returns the request about a config of a task, by its name.
func configRequest(name string) ([]byte, error) {
	task, config, ok := strings.Cut(name, "/pushNotificationConfigs/")
	id, wrong := within(task, "name")
	if !ok || wrong != nil || strings.Contains(config, "/") {
		return nil, &Error{"name", "must be tasks/, the id of a task, /pushNotificationConfigs/ and the id of a config"}
	}
	return json.Marshal(struct {
		TaskID string `json:"taskId"`
		ID     string `json:"id"`
	}{id, config})
}

// withTask adds the id of a task to a request about its push notification configs.
func withTask(made []byte, task string) ([]byte, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(made, &all); err != nil {
		return nil, fmt.Errorf("create push config: %w", err) // it was made just now
	}
	id, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	all["taskId"] = id
	return json.Marshal(all)
}

// listRequest converts the JSON of ListTasks.
func listRequest(raw []byte, _ Form) ([]byte, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("list tasks: %w", err) // it was made just now
	}
	if after, ok := all["lastUpdatedTime"]; ok {
		all["statusTimestampAfter"] = after
		delete(all, "lastUpdatedTime")
	}
	if string(all["status"]) == `"TASK_STATE_CANCELLED"` {
		all["status"] = []byte(`"TASK_STATE_CANCELED"`)
	}
	return json.Marshal(all)
}

// GRPCCard returns a union card, of [UnionCard], as the JSON of the card of [Service].
func GRPCCard(union []byte) ([]byte, error) {
	var all map[string]json.RawMessage
	var in struct {
		SecurityRequirements []struct {
			Schemes map[string]scopes `json:"schemes"`
		} `json:"securityRequirements"`
	}
	if err := errors.Join(json.Unmarshal(union, &all), json.Unmarshal(union, &in)); err != nil {
		return nil, fmt.Errorf("agent card for A2A 0.3: %w", err)
	}
	type list struct {
		List []string `json:"list"`
	}
	security := []map[string]map[string]list{}
	for _, r := range in.SecurityRequirements {
		schemes := map[string]list{}
		for name, s := range r.Schemes {
			schemes[name] = list{s}
		}
		security = append(security, map[string]map[string]list{"schemes": schemes})
	}
	text, err := json.Marshal(security)
	if err != nil {
		return nil, fmt.Errorf("agent card for A2A 0.3: %w", err)
	}
	all["security"] = text
	return json.Marshal(all)
}
