package output

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/view"
	"a2a-server/tool"
)

// maxProgressMessage bounds the message of a progress report, in bytes.
const maxProgressMessage = 1 << 10

// maxJobID bounds the id of a job in a report, in characters.
const maxJobID = 200

// JobID returns the id of a job for display, from the state that its [tool.Poller] keeps: the
// member "job" if the state is an object with that member, else the whole state. It escapes
// invisible characters and cuts a long id.
func JobID(state json.RawMessage) string {
	var object struct {
		Job json.RawMessage `json:"job"`
	}
	if json.Unmarshal(state, &object) == nil && object.Job != nil {
		state = object.Job
	}
	var text string
	if json.Unmarshal(state, &text) != nil {
		text = string(state)
	}
	return visible.Clip(text, maxJobID)
}

// Progress returns the event that says how far a running call is. metadata is that of every
// status update.
func (p Publisher) Progress(now time.Time, metadata json.RawMessage, call, name, job string, at tool.Progress) (RunEvent, error) {
	progress := map[string]any{"callId": call, "tool": name, "done": at.Done}
	if at.Total != 0 {
		progress["total"] = at.Total
	}
	if at.Message != "" {
		progress["message"] = clipProgress(at.Message)
	}
	if job != "" {
		progress["job"] = job
	}
	raw, err := event.EncodeValue(map[string]any{task.ProgressKey: progress})
	if err != nil {
		return RunEvent{}, fmt.Errorf("encode progress: %w", err)
	}
	metadata = view.MergeMetadata(metadata, raw)
	data := event.AppendStatusUpdate(nil, p.ids, a2a.TaskStateWorking, store.MillisOf(now), nil /* message */, metadata)
	return RunEvent{Event: store.Event{Kind: event.KindProgress, Public: true, Time: store.MillisOf(now), Data: data}, Progress: metadata}, nil
}

// clipProgress returns a message with its invisible characters escaped, cut to
// maxProgressMessage bytes.
func clipProgress(s string) string {
	long := len(s) > maxProgressMessage
	if long {
		s = strings.ToValidUTF8(s[:maxProgressMessage], "")
	}
	if s = visible.Text(s); !long && len(s) <= maxProgressMessage {
		return s
	}
	const more = "…"
	return strings.ToValidUTF8(s[:min(len(s), maxProgressMessage-len(more))], "") + more
}
