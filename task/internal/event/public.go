package event

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
)

// Public events are stored as the bytes that json.Marshal returns for an a2a.StreamResponse,
// except that times keep trailing zeros. The functions of this file write them without
// reflection, because a stream of chunks pays for its encoding once per chunk.
//
// JSON that is passed to them must be the output of json.Marshal for the SDK's type: it is
// copied unchanged. Fields that are empty JSON, null, or an empty object or list are left out.

// IDs are a task's ids and their JSON, which every event of the task repeats.
type IDs struct {
	Task, Context         string
	TaskJSON, ContextJSON []byte
}

// NewIDs returns the ids of a task with their JSON.
func NewIDs(task, context string) *IDs {
	both := AppendString(make([]byte, 0, len(task)+len(context)+4), task)
	n := len(both)
	both = AppendString(both, context)
	return &IDs{Task: task, Context: context, TaskJSON: both[:n:n], ContextJSON: both[n:]}
}

// ArtifactUpdate is an artifact, or a chunk of it, as an event carries it.
type ArtifactUpdate struct {
	ID, Name, Description string
	Metadata, Extensions  json.RawMessage // of the artifact: an object, a list of strings
	Parts                 json.RawMessage // the elements joined by commas, without brackets
	Append, Last          bool
	EventMetadata         json.RawMessage // of the event: an object
}

// Closing is the part of an update that only says that its artifact is complete. An
// update needs a part, and the last chunk may have been sent before its tool returned.
const Closing = `{"text":""}`

// Closes reports whether u adds nothing to its artifact.
func (u *ArtifactUpdate) Closes() bool {
	return u.Append && u.Last && string(u.Parts) == Closing
}

// StatusUpdate is a new status, as an event carries it.
type StatusUpdate struct {
	State             a2a.TaskState
	At                store.Millis    // zero: none
	Message, Metadata json.RawMessage // objects, or nil
}

// Own copies the bytes that u shares with the event that it was read from.
func (u *StatusUpdate) Own() {
	u.Message, u.Metadata = bytes.Clone(u.Message), bytes.Clone(u.Metadata)
}

// AppendTask appends the first event of a task's stream: the task without history and
// artifacts. A zero time is left out.
func AppendTask(dst []byte, ids *IDs, state a2a.TaskState, at store.Millis, metadata json.RawMessage) []byte {
	dst = AppendRawField(dst, `{"task":{"id":`, ids.TaskJSON)
	dst = AppendRawField(dst, `,"contextId":`, ids.ContextJSON)
	dst = AppendRawField(dst, `,"metadata":`, metadata)
	dst = append(dst, `,"status":`...)
	dst = AppendStatus(dst, state, at, nil /* message */)
	return append(dst, `}}`...)
}

// AppendStatusUpdate appends the event of a new status. A zero time is left out.
func AppendStatusUpdate(dst []byte, ids *IDs, state a2a.TaskState, at store.Millis, message, metadata json.RawMessage) []byte {
	dst = AppendRawField(dst, `{"statusUpdate":{"contextId":`, ids.ContextJSON)
	dst = append(dst, `,"status":`...)
	dst = AppendStatus(dst, state, at, message)
	dst = AppendRawField(dst, `,"taskId":`, ids.TaskJSON)
	dst = AppendRawField(dst, `,"metadata":`, metadata)
	return append(dst, `}}`...)
}

// EncodeArtifact returns the event of an artifact or of a chunk.
func EncodeArtifact(ids *IDs, u *ArtifactUpdate) []byte {
	// Large enough for strings without escapes, so that a chunk is a single allocation.
	return AppendArtifactUpdate(make([]byte, 0, 192+len(ids.TaskJSON)+len(ids.ContextJSON)+len(u.ID)+len(u.Name)+len(u.Description)+
		len(u.Metadata)+len(u.Extensions)+len(u.Parts)+len(u.EventMetadata)), ids, u)
}

// AppendArtifactUpdate appends the event of an artifact or of a chunk. If u has no parts, the
// artifact has an empty list of parts.
func AppendArtifactUpdate(dst []byte, ids *IDs, u *ArtifactUpdate) []byte {
	dst = append(dst, `{"artifactUpdate":{`...)
	if u.Append {
		dst = append(dst, `"append":true,`...)
	}
	dst = append(dst, `"artifact":`...)
	dst = AppendArtifact(dst, u.ID, u.Description, u.Extensions, u.Metadata, u.Name, u.Parts)
	dst = AppendRawField(dst, `,"contextId":`, ids.ContextJSON)
	if u.Last {
		dst = append(dst, `,"lastChunk":true`...)
	}
	dst = AppendRawField(dst, `,"taskId":`, ids.TaskJSON)
	dst = AppendRawField(dst, `,"metadata":`, u.EventMetadata)
	return append(dst, `}}`...)
}

// ListPunctuation returns the byte that precedes element i of a list.
func ListPunctuation(i int) byte {
	if i == 0 {
		return '['
	}
	return ','
}

// Join appends the JSON of a part to others, after a comma if there are any.
func Join(parts, part json.RawMessage) json.RawMessage {
	if len(parts) > 0 {
		parts = append(parts, ',')
	}
	return append(parts, part...)
}

// AppendArtifact appends the JSON of an artifact. parts are joined by commas.
func AppendArtifact(dst []byte, id, description string, extensions, metadata json.RawMessage, name string, parts []byte) []byte {
	dst = appendText(dst, `{"artifactId":`, id)
	dst = appendTextField(dst, `,"description":`, description)
	dst = AppendRawField(dst, `,"extensions":`, extensions)
	dst = AppendRawField(dst, `,"metadata":`, metadata)
	dst = appendTextField(dst, `,"name":`, name)
	dst = append(dst, `,"parts":[`...)
	dst = append(dst, parts...)
	return append(dst, `]}`...)
}

// AppendStatus appends the JSON of a task's status.
func AppendStatus(dst []byte, state a2a.TaskState, at store.Millis, message json.RawMessage) []byte {
	dst = append(dst, '{')
	if !EmptyJSON(message) {
		dst = append(dst, `"message":`...)
		dst = append(dst, message...)
		dst = append(dst, ',')
	}
	dst = appendText(dst, `"state":`, state.String())
	if at != 0 {
		dst = append(dst, `,"timestamp":"`...)
		dst = appendMillis(dst, at)
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

// appendMillis appends a time with milliseconds, including trailing zeros (A2A 1.0
// §5.6.1). The fast layouts of package time have no milliseconds, or omit trailing zeros.
func appendMillis(dst []byte, at store.Millis) []byte {
	t := at.Time().UTC()
	dst = t.AppendFormat(dst, time.RFC3339)
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(dst[:len(dst)-len("Z")], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}

// AppendRawField appends name, which includes the field's punctuation, and value, unless
// value is empty.
func AppendRawField(dst []byte, name string, value json.RawMessage) []byte {
	if EmptyJSON(value) {
		return dst
	}
	dst = append(dst, name...)
	return append(dst, value...)
}

// EmptyJSON reports whether the SDK would leave out a field of this value.
func EmptyJSON(raw json.RawMessage) bool {
	switch len(raw) {
	case 0:
		return true
	case len(`{}`):
		return string(raw) == `{}` || string(raw) == `[]`
	case len(`null`):
		return string(raw) == `null`
	}
	return false
}

// plain has the bytes that encoding/json writes unescaped in a string: ASCII from the
// space on, except " & < > and \.
var plain = func() (set [256]bool) {
	for b := byte(' '); b < utf8.RuneSelf; b++ {
		set[b] = b != '"' && b != '&' && b != '<' && b != '>' && b != '\\'
	}
	return set
}()

// plainLength returns how many bytes at the start of s are plain.
func plainLength[T ~string | ~[]byte](s T) int {
	for i := range len(s) {
		if !plain[s[i]] {
			return i
		}
	}
	return len(s)
}

// AppendString appends s as a JSON string, with the escapes of encoding/json: of HTML, of
// U+2028 and U+2029, and \ufffd for invalid UTF-8.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start, i := 0, 0
	for {
		i += plainLength(s[i:])
		if i == len(s) {
			break
		}
		if b := s[i]; b < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, b)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\u`...)
			dst = strconv.AppendInt(dst, int64(r), 16 /* base */)
			start = i + size
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendEscape appends the escape of an ASCII character.
func appendEscape(dst []byte, b byte) []byte {
	const hex = "0123456789abcdef"
	switch b {
	case '\\', '"':
		return append(dst, '\\', b)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&0xf])
}
