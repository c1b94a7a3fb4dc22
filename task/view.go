package task

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
)

// maxHistory is how many messages a View keeps; the message of the current status
// is not counted.
const maxHistory = 1000

// View is a task as a client sees it: the fold of its public events and of the
// user's messages, kept as the JSON that goes out, so that showing it is copying.
//
// History holds the user's messages and the messages of statuses in the order of
// the log. The message of the current status stands in the status only; once
// another status has taken its place it is found in the history where the log has
// it, so that a question comes before its answer. The newest 1,000 are kept.
//
// Metadata is that of the first Task event, overlaid with that of the newest
// status: what an older status said is gone.
//
// The methods that read may be called by several goroutines as long as nobody
// changes the View. All else is not safe for concurrent use.
type View struct {
	ids     wireIDs
	begun   bool // a Task event was applied
	state   a2a.TaskState
	at      store.Millis
	message json.RawMessage // of the current status; nil: none
	// messageAt is where message goes in history when it is superseded; -1 when
	// more than maxHistory messages have come since.
	messageAt      int
	baseMetadata   json.RawMessage // of the first Task event
	statusMetadata json.RawMessage // of the newest status
	metadata       json.RawMessage // both in one
	history        []json.RawMessage
	artifacts      []viewArtifact
	artifactIndex  map[string]int // artifact id → place in artifacts
	size           int
}

// viewArtifact is an artifact of a View. parts grows at its end: a chunk costs what
// it brings.
type viewArtifact struct {
	id, name, description string
	extensions, metadata  json.RawMessage
	parts                 []byte // joined by commas
}

// What Size counts for a thing besides its bytes.
const (
	viewOverhead     = 400
	messageOverhead  = 24
	artifactOverhead = 160
)

// ViewOptions says how much of a View is wanted. The zero value is a task without
// history.
type ViewOptions struct {
	HistoryLength int  // -1: all, 0: none, n: the newest n
	NoArtifacts   bool // leave the artifacts out
}

// newView returns the View of a task of which nothing is known but its ids.
func newView(task, context string) *View {
	return &View{ids: newWireIDs(task, context), size: viewOverhead + len(task) + len(context)}
}

// TaskID returns the task's id.
func (v *View) TaskID() string { return v.ids.Task }

// ContextID returns the id of the task's context.
func (v *View) ContextID() string { return v.ids.Context }

// State returns the state of the newest status; it is unspecified before the first.
func (v *View) State() a2a.TaskState { return v.state }

// StatusTime returns the time of the newest status; it is zero before the first.
func (v *View) StatusTime() store.Millis { return v.at }

// Size returns roughly how many bytes of memory the View holds. It costs nothing.
func (v *View) Size() int { return v.size }

// apply adds a public event: kind is "task", "status" or "artifact", data its stored
// bytes, of which nothing is kept. After an error the View is as it was before.
func (v *View) apply(kind string, data []byte) error {
	var err error
	switch kind {
	case "task":
		var u statusUpdate
		if u, err = decodeTask(data); err == nil {
			v.begin(&u)
		}
	case "status":
		var u statusUpdate
		if u, err = decodeStatus(data); err == nil {
			v.setStatus(u.State, u.At, u.Message, u.Metadata)
		}
	case "artifact":
		u, ok := parseArtifact(data)
		if !ok {
			u, err = decodeArtifact(data)
		}
		if err == nil {
			v.addArtifact(&u)
		}
	default:
		err = errors.New(`the kinds of public events are "task", "status" and "artifact"; a newer program may have written this one`)
	}
	if err != nil {
		return fmt.Errorf("read a public event of kind %q: %w", kind, err)
	}
	return nil
}

// begin adds a Task event. Only the first one's metadata counts.
func (v *View) begin(u *statusUpdate) {
	if !v.begun {
		v.begun = true
		v.baseMetadata = bytes.Clone(u.Metadata)
		v.size += len(v.baseMetadata)
	}
	v.setStatus(u.State, u.At, u.Message, nil /* metadata */)
}

// addMessage adds the user's message to the history, as json.Marshal writes an
// *a2a.Message. raw is copied; an empty one is no message.
func (v *View) addMessage(raw json.RawMessage) {
	if emptyJSON(raw) {
		return
	}
	v.insertMessage(len(v.history), bytes.Clone(raw))
}

// insertMessage puts raw at place i of the history, and drops the oldest message if
// that makes too many.
func (v *View) insertMessage(i int, raw json.RawMessage) {
	if i < 0 {
		return
	}
	v.history = slices.Insert(v.history, i, raw)
	v.size += messageOverhead + len(raw)
	if len(v.history) > maxHistory {
		v.size -= messageOverhead + len(v.history[0])
		v.history[0] = nil
		v.history = v.history[1:]
		v.messageAt = max(v.messageAt-1, -1)
	}
}

// setStatus makes this the task's status, and moves the message of the one before
// into the history. message is a message as json.Marshal writes it, metadata an
// object; either may be empty. Both are copied.
func (v *View) setStatus(state a2a.TaskState, at store.Millis, message, metadata json.RawMessage) {
	if v.message != nil {
		v.size -= messageOverhead + len(v.message)
		v.insertMessage(v.messageAt, v.message)
	}
	v.state, v.at = state, at
	v.message, v.messageAt = nil, 0
	if !emptyJSON(message) {
		v.message, v.messageAt = bytes.Clone(message), len(v.history)
		v.size += messageOverhead + len(message)
	}
	v.setStatusMetadata(bytes.Clone(metadata))
}

// setStatusMetadata replaces the metadata of the newest status, keeping raw, and
// puts together what is shown.
func (v *View) setStatusMetadata(raw json.RawMessage) {
	if emptyJSON(raw) {
		raw = nil
	}
	v.size -= len(v.statusMetadata) + len(v.metadata)
	v.statusMetadata = raw
	v.metadata = mergeMetadata(v.baseMetadata, v.statusMetadata)
	v.size += len(v.statusMetadata) + len(v.metadata)
}

// mergeMetadata returns the members of both objects; over wins. One that is no
// object counts as empty: metadata must not be able to make a task unreadable.
func mergeMetadata(base, over json.RawMessage) json.RawMessage {
	if emptyJSON(base) {
		return over
	}
	if emptyJSON(over) {
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

// addArtifact adds an artifact or a chunk of one, of which nothing is kept. Without
// Append it replaces the artifact of that id, at its place in the order. With Append
// its parts are put behind those that are there, and of name, description,
// extensions and metadata those that it has replace the older ones; of an unknown id
// it is the first chunk.
func (v *View) addArtifact(u *artifactUpdate) {
	i, known := v.artifactIndex[u.ID]
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
	if !emptyJSON(u.Extensions) {
		a.extensions = bytes.Clone(u.Extensions)
	}
	if !emptyJSON(u.Metadata) {
		a.metadata = bytes.Clone(u.Metadata)
	}
	if len(u.Parts) > 0 {
		if len(a.parts) > 0 {
			a.parts = append(a.parts, ',')
		}
		a.parts = append(a.parts, u.Parts...)
	}
	v.size += a.size()
}

// newArtifact adds an empty artifact and returns its place.
func (v *View) newArtifact(id string) int {
	if v.artifactIndex == nil {
		v.artifactIndex = map[string]int{}
	}
	i := len(v.artifacts)
	v.artifactIndex[id] = i
	v.artifacts = append(v.artifacts, viewArtifact{id: id})
	v.size += v.artifacts[i].size()
	return i
}

func (a *viewArtifact) size() int {
	return artifactOverhead + len(a.id) + len(a.name) + len(a.description) + len(a.extensions) + len(a.metadata) + len(a.parts)
}

// AppendTask appends the JSON of the task: the bytes that json.Marshal gives for the
// equal *a2a.Task.
func (v *View) AppendTask(dst []byte, o ViewOptions) []byte {
	dst = append(dst, `{"id":`...)
	dst = append(dst, v.ids.taskJSON...)
	if len(v.artifacts) > 0 && !o.NoArtifacts {
		dst = append(dst, `,"artifacts":`...)
		for i := range v.artifacts {
			a := &v.artifacts[i]
			dst = append(dst, listPunctuation(i))
			dst = appendArtifact(dst, a.id, a.description, a.extensions, a.metadata, a.name, a.parts)
		}
		dst = append(dst, ']')
	}
	dst = append(dst, `,"contextId":`...)
	dst = append(dst, v.ids.contextJSON...)
	history := v.history
	if o.HistoryLength >= 0 {
		history = history[max(0, len(history)-o.HistoryLength):]
	}
	if len(history) > 0 {
		dst = append(dst, `,"history":`...)
		for i, message := range history {
			dst = append(dst, listPunctuation(i))
			dst = append(dst, message...)
		}
		dst = append(dst, ']')
	}
	dst = appendRawField(dst, `,"metadata":`, v.metadata)
	dst = append(dst, `,"status":`...)
	dst = appendStatus(dst, v.state, v.at, v.message)
	return append(dst, '}')
}

// listPunctuation returns what stands before element i of a list.
func listPunctuation(i int) byte {
	if i == 0 {
		return '['
	}
	return ','
}

// Task returns the task as a value of its own. It is an error if what was stored is
// not what the SDK reads.
func (v *View) Task(o ViewOptions) (*a2a.Task, error) {
	t := &a2a.Task{}
	if err := json.Unmarshal(v.AppendTask(nil, o), t); err != nil {
		return nil, fmt.Errorf("read the stored form of task %s: %w", v.ids.Task, err)
	}
	return t, nil
}

// viewVersion is the first byte of a View's binary form. Every change of that form
// gets the next number.
const viewVersion = 1

// appendBinary appends the View's binary form, which decodeView reads.
func (v *View) appendBinary(dst []byte) []byte {
	begun := byte(0)
	if v.begun {
		begun = 1
	}
	dst = append(dst, viewVersion, begun)
	dst = appendBlock(dst, v.ids.Task)
	dst = appendBlock(dst, v.ids.Context)
	dst = appendBlock(dst, v.state)
	dst = binary.AppendVarint(dst, int64(v.at))
	dst = appendBlock(dst, v.message)
	dst = binary.AppendVarint(dst, int64(v.messageAt))
	dst = appendBlock(dst, v.baseMetadata)
	dst = appendBlock(dst, v.statusMetadata)
	dst = binary.AppendUvarint(dst, uint64(len(v.history)))
	for _, message := range v.history {
		dst = appendBlock(dst, message)
	}
	dst = binary.AppendUvarint(dst, uint64(len(v.artifacts)))
	for i := range v.artifacts {
		a := &v.artifacts[i]
		dst = appendBlock(dst, a.id)
		dst = appendBlock(dst, a.name)
		dst = appendBlock(dst, a.description)
		dst = appendBlock(dst, a.extensions)
		dst = appendBlock(dst, a.metadata)
		dst = appendBlock(dst, a.parts)
	}
	return dst
}

// appendBlock appends b and, before it, its length.
func appendBlock[T ~string | ~[]byte](dst []byte, b T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

// decodeView reads what appendBinary wrote, and returns what follows it. The View
// keeps parts of b, which must not be changed any more; it never writes to it.
// The JSON in it is not looked at.
func decodeView(b []byte) (*View, []byte, error) {
	if len(b) == 0 {
		return nil, nil, errors.New("read a task's snapshot: it is empty")
	}
	if b[0] != viewVersion {
		return nil, nil, fmt.Errorf("read a task's snapshot: its version is %d, this program knows %d: run the program that wrote it, or a newer one", b[0], viewVersion)
	}
	r := viewReader{rest: b[1:]}
	begun := r.byte()
	v := newView(string(r.block()), string(r.block()))
	v.begun = begun == 1
	v.state = a2a.TaskState(r.block())
	v.at = store.Millis(r.varint())
	if message := r.block(); len(message) > 0 {
		v.message = message
		v.size += messageOverhead + len(message)
	}
	messageAt := r.varint() // set at the end: adding to the history moves it
	v.baseMetadata = r.block()
	v.size += len(v.baseMetadata)
	v.setStatusMetadata(r.block())
	for n := r.count(maxHistory); n > 0 && !r.bad; n-- {
		message := r.block()
		r.bad = r.bad || len(message) == 0
		v.insertMessage(len(v.history), message)
	}
	for n := r.count(len(r.rest)); n > 0 && !r.bad; n-- {
		id := string(r.block())
		if _, known := v.artifactIndex[id]; known {
			r.bad = true
			break
		}
		i := v.newArtifact(id)
		a := &v.artifacts[i]
		v.size -= a.size()
		a.name, a.description = string(r.block()), string(r.block())
		a.extensions, a.metadata = r.block(), r.block()
		a.parts = r.block()
		v.size += a.size()
	}
	if r.bad || begun > 1 || messageAt > int64(len(v.history)) || messageAt < -1 {
		return nil, nil, errors.New("read a task's snapshot: it is damaged: check the store's file, and restore it from a backup")
	}
	v.messageAt = int(messageAt)
	return v, r.rest, nil
}

// viewReader reads the binary form. What it cannot read makes it bad, and all that
// follows is empty.
type viewReader struct {
	rest []byte
	bad  bool
}

func (r *viewReader) byte() byte {
	if r.bad || len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *viewReader) varint() int64 {
	n, size := binary.Varint(r.rest)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// count reads a number that is at most limit.
func (r *viewReader) count(limit int) int {
	n, size := binary.Uvarint(r.rest)
	if r.bad || size <= 0 || n > uint64(limit) {
		r.bad = true
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

// block reads what appendBlock wrote; nothing is nil. Its capacity ends with it, so
// that appending to it makes a copy.
func (r *viewReader) block() []byte {
	n := r.count(len(r.rest))
	if r.bad || n > len(r.rest) {
		r.bad = true
		return nil
	}
	if n == 0 {
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}
