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

// near refuses a message with a decision that also holds something like a decision in an
// unsupported shape, because the two may contradict each other.
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
	return in.malformed("", values(fields, func(field string) approval.Violation {
		return approval.Violation{Field: field, Description: "looks like a decision in an unsupported shape, next to a supported one: decide once"}
	})...)
}

func (in *incoming) nearMetadata(key string, v any) bool {
	object, _ := v.(map[string]any)
	switch kind := object["type"]; {
	case key == URI && kind == typeResponse, key == KagentURI && (kind == kagentDecide || kind == kagentReply):
		return false // it has been read
	case key == adkActions: // of the question, sent back
		return decides(object, 0, adkConfirmations)
	case key == URI && kind == typeRequest:
		return decides(object, 0, ofTools...)
	case key == KagentURI && (kind == kagentAsk || kind == kagentQuestion):
		return object["approvals"] != nil || object["answers"] != nil || decides(object, 0, ofTools...)
	}
	return v != nil && isDecision(key) || decides(v, 0)
}

// isDecision reports whether a member of this name is most likely a decision.
func isDecision(name string) bool {
	return slices.Contains([]string{
		"decision", "decisions", "confirmed", "approve", "approved", "reject", "rejected", "denied", "toolconfirmation",
	}, strings.ToLower(name))
}

func (in *incoming) nearPart(part *a2a.Part) bool {
	if text, ok := part.Content.(a2a.Text); ok {
		if in.typed {
			return false // it has been read
		}
		trimmed, _ := unfenced(string(text))
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
		case object["type"] == typeRequest, adkMarked(part.Metadata, adkCall) && object["response"] == nil: // the question, sent back
			return decides(object, 0, ofTools...)
		}
	}
	return decides(v, 0)
}

// ofTools are the members of a question that tools write: they decide nothing when the
// question is sent back.
var ofTools = []string{"arguments", "args", "schema"}

// decides reports whether a value is, or holds, something like a decision, but in members of
// these names.
func decides(v any, depth int, except ...string) bool {
	if depth > maxNear {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if !slices.Contains(except, name) && (member != nil && isDecision(name) || decides(member, depth+1, except...)) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(element any) bool { return decides(element, depth+1, except...) })
	}
	return false
}
