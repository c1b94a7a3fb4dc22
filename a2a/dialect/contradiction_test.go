package dialect

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
)

// A message that approves and, in a shape that is nearly ours, rejects is refused.
func TestContradictionBesideADecision(t *testing.T) {
	t.Parallel()
	all := []*approval.Approval{{V: 1, ID: "t.a1", Kind: approval.KindCall, State: approval.Pending, Task: "t", Call: "c1.1", Tool: "pay", Args: []byte(`{}`), Digest: "d"}}
	yes := func() *a2a.Part {
		return a2a.NewDataPart(map[string]any{"type": "approval_response", "decisions": []any{map[string]any{"id": "t.a1", "decision": "approve"}}})
	}
	no := map[string]any{"type": "approval_response", "decisions": []any{map[string]any{"id": "t.a1", "decision": "reject"}}}
	fn := map[string]any{"id": "t.a1", "name": "adk_request_confirmation", "response": map[string]any{"confirmed": false}}
	for name, m := range map[string]*a2a.Message{
		"in an array":                        a2a.NewMessage(a2a.MessageRoleUser, yes(), a2a.NewDataPart([]any{no})),
		"of an unknown type":                 a2a.NewMessage(a2a.MessageRoleUser, yes(), a2a.NewDataPart(map[string]any{"type": "approval_responses", "decisions": no["decisions"]})),
		"without a type":                     a2a.NewMessage(a2a.MessageRoleUser, yes(), a2a.NewDataPart(map[string]any{"decisions": no["decisions"]})),
		"marked as a call":                   marked(a2a.NewMessage(a2a.MessageRoleUser, yes(), a2a.NewDataPart(fn)), "function_call"),
		"marked as a mistake":                marked(a2a.NewMessage(a2a.MessageRoleUser, yes(), a2a.NewDataPart(fn)), "function-response"),
		"request with decision":              meta(a2a.NewMessage(a2a.MessageRoleUser, yes()), URI, map[string]any{"type": "approval_request", "decisions": no["decisions"]}),
		"kagent's request":                   meta(a2a.NewMessage(a2a.MessageRoleUser, yes()), KagentURI, map[string]any{"type": "tool_approval_request", "approvals": []any{map[string]any{"id": "t.a1", "approved": false}}}),
		"request with a decision":            meta(a2a.NewMessage(a2a.MessageRoleUser, yes()), URI, map[string]any{"type": "approval_request", "decision": "reject"}),
		"request in a part":                  a2a.NewMessage(a2a.MessageRoleUser, yes(), a2a.NewDataPart(map[string]any{"type": "approval_request", "approvals": []any{map[string]any{"id": "t.a1", "rejected": true}}})),
		"kagent's request, as asked":         meta(a2a.NewMessage(a2a.MessageRoleUser, yes()), KagentURI, map[string]any{"type": "tool_approval_request", "tools": []any{map[string]any{"id": "t.a1", "approved": false}}}),
		"kagent's question":                  meta(a2a.NewMessage(a2a.MessageRoleUser, yes()), KagentURI, map[string]any{"type": "ask_user_request", "id": "t.a1", "denied": true}),
		"adk's question":                     marked(a2a.NewMessage(a2a.MessageRoleUser, yes(), a2a.NewDataPart(map[string]any{"id": "t.a1", "name": "adk_request_confirmation", "args": map[string]any{}, "reject": true})), "function_call"),
		"key of the metadata":                meta(a2a.NewMessage(a2a.MessageRoleUser, yes()), "rejected", true),
		"key in another case":                meta(a2a.NewMessage(a2a.MessageRoleUser, yes()), "Decision", "reject"),
		"beside a word":                      meta(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("yes")), "denied", true),
		"text of JSON":                       a2a.NewMessage(a2a.MessageRoleUser, yes(), a2a.NewTextPart(`{"type":"approval_response","decisions":[{"id":"t.a1","decision":"reject"}]}`)),
		"text with a name that occurs twice": a2a.NewMessage(a2a.MessageRoleUser, yes(), a2a.NewTextPart(`{"type":"approval_response","decisions":[{"id":"t.a1","decision":"reject","decision":"reject"}]}`)),
		"a mark that is null":                kagentMarked(a2a.NewMessage(a2a.MessageRoleUser, yes(), a2a.NewDataPart(fn)), "function_call"),
		"beside the response of another function": a2a.NewMessage(a2a.MessageRoleUser, yes(), a2a.NewDataPart(map[string]any{
			"adk:functionResponse": map[string]any{"id": "zz", "name": "get_weather", "response": map[string]any{}}, "decisions": no["decisions"],
		})),
		"metadata of a part": partMeta(a2a.NewMessage(a2a.MessageRoleUser, yes()), URI, no),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if answers, err := New(Config{Keywords: true}).Answers(m, all); err == nil {
				t.Errorf("Answers() = %+v, want a refusal", answers)
			}
		})
	}
}

// A client may send the question back with its answer: what the tool has written in it is no
// decision.
func TestQuestionBesideADecision(t *testing.T) {
	t.Parallel()
	asked := &approval.Approval{V: 1, ID: "t.a1", Kind: approval.KindCall, State: approval.Pending, Task: "t", Call: "c1.1", Tool: "pay", Digest: "d",
		Args: []byte(`{"approved":false,"decision":{"reject":true}}`), Payload: []byte(`{"confirmed":false}`), Schema: []byte(`{"properties":{"denied":{}}}`)}
	p := New(Config{Keywords: true})
	m, err := p.Question([]*approval.Approval{asked}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Role = a2a.MessageRoleUser
	m.Parts = append(m.Parts, a2a.NewDataPart(map[string]any{"type": "approval_response", "decisions": []any{map[string]any{"id": "t.a1", "decision": "approve"}}}))
	if got, err := p.Answers(m, []*approval.Approval{asked}); err != nil || len(got) != 1 || got[0].Verb != approval.Approve {
		t.Errorf("Answers() = %+v, %v, want one that approves", got, err)
	}
}

func marked(m *a2a.Message, as string) *a2a.Message {
	m.Parts[1].Metadata = map[string]any{"adk_type": as}
	return m
}

// kagentMarked marks a part as kagent does, and leaves ADK's own mark empty.
func kagentMarked(m *a2a.Message, as string) *a2a.Message {
	m.Parts[1].Metadata = map[string]any{"adk_type": nil, "kagent_type": as}
	return m
}

func meta(m *a2a.Message, key string, v any) *a2a.Message {
	m.Metadata = map[string]any{key: v}
	return m
}

func partMeta(m *a2a.Message, key string, v any) *a2a.Message {
	m.Parts[0].Metadata = map[string]any{key: v}
	return m
}
