package dialect_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/approval/dialect"
)

// Whatever comes in as data is a decision on what was asked, or an *approval.Error, or
// nothing.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `null`, `{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}}`,
		`{"id":"t1.a1","name":"adk_request_confirmation","response":{"response":"{\"toolConfirmation\":{}}"}}`,
		`{"id":"t1.a3","name":"adk_request_input","response":{"result":"x"}}`,
		`{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"result":"no"}}}`,
		`{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"edit","arguments":{"a":[1]}}]}`,
		`{"type":"tool_approval_response","approvals":[{"id":"t1.a1","approved":true},{"id":"t1.a2","approved":false}]}`,
		`{"type":"ask_user_response","id":"t1.a3","answers":[{"answer":["x"]}]}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, mark bool) {
		var v any
		if json.Unmarshal(data, &v) != nil {
			t.Skip()
		}
		part := a2a.NewDataPart(v)
		if mark {
			part.SetMeta("adk_type", "function_response")
		}
		m := &a2a.Message{
			Parts: a2a.ContentParts{part}, Extensions: []string{dialect.KagentURI},
			Metadata: map[string]any{dialect.KagentURI: v},
		}
		if object, ok := v.(map[string]any); ok && object["type"] == "approval_response" {
			m.Metadata[dialect.URI] = v
		}
		answers, err := presenter().Answers(m, all())
		var e *approval.Error
		if err != nil && (!errors.As(err, &e) || e.Message == "" || answers != nil) {
			t.Fatalf("Answers(%s) = %v, %v, want an *approval.Error alone", data, answers, err)
		}
		if err == nil && answers != nil && len(answers) == 0 {
			t.Fatalf("Answers(%s) is empty, not nil", data)
		}
		if len(answers) > dialect.MaxDecisions {
			t.Fatalf("Answers(%s) = %d answers", data, len(answers))
		}
		known := map[string]bool{"t1.a1": true, "c1.1": true, "adk-961c85e9": true, "t1.a2": true, "c1.2": true, "t1.a3": true, "c1.3": true}
		for _, a := range answers {
			if !known[a.ID] || a.Type == "" || !a.ByCall && !strings.HasPrefix(a.ID, "t1.a") {
				t.Errorf("Answers(%s) = %+v, of no approval", data, a)
			}
			if (a.Type == approval.Edit) != (a.Args != nil) || (a.Type == approval.Respond) != (a.Response != nil) {
				t.Errorf("Answers(%s) = %+v", data, a)
			}
			for _, raw := range []json.RawMessage{a.Args, a.Response, a.Payload} {
				if raw != nil && !json.Valid(raw) {
					t.Errorf("Answers(%s) has %s, which is no JSON", data, raw)
				}
			}
		}
	})
}
