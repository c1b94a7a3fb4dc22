package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/strictjson"
	"a2a-server/store"
)

// ReadArtifact reads the output of EncodeArtifact, without decoding more than the id, the name
// and the description; the JSON in the result may be part of data. Data in any other form is an error.
func ReadArtifact(data []byte) (ArtifactUpdate, error) {
	var u ArtifactUpdate
	s := scanner{data: data}
	s.expect(`{"artifactUpdate":{`)
	u.Append = s.accept(`"append":true,`)
	s.expect(`"artifact":{"artifactId":`)
	u.ID = s.text()
	if s.accept(`,"description":`) {
		u.Description = s.text()
	}
	if s.accept(`,"extensions":`) {
		u.Extensions = s.value()
	}
	if s.accept(`,"metadata":`) {
		u.Metadata = s.value()
	}
	if s.accept(`,"name":`) {
		u.Name = s.text()
	}
	s.expect(`,"parts":[`)
	u.Parts = s.elements()
	s.expect(`]},"contextId":`)
	s.skipString()
	u.Last = s.accept(`,"lastChunk":true`)
	s.expect(`,"taskId":`)
	s.skipString()
	if s.accept(`,"metadata":`) {
		u.EventMetadata = s.value()
	}
	s.expect(`}}`)
	return u, s.end()
}

// ReadTask reads the output of AppendTask as ReadArtifact does: the status, and the metadata of
// the task.
func ReadTask(data []byte) (StatusUpdate, error) {
	s := scanner{data: data}
	s.expect(`{"task":{"id":`)
	s.skipString()
	s.expect(`,"contextId":`)
	s.skipString()
	var metadata json.RawMessage
	if s.accept(`,"metadata":`) {
		metadata = s.object()
	}
	s.expect(`,"status":`)
	u := s.status()
	u.Metadata = metadata
	s.expect(`}}`)
	return u, s.end()
}

// ReadStatus reads the output of AppendStatusUpdate as ReadArtifact does.
func ReadStatus(data []byte) (StatusUpdate, error) {
	s := scanner{data: data}
	s.expect(`{"statusUpdate":{"contextId":`)
	s.skipString()
	s.expect(`,"status":`)
	u := s.status()
	s.expect(`,"taskId":`)
	s.skipString()
	if s.accept(`,"metadata":`) {
		u.Metadata = s.object()
	}
	s.expect(`}}`)
	return u, s.end()
}

// ReadMessage returns the message in a message.received event and its reader. If the event has
// the form of appendJSON, the bytes between them are not read, and the message is part of data.
func ReadMessage(data []byte) (json.RawMessage, Reader, error) {
	s := scanner{data: data}
	s.expect(`{"message":`)
	m := s.object()
	if !s.bad && s.peek() == ',' {
		for _, reader := range [...]Reader{ForPlanner, ForDecision, ForNobody, ForRemark} {
			if rest, ok := bytes.CutSuffix(data[s.pos:], []byte(`"}`)); ok && bytes.HasSuffix(rest, []byte(`,"for":"`+string(reader))) {
				return m, reader, nil
			}
		}
	}
	var e MessageReceived
	err := json.Unmarshal(data, &e)
	return e.Message, e.For, err
}

// Compact returns raw as it is stored: without spaces, and with the escapes of
// encoding/json. Invalid JSON, and JSON of that form, is returned unchanged, and nil if there is none.
func Compact(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	if strictjson.IsCompact(raw) {
		return raw // our own encoding is always compact
	}
	compact, err := json.Marshal(raw)
	if err != nil {
		return raw
	}
	return compact
}

// scanner finds its way through the bytes of this package, whose values it does not check: the store
// notices damage. On anything else it becomes bad and stays bad; its methods then do nothing.
type scanner struct {
	data []byte
	pos  int
	bad  bool
}

// accept skips literal if it comes next, and reports whether it did.
func (s *scanner) accept(literal string) bool {
	if s.bad || len(s.data)-s.pos < len(literal) || string(s.data[s.pos:s.pos+len(literal)]) != literal {
		return false
	}
	s.pos += len(literal)
	return true
}

// end returns an error unless everything was read, and no more.
func (s *scanner) end() error {
	if s.bad || s.pos != len(s.data) {
		return fmt.Errorf("it is damaged at byte %d, or a newer program has written it", s.pos)
	}
	return nil
}

// expect skips literal, which must come next.
func (s *scanner) expect(literal string) {
	if !s.accept(literal) {
		s.bad = true
	}
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.bad || s.pos >= len(s.data) {
		return 0
	}
	return s.data[s.pos]
}

// text skips a string and returns its decoded value.
func (s *scanner) text() string {
	start := s.pos
	if s.skipString(); s.bad {
		return ""
	}
	return strictjson.Unquote(s.data[start:s.pos])
}

// skipString skips a string.
func (s *scanner) skipString() {
	s.expect(`"`)
	for !s.bad {
		n := bytes.IndexByte(s.data[s.pos:], '"')
		if n < 0 {
			s.bad = true
			return
		}
		text := s.data[:s.pos+n]
		s.pos += n + 1
		if escapes := len(text) - len(bytes.TrimRight(text, `\`)); escapes%2 == 0 {
			return
		}
	}
}

// elements skips the elements of a list and returns them, with the commas between them.
// The caller handles the brackets.
func (s *scanner) elements() json.RawMessage {
	if s.peek() == ']' {
		return nil
	}
	start := s.pos
	s.skipValue()
	for s.accept(`,`) {
		s.skipValue()
	}
	return s.since(start)
}

// value skips a value and returns its bytes.
func (s *scanner) value() json.RawMessage {
	start := s.pos
	s.skipValue()
	return s.since(start)
}

// object skips an object that is not empty and returns its bytes.
func (s *scanner) object() json.RawMessage {
	if s.peek() != '{' {
		s.bad = true
	}
	raw := s.value()
	if EmptyJSON(raw) {
		s.bad = true
	}
	return raw
}

// status parses the output of AppendStatus.
func (s *scanner) status() (u StatusUpdate) {
	s.expect(`{`)
	if s.accept(`"message":`) {
		u.Message = s.object()
		s.expect(`,`)
	}
	s.expect(`"state":`)
	if u.State = a2a.TaskState(s.text()); u.State == "TASK_STATE_UNSPECIFIED" {
		u.State = a2a.TaskStateUnspecified
	}
	if s.accept(`,"timestamp":`) {
		var at time.Time
		if at.UnmarshalText([]byte(s.text())) != nil {
			s.bad = true
		}
		u.At = store.MillisOf(at)
	}
	s.expect(`}`)
	return u
}

// since returns the bytes read after start. Its capacity ends with it, so that appending to it
// cannot write into the event.
func (s *scanner) since(start int) json.RawMessage {
	if s.bad {
		return nil
	}
	return s.data[start:s.pos:s.pos]
}

// skipValue skips any value.
func (s *scanner) skipValue() {
	switch s.peek() {
	case '"':
		s.skipString()
	case '{', '[':
		s.skipNested()
	default: // a number or a word
		n := bytes.IndexAny(s.data[s.pos:], ",]}")
		if n <= 0 || s.bad {
			s.bad = true
			return
		}
		s.pos += n
	}
}

// skipNested skips an object or a list.
func (s *scanner) skipNested() {
	for depth := 0; !s.bad; {
		switch s.peek() {
		case 0: // the end
			s.bad = true
		case '"':
			s.skipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if s.pos++; depth == 0 {
			return
		}
	}
}
