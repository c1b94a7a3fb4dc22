package dialect_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/approval/dialect"
)

// asked returns the question as a client gets it.
func asked(t *testing.T, pending []*approval.Approval) map[string]any {
	t.Helper()
	message, err := presenter().Question(pending, nil)
	if err != nil {
		t.Fatalf("Question() = %v", err)
	}
	raw, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// at walks down maps and lists.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		ok := false
		switch step := step.(type) {
		case string:
			var m map[string]any
			if m, ok = v.(map[string]any); ok {
				v, ok = m[step]
			}
		case int:
			var list []any
			if list, ok = v.([]any); ok && step < len(list) {
				v = list[step]
			}
		}
		if !ok {
			t.Fatalf("no %v on the way %v", step, path)
		}
	}
	return v
}

func list(t *testing.T, v any, path ...any) []any {
	t.Helper()
	l, ok := at(t, v, path...).([]any)
	if !ok {
		t.Fatalf("no list at %v", path)
	}
	return l
}

// What a client of each dialect makes of the question alone, by that dialect's rules,
// names the approvals that were asked.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	confirm := func(id any) any {
		return map[string]any{"data": map[string]any{
			"id": id, "name": confirmation, "response": map[string]any{"confirmed": true},
		}, "metadata": map[string]any{"adk_type": "function_response"}}
	}
	// What follows answers by the id at a place of each question.
	type answering = func(t *testing.T, q map[string]any) map[string]any
	adkRust := func(place ...any) answering {
		return func(t *testing.T, q map[string]any) map[string]any {
			var parts []any
			for _, p := range list(t, q, "parts")[1:] {
				id := at(t, p, append([]any{"data"}, place...)...)
				parts = append(parts, map[string]any{"data": map[string]any{"adk:functionResponse": at(t, confirm(id), "data")}})
			}
			return map[string]any{"parts": parts}
		}
	}
	kagents := func(place string) answering {
		return func(t *testing.T, q map[string]any) map[string]any {
			var approvals []any
			for _, tool := range list(t, q, "metadata", dialect.KagentURI, "tools") {
				approvals = append(approvals, map[string]any{"id": at(t, tool, place), "approved": true})
			}
			return map[string]any{
				"parts": []any{map[string]any{"text": "approved"}}, "extensions": at(t, q, "extensions"),
				"metadata": map[string]any{dialect.KagentURI: map[string]any{"type": "tool_approval_response", "approvals": approvals}},
			}
		}
	}
	both := []approval.Decision{{ID: "t1.a1", Type: approval.Approve}, {ID: "t1.a2", Type: approval.Approve}}
	calls := []*approval.Approval{transfer(), deletion()}
	twoCalls := []*approval.Approval{transfer(), restarts()}
	tests := []struct {
		name    string
		pending []*approval.Approval
		answer  answering
		want    []approval.Decision
	}{
		{"ours", calls, func(t *testing.T, q map[string]any) map[string]any {
			var decisions []any
			for _, a := range list(t, q, "metadata", dialect.URI, "approvals") {
				decisions = append(decisions, map[string]any{"id": at(t, a, "id"), "decision": at(t, a, "options", 0), "digest": at(t, a, "digest")})
			}
			return map[string]any{"parts": []any{map[string]any{"data": map[string]any{"type": "approval_response", "decisions": decisions}}}}
		}, []approval.Decision{
			{ID: "t1.a1", Type: approval.Approve, Digest: "sha256:d1"},
			{ID: "t1.a2", Type: approval.Approve, Digest: "sha256:d2"},
		}},
		{"adk", calls, func(t *testing.T, q map[string]any) map[string]any {
			var parts []any
			for _, p := range list(t, q, "parts")[1:] {
				parts = append(parts, confirm(at(t, p, "data", "id")))
			}
			return map[string]any{"parts": parts}
		}, both},
		{"adk input", []*approval.Approval{database()}, func(t *testing.T, q map[string]any) map[string]any {
			call := at(t, q, "parts", 1, "data")
			return map[string]any{"parts": []any{map[string]any{"data": map[string]any{
				"id": at(t, call, "id"), "name": at(t, call, "name"),
				"response": map[string]any{"response": at(t, call, "args", "responseSchema", "enum", 1)},
			}}}}
		}, []approval.Decision{{ID: "t1.a3", Type: approval.Respond, Response: raw(`"SQLite"`)}}},
		{"adk-rs", calls, adkRust("id"), byCall(both...)},
		{"adk-rs by the call", twoCalls, adkRust("args", "originalFunctionCall", "id"),
			byCall(approval.Decision{ID: "adk-961c85e9", Type: approval.Approve}, approval.Decision{ID: "c1.4", Type: approval.Approve})},
		{"kagent", calls, kagents("id"), byCall(both...)},
		{"kagent by the call", twoCalls, kagents("call_id"),
			byCall(approval.Decision{ID: "adk-961c85e9", Type: approval.Approve}, approval.Decision{ID: "c1.4", Type: approval.Approve})},
		{"kagent question", []*approval.Approval{database()}, func(t *testing.T, q map[string]any) map[string]any {
			ask := at(t, q, "metadata", dialect.KagentURI)
			var answers []any
			for _, question := range list(t, ask, "questions") {
				answers = append(answers, map[string]any{"answer": []any{at(t, question, "choices", 0)}})
			}
			return map[string]any{
				"parts": []any{map[string]any{"text": "answered"}}, "extensions": at(t, q, "extensions"),
				"metadata": map[string]any{dialect.KagentURI: map[string]any{"type": "ask_user_response", "id": at(t, ask, "id"), "answers": answers}},
			}
		}, []approval.Decision{{ID: "t1.a3", Type: approval.Respond, Response: raw(`"PostgreSQL"`)}}},
		{"text", []*approval.Approval{transfer()}, func(*testing.T, map[string]any) map[string]any {
			return map[string]any{"parts": []any{map[string]any{"text": "approve"}}}
		}, both[:1]},
		{"the question itself", all(), func(t *testing.T, q map[string]any) map[string]any { return q }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer, err := json.Marshal(tt.answer(t, asked(t, tt.pending)))
			if err != nil {
				t.Fatal(err)
			}
			var m a2a.Message
			if err := json.Unmarshal(answer, &m); err != nil {
				t.Fatal(err)
			}
			got, err := presenter().Answers(&m, tt.pending)
			if err != nil {
				t.Fatalf("Answers(%s) = %v", answer, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Answers() (-want +got):\n%s", diff)
			}
			decisions, err := approval.Match(got, tt.pending, names(tt.pending))
			if err != nil {
				t.Fatalf("Match(%v) = %v", got, err)
			}
			for i, d := range decisions {
				if d.Approval != tt.pending[i] {
					t.Errorf("answer %d is for %s, want %s", i, d.Approval.ID, tt.pending[i].ID)
				}
			}
		})
	}
}

// Arguments and payloads of another agent with an integer that may have been rounded are not shown; a schema
// with one is left out.
func TestAskedIntegersAreExact(t *testing.T) {
	t.Parallel()
	adk := `"parts":[{"data":{"id":"q1","name":"adk_request_confirmation","args":{"originalFunctionCall":{"id":"c","name":"pay","args":{"n":[%s]}},"toolConfirmation":{"hint":"h"}}},"metadata":{"adk_type":"function_call","adk_is_long_running":true}}]`
	ours := `"parts":[{"text":"?"}],"metadata":{"` + dialect.URI + `":{"type":"approval_request","approvals":[{"id":"q1","kind":"call","tool":{"name":"pay"},%s}]}}`
	for of, shape := range map[string]string{
		"ADK": adk, "arguments": fmt.Sprintf(ours, `"arguments":{"n":%s}`), "payload": fmt.Sprintf(ours, `"payload":[%s]`), "schema": fmt.Sprintf(ours, `"schema":{"maximum":%s}`),
	} {
		for number, exact := range map[string]bool{
			"9007199254740991": true, "-0.1": true, "9007199254740992": false, "-9007199254740993": false, "123456789012345678901234567890": false,
		} {
			asked, err := dialect.ReadAsked(user(t, fmt.Sprintf(shape, number)))
			if of == "schema" && (err != nil || (asked[0].Schema != nil) != exact) || of != "schema" && (err == nil) != exact {
				t.Errorf("%s with %s: %+v, %v", of, number, asked, err)
			}
		}
	}
}
