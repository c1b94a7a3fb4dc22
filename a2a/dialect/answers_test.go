package dialect_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/a2a/dialect"
	"a2a-server/approval"
)

const confirmation = "adk_request_confirmation"

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestAnswers(t *testing.T) {
	t.Parallel()
	approve := []approval.Answer{{ID: "t1.a1", Verb: approval.Approve}}
	reject := []approval.Answer{{ID: "t1.a1", Verb: approval.Reject}}
	tests := []struct {
		name      string
		message   *a2a.Message
		approvals []*approval.Approval // nil: all()
		want      []approval.Answer
	}{
		// Our extension.
		{"ours in metadata", user(t, fmt.Sprintf(`"parts":[{"text":"x"}],"metadata":{%q:{"type":"approval_response","decisions":[
			{"id":"t1.a1","decision":"approve","digest":"sha256:d1"}]}}`, dialect.URI)), nil,
			[]approval.Answer{{ID: "t1.a1", Verb: approval.Approve, Digest: "sha256:d1"}}},
		{"ours in a data part, every verb", parts(t, `{"type":"approval_response","decisions":[
			{"id":"t1.a1","decision":"edit","arguments":{"to":"eve","amount":1.5}},
			{"id":"c1.2","decision":"reject","reason":"no"},
			{"id":"t1.a3","decision":"respond","response":null}]}`), nil,
			[]approval.Answer{
				{ID: "t1.a1", Verb: approval.Edit, Args: raw(`{"amount":1.5,"to":"eve"}`)},
				{ID: "c1.2", Verb: approval.Reject, Reason: "no"},
				{ID: "t1.a3", Verb: approval.Respond, Response: raw(`null`)},
			}},
		{"ours, cancel", parts(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"cancel"}]}`), nil,
			[]approval.Answer{{ID: "t1.a1", Verb: approval.Cancel}}},
		{"ours, the question sent back", user(t, fmt.Sprintf(`"parts":[{"text":"x"}],"metadata":{%q:{"type":"approval_request"}}`, dialect.URI)), nil, nil},
		{"ours, of what is decided", parts(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve"}]}`),
			[]*approval.Approval{approved(transfer())}, approve},

		// ADK.
		{"adk", marked(t, "t1.a1", confirmation, `{"confirmed":true}`), nil, approve},
		{"adk, id of the call", marked(t, "c1.1", confirmation, `{"confirmed":true}`), nil,
			[]approval.Answer{{ID: "c1.1", Verb: approval.Approve}}},
		{"adk, alias of the call", marked(t, "adk-961c85e9", confirmation, `{"confirmed":true}`), nil,
			[]approval.Answer{{ID: "adk-961c85e9", Verb: approval.Approve}}},
		{"adk, kagent's mark", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}},
			"metadata":{"kagent_type":"function_response"}}]`), nil, approve},
		{"adk, a call is no answer", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}},
			"metadata":{"adk_type":"function_call"}}]`), nil, nil},
		{"adk, toolConfirmation wins", marked(t, "t1.a1", confirmation,
			`{"confirmed":true,"response":{"confirmed":true},"toolConfirmation":{"confirmed":false}}`), nil, reject},
		{"adk, response with toolConfirmation", marked(t, "t1.a1", confirmation, `{"response":{"toolConfirmation":{"confirmed":true}}}`), nil, approve},
		{"adk, no confirmed", marked(t, "t1.a1", confirmation, `{"hint":"x"}`), nil, reject},
		{"adk, no response", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation"},"metadata":{"adk_type":"function_response"}}]`), nil, reject},
		{"adk, reason", marked(t, "t1.a1", confirmation, `{"confirmed":false,"payload":{"rejection_reason":"too much"}}`), nil,
			[]approval.Answer{{ID: "t1.a1", Verb: approval.Reject, Reason: "too much", Payload: raw(`{"rejection_reason":"too much"}`)}}},
		{"adk, python's text", marked(t, "t1.a1", confirmation, `{"result":" Yes "}`), nil, approve},
		{"adk, outcome", marked(t, "t1.a2", confirmation, `{"confirmed":true}`), nil,
			[]approval.Answer{{ID: "t1.a2", Verb: approval.Approve}}},
		{"adk, function of somebody else", marked(t, "adk-x", "get_weather", `{"sun":true}`), nil, nil},
		{"adk, input", marked(t, "t1.a3", "adk_request_input", `{"a":1}`), nil,
			[]approval.Answer{{ID: "t1.a3", Verb: approval.Respond, Response: raw(`{"a":1}`)}}},
		{"adk, input wrapped", marked(t, "t1.a3", "adk_request_input", `{"result":"SQLite"}`), nil,
			[]approval.Answer{{ID: "t1.a3", Verb: approval.Respond, Response: raw(`"SQLite"`)}}},
		{"adk, input with a property that is called response", marked(t, "t1.a3", "adk_request_input", `{"response":"7"}`),
			[]*approval.Approval{with(database(), func(a *approval.Approval) { a.Schema = raw(`{"type":"object","properties":{"response":{}}}`) })},
			[]approval.Answer{{ID: "t1.a3", Verb: approval.Respond, Response: raw(`{"response":"7"}`)}}},
		{"adk, input as JSON in text", marked(t, "t1.a3", "adk_request_input", `{"response":"7"}`),
			[]*approval.Approval{with(database(), func(a *approval.Approval) { a.Schema = raw(`{"type":["integer","null"]}`) })},
			[]approval.Answer{{ID: "t1.a3", Verb: approval.Respond, Response: raw(`7`)}}},

		// adk-rs.
		{"adk-rs", parts(t, `{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"confirmed":true}}}`), nil,
			[]approval.Answer{{ID: "c1.1", Verb: approval.Approve}}},
		{"adk-rs, somebody else's", parts(t, `{"adk:functionResponse":{"id":"zz","name":"f","response":{}}}`), nil, nil},

		// kagent.
		{"kagent", kagent(t, `{"type":"tool_approval_response","approvals":[
			{"id":"t1.a2","approved":false,"rejection_reason":"in use","more":1},{"id":"t1.a1","approved":true}]}`), nil,
			[]approval.Answer{{ID: "t1.a2", Verb: approval.Reject, Reason: "in use"}, {ID: "t1.a1", Verb: approval.Approve}}},
		{"kagent, sent again", kagent(t, `{"type":"tool_approval_response","approvals":[{"id":"t1.a1","approved":true}]}`),
			[]*approval.Approval{approved(transfer()), restarts()}, approve},
		{"kagent, what others decide need not be there", kagent(t, `{"type":"tool_approval_response","approvals":[{"id":"t1.a1","approved":true}]}`),
			[]*approval.Approval{transfer(), with(restarts(), func(a *approval.Approval) { a.Terms.FourEyes = true })}, approve},
		{"kagent, answer", kagent(t, `{"type":"ask_user_response","id":"t1.a3","answers":[{"answer":["SQLite"]}]}`), nil,
			[]approval.Answer{{ID: "t1.a3", Verb: approval.Respond, Response: raw(`"SQLite"`)}}},
		{"kagent, several values", kagent(t, `{"type":"ask_user_response","id":"t1.a3","answers":[{"answer":["a","b"]}]}`),
			[]*approval.Approval{with(database(), func(a *approval.Approval) { a.Schema = raw(`{"type":"array","items":{"type":"string"}}`) })},
			[]approval.Answer{{ID: "t1.a3", Verb: approval.Respond, Response: raw(`["a","b"]`)}}},
		{"kagent, several questions", kagent(t, `{"type":"ask_user_response","id":"t1.a3","answers":[{"answer":["a","b"]},{"answer":[]}]}`),
			[]*approval.Approval{with(database(), func(a *approval.Approval) { a.Payload = raw(`{"questions":[{"question":"1?"},{"question":"2?"}]}`) })},
			[]approval.Answer{{ID: "t1.a3", Verb: approval.Respond, Response: raw(`{"answers":[{"answer":["a","b"]},{"answer":[]}]}`)}}},
		{"kagent, something else", kagent(t, `{"type":"tool_approval_request","tools":[]}`), nil, nil},

		// Text.
		{"text", text(t, "Approve\n"), []*approval.Approval{approved(restarts()), transfer()}, approve},
		{"text, two pending", text(t, "yes"), nil, nil},
		{"text, more than a keyword", text(t, "yes please"), []*approval.Approval{transfer()}, nil},
		{"text in two halves", text(t, "app", "rove"), []*approval.Approval{transfer()}, nil},
		{"text, destructive", text(t, "yes"), []*approval.Approval{with(transfer(), func(a *approval.Approval) { a.Terms.Destructive = true })}, nil},
		{"text with data", user(t, `"parts":[{"text":"yes"},{"data":{"a":1}}]`), []*approval.Approval{transfer()}, nil},
		{"text of a question", text(t, "yes"), []*approval.Approval{database()}, nil},

		// Several dialects at once.
		{"all dialects agree", user(t, fmt.Sprintf(`"extensions":[%q],"metadata":{
			%q:{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"reject","digest":"sha256:d1"}]},
			%q:{"type":"tool_approval_response","approvals":[{"id":"t1.a1","approved":false,"rejection_reason":"no"}]}},
			"parts":[{"text":"no"},{"data":{"id":"adk-961c85e9","name":"adk_request_confirmation","response":{"confirmed":false}}}]`,
			dialect.KagentURI, dialect.URI, dialect.KagentURI)), []*approval.Approval{transfer()},
			[]approval.Answer{{ID: "t1.a1", Verb: approval.Reject, Reason: "no", Digest: "sha256:d1"}}},
		{"dialects about different approvals", user(t, `"parts":[
			{"data":{"id":"t1.a2","name":"adk_request_confirmation","response":{"confirmed":true}}},
			{"data":{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve"}]}}]`), nil,
			[]approval.Answer{{ID: "t1.a1", Verb: approval.Approve}, {ID: "t1.a2", Verb: approval.Approve}}},
		{"the same twice", parts(t, `{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}}`,
			`{"id":"c1.1","name":"adk_request_confirmation","response":{"confirmed":true}}`), nil, approve},

		// Nothing.
		{"nil", nil, nil, nil},
		{"nil part", &a2a.Message{Parts: a2a.ContentParts{nil}}, nil, nil},
		{"other data", parts(t, `{"tool":"x","args":{}}`, `[1]`, `"approve"`, `{"id":"t1.a1","name":"x"}`, `{"id":1,"name":2,"response":3}`), nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			approvals := tt.approvals
			if approvals == nil {
				approvals = all()
			}
			got, err := presenter().Answers(tt.message, approvals)
			if err != nil {
				t.Fatalf("Answers() = %v", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Answers() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswersRefused(t *testing.T) {
	t.Parallel()
	ours := func(decisions string) *a2a.Message {
		return parts(t, `{"type":"approval_response","decisions":`+decisions+`}`)
	}
	kagents := func(approvals string) *a2a.Message {
		return kagent(t, `{"type":"tool_approval_response","approvals":`+approvals+`}`)
	}
	destructive := []*approval.Approval{with(transfer(), func(a *approval.Approval) { a.Terms.Destructive = true })}
	const malformed, unknown = approval.ReasonMalformed, approval.ReasonUnknown
	tests := []struct {
		name      string
		message   *a2a.Message
		approvals []*approval.Approval // nil: all()
		reason    approval.Reason
		field     string // the end of that of the first violation
	}{
		{"ours, not an object", user(t, fmt.Sprintf(`"parts":[],"metadata":{%q:1}`, dialect.URI)), nil, malformed, "]"},
		{"ours, no type", user(t, fmt.Sprintf(`"parts":[],"metadata":{%q:{"decisions":[]}}`, dialect.URI)), nil, malformed, ".type"},
		{"ours, unknown field", parts(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve"}],"by":"boss"}`), nil, malformed, ".by"},
		{"ours, a long unknown field", parts(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve"}],"`+strings.Repeat("x", 999)+`":1}`),
			nil, malformed, "xxx…"},
		{"ours, no decisions", parts(t, `{"type":"approval_response"}`), nil, malformed, ".decisions"},
		{"ours, empty", ours(`[]`), nil, malformed, ".decisions"},
		{"ours, no object", ours(`["t1.a1"]`), nil, malformed, "[0]"},
		{"ours, claimed identity", ours(`[{"id":"t1.a1","decision":"approve","approver":"boss"}]`), nil, malformed, "[0].approver"},
		{"ours, no id", ours(`[{"decision":"approve"}]`), nil, malformed, "[0].id"},
		{"ours, wrong verb", ours(`[{"id":"t1.a1","decision":"Approve"}]`), nil, malformed, "[0].decision"},
		{"ours, edit without arguments", ours(`[{"id":"t1.a1","decision":"edit"}]`), nil, malformed, "[0].arguments"},
		{"ours, approve with arguments", ours(`[{"id":"t1.a1","decision":"approve","arguments":{}}]`), nil, malformed, "[0].arguments"},
		{"ours, arguments no object", ours(`[{"id":"t1.a1","decision":"edit","arguments":[]}]`), nil, malformed, "[0].arguments"},
		{"ours, respond without response", ours(`[{"id":"t1.a3","decision":"respond"}]`), nil, malformed, "[0].response"},
		{"ours, reason no text", ours(`[{"id":"t1.a1","decision":"reject","reason":{}}]`), nil, malformed, "[0].reason"},
		{"ours, unknown id", ours(`[{"id":"t1.a1","decision":"approve"},{"id":"t2.a1","decision":"approve"}]`), nil, unknown, "[1].id"},
		{"ours, too many", ours(`[` + strings.Repeat(`{"id":"t1.a1","decision":"approve"},`, 64) + `{"id":"t1.a1","decision":"approve"}]`), nil, malformed, ".decisions"},
		{"ours, two ways", ours(`[{"id":"t1.a1","decision":"approve"},{"id":"c1.1","decision":"reject"}]`), nil, malformed, "message"},
		{"ours, two edits", ours(`[{"id":"t1.a1","decision":"edit","arguments":{}},{"id":"t1.a1","decision":"edit","arguments":{"a":1}}]`), nil, malformed, "message"},

		{"adk, confirmed is text", marked(t, "t1.a1", confirmation, `{"confirmed":"yes"}`), nil, malformed, ".response.confirmed"},
		{"adk, confirmed is null", marked(t, "t1.a1", confirmation, `{"confirmed":null}`), nil, malformed, ".response.confirmed"},
		{"adk, response is text", marked(t, "t1.a1", confirmation, `"yes"`), nil, malformed, ".response"},
		{"adk, response is not JSON", marked(t, "t1.a1", confirmation, `{"response":"yes"}`), nil, malformed, ".response.response"},
		{"adk, both ways", marked(t, "t1.a1", confirmation, `{"confirmed":true,"response":{"confirmed":false}}`), nil, malformed, ".response"},
		{"adk, wrapped for ever", marked(t, "t1.a1", confirmation, `{"response":{"response":{"response":{"confirmed":true}}}}`), nil, malformed, ".response"},
		{"adk, text that is no keyword", marked(t, "t1.a1", confirmation, `{"result":"perhaps"}`), nil, malformed, ".response.result"},
		{"adk, text for a destructive call", marked(t, "t1.a1", confirmation, `{"result":"yes"}`), destructive, approval.ReasonNotAllowed, ""},
		{"adk, name of the tool", marked(t, "c1.1", "transfer_money", `{"ok":true}`), nil, malformed, ".name"},
		{"adk, input for a call", marked(t, "t1.a1", "adk_request_input", `{"ok":true}`), nil, malformed, ".name"},
		{"adk, confirmation for a question", marked(t, "t1.a3", confirmation, `{"confirmed":true}`), nil, malformed, ".name"},
		{"adk, no id", user(t, `"parts":[{"data":{"name":"adk_request_confirmation","response":{}},"metadata":{"adk_type":"function_response"}}]`), nil, malformed, ".id"},
		{"adk, unknown id", marked(t, "t2.a1", confirmation, `{"confirmed":true}`), nil, unknown, ".id"},
		{"adk, no approvals at all", marked(t, "t1.a1", confirmation, `{"confirmed":true}`), []*approval.Approval{}, unknown, ".id"},

		{"adk-rs, no object", parts(t, `{"adk:functionResponse":1}`), nil, malformed, "functionResponse"},
		{"adk-rs, malformed", parts(t, `{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"confirmed":1}}}`), nil, malformed, ".confirmed"},

		{"kagent, extension not listed", user(t, fmt.Sprintf(`"parts":[],"metadata":{%q:{"type":"tool_approval_response"}}`, dialect.KagentURI)), nil, malformed, "message.extensions"},
		{"kagent, nothing", kagents(`[]`), nil, malformed, ".approvals"},
		{"kagent, one missing", kagents(`[{"id":"t1.a1","approved":true}]`), nil, malformed, ".approvals"},
		{"kagent, one twice", kagents(`[{"id":"t1.a1","approved":true},{"id":"c1.1","approved":true},{"id":"t1.a2","approved":true}]`), nil, malformed, "[1].id"},
		{"kagent, unknown", kagents(`[{"id":"t1.a1","approved":true},{"id":"t1.a2","approved":true},{"id":"t1.a9","approved":true}]`), nil, unknown, "[2].id"},
		{"kagent, not approved nor not", kagents(`[{"id":"t1.a1"},{"id":"t1.a2","approved":true}]`), nil, malformed, "[0].approved"},
		{"kagent, no object", kagents(`[null]`), nil, malformed, "[0].id"},
		{"kagent, a question", kagents(`[{"id":"t1.a1","approved":true},{"id":"t1.a2","approved":true},{"id":"t1.a3","approved":true}]`), nil, malformed, "[2].id"},
		{"kagent, reply to a call", kagent(t, `{"type":"ask_user_response","id":"t1.a1","answers":[]}`), nil, malformed, ".id"},
		{"kagent, reply to nothing", kagent(t, `{"type":"ask_user_response","id":"t1.a9","answers":[]}`), nil, unknown, ".id"},
		{"kagent, reply without id", kagent(t, `{"type":"ask_user_response","answers":[]}`), nil, malformed, ".id"},
		{"kagent, reply of the wrong length", kagent(t, `{"type":"ask_user_response","id":"t1.a3","answers":[]}`), nil, malformed, ".answers"},
		{"kagent, reply with two values", kagent(t, `{"type":"ask_user_response","id":"t1.a3","answers":[{"answer":["a","b"]}]}`), nil, malformed, ".answers"},
		{"kagent, reply that is no text", kagent(t, `{"type":"ask_user_response","id":"t1.a3","answers":[{"answer":[1]}]}`), nil, malformed, "[0].answer"},

		{"dialects disagree", parts(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"reject"}]}`,
			`{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}}`), nil, malformed, "message"},
		{"payloads disagree", parts(t, `{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true,"payload":1}}`,
			`{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true,"payload":2}}`), nil, malformed, "message"},
		{"a keyword beside a wrong decision", user(t, `"parts":[{"text":"yes"},{"data":{"id":"t9","name":"adk_request_confirmation","response":{"confirmed":true}}}]`),
			[]*approval.Approval{transfer()}, unknown, ".id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			approvals := tt.approvals
			if approvals == nil {
				approvals = all()
			}
			got, err := presenter().Answers(tt.message, approvals)
			if got != nil {
				t.Errorf("Answers() = %v beside an error", got)
			}
			e := refused(t, err, tt.reason)
			if tt.field != "" && (len(e.Violations) == 0 || !strings.HasSuffix(e.Violations[0].Field, tt.field)) {
				t.Errorf("violations %v, want the first of a field ...%s", e.Violations, tt.field)
			}
			if tt.reason != approval.ReasonNotAllowed && len(approvals) > 0 && !strings.Contains(e.Message, "approval_response") {
				t.Errorf("the message does not say how to answer: %s", e.Message)
			}
		})
	}
}

func TestUnknownNamesPending(t *testing.T) {
	t.Parallel()
	_, err := presenter().Answers(marked(t, "nope", confirmation, `{}`), all())
	e := refused(t, err, approval.ReasonUnknown)
	for _, want := range []string{"nope", "t1.a1", "t1.a2", "t1.a3"} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("%q does not name %s", e.Message, want)
		}
	}
}

func TestDecisionsOfAllPartsAreCounted(t *testing.T) {
	t.Parallel()
	m := user(t, `"parts":[]`)
	for range dialect.MaxDecisions + 1 {
		m.Parts = append(m.Parts, marked(t, "t1.a1", confirmation, `{}`).Parts...)
	}
	_, err := presenter().Answers(m, all())
	_ = refused(t, err, approval.ReasonMalformed)
}

func TestMistakesAreNotListedForEver(t *testing.T) {
	t.Parallel()
	m := parts(t, `{"type":"approval_response","decisions":[`+strings.Repeat(`{},`, 40)+`{}]}`)
	_, err := presenter().Answers(m, all())
	if e := refused(t, err, approval.ReasonMalformed); len(e.Violations) != 17 {
		t.Errorf("%d violations, want 17", len(e.Violations))
	}
}

func TestKeywordsOff(t *testing.T) {
	t.Parallel()
	p := dialect.New(dialect.Config{})
	pending := []*approval.Approval{transfer()}
	if got, err := p.Answers(text(t, "approve"), pending); got != nil || err != nil {
		t.Errorf("Answers(text) = %v, %v, want nothing", got, err)
	}
	_, err := p.Answers(marked(t, "t1.a1", confirmation, `{"result":"yes"}`), pending)
	_ = refused(t, err, approval.ReasonNotAllowed)
	m, _, err := p.Question(pending, "")
	if err != nil || strings.Contains(m.Parts[0].Text(), "whole text") {
		t.Errorf("Question() = %v, %v, want no word of text", m, err)
	}
}

// A decided approval and a pending question of one call have the call's id in common.
func TestSharedCallID(t *testing.T) {
	t.Parallel()
	approvals := []*approval.Approval{approved(transfer()), with(database(), func(a *approval.Approval) { a.Call = "c1.1" })}
	got, err := presenter().Answers(marked(t, "c1.1", "adk_request_input", `{"response":"SQLite"}`), approvals)
	want := []approval.Answer{{ID: "c1.1", Verb: approval.Respond, Response: raw(`"SQLite"`)}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Answers() error %v (-want +got):\n%s", err, diff)
	}
}
