package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task/internal/event"
)

// maxHistory is how many messages a View keeps; the message of the current status
// is not counted.
const maxHistory = 1000

// View is a task as a client sees it: the fold of its public events and of the user's
// messages, kept as JSON ready to send.
//
// History holds the user's messages and the messages of statuses in the order of the log. The
// message of the current status is only in the status; the next status moves it into the
// history, at its place in the log, so that a question precedes its answer. A question
// repeated after a message that did not answer it is there only once. The newest 1,000
// messages are kept.
//
// The metadata of the first Task event is overlaid with the metadata of the newest status:
// metadata of older statuses is gone.
//
// Methods that only read are safe for concurrent use as long as the View is not changed. All
// others are not.
type View struct {
	ids     *event.IDs
	begun   bool // a Task event was applied
	state   a2a.TaskState
	at      store.Millis
	message message // of the current status; empty: none
	// messageAt is where message goes in history when it is superseded; -1 when
	// more than maxHistory messages have come since.
	messageAt      int
	repeats        bool            // message repeats a question that is already in the history
	unanswered     bool            // a message that is no answer has come: the next status repeats the question
	baseMetadata   json.RawMessage // of the first Task event
	statusMetadata json.RawMessage // of the newest status
	metadata       json.RawMessage // both merged
	history        []message
	artifacts      []viewArtifact
	artifactIndex  map[string]int // artifact id → place in artifacts; nil while they are few
	size           int
	detail         detail
}

// message is a message as the owner of the task sees it, and as readers without the right to masked values see
// it; without masked it is the same for all.
type message struct{ whole, masked json.RawMessage }

func (m message) size() int { return messageOverhead + len(m.whole) + len(m.masked) }

func (m message) clone() message { return message{bytes.Clone(m.whole), bytes.Clone(m.masked)} }

// shown returns m for a reader without the right to masked values.
func (m message) shown() message {
	if m.masked != nil {
		m.whole = m.masked
	}
	return message{whole: m.whole}
}

// viewArtifact is an artifact of a View. parts grows at its end, so the cost of a chunk
// is proportional to its size.
type viewArtifact struct {
	id, name, description string
	extensions, metadata  json.RawMessage
	parts                 []byte // joined by commas
}

// The overhead that Size counts for each item besides its bytes.
const (
	viewOverhead     = 400
	messageOverhead  = 24
	artifactOverhead = 160
)

// Options select the parts of a View. The zero value selects the task with its
// artifacts and without history. Selected parts that the View does not keep are named in
// the metadata, under [Omitted].
type Options struct {
	HistoryLength int  // -1: all, 0: none, n: the newest n
	NoArtifacts   bool // leave the artifacts out
}

// New returns the View of a task of which only the ids are known.
func New(task, context string) *View {
	return &View{ids: event.NewIDs(task, context), size: viewOverhead + len(task) + len(context)}
}

// IDs returns the ids of the task and its context. They must not be changed.
func (v *View) IDs() *event.IDs { return v.ids }

// TaskID returns the task's id.
func (v *View) TaskID() string { return v.ids.Task }

// ContextID returns the id of the task's context.
func (v *View) ContextID() string { return v.ids.Context }

// State returns the state of the newest status, or unspecified before the first.
func (v *View) State() a2a.TaskState { return v.state }

// Says reports whether the message of the current status has a text, which JSON leaves as it is.
func (v *View) Says(text string) bool { return bytes.Contains(v.message.whole, []byte(text)) }

// StatusMessage returns the message of the current status as the owner of the task sees it, nil if it
// has none. It must not be changed.
func (v *View) StatusMessage() json.RawMessage { return v.message.whole }

// StatusTime returns the time of the newest status, or zero before the first.
func (v *View) StatusTime() store.Millis { return v.at }

// Size returns roughly how many bytes of memory the View holds. It is cheap to call.
func (v *View) Size() int { return v.size }

// Apply adds a public event: kind is "task", "status", "progress", "artifact" or that of a status in two forms, data
// its stored bytes, of which nothing is kept. After an error the View is as it was before.
func (v *View) Apply(kind string, data []byte) error {
	var u event.StatusUpdate
	var err error
	switch kind {
	case event.KindTask:
		if u, err = event.ReadTask(data); err == nil {
			u.Own()
			v.Begin(&u)
		}
	case event.KindStatus:
		if u, err = event.ReadStatus(data); err == nil {
			u.Own()
			v.SetStatus(u.State, u.At, u.Message, nil /* masked */, u.Metadata)
		}
	case event.KindMasked:
		var both event.MaskedUpdate
		if both, err = event.ReadMasked(data); err == nil {
			v.SetStatus(both.Whole.State, both.Whole.At, both.Whole.Message, both.Masked.Message, both.Whole.Metadata)
		}
	case event.KindProgress:
		if u, err = event.ReadStatus(data); err == nil {
			u.Own()
			v.AddProgress(u.Metadata)
		}
	case event.KindArtifact:
		if v.detail >= noArtifacts {
			return nil
		}
		var a event.ArtifactUpdate
		if a, err = event.ReadArtifact(data); err == nil {
			v.AddArtifact(&a)
		}
	default:
		err = errors.New(`the kinds of public events are "task", "status", "status.masked.v1", "progress" and "artifact"; a newer program may have written this one`)
	}
	if err != nil {
		return fmt.Errorf("read a public event of kind %q: %w", kind, err)
	}
	return nil
}

// Begin adds a Task event. Only the first one's metadata counts.
func (v *View) Begin(u *event.StatusUpdate) {
	if !v.begun && v.detail < outline {
		v.begun = true
		v.baseMetadata = u.Metadata
		v.size += len(v.baseMetadata)
	}
	v.SetStatus(u.State, u.At, u.Message, nil /* masked */, nil /* metadata */)
}

// AddMessage adds the user's message to the history. raw is the message as json.Marshal
// writes it; it is kept and must not be changed. If it is empty, nothing is added.
func (v *View) AddMessage(raw json.RawMessage) {
	if event.EmptyJSON(raw) {
		return
	}
	v.insertMessage(len(v.history), message{whole: raw})
}

// Answered records whether the newest message is an answer. After a message that is none, the
// next status repeats the question.
func (v *View) Answered(is bool) { v.unanswered = !is }

// insertMessage puts m at place i of the history, and drops the oldest message if
// that makes too many.
func (v *View) insertMessage(i int, m message) {
	if i < 0 || v.detail >= noHistory {
		return
	}
	v.history = slices.Insert(v.history, i, m)
	v.size += m.size()
	if len(v.history) > maxHistory {
		v.size -= v.history[0].size()
		v.history[0] = message{}
		v.history = v.history[1:]
		v.messageAt = max(v.messageAt-1, -1)
	}
}

// SetStatus sets the task's status, and moves the message of the previous status into the
// history. text is a message as json.Marshal writes it, masked its masked form, nil if nothing in it is
// masked, and metadata an object; text and metadata may be empty. All are kept and must not be changed.
func (v *View) SetStatus(state a2a.TaskState, at store.Millis, text, masked, metadata json.RawMessage) {
	m := message{text, masked}
	if v.detail == outline {
		v.state, v.at = state, at
		return
	}
	if v.message.whole != nil {
		v.size -= v.message.size()
		if !v.repeats {
			v.insertMessage(v.messageAt, v.message)
		}
	}
	v.repeats, v.unanswered = v.unanswered, false
	v.state, v.at = state, at
	v.message, v.messageAt = message{}, 0
	if !event.EmptyJSON(m.whole) {
		v.message, v.messageAt = m, len(v.history)
		v.size += m.size()
	}
	v.setStatusMetadata(metadata)
}

// setStatusMetadata replaces the metadata of the newest status, keeping raw, and merges the
// metadata to show.
func (v *View) setStatusMetadata(raw json.RawMessage) {
	if event.EmptyJSON(raw) {
		raw = nil
	}
	v.size -= len(v.statusMetadata) + len(v.metadata)
	v.statusMetadata = raw
	v.metadata = MergeMetadata(v.baseMetadata, v.statusMetadata)
	v.size += len(v.statusMetadata) + len(v.metadata)
}

// MergeMetadata returns the members of both objects; over wins. A value that is no object
// counts as empty: metadata must not make a task unreadable.
func MergeMetadata(base, over json.RawMessage) json.RawMessage {
	if event.EmptyJSON(base) || bytes.Equal(base, over) {
		return over
	}
	if event.EmptyJSON(over) || bytes.Equal(base, over) {
		return base
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(base, &members); err != nil {
		return over
	}
	if err := json.Unmarshal(over, &members); err != nil {
		return base
	}
	merged, err := json.Marshal(members) // sorted by name, as the SDK's maps are
	if err != nil {
		return over
	}
	return merged
}

// AddArtifact adds an artifact or a chunk of it; it keeps nothing of u. Without Append it
// replaces the artifact of that id, at its place in the order. With Append its parts follow
// the existing parts, and its name, description, extensions and metadata, if present, replace
// the older values; for an unknown id it is the first chunk.
func (v *View) AddArtifact(u *event.ArtifactUpdate) {
	if v.detail >= noArtifacts {
		return
	}
	i, known := v.artifact(u.ID)
	if !known {
		i = v.newArtifact(u.ID)
	}
	a := &v.artifacts[i]
	v.size -= a.size()
	if !u.Append {
		*a = viewArtifact{id: a.id}
	}
	if u.Name != "" {
		a.name = u.Name
	}
	if u.Description != "" {
		a.description = u.Description
	}
	if !event.EmptyJSON(u.Extensions) {
		a.extensions = bytes.Clone(u.Extensions)
	}
	if !event.EmptyJSON(u.Metadata) {
		a.metadata = bytes.Clone(u.Metadata)
	}
	if len(u.Parts) > 0 && (len(a.parts) == 0 || !u.Closes()) {
		if len(a.parts) > 0 {
			a.parts = append(a.parts, ',')
		}
		a.parts = append(a.parts, u.Parts...)
	}
	v.size += a.size()
}

// MayHave reports whether the task has an artifact, or the View, which keeps none, does not know.
func (v *View) MayHave(artifact string) bool {
	_, has := v.artifact(artifact)
	return has || v.detail >= noArtifacts
}

// Answer returns the text that the task's planner said last or, if other artifacts came after it, or
// it said none, their texts, in lines; said tells which. An artifact that belongs to a planner is
// called as isSaid says.
func (v *View) Answer(isSaid func(id string) bool) (answer string, said bool) {
	var all []string
	for i := range v.artifacts {
		a := &v.artifacts[len(v.artifacts)-1-i]
		text := textOf(slices.Concat([]byte("["), a.parts, []byte("]")))
		if text == "" {
			continue
		}
		if isSaid(a.id) {
			if len(all) == 0 {
				return text, true
			}
			break
		}
		all = append(all, text)
	}
	slices.Reverse(all)
	return strings.Join(all, "\n"), false
}

// StatusText returns the text of the message of the current status.
func (v *View) StatusText() string {
	var m struct {
		Parts json.RawMessage `json:"parts"`
	}
	if json.Unmarshal(v.message.whole, &m) != nil {
		return ""
	}
	return textOf(m.Parts)
}

// textOf returns the texts of an array of parts; "": there are none, or it is none.
func textOf(array json.RawMessage) string {
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(array, &parts) != nil {
		return ""
	}
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.Text)
	}
	return text.String()
}

// fewArtifacts is the number of artifacts up to which a linear search is cheaper than an
// index: nearly all tasks have one or two.
const fewArtifacts = 16

// artifact returns the place of an artifact.
func (v *View) artifact(id string) (int, bool) {
	if v.artifactIndex != nil {
		i, known := v.artifactIndex[id]
		return i, known
	}
	for i := range v.artifacts {
		if v.artifacts[i].id == id {
			return i, true
		}
	}
	return 0, false
}

// newArtifact adds an empty artifact and returns its place.
func (v *View) newArtifact(id string) int {
	i := len(v.artifacts)
	v.artifacts = append(v.artifacts, viewArtifact{id: id})
	switch {
	case v.artifactIndex != nil:
		v.artifactIndex[id] = i
	case len(v.artifacts) > fewArtifacts:
		v.artifactIndex = make(map[string]int, 2*len(v.artifacts))
		for i := range v.artifacts {
			v.artifactIndex[v.artifacts[i].id] = i
		}
	}
	v.size += v.artifacts[i].size()
	return i
}

func (a *viewArtifact) size() int {
	return artifactOverhead + len(a.id) + len(a.name) + len(a.description) + len(a.extensions) + len(a.metadata) + len(a.parts)
}

// AppendTask appends the JSON of the task: the same bytes as json.Marshal of the
// *a2a.Task, except that the time of its status keeps trailing zeros.
func (v *View) AppendTask(dst []byte, o Options) []byte {
	if !o.NoArtifacts && o.HistoryLength < 0 { // a buffer that grows step by step needs twice as much
		dst = slices.Grow(dst, v.size)
	}
	dst = append(dst, `{"id":`...)
	dst = append(dst, v.ids.TaskJSON...)
	if len(v.artifacts) > 0 && !o.NoArtifacts {
		dst = append(dst, `,"artifacts":`...)
		for i := range v.artifacts {
			a := &v.artifacts[i]
			dst = append(dst, event.ListPunctuation(i))
			dst = event.AppendArtifact(dst, a.id, a.description, a.extensions, a.metadata, a.name, a.parts)
		}
		dst = append(dst, ']')
	}
	dst = append(dst, `,"contextId":`...)
	dst = append(dst, v.ids.ContextJSON...)
	history := v.history
	if o.HistoryLength >= 0 {
		history = history[max(0, len(history)-o.HistoryLength):]
	}
	if len(history) > 0 {
		dst = append(dst, `,"history":`...)
		for i, m := range history {
			dst = append(dst, event.ListPunctuation(i))
			dst = append(dst, m.whole...)
		}
		dst = append(dst, ']')
	}
	dst = event.AppendRawField(dst, `,"metadata":`, v.metadataWith(o))
	dst = append(dst, `,"status":`...)
	dst = event.AppendStatus(dst, v.state, v.at, v.message.whole)
	return append(dst, '}')
}

// Task returns the task as a value that does not share memory with the View. It returns an
// error if the SDK cannot decode the stored JSON.
func (v *View) Task(o Options) (*a2a.Task, error) {
	t := &a2a.Task{}
	if err := json.Unmarshal(v.AppendTask(nil, o), t); err != nil {
		return nil, fmt.Errorf("read the stored form of task %s: %w", v.ids.Task, err)
	}
	return t, nil
}

// AddProgress adds a report of progress. metadata is an object and is kept.
func (v *View) AddProgress(metadata json.RawMessage) {
	if v.detail == outline {
		return
	}
	v.setStatusMetadata(MergeMetadata(v.statusMetadata, metadata))
}
