package a2a

import (
	"encoding/json"
	"fmt"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/task/engine"
)

// appendSent appends a SendMessageResponse.
func appendSent(b []byte, s *sent) ([]byte, error) {
	if s.message != nil {
		data, err := json.Marshal(sdk.StreamResponse{Event: s.message})
		if err != nil {
			return nil, fmt.Errorf("encode message: %w", err)
		}
		return append(b, data...), nil
	}
	return append(s.view.AppendTask(append(b, `{"task":`...), s.options), '}'), nil
}

// appendList appends a ListTasksResponse. Everything that it requires is always
// there, as §3.1.4 asks: no list is null, no token left out.
func appendList(b []byte, list *engine.List, options task.ViewOptions) ([]byte, error) {
	token, err := json.Marshal(list.NextCursor)
	if err != nil {
		return nil, fmt.Errorf("encode page token: %w", err)
	}
	b = append(b, `{"tasks":[`...)
	for i, v := range list.Tasks {
		if i > 0 {
			b = append(b, ',')
		}
		b = v.AppendTask(b, options)
	}
	return fmt.Appendf(b, `],"totalSize":%d,"pageSize":%d,"nextPageToken":%s}`, list.Total, list.PageSize, token), nil
}

// quote returns text as a JSON string.
func quote(text string) string {
	b, err := json.Marshal(text)
	if err != nil { // a string always has an encoding
		return `""`
	}
	return string(b)
}
