package sim

import (
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/approval/dialect"
)

// Dialect is a way to say a decision.
type Dialect int

// The dialects.
const (
	OursAsPart     Dialect = iota // approval_response in a data part
	OursAsMetadata                // approval_response in the metadata
	ADK                           // a function response
	ADKWrapped                    // whose response is JSON in a string
	ADKNested                     // within toolConfirmation
	ADKSpoken                     // with the word of a person
	ADKUnmarked                   // without ADK's mark
	ADKRust                       // adk:functionResponse
	Kagent                        // tool_approval_response, ask_user_response
	Keyword                       // a text
	Twice                         // in two dialects at once
	API                           // not a message: Decide

	dialects
)

var dialectNames = [...]string{
	"ours as a part", "ours as metadata", "adk", "adk wrapped", "adk nested", "adk spoken", "adk unmarked", "adk-rs", "kagent",
	"keyword", "two dialects", "api",
}

// String returns the name of a dialect.
func (d Dialect) String() string { return dialectNames[d] }

// verdict is a decision on an approval, before it is said in a dialect.
type verdict struct {
	a        *approval.Approval
	id       string // by which it is named: the approval's, or its call's, or its alias
	decision approval.DecisionType
	args     any // of an edit
	text     any // of a respond
}

// answer returns the verdict as the engine's Decide takes it.
func (v *verdict) answer() approval.Decision {
	a := approval.Decision{ID: v.id, Type: v.decision}
	if v.decision == approval.Edit {
		a.Args = mustJSON(v.args)
	}
	if v.decision == approval.Respond {
		a.Response = mustJSON(v.text)
	}
	return a
}

func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// ours returns the verdict in our extension.
func (v *verdict) ours() map[string]any {
	d := map[string]any{"id": v.id, "decision": string(v.decision)}
	if v.decision == approval.Edit {
		d["arguments"] = v.args
	}
	if v.decision == approval.Respond {
		d["response"] = v.text
	}
	return d
}

func (v *verdict) response() map[string]any {
	return map[string]any{"type": "approval_response", "decisions": []any{v.ours()}}
}

// function returns the verdict as a function response, nil when it cannot say it.
func (v *verdict) function(d Dialect) map[string]any {
	name, confirmed := "adk_request_confirmation", map[string]any{"confirmed": v.decision == approval.Approve}
	var response any = confirmed
	switch {
	case v.decision == approval.Respond && v.a.Kind == approval.KindQuestion:
		name, response = "adk_request_input", map[string]any{"result": v.text}
	case v.a.Kind == approval.KindQuestion, v.decision != approval.Approve && v.decision != approval.Reject:
		return nil
	case d == ADKWrapped:
		response = map[string]any{"response": string(mustJSON(confirmed))}
	case d == ADKNested:
		response = map[string]any{"toolConfirmation": confirmed}
	case d == ADKSpoken:
		word := "reject"
		if v.decision == approval.Approve {
			word = "approve"
		}
		response = map[string]any{"result": word}
	}
	return map[string]any{"id": v.id, "name": name, "response": response}
}

// say puts a verdict into a message, and reports whether the dialect can say it. others are
// the other waiting approvals: one dialect has to name them all.
func (v *verdict) say(m *a2a.Message, d Dialect, others []*approval.Approval) bool {
	switch d {
	case OursAsPart:
		m.Parts = append(m.Parts, a2a.NewDataPart(v.response()))
	case OursAsMetadata:
		m.SetMeta(dialect.URI, v.response())
	case ADK, ADKWrapped, ADKNested, ADKSpoken, ADKUnmarked:
		f := v.function(d)
		if f == nil {
			return false
		}
		part := a2a.NewDataPart(f)
		if d != ADKUnmarked {
			part.Metadata = map[string]any{"adk_type": "function_response"}
		}
		m.Parts = append(m.Parts, part)
	case ADKRust:
		f := v.function(d)
		if f == nil {
			return false
		}
		m.Parts = append(m.Parts, a2a.NewDataPart(map[string]any{"adk:functionResponse": f}))
	case Kagent:
		return v.kagent(m, others)
	case Keyword:
		word, ok := map[approval.DecisionType]string{approval.Approve: "yes", approval.Reject: "no"}[v.decision]
		if !ok || len(others) > 0 {
			return false
		}
		switch code := v.a.Code; {
		case code == "", code > "v": // a bare word decides the first question alone
		case code < "i":
			word += " aaaaaaa2" // of no approval
		default:
			word += " " + code
		}
		m.Parts = append(m.Parts, a2a.NewTextPart(word))
	case Twice:
		return v.say(m, OursAsPart, nil) && v.say(m, ADK, nil)
	case API, dialects:
		return false
	}
	return true
}

func (v *verdict) kagent(m *a2a.Message, others []*approval.Approval) bool {
	payload := map[string]any{}
	switch {
	case v.decision == approval.Respond && v.a.Kind == approval.KindQuestion:
		payload["type"], payload["id"] = "ask_user_response", v.id
		payload["answers"] = []any{map[string]any{"answer": []any{fmt.Sprint(v.text)}}}
	case len(others) > 0 || v.a.Kind == approval.KindQuestion, v.decision != approval.Approve && v.decision != approval.Reject:
		return false
	default:
		payload["type"] = "tool_approval_response"
		payload["approvals"] = []any{map[string]any{"id": v.id, "approved": v.decision == approval.Approve}}
	}
	m.Parts = append(m.Parts, a2a.NewTextPart("done"))
	m.Extensions = append(m.Extensions, dialect.KagentURI)
	m.SetMeta(dialect.KagentURI, payload)
	return true
}
