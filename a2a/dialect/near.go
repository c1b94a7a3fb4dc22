package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/visible"
)

// maxNear is how deep a value is searched for something like a decision.
const maxNear = 6

// near refuses a message with a decision that also holds what looks like a decision in an
// unsupported shape, because that may contradict the other.
func (in *incoming) near() error {
	var fields []string
	for _, key := range slices.Sorted(maps.Keys(in.message.Metadata)) {
		if in.nearMetadata(key, in.message.Metadata[key]) {
			fields = append(fields, "message.metadata["+visible.Shorten(visible.Line(key), maxName)+"]")
		}
	}
	for i, part := range in.message.Parts {
		if part == nil {
			continue
		}
		field := fmt.Sprintf("message.parts[%d]", i)
		if in.nearPart(part) {
			fields = append(fields, field)
		}
		if decides(part.Metadata, 0) {
			fields = append(fields, field+".metadata")
		}
	}
	if len(fields) == 0 {
		return nil
	}
	wrong := make([]approval.Violation, len(fields))
	for i, field := range fields {
		wrong[i] = approval.Violation{Field: field, Description: "looks like a decision in an unsupported shape, next to a supported one: decide once"}
	}
	return in.malformed("", wrong...)
}

func (in *incoming) nearMetadata(key string, v any) bool {
	object, _ := v.(map[string]any)
	switch key {
	case URI: // a request is the question, sent back
		return object["type"] != typeResponse && object["decisions"] != nil
	case KagentURI:
		return object["type"] != kagentDecide && object["type"] != kagentReply && (object["approvals"] != nil || object["answers"] != nil)
	}
	return decides(v, 0)
}

func (in *incoming) nearPart(part *a2a.Part) bool {
	if text, ok := part.Content.(a2a.Text); ok {
		if in.typed {
			return false // it has been read
		}
		trimmed := strings.TrimSpace(string(text))
		if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
			return false
		}
		var v any // even lax JSON may contradict the decision
		return json.Unmarshal([]byte(trimmed), &v) == nil && decides(v, 0)
	}
	v := part.Data()
	object, isObject := v.(map[string]any)
	if isObject {
		switch {
		case object["type"] == typeResponse, adkAnswers(part.Metadata, object):
			return false // it has been read
		case object[adkRustResponse] != nil: // which has been read, too
			beside := maps.Clone(object)
			delete(beside, adkRustResponse)
			return decides(beside, 0)
		case object["type"] == typeRequest && object["decisions"] == nil, markOf(part.Metadata) == adkCall && object["response"] == nil:
			return false // the question, sent back
		}
	}
	return decides(v, 0)
}

// markOf returns the type that ADK, or kagent's copy of it, marks a part with; nil when
// there is none.
func markOf(metadata map[string]any) any {
	if mark := metadata[adkType]; mark != nil {
		return mark
	}
	return metadata[kagentType]
}

// adkAnswers reports whether readADK treats a part as a function response.
func adkAnswers(metadata, object map[string]any) bool {
	if mark := markOf(metadata); mark != nil {
		return mark == adkResponse
	}
	return functionResponse(object)
}

// decides reports whether a value is, or holds, something like a decision.
func decides(v any, depth int) bool {
	if depth > maxNear {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			switch name {
			case "decision", "decisions", "confirmed", "approved", "toolConfirmation":
				if member != nil {
					return true
				}
			}
			if decides(member, depth+1) {
				return true
			}
		}
	case []any:
		for _, element := range v {
			if decides(element, depth+1) {
				return true
			}
		}
	}
	return false
}
