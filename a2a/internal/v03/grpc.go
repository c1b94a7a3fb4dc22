package v03

import (
	"cmp"
	"encoding/json"
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

// grpcRequest has the members of requests over gRPC that HTTP+JSON has in the path and the query, and of the
// requests of 1.0.
type grpcRequest struct {
	Name          string `json:"name,omitempty"`
	Parent        string `json:"parent,omitempty"`
	ID            string `json:"id,omitempty"`
	TaskID        string `json:"taskId,omitempty"`
	HistoryLength int    `json:"historyLength,omitempty"` // 0 is no length in 0.3, but the whole history
	PageSize      int    `json:"pageSize,omitempty"`
	PageToken     string `json:"pageToken,omitempty"`
}

// readGRPC reads a request, which was made just now, and so can be read.
func readGRPC(raw []byte) (r grpcRequest) {
	_ = json.Unmarshal(raw, &r)
	return r
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
	in := readGRPC(raw)
	id, err := within(in.Name, "name")
	if err != nil {
		return nil, err
	}
	return json.Marshal(grpcRequest{ID: id, HistoryLength: in.HistoryLength})
}

func configRequest(raw []byte, _ Form) ([]byte, error) {
	in := readGRPC(raw)
	task, config, ok := strings.Cut(in.Name, "/pushNotificationConfigs/")
	id, err := within(task, "name")
	if !ok || err != nil || strings.Contains(config, "/") {
		return nil, &Error{"name", "must be tasks/, the id of a task, /pushNotificationConfigs/ and the id of a config"}
	}
	return json.Marshal(grpcRequest{TaskID: id, ID: config})
}

func listConfigsRequest(raw []byte, _ Form) ([]byte, error) {
	in := readGRPC(raw)
	task, err := within(in.Parent, "parent")
	if err != nil {
		return nil, err
	}
	return json.Marshal(grpcRequest{TaskID: task, PageSize: in.PageSize, PageToken: in.PageToken})
}

func createRequest(raw []byte, form Form) ([]byte, error) {
	in := readGRPC(raw)
	task, err := within(in.Parent, "parent")
	if err != nil {
		return nil, err
	}
	id, _ := json.Marshal(task)                                                                  // a string
	return CreatePushConfig(slices.Concat([]byte(`{"taskId":`), id, []byte(","), raw[1:]), form) // it has a parent
}

// listRequest converts the JSON of ListTasks.
func listRequest(raw []byte, _ Form) ([]byte, error) {
	all := map[string]json.RawMessage{}
	_ = json.Unmarshal(raw, &all) // it was made just now
	if after, ok := all["lastUpdatedTime"]; ok {
		all["statusTimestampAfter"] = after
		delete(all, "lastUpdatedTime")
	}
	if string(all["status"]) == `"TASK_STATE_CANCELLED"` {
		all["status"] = []byte(`"TASK_STATE_CANCELED"`)
	}
	return json.Marshal(all)
}
