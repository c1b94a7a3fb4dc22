package dialect_test

import (
	"strings"
	"testing"

	"a2a-server/approval"
)

// A message that approves and, in a shape that is nearly ours, rejects is refused.
func TestContradictionBesideADecision(t *testing.T) {
	t.Parallel()
	const (
		yes  = `{"data":{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve"}]}}`
		nos  = `"decisions":[{"id":"t1.a1","decision":"reject"}]`
		no   = `{"type":"approval_response",` + nos + `}`
		fn   = `{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":false}}`
		ours = `"urn:a2a-server:extension:tool-approval:v1":`
		kag  = `"https://kagent.dev/extensions/hitl/v1":`
	)
	for name, c := range map[string]struct{ parts, metadata string }{
		"in an array":                        {yes + `,{"data":[` + no + `]}`, ""},
		"of an unknown type":                 {yes + `,{"data":{"type":"approval_responses",` + nos + `}}`, ""},
		"without a type":                     {yes + `,{"data":{` + nos + `}}`, ""},
		"marked as a call":                   {yes + `,{"data":` + fn + `,"metadata":{"adk_type":"function_call"}}`, ""},
		"marked as a mistake":                {yes + `,{"data":` + fn + `,"metadata":{"adk_type":"function-response"}}`, ""},
		"a mark that is null":                {yes + `,{"data":` + fn + `,"metadata":{"adk_type":null,"kagent_type":"function_call"}}`, ""},
		"request with decisions":             {yes, ours + `{"type":"approval_request",` + nos + `}`},
		"request with a decision":            {yes, ours + `{"type":"approval_request","decision":"reject"}`},
		"request in a part":                  {yes + `,{"data":{"type":"approval_request","approvals":[{"id":"t1.a1","rejected":true}]}}`, ""},
		"kagent's request":                   {yes, kag + `{"type":"tool_approval_request","approvals":[{"id":"t1.a1","approved":false}]}`},
		"kagent's request, as asked":         {yes, kag + `{"type":"tool_approval_request","tools":[{"id":"t1.a1","approved":false}]}`},
		"kagent's question":                  {yes, kag + `{"type":"ask_user_request","id":"t1.a1","denied":true}`},
		"adk's question":                     {yes + `,{"data":{"id":"t1.a1","name":"adk_request_confirmation","args":{},"reject":true},"metadata":{"adk_type":"function_call"}}`, ""},
		"key of the metadata":                {yes, `"rejected":true`},
		"key in another case":                {yes, `"Decision":"reject"`},
		"beside a word":                      {`{"text":"yes"}`, `"denied":true`},
		"text of JSON":                       {yes + `,{"text":` + quoted(no) + `}`, ""},
		"text with a name that occurs twice": {yes + `,{"text":` + quoted(strings.Replace(no, `"decision":`, `"decision":"reject","decision":`, 1)) + `}`, ""},
		"beside another function's response": {yes + `,{"data":{"adk:functionResponse":{"id":"zz","name":"get_weather","response":{}},` + nos + `}}`, ""},
		"metadata of a part":                 {strings.TrimSuffix(yes, "}") + `,"metadata":{` + ours + no + `}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := user(t, `"parts":[`+c.parts+`],"metadata":{`+c.metadata+`}`)
			if answers, err := presenter().Answers(m, []*approval.Approval{transfer()}); err == nil {
				t.Errorf("Answers() = %+v, want a refusal", answers)
			}
		})
	}
}

// A client may send the question back with its answer: what the tool has written in it is no
// decision.
func TestQuestionBesideADecision(t *testing.T) {
	t.Parallel()
	asked := with(transfer(), func(a *approval.Approval) {
		a.Args, a.Payload, a.Schema = raw(`{"approved":false,"decision":{"reject":true}}`), raw(`{"confirmed":false}`), raw(`{"properties":{"denied":{}}}`)
	})
	m, err := presenter().Question([]*approval.Approval{asked}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Parts = append(m.Parts, beside(t, "approve").Parts...)
	if got, err := presenter().Answers(m, []*approval.Approval{asked}); err != nil || len(got) != 1 || got[0].Type != approval.Approve {
		t.Errorf("Answers() = %+v, %v, want one that approves", got, err)
	}
}
