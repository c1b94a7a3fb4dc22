package task

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/visible"
	"a2a-server/store"
	"a2a-server/task/internal/event"
	"a2a-server/tool"
)

// ProgressKey is the metadata key of a status update that reports the progress of a running
// call: an object with callId, tool, done, and, if known, total, message and job, the id of
// the job that a [tool.Poller] has started. Such an update repeats the state, without a
// message; the message of the task's status remains. The task has the newest progress in its
// metadata until its next status.
const ProgressKey = "urn:a2a-server:progress"

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

// Progress returns the event that says how far a running call is. job is the id of the job that it
// has started, if it has.
func (r *Rules) Progress(p Publisher, now time.Time, call, name, job string, at tool.Progress) (k Chunk, err error) {
	defer r.guard(p.TaskID(), "the presenter", &err)
	return p.Progress(now, r.metadata(), call, name, job, at)
}

// Progress returns the event that says how far a running call is. metadata is that of every
// status update.
func (p Publisher) Progress(now time.Time, metadata json.RawMessage, call, name, job string, at tool.Progress) (Chunk, error) {
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
	raw, err := event.EncodeValue(map[string]any{ProgressKey: progress})
	if err != nil {
		return Chunk{}, fmt.Errorf("encode progress: %w", err)
	}
	metadata = mergeMetadata(metadata, raw)
	data := event.AppendStatusUpdate(nil, p.ids, a2a.TaskStateWorking, store.MillisOf(now), nil /* message */, metadata)
	return Chunk{Event: store.Event{Kind: event.KindProgress, Public: true, Time: store.MillisOf(now), Data: data}, progress: metadata}, nil
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

// Publishable returns chunks without the reports of progress that the task has no status
// for: it is not working.
func (f *Fold) Publishable(chunks []Chunk) []Chunk {
	if f.Header.State == StateWorking {
		return chunks
	}
	kept := chunks[:0]
	for i := range chunks {
		if chunks[i].progress == nil {
			kept = append(kept, chunks[i])
		}
	}
	return kept
}

// addProgress adds a report of progress. metadata is an object and is kept.
func (v *View) addProgress(metadata json.RawMessage) {
	if v.detail == outline {
		return
	}
	v.setStatusMetadata(mergeMetadata(v.statusMetadata, metadata))
}
