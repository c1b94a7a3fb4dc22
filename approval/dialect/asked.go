package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/internal/strictjson"
	"a2a-server/tool"
	"a2a-server/tool/toolconfirmation"
)

// MaxAsked limits the questions that are read in a message.
const MaxAsked = 64

// Asked is a question in a message of another agent, as far as its dialect says. [Asked.Answer]
// writes the answer in the same dialect. All of it is data from outside: nothing is escaped.
type Asked struct {
	// ID is how an answer names the question; "" for a text, which the next message answers.
	ID   string        `json:"id,omitempty"`
	Kind approval.Kind `json:"kind"`
	// ADK says that the answer is a function response, not an approval_response.
	ADK bool `json:"adk,omitempty"`
	// Digest goes back with an answer; "": the question has none.
	Digest string `json:"digest,omitempty"`

	Summary   string                  `json:"-"`
	Tool      string                  `json:"-"` // "": the message does not say
	Arguments map[string]any          `json:"-"` // nil: none are shown
	Payload   any                     `json:"-"` // of a question that a running tool asks
	Schema    map[string]any          `json:"-"` // of the response to a question; nil: any
	Options   []approval.DecisionType `json:"-"` // the decisions that are accepted
	Elsewhere bool                    `json:"-"` // the sender of the task may not answer
	// Destructive says that the agent treats the call as destructive, NoText that its gate accepts no text.
	Destructive, NoText bool `json:"-"`
}

// Waits reports whether the message of a status asks for decisions, of its client or of other people.
func Waits(m *a2a.Message) bool { return m != nil && m.Metadata[URI] != nil }

// ReadWaiting returns the decisions that an agent says are made elsewhere, with the Agent of an agent
// behind it; none if the message says nothing, or cannot be read. All of it is data from outside.
func ReadWaiting(m *a2a.Message) (all []tool.Waiting) {
	if !Waits(m) {
		return nil
	}
	raw, err := json.Marshal(m.Metadata[URI])
	var request struct {
		Type      string         `json:"type"`
		Elsewhere []tool.Waiting `json:"elsewhere"`
	}
	if err != nil || json.Unmarshal(raw, &request) != nil || request.Type != typeRequest {
		return nil
	}
	for _, w := range request.Elsewhere[:min(len(request.Elsewhere), tool.MaxWaits)] {
		if w.ID != "" {
			all = append(all, w)
		}
	}
	return all
}

// ReadAsked returns the questions of a message with which an agent asks for input: in our
// extension, as ADK's function calls, or as a text. It never returns none without an error.
// The error says which shape could not be read.
func ReadAsked(m *a2a.Message) ([]Asked, error) {
	if m == nil {
		return []Asked{{Kind: approval.KindQuestion, Options: []approval.DecisionType{approval.Respond}}}, nil
	}
	asked, err := askedByExtension(m)
	if err == nil && asked == nil {
		asked = askedByADK(m)
	}
	if err == nil && len(asked) == 0 {
		asked = []Asked{{Kind: approval.KindQuestion, Summary: textOf(m), Options: []approval.DecisionType{approval.Respond}}}
	}
	seen := map[string]bool{}
	for i := range asked {
		if seen[asked[i].ID] && err == nil {
			err = errors.New("two of its questions have the same id")
		}
		seen[asked[i].ID] = true
		if exact := strictjson.Exact(asked[i].Arguments) && strictjson.Exact(asked[i].Payload); err == nil && !exact {
			err = errors.New("it shows a number beyond ±9007199254740991, which may have been rounded; the agent has to send it as a string")
		}
		if !strictjson.Exact(asked[i].Schema) {
			asked[i].Schema = nil // the agent checks the response
		}
	}
	if len(asked) > MaxAsked && err == nil {
		err = fmt.Errorf("it asks %d questions at once; at most %d are accepted", len(asked), MaxAsked)
	}
	return asked, err
}

// askedByExtension returns nil for a message without our extension.
func askedByExtension(m *a2a.Message) ([]Asked, error) {
	if m.Metadata[URI] == nil {
		return nil, nil
	}
	raw, err := json.Marshal(m.Metadata[URI])
	if err != nil {
		return nil, err
	}
	var request struct {
		Type      string `json:"type"`
		Approvals []struct {
			ID        string                  `json:"id"`
			Kind      approval.Kind           `json:"kind"`
			Tool      struct{ Name string }   `json:"tool"`
			Arguments map[string]any          `json:"arguments"`
			Digest    string                  `json:"digest"`
			Summary   string                  `json:"summary"`
			Options   []approval.DecisionType `json:"options"`
			Payload   any                     `json:"payload"`
			Schema    map[string]any          `json:"schema"`
			Elsewhere bool                    `json:"elsewhere"`

			Destructive bool `json:"destructive"`
			NoText      bool `json:"noText"`
		} `json:"approvals"`
	}
	if err := json.Unmarshal(raw, &request); err != nil {
		return nil, fmt.Errorf("its %s cannot be read: %w", typeRequest, err)
	}
	if request.Type != typeRequest || len(request.Approvals) == 0 {
		return nil, fmt.Errorf("its metadata %s is no %s with approvals", URI, typeRequest)
	}
	var all []Asked
	for _, r := range request.Approvals {
		if r.ID == "" || !slices.Contains([]approval.Kind{approval.KindCall, approval.KindOutcome, approval.KindQuestion}, r.Kind) {
			return nil, fmt.Errorf("its %s has an approval without id, or of an unknown kind", typeRequest)
		}
		all = append(all, Asked{
			ID: r.ID, Kind: r.Kind, Digest: r.Digest, Summary: r.Summary, Tool: r.Tool.Name, Arguments: r.Arguments,
			Payload: r.Payload, Schema: r.Schema, Options: r.Options, Elsewhere: r.Elsewhere,
			Destructive: r.Destructive, NoText: r.NoText,
		})
	}
	return all, nil
}

// askedByADK returns the questions that are function calls of ADK.
func askedByADK(m *a2a.Message) []Asked {
	var all []Asked
	for _, part := range m.Parts {
		if part == nil {
			continue
		}
		object, _ := part.Data().(map[string]any)
		id, _ := object["id"].(string)
		args, _ := object["args"].(map[string]any)
		if id == "" || args == nil || !adkAsks(part.Metadata, object) {
			continue
		}
		switch object["name"] {
		case toolconfirmation.FunctionCallName:
			original, _ := args[toolconfirmation.ArgOriginalCall].(map[string]any)
			confirmation, _ := args[toolconfirmation.ArgConfirmation].(map[string]any)
			a := Asked{ID: id, Kind: approval.KindCall, ADK: true, Payload: confirmation["payload"], Options: []approval.DecisionType{approval.Approve, approval.Reject}}
			a.Summary, _ = confirmation["hint"].(string)
			a.Tool, _ = original["name"].(string)
			a.Arguments, _ = original["args"].(map[string]any)
			all = append(all, a)
		case adkRequestInput:
			a := Asked{ID: id, Kind: approval.KindQuestion, ADK: true, Payload: args["payload"], Options: []approval.DecisionType{approval.Respond}}
			a.Summary, _ = args["message"].(string)
			a.Schema, _ = args["responseSchema"].(map[string]any)
			all = append(all, a)
		}
	}
	return all
}

func textOf(m *a2a.Message) string {
	var texts []string
	for _, part := range m.Parts {
		if part != nil && part.Text() != "" {
			texts = append(texts, part.Text())
		}
	}
	return strings.Join(texts, "\n")
}

// Answer returns the part that answers a with d, whose ID and Digest are ignored. It returns an
// error if the dialect of a has no such decision.
func (a *Asked) Answer(d approval.Decision) (*a2a.Part, error) {
	switch {
	case a.ADK:
		return a.functionResponse(d)
	case a.ID != "":
		return a.approvalResponse(d)
	case d.Type != approval.Respond:
		return nil, fmt.Errorf("a question in words has no decision %s", d.Type)
	}
	var text string
	if json.Unmarshal(d.Response, &text) == nil {
		return a2a.NewTextPart(text), nil
	}
	v, err := strictjson.Decode(d.Response)
	if err != nil {
		return nil, err
	}
	return a2a.NewDataPart(v), nil
}

func (a *Asked) approvalResponse(d approval.Decision) (*a2a.Part, error) {
	decision := map[string]any{"id": a.ID, "decision": string(d.Type)}
	if a.Digest != "" {
		decision["digest"] = a.Digest
	}
	if d.Reason != "" {
		decision["reason"] = d.Reason
	}
	for name, raw := range map[string]json.RawMessage{"arguments": d.Args, "response": d.Response} {
		if len(raw) == 0 {
			continue
		}
		v, err := strictjson.Decode(raw)
		if err != nil {
			return nil, err
		}
		decision[name] = v
	}
	return a2a.NewDataPart(map[string]any{"type": typeResponse, "decisions": []any{decision}}), nil
}

func (a *Asked) functionResponse(d approval.Decision) (*a2a.Part, error) {
	var response map[string]any
	name := toolconfirmation.FunctionCallName
	switch {
	case a.Kind == approval.KindQuestion && d.Type == approval.Respond:
		v, err := strictjson.Decode(d.Response)
		if err != nil {
			return nil, err
		}
		name, response = adkRequestInput, map[string]any{"result": v}
	case a.Kind == approval.KindCall && (d.Type == approval.Approve || d.Type == approval.Reject):
		response = map[string]any{"confirmed": d.Type == approval.Approve}
		if d.Reason != "" {
			response["payload"] = map[string]any{rejectionReason: d.Reason}
		}
	default:
		return nil, fmt.Errorf("ADK has no decision %s for this question", d.Type)
	}
	part := a2a.NewDataPart(map[string]any{"id": a.ID, "name": name, "response": response})
	part.Metadata = map[string]any{adkType: adkResponse}
	return part, nil
}
