package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

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

// compactJSON returns raw as json.Marshal would copy it into its output: without spaces
// and with its escapes. It returns empty or already compact JSON unchanged.
func compactJSON(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if isCompact(raw) {
		return raw, nil // our own encoding is always compact
	}
	return json.Marshal(raw)
}

// Compact returns raw as it is stored: without spaces, and with the escapes of
// encoding/json. Invalid JSON is returned unchanged.
func Compact(raw json.RawMessage) json.RawMessage {
	compact, err := compactJSON(raw)
	if err != nil {
		return raw
	}
	return compact
}

// maxScanDepth is the nesting that encoding/json decodes, too.
const maxScanDepth = 10_000

// scanner reads JSON that has no spaces and the escapes of encoding/json.
// On anything else it becomes bad and stays bad; its methods then do nothing.
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
	simple := s.skipString()
	if s.bad {
		return ""
	}
	if simple {
		return string(s.data[start+1 : s.pos-1])
	}
	var text string
	if err := json.Unmarshal(s.data[start:s.pos], &text); err != nil {
		s.bad = true
		return ""
	}
	return text
}

// skipString skips a string, and reports whether its bytes are its value: it has no
// escapes and is ASCII.
func (s *scanner) skipString() (simple bool) {
	s.expect(`"`)
	simple = true
	for !s.bad {
		s.pos += plainLength(s.data[s.pos:])
		if s.pos == len(s.data) {
			break
		}
		switch b := s.data[s.pos]; {
		case b == '"':
			s.pos++
			return simple
		case b == '\\':
			simple = false
			s.skipEscape()
		case b >= 0x80 && !s.atLineSeparator():
			simple = false
			s.pos++
		default:
			s.bad = true
		}
	}
	s.bad = true
	return false
}

// atLineSeparator reports whether U+2028 or U+2029 comes next, which encoding/json
// escapes.
func (s *scanner) atLineSeparator() bool {
	rest := s.data[s.pos:]
	return len(rest) >= 3 && rest[0] == 0xe2 && rest[1] == 0x80 && rest[2]&^1 == 0xa8
}

// skipEscape skips a backslash and the rest of its escape.
func (s *scanner) skipEscape() {
	rest := s.data[s.pos:]
	if len(rest) < 2 {
		s.bad = true
		return
	}
	switch rest[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return
	case 'u':
		if len(rest) >= 6 && isHex(rest[2]) && isHex(rest[3]) && isHex(rest[4]) && isHex(rest[5]) {
			s.pos += 6
			return
		}
	}
	s.bad = true
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}

// elements skips the elements of a list and returns them, with the commas between them.
// The caller handles the brackets.
func (s *scanner) elements() json.RawMessage {
	if s.peek() == ']' {
		return nil
	}
	start := s.pos
	s.skipValue(0 /* depth */)
	for s.accept(`,`) {
		s.skipValue(0 /* depth */)
	}
	return s.since(start)
}

// value skips a value and returns its bytes.
func (s *scanner) value() json.RawMessage {
	start := s.pos
	s.skipValue(0 /* depth */)
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
func (s *scanner) skipValue(depth int) {
	if depth > maxScanDepth {
		s.bad = true
		return
	}
	switch s.peek() {
	case '"':
		s.skipString()
	case '{':
		s.pos++
		if s.accept(`}`) {
			return
		}
		s.skipMember(depth)
		for s.accept(`,`) {
			s.skipMember(depth)
		}
		s.expect(`}`)
	case '[':
		s.pos++
		if s.accept(`]`) {
			return
		}
		s.skipValue(depth + 1)
		for s.accept(`,`) {
			s.skipValue(depth + 1)
		}
		s.expect(`]`)
	case 't':
		s.expect(`true`)
	case 'f':
		s.expect(`false`)
	case 'n':
		s.expect(`null`)
	default:
		s.skipNumber()
	}
}

// skipMember skips a name and its value.
func (s *scanner) skipMember(depth int) {
	s.skipString()
	s.expect(`:`)
	s.skipValue(depth + 1)
}

// skipNumber skips a number.
func (s *scanner) skipNumber() {
	s.accept(`-`)
	if !s.accept(`0`) {
		s.skipDigits()
	}
	if s.accept(`.`) {
		s.skipDigits()
	}
	if s.accept(`e`) || s.accept(`E`) {
		if !s.accept(`+`) {
			s.accept(`-`)
		}
		s.skipDigits()
	}
}

// skipDigits skips at least one digit.
func (s *scanner) skipDigits() {
	start := s.pos
	for b := s.peek(); '0' <= b && b <= '9'; b = s.peek() {
		s.pos++
	}
	if s.pos == start {
		s.bad = true
	}
}
