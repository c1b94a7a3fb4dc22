package v03

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	a2apb "github.com/a2aproject/a2a-go/a2apb"
	"google.golang.org/protobuf/reflect/protoreflect"
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

// GRPCRequest returns the function that converts the JSON of a request over gRPC to that of an operation
// of 1.0. The rules of [SendRequest] apply.
func GRPCRequest(operation string) func(raw []byte, form Form) ([]byte, error) {
	switch operation {
	case "SendMessage", "SendStreamingMessage":
		return SendRequest
	case "CreateTaskPushNotificationConfig":
		return createRequest
	case "GetTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig":
		return configRequest
	case "ListTaskPushNotificationConfigs":
		return listConfigsRequest
	case "ListTasks":
		return listRequest
	case "GetTask", "CancelTask", "SubscribeToTask":
		return taskRequest
	}
	return nil // the requests are the same
}

// grpcRequest are the members of requests over gRPC that HTTP+JSON has in the path and the query.
type grpcRequest struct {
	Name          string `json:"name"`
	Parent        string `json:"parent"`
	HistoryLength int    `json:"historyLength"`
	PageSize      int    `json:"pageSize"`
	PageToken     string `json:"pageToken"`
}

// readGRPC reads a request, and the id of the task in its parent.
func readGRPC(raw []byte) (r grpcRequest, task string, wrong error) {
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, "", fmt.Errorf("read a request over gRPC: %w", err) // it was made just now
	}
	task, wrong = within(r.Parent, "parent")
	return r, task, wrong
}

// within returns the id in tasks/{id}.
func within(name, field string) (id string, err error) {
	id, ok := strings.CutPrefix(name, "tasks/")
	if !ok || id == "" || strings.Contains(id, "/") {
		return "", &Error{field, "must be tasks/ and the id of a task"}
	}
	return id, nil
}

func taskRequest(raw []byte, _ Form) ([]byte, error) {
	in, _, _ := readGRPC(raw)
	id, err := within(in.Name, "name")
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		ID            string `json:"id"`
		HistoryLength int    `json:"historyLength,omitempty"` // 0 is no length in 0.3, but the whole history
	}{id, in.HistoryLength})
}

func configRequest(raw []byte, _ Form) ([]byte, error) {
	in, _, _ := readGRPC(raw)
	task, config, ok := strings.Cut(in.Name, "/pushNotificationConfigs/")
	id, err := within(task, "name")
	if !ok || err != nil || strings.Contains(config, "/") {
		return nil, &Error{"name", "must be tasks/, the id of a task, /pushNotificationConfigs/ and the id of a config"}
	}
	return json.Marshal(struct {
		TaskID string `json:"taskId"`
		ID     string `json:"id"`
	}{id, config})
}

func listConfigsRequest(raw []byte, _ Form) ([]byte, error) {
	in, task, err := readGRPC(raw)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		TaskID    string `json:"taskId"`
		PageSize  int    `json:"pageSize,omitempty"`
		PageToken string `json:"pageToken,omitempty"`
	}{task, in.PageSize, in.PageToken})
}

func createRequest(raw []byte, form Form) ([]byte, error) {
	_, task, err := readGRPC(raw)
	if err != nil {
		return nil, err
	}
	id, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	return CreatePushConfig(slices.Concat([]byte(`{"taskId":`), id, []byte(","), raw[1:]), form) // it has a parent
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
