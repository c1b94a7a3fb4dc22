package dialect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
)

// What an ADK agent in Go was seen to get from its clients, and what ours makes of it.
// Where theirs fails the task or asks again, ours says what was wrong.
func TestADKWireLog(t *testing.T) {
	t.Parallel()
	const response = `{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":%s},"metadata":{"adk_type":"function_response"}}`
	answer := func(verb approval.Verb, payload string) []approval.Answer {
		a := approval.Answer{ID: "t1.a1", Verb: verb}
		if payload != "" {
			a.Payload = raw(payload)
		}
		return []approval.Answer{a}
	}
	tests := []struct {
		name   string
		parts  string
		want   []approval.Answer
		reason approval.Reason
	}{
		{"text only", `{"text":"yes please"}`, nil, ""},
		{"approve", fmt.Sprintf(response, `{"confirmed":true}`), answer(approval.Approve, ""), ""},
		{"reject", fmt.Sprintf(response, `{"confirmed":false}`), answer(approval.Reject, ""), ""},
		{"modified payload, response as JSON text", fmt.Sprintf(response, `{"response":"{\"confirmed\": true, \"payload\": {\"max\": 3}}"}`),
			answer(approval.Approve, `{"max":3}`), ""},
		{"response as an object", fmt.Sprintf(response, `{"response":{"confirmed":true}}`), answer(approval.Approve, ""), ""},
		{"confirmed is a string", fmt.Sprintf(response, `{"confirmed":"yes"}`), nil, approval.ReasonMalformed},
		{"wrong function name", strings.Replace(fmt.Sprintf(response, `{"confirmed":true}`), "adk_request_confirmation", "transfer_money", 1),
			nil, approval.ReasonMalformed},
		{"without adk_type", `{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}}}`, answer(approval.Approve, ""), ""},
		{"empty response", fmt.Sprintf(response, `{}`), answer(approval.Reject, ""), ""},
		{"text beside it", `{"text":"also do this"},` + fmt.Sprintf(response, `{"confirmed":true}`), answer(approval.Approve, ""), ""},
		{"unknown id beside it", fmt.Sprintf(response, `{"confirmed":true}`) + "," +
			strings.Replace(fmt.Sprintf(response, `{"confirmed":true}`), "t1.a1", "adk-unknown", 1), nil, approval.ReasonUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := presenter().Answers(user(t, `"parts":[`+tt.parts+`]`), []*approval.Approval{transfer()})
			if tt.reason != "" {
				_ = refused(t, err, tt.reason)
				return
			}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("Answers() error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
