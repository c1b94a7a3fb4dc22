package operation

import (
	"encoding/json"
	"fmt"

	"a2a-server/task"
	"a2a-server/task/engine"
)

// appendTask appends a Task, unless it could not be read.
func appendTask(b []byte, view *task.View, err error, options task.ViewOptions) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return view.AppendTask(b, options), nil
}

// appendJSON appends a response with the JSON of its type, unless there is an error.
func appendJSON(b []byte, value any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	return append(b, text...), nil
}

// appendList appends a ListTasksResponse. All required members are always present, as §3.1.4
// requires: no list is null, and the page token is never omitted.
func appendList(b []byte, list *engine.TaskPage, options task.ViewOptions) []byte {
	token, _ := json.Marshal(list.NextCursor) // a string
	b = append(b, `{"tasks":[`...)
	for i, v := range list.Tasks {
		if i > 0 {
			b = append(b, ',')
		}
		b = v.AppendTask(b, options)
	}
	return fmt.Appendf(b, `],"totalSize":%d,"pageSize":%d,"nextPageToken":%s}`, list.Total, list.PageSize, token)
}
