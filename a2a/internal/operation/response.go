package operation

import (
	"encoding/json"
	"fmt"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/task/engine"
)

// sendResponse is the outcome of SendMessage: either a message that is the whole response, or
// a task.
type sendResponse struct {
	message *sdk.Message
	task    taskResponse
}

// taskResponse is a task and how much of it a response includes.
type taskResponse struct {
	view    *task.View
	options task.ViewOptions
}

// listResponse is a page of tasks and how much of each a response includes.
type listResponse struct {
	list    *engine.TaskPage
	options task.ViewOptions
}

// append appends a Task.
func (t taskResponse) append(b []byte) ([]byte, error) { return t.view.AppendTask(b, t.options), nil }

// jsonResponse is a response with the JSON of its type.
type jsonResponse struct{ value any }

func (e jsonResponse) append(b []byte) ([]byte, error) {
	text, err := json.Marshal(e.value)
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	return append(b, text...), nil
}

// append appends a SendMessageResponse.
func (s sendResponse) append(b []byte) ([]byte, error) {
	if s.message != nil {
		return jsonResponse{sdk.StreamResponse{Event: s.message}}.append(b)
	}
	return append(s.task.view.AppendTask(append(b, `{"task":`...), s.task.options), '}'), nil
}

// append appends a ListTasksResponse. All required members are always present, as §3.1.4
// requires: no list is null, and the page token is never omitted.
func (l listResponse) append(b []byte) ([]byte, error) {
	token, err := json.Marshal(l.list.NextCursor)
	if err != nil {
		return nil, fmt.Errorf("encode page token: %w", err)
	}
	b = append(b, `{"tasks":[`...)
	for i, v := range l.list.Tasks {
		if i > 0 {
			b = append(b, ',')
		}
		b = v.AppendTask(b, l.options)
	}
	return fmt.Appendf(b, `],"totalSize":%d,"pageSize":%d,"nextPageToken":%s}`, l.list.Total, l.list.PageSize, token), nil
}
