package dialect_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/approval/dialect"
)

const confirmation = "adk_request_confirmation"

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestAnswers(t *testing.T) {
	t.Parallel()
	typed := []approval.Decision{{ID: "t1.a1", Type: approval.Approve, Digest: "sha256:d1"}}
	reject := []approval.Decision{{ID: "t1.a1", Type: approval.Reject}}
	approve := []approval.Decision{{ID: "t1.a1", Type: approval.Approve}}
	tests := []struct {
		name      string
		message   *a2a.Message
		approvals []*approval.Approval // nil: all()
		want      []approval.Decision
	}{
		// Our extension.
		{"ours in metadata", user(t, fmt.Sprintf(`"parts":[{"text":"x"}],"metadata":{%q:{"type":"approval_response","decisions":[
			{"id":"t1.a1","decision":"approve","digest":"sha256:d1"}]}}`, dialect.URI)), nil,
			[]approval.Decision{{ID: "t1.a1", Type: approval.Approve, Digest: "sha256:d1"}}},
		{"ours in a data part, every verb", parts(t, `{"type":"approval_response","decisions":[
			{"id":"t1.a1","decision":"edit","arguments":{"to":"eve","amount":1.5}},
			{"id":"t1.a2","decision":"reject","reason":"no","digest":null,"arguments":null,"response":null,"by":null},
			{"id":"t1.a3","decision":"respond","response":null}]}`), nil,
			[]approval.Decision{
				{ID: "t1.a1", Type: approval.Edit, Args: raw(`{"amount":1.5,"to":"eve"}`)},
				{ID: "t1.a2", Type: approval.Reject, Reason: "no"},
				{ID: "t1.a3", Type: approval.Respond, Response: raw(`null`)},
			}},
		{"ours, cancel", parts(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"cancel"}]}`), nil,
			[]approval.Decision{{ID: "t1.a1", Type: approval.Cancel}}},
		{"ours, the question sent back", user(t, fmt.Sprintf(`"parts":[{"text":"x"}],"metadata":{%q:{"type":"approval_request"}}`, dialect.URI)), nil, nil},
		{"ours, of what is decided", parts(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve"}]}`),
			[]*approval.Approval{approved(transfer())}, approve},

		// ADK.
		{"adk", marked(t, "t1.a1", confirmation, `{"confirmed":true}`), nil, approve},
		{"adk, kagent's mark", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}},
			"metadata":{"kagent_type":"function_response"}}]`), nil, approve},
		{"adk, a call is no answer", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}},
			"metadata":{"adk_type":"function_call"}}]`), nil, nil},
		{"adk, nulls say nothing", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","will_continue":null,"more":null,
			"response":{"confirmed":null,"toolConfirmation":{"confirmed":true,"payload":null,"hint":null,"rejection_reason":null,"error":null},"response":null,"result":null}},
			"metadata":{"adk_type":"function_response"}}]`), nil, approve},
		{"adk, all members of a function response", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","scheduling":"SILENT",
			"will_continue":false,"willContinue":false,"parts":[],"response":{"confirmed":true,"hint":"Transfer of 100"}}}]`), nil, approve},
		{"adk, confirmed is null", marked(t, "t1.a1", confirmation, `{"confirmed":null}`), nil, reject},
		{"adk, response with toolConfirmation", marked(t, "t1.a1", confirmation, `{"response":{"toolConfirmation":{"confirmed":true}}}`), nil, approve},
		{"adk, response as JSON in text", marked(t, "t1.a1", confirmation, `{"response":"{\"confirmed\": true, \"payload\": {\"max\": 3}}"}`), nil,
			[]approval.Decision{{ID: "t1.a1", Type: approval.Approve, Payload: raw(`{"max":3}`)}}},
		{"adk, no confirmed", marked(t, "t1.a1", confirmation, `{"hint":"x"}`), nil, reject},
		{"adk, no response", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation"},"metadata":{"adk_type":"function_response"}}]`), nil, reject},
		{"adk, reason", marked(t, "t1.a1", confirmation, `{"confirmed":false,"rejection_reason":"too much"}`), nil,
			[]approval.Decision{{ID: "t1.a1", Type: approval.Reject, Reason: "too much"}}},
		{"adk, reason in a payload that the tool reads", marked(t, "t1.a1", confirmation, `{"confirmed":false,"payload":{"rejection_reason":"too much"}}`), nil,
			[]approval.Decision{{ID: "t1.a1", Type: approval.Reject, Reason: "too much", Payload: raw(`{"rejection_reason":"too much"}`)}}},
		{"adk, reason in a payload that nobody reads", marked(t, "t1.a4", confirmation, `{"confirmed":false,"payload":{"rejection_reason":"too much"}}`), []*approval.Approval{restarts()},
			[]approval.Decision{{ID: "t1.a4", Type: approval.Reject, Reason: "too much"}}},
		{"adk, reason twice", marked(t, "t1.a4", confirmation, `{"rejection_reason":"no","payload":{"rejection_reason":"no"}}`), []*approval.Approval{restarts()},
			[]approval.Decision{{ID: "t1.a4", Type: approval.Reject, Reason: "no"}}},
		{"adk, payload with more than a reason", marked(t, "t1.a4", confirmation, `{"payload":{"rejection_reason":"no","max":1}}`), []*approval.Approval{restarts()},
			[]approval.Decision{{ID: "t1.a4", Type: approval.Reject, Reason: "no", Payload: raw(`{"max":1,"rejection_reason":"no"}`)}}},
		{"adk, payload", marked(t, "t1.a4", confirmation, `{"confirmed":true,"payload":{"to":"eve"}}`), []*approval.Approval{restarts()},
			[]approval.Decision{{ID: "t1.a4", Type: approval.Approve, Payload: raw(`{"to":"eve"}`)}}},
		{"adk, python's text", marked(t, "t1.a1", confirmation, `{"result":" Yes "}`), nil, approve},
		{"adk, outcome", marked(t, "t1.a2", confirmation, `{"confirmed":true}`), nil,
			[]approval.Decision{{ID: "t1.a2", Type: approval.Approve}}},
		{"adk, function of somebody else", marked(t, "adk-x", "get_weather", `{"sun":true}`), nil, nil},
		{"adk, input", marked(t, "t1.a3", "adk_request_input", `{"a":1}`), nil,
			[]approval.Decision{{ID: "t1.a3", Type: approval.Respond, Response: raw(`{"a":1}`)}}},
		{"adk, input wrapped", marked(t, "t1.a3", "adk_request_input", `{"result":"SQLite"}`), nil,
			[]approval.Decision{{ID: "t1.a3", Type: approval.Respond, Response: raw(`"SQLite"`)}}},
		{"adk, input with a property that is called response", marked(t, "t1.a3", "adk_request_input", `{"response":"7"}`),
			[]*approval.Approval{with(database(), func(a *approval.Approval) { a.Schema = raw(`{"type":"object","properties":{"response":{}}}`) })},
			[]approval.Decision{{ID: "t1.a3", Type: approval.Respond, Response: raw(`{"response":"7"}`)}}},
		{"adk, input as JSON in text", marked(t, "t1.a3", "adk_request_input", `{"response":"7"}`),
			[]*approval.Approval{with(database(), func(a *approval.Approval) { a.Schema = raw(`{"type":["integer","null"]}`) })},
			[]approval.Decision{{ID: "t1.a3", Type: approval.Respond, Response: raw(`7`)}}},

		// adk-rs.
		{"adk-rs", parts(t, `{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"confirmed":true}}}`), nil,
			byCall(approval.Decision{ID: "c1.1", Type: approval.Approve})},
		{"adk-rs, alias of the call", parts(t, `{"adk:functionResponse":{"id":"adk-961c85e9","name":"adk_request_confirmation","response":{"toolConfirmation":{"confirmed":true}},"will_continue":false}}`), nil,
			byCall(approval.Decision{ID: "adk-961c85e9", Type: approval.Approve})},
		{"adk-rs, id of the approval", parts(t, `{"adk:functionResponse":{"id":"t1.a2","name":"adk_request_confirmation","response":{}}}`), nil,
			byCall(approval.Decision{ID: "t1.a2", Type: approval.Reject})},
		{"adk-rs, a question by its id", parts(t, `{"adk:functionResponse":{"id":"t1.a3","name":"adk_request_input","response":{"result":"SQLite"}}}`), nil,
			byCall(approval.Decision{ID: "t1.a3", Type: approval.Respond, Response: raw(`"SQLite"`)})},
		{"adk-rs, more is to come", parts(t, `{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"confirmed":true},"will_continue":true}}`), nil, nil},
		{"adk, more is to come", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true},"willContinue":true}}]`), nil, nil},
		{"adk, its actions sent back", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}}}],"metadata":{"adk_actions":{"requested_tool_confirmations":{"c1.1":{"confirmed":false,"hint":"x"}}}}`), nil, approve},
		{"adk-rs, null", parts(t, `{"adk:functionResponse":null,"x":1}`), nil, nil},
		{"adk-rs, somebody else's", parts(t, `{"adk:functionResponse":{"id":"zz","name":"f","response":{}}}`), nil, nil},

		// kagent.
		{"kagent", kagent(t, `{"type":"tool_approval_response","approvals":[
			{"id":"t1.a2","approved":false,"rejection_reason":"in use","args":null},{"id":"t1.a1","approved":true,"rejection_reason":null}],"more":null}`), nil,
			byCall(approval.Decision{ID: "t1.a2", Type: approval.Reject, Reason: "in use"}, approval.Decision{ID: "t1.a1", Type: approval.Approve})},
		{"kagent, by the call", kagent(t, `{"type":"tool_approval_response","approvals":[{"id":"c1.4","approved":true},{"id":"adk-961c85e9","approved":false}]}`),
			[]*approval.Approval{transfer(), restarts()},
			byCall(approval.Decision{ID: "c1.4", Type: approval.Approve}, approval.Decision{ID: "adk-961c85e9", Type: approval.Reject})},
		{"kagent, sent again", kagent(t, `{"type":"tool_approval_response","approvals":[{"id":"t1.a1","approved":true}]}`),
			[]*approval.Approval{approved(transfer()), restarts()}, byCall(approve...)},
		{"kagent, sent again by the call", kagent(t, `{"type":"tool_approval_response","approvals":[{"id":"c1.1","approved":true}]}`),
			[]*approval.Approval{approved(transfer()), restarts()}, byCall(approval.Decision{ID: "c1.1", Type: approval.Approve})},
		{"kagent, what others decide need not be there", kagent(t, `{"type":"tool_approval_response","approvals":[{"id":"t1.a1","approved":true}]}`),
			[]*approval.Approval{transfer(), with(restarts(), func(a *approval.Approval) { a.Terms.FourEyes = true })}, byCall(approve...)},
		{"kagent, null", user(t, fmt.Sprintf(`"parts":[{"text":"x"}],"metadata":{%q:null,%q:null}`, dialect.KagentURI, dialect.URI)), nil, nil},
		{"kagent, answer", kagent(t, `{"type":"ask_user_response","id":"t1.a3","answers":[{"answer":["SQLite"]}]}`), nil,
			[]approval.Decision{{ID: "t1.a3", Type: approval.Respond, Response: raw(`"SQLite"`)}}},
		{"kagent, several values", kagent(t, `{"type":"ask_user_response","id":"t1.a3","answers":[{"answer":["a","b"]}]}`),
			[]*approval.Approval{with(database(), func(a *approval.Approval) { a.Schema = raw(`{"type":"array","items":{"type":"string"}}`) })},
			[]approval.Decision{{ID: "t1.a3", Type: approval.Respond, Response: raw(`["a","b"]`)}}},
		{"kagent, several questions", kagent(t, `{"type":"ask_user_response","id":"t1.a3","answers":[{"answer":["a","b"]},{"answer":[]}]}`),
			[]*approval.Approval{with(database(), func(a *approval.Approval) { a.Payload = raw(`{"questions":[{"question":"1?"},{"question":"2?"}]}`) })},
			[]approval.Decision{{ID: "t1.a3", Type: approval.Respond, Response: raw(`{"answers":[{"answer":["a","b"]},{"answer":[]}]}`)}}},
		{"kagent, the question sent back", kagent(t, `{"type":"tool_approval_request","tools":[]}`), nil, nil},
		{"kagent, the question of a tool sent back", kagent(t, `{"type":"ask_user_request","id":"t1.a3","questions":[]}`), nil, nil},

		// Text.
		{"text", text(t, "Approve\n"), []*approval.Approval{approved(restarts()), transfer()}, approve},
		{"text, two pending", text(t, "yes"), nil, nil},
		{"text, more than a keyword", text(t, "yes please"), []*approval.Approval{transfer()}, nil},
		{"text, with a reason", text(t, "No: too much."), []*approval.Approval{transfer()}, []approval.Decision{{ID: "t1.a1", Type: approval.Reject, Reason: "too much."}}},
		{"text, cancel", text(t, "cancel"), []*approval.Approval{transfer()}, nil},
		{"text, destructive, with its code", text(t, "Approve K7M2QZXD."), []*approval.Approval{coded()}, []approval.Decision{{ID: "t1.a1", Type: approval.Approve, Code: "k7m2qzxd"}}},
		{"text, destructive, with another code", text(t, "approve aaaaaaa2"), []*approval.Approval{coded()}, []approval.Decision{{ID: "t1.a1", Type: approval.Approve, Code: "aaaaaaa2"}}},
		{"text, destructive, its code beside another", text(t, "approve k7m2qzxd"), []*approval.Approval{coded(), restarts()}, nil},
		{"adk, python's code", marked(t, "t1.a1", confirmation, `{"result":"approve k7m2qzxd"}`), []*approval.Approval{coded(), restarts()}, []approval.Decision{{ID: "t1.a1", Type: approval.Approve, Code: "k7m2qzxd"}}},
		{"adk, python's reason", marked(t, "t1.a1", confirmation, `{"result":"no: too much"}`), nil, []approval.Decision{{ID: "t1.a1", Type: approval.Reject, Reason: "too much"}}},
		{"text in two halves", text(t, "app", "rove"), []*approval.Approval{transfer()}, nil},
		{"text, destructive", text(t, "yes"), []*approval.Approval{with(transfer(), func(a *approval.Approval) { a.Terms.Destructive = true })}, nil},
		{"text, destructive, no", text(t, " No\n"), []*approval.Approval{with(transfer(), func(a *approval.Approval) { a.Terms.Destructive = true })}, reject},
		{"text, destructive, no beside another", text(t, "no"), []*approval.Approval{with(transfer(), func(a *approval.Approval) { a.Terms.Destructive = true }), restarts()}, nil},
		{"text, no, where no word counts", text(t, "no"), []*approval.Approval{with(transfer(), func(a *approval.Approval) { a.Terms.NoText = true })}, nil},
		{"text, no, to what others decide", text(t, "no"), []*approval.Approval{with(transfer(), func(a *approval.Approval) { a.Terms.Elsewhere = true })}, nil},
		{"adk, python's no to a destructive call", marked(t, "t1.a1", confirmation, `{"result":"no"}`), []*approval.Approval{with(transfer(), func(a *approval.Approval) { a.Terms.Destructive = true })}, reject},
		{"text with data", user(t, `"parts":[{"text":"yes"},{"data":{"a":1}}]`), []*approval.Approval{transfer()}, nil},
		{"text of a question with a schema", text(t, "yes"), []*approval.Approval{database()}, nil},
		{"text of a question", text(t, "no, the blue one\n"), []*approval.Approval{color()}, []approval.Decision{{ID: "t1.a3", Type: approval.Respond, Response: raw(`"no, the blue one"`)}}},
		{"text of a question, empty", text(t, " \n"), []*approval.Approval{color()}, nil},
		{"text of a question, JSON", text(t, "```json\n{\"type\":\"approval_request\"}\n```"), []*approval.Approval{color()}, nil},
		{"text of a question beside another", text(t, "blue"), []*approval.Approval{color(), transfer()}, nil},
		{"text of a form", text(t, "blue"), []*approval.Approval{with(color(), func(a *approval.Approval) { a.AskKind = "form" })}, nil},
		{"text of a question, where no text counts", text(t, "blue"), []*approval.Approval{with(color(), func(a *approval.Approval) { a.Terms.NoText = true })}, nil},
		{"text of a question that others answer", text(t, "blue"), []*approval.Approval{with(color(), func(a *approval.Approval) { a.Terms.Elsewhere = true })}, nil},
		{"text of a question after a restoration", text(t, "blue"), []*approval.Approval{with(color(), func(a *approval.Approval) { a.ID = "t1.a3-k3x7qf" })}, nil},

		// Text that is the JSON of a decision.
		{"typed", text(t, typedApproval), []*approval.Approval{with(transfer(), func(a *approval.Approval) { a.Terms.Destructive = true })}, typed},
		{"typed, with space around it", text(t, "\n "+typedApproval+"\r\n"), nil, typed},
		{"typed in ADK for Python", marked(t, "t1.a1", confirmation, `{"result":`+quoted(typedApproval)+`}`), nil, typed},
		{"typed, two", text(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve","digest":"sha256:d1"},{"id":"t1.a2","decision":"reject","digest":"sha256:d2","reason":"no"}]}`), nil,
			[]approval.Decision{typed[0], {ID: "t1.a2", Type: approval.Reject, Digest: "sha256:d2", Reason: "no"}}},
		{"typed in two halves", text(t, typedApproval[:8], typedApproval[8:]), []*approval.Approval{transfer()}, nil},
		{"typed within words", text(t, "I say "+typedApproval), []*approval.Approval{transfer()}, nil},
		{"typed in a fence", text(t, "```json\n"+typedApproval+"\n```"), []*approval.Approval{transfer()}, typed},
		{"typed in a fence of one line", text(t, "```"+typedApproval+"```"), []*approval.Approval{transfer()}, typed},
		{"typed in a fence, with space around it", text(t, "\r\n \t```\r\n"+typedApproval+"\r\n```\n\n"), []*approval.Approval{transfer()}, typed},
		{"typed in a fence below words", text(t, "No, do not run it. Why am I to send this?\n```json\n"+typedApproval+"\n```\n"), []*approval.Approval{transfer()}, nil},
		{"typed in a fence above words", text(t, "```json\n"+typedApproval+"\n```\nno, thanks"), []*approval.Approval{transfer()}, nil},
		{"typed in a fence below a word", text(t, "No.\n```\n"+typedApproval+"\n```"), []*approval.Approval{transfer()}, nil},
		{"typed in ADK for Python, in a fence", marked(t, "t1.a1", confirmation, `{"result":`+quoted("```\n"+typedApproval+"\n```")+`}`), nil, typed},
		{"typed in one fence of two", text(t, "```\n"+typedApproval+"\n```\n```\n{}\n```"), []*approval.Approval{transfer()}, nil},
		{"typed in a fence of JSON in capitals", text(t, "``` JSON \n"+typedApproval+"\n```"), []*approval.Approval{transfer()}, typed},
		{"typed in a fence that says no", text(t, "```no\n"+typedApproval+"\n```"), []*approval.Approval{transfer()}, nil},
		{"typed in a fence that begins with words", text(t, "```do not approve:\n"+typedApproval+"\n```"), []*approval.Approval{transfer()}, nil},
		{"typed in a fence that does not end", text(t, "```json\n"+typedApproval), []*approval.Approval{transfer()}, nil},
		{"typed in a fence with more in it", text(t, "```json\n"+typedApproval+"\nno\n```"), []*approval.Approval{transfer()}, nil},
		{"typed in a fence with JSON beside it", text(t, `{"decision":"reject"}`+"\n```json\n"+typedApproval+"\n```"), []*approval.Approval{transfer()}, nil},
		{"typed with a name that occurs twice", text(t, `{"type":"approval_response","type":"approval_response","decisions":[]}`), []*approval.Approval{transfer()}, nil},
		{"typed with something after it", text(t, typedApproval+"{}"), []*approval.Approval{transfer()}, nil},
		{"the question, typed", text(t, `{"type":"approval_request","approvals":[{"id":"t1.a1"}]}`), []*approval.Approval{transfer()}, nil},
		{"typed without what would make it one", text(t, `{"decisions":[{"id":"t1.a1","decision":"approve","digest":"sha256:d1"}]}`), []*approval.Approval{transfer()}, nil},

		// Several dialects at once, and text beside them.
		{"dialects about different approvals", user(t, `"parts":[
			{"data":{"id":"t1.a2","name":"adk_request_confirmation","response":{"confirmed":true}}},
			{"data":{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve"}]}}]`), nil,
			[]approval.Decision{{ID: "t1.a1", Type: approval.Approve}, {ID: "t1.a2", Type: approval.Approve}}},
		{"the keyword of the decision beside it", beside(t, "approve", "Yes", " APPROVED\n"), nil, approve},
		{"prose beside it", beside(t, "approve", "no problem", "not that I mind", "да"), nil, approve},
		{"what is no keyword beside it", beside(t, "approve", "n\u043e", "NO\u200b", "\u00a0no"), nil, approve},
		{"no beside a cancel", beside(t, "cancel", "no"), nil, []approval.Decision{{ID: "t1.a1", Type: approval.Cancel}}},
		{"a keyword beside what is its own answer", user(t, `"parts":[{"text":"no"},{"data":{"type":"approval_response","decisions":[{"id":"t1.a3","decision":"respond","response":"yes"}]}}]`), nil,
			[]approval.Decision{{ID: "t1.a3", Type: approval.Respond, Response: raw(`"yes"`)}}},

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

// typedApproval is a decision as somebody writes it who can write nothing but text.
const typedApproval = `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve","digest":"sha256:d1"}]}`

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// beside returns a message of one decision on t1.a1 with texts before it.
func beside(t testing.TB, decision string, texts ...string) *a2a.Message {
	t.Helper()
	m := text(t, texts...)
	m.Parts = append(m.Parts, parts(t, fmt.Sprintf(`{"type":"approval_response","decisions":[{"id":"t1.a1","decision":%q}]}`, decision)).Parts...)
	return m
}

// withMetadata returns m with metadata.
func withMetadata(m *a2a.Message, metadata string) *a2a.Message {
	if err := json.Unmarshal([]byte(metadata), &m.Metadata); err != nil {
		panic(err)
	}
	return m
}

func withText(m *a2a.Message, s string) *a2a.Message {
	m.Parts = append(m.Parts, a2a.NewTextPart(s))
	return m
}

// What several dialects say of one approval is one decision, when they agree.
func TestSeveralDialects(t *testing.T) {
	t.Parallel()
	approvals := []*approval.Approval{transfer()}
	tests := []struct {
		name    string
		message *a2a.Message
		want    approval.Decision // "": refused
	}{
		{"all agree", user(t, fmt.Sprintf(`"extensions":[%q],"metadata":{
			%q:{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"reject","digest":"sha256:d1"}]},
			%q:{"type":"tool_approval_response","approvals":[{"id":"t1.a1","approved":false,"rejection_reason":"no"}]}},
			"parts":[{"text":"no"},{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":false}}},
			{"data":{"adk:functionResponse":{"id":"adk-961c85e9","name":"adk_request_confirmation","response":{"confirmed":false}}}}]`,
			dialect.KagentURI, dialect.URI, dialect.KagentURI)),
			approval.Decision{ID: "t1.a1", Type: approval.Reject, Reason: "no", Digest: "sha256:d1"}},
		{"one has no room for the payload of the other", parts(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve"}]}`,
			`{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true,"payload":{"max":1}}}`),
			approval.Decision{ID: "t1.a1", Type: approval.Approve, Payload: raw(`{"max":1}`)}},
		{"one says approve, the other reject", parts(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"reject"}]}`,
			`{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}}`), approval.Decision{}},
		{"one by the call", parts(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"reject"}]}`,
			`{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"confirmed":true}}}`), approval.Decision{}},
		{"ours in two ways", parts(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve"},{"id":"t1.a1","decision":"reject"}]}`), approval.Decision{}},
		{"two edits", parts(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"edit","arguments":{}},{"id":"t1.a1","decision":"edit","arguments":{"a":1}}]}`), approval.Decision{}},
		{"payloads differ", parts(t, `{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true,"payload":1}}`,
			`{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true,"payload":2}}`), approval.Decision{}},
		{"reasons differ", parts(t, `{"id":"t1.a1","name":"adk_request_confirmation","response":{"rejection_reason":"a"}}`,
			`{"id":"t1.a1","name":"adk_request_confirmation","response":{"rejection_reason":"b"}}`), approval.Decision{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answers, err := presenter().Answers(tt.message, approvals)
			if err != nil {
				t.Fatalf("Answers() = %v", err)
			}
			decisions, err := approval.Match(answers, approvals, names(approvals))
			if tt.want.Type == "" {
				if e := refused(t, err, approval.ReasonMalformed); !strings.Contains(e.Message, "t1.a1") {
					t.Errorf("%q does not say of what", e.Message)
				}
				return
			}
			if err != nil || len(decisions) != 1 || decisions[0].Approval != approvals[0] {
				t.Fatalf("Match(%v) = %v, %v, want one decision", answers, decisions, err)
			}
			if diff := cmp.Diff(tt.want, decisions[0].Decision); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
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
			nil, malformed, "xxx… (999 characters)"},
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
		{"ours, an empty digest", ours(`[{"id":"t1.a1","decision":"approve","digest":""}]`), nil, malformed, "[0].digest"},
		{"ours, a digest that is no text", ours(`[{"id":"t1.a1","decision":"approve","digest":7}]`), nil, malformed, "[0].digest"},
		{"ours, edit of null", ours(`[{"id":"t1.a1","decision":"edit","arguments":null}]`), nil, malformed, "[0].arguments"},
		{"ours, the id of a call", ours(`[{"id":"c1.1","decision":"approve"}]`), nil, unknown, "[0].id"},
		{"ours, the alias of a call", ours(`[{"id":"adk-961c85e9","decision":"approve"}]`), nil, unknown, "[0].id"},
		{"ours, unknown id", ours(`[{"id":"t1.a1","decision":"approve"},{"id":"t2.a1","decision":"approve"}]`), nil, unknown, "[1].id"},
		{"kagent, too many", kagents(`[` + strings.Repeat(`{"id":"t1.a1","approved":true},`, 64) + `{"id":"t1.a2","approved":true}]`), nil, malformed, ".approvals"},
		{"ours, too many", ours(`[` + strings.Repeat(`{"id":"t1.a1","decision":"approve"},`, 64) + `{"id":"t1.a1","decision":"approve"}]`), nil, malformed, ".decisions"},

		{"adk, confirmed is text", marked(t, "t1.a1", confirmation, `{"confirmed":"yes"}`), nil, malformed, ".response.confirmed"},
		{"adk, response is text", marked(t, "t1.a1", confirmation, `"yes"`), nil, malformed, ".response"},
		{"adk, response is not JSON", marked(t, "t1.a1", confirmation, `{"response":"yes"}`), nil, malformed, ".response.response"},
		{"adk, both ways", marked(t, "t1.a1", confirmation, `{"confirmed":true,"response":{"confirmed":false}}`), nil, malformed, ".response.confirmed"},
		{"adk, toolConfirmation beside a confirmation", marked(t, "t1.a1", confirmation, `{"toolConfirmation":{"confirmed":true},"confirmed":false}`), nil, malformed, ".response.confirmed"},
		{"adk, toolConfirmation beside a response", marked(t, "t1.a1", confirmation, `{"toolConfirmation":{"confirmed":true},"response":{"confirmed":false}}`), nil, malformed, ".response.response"},
		{"adk, all at once", marked(t, "t1.a1", confirmation, `{"confirmed":true,"response":{"confirmed":true},"toolConfirmation":{"confirmed":false}}`), nil, malformed, ".response.confirmed"},
		{"adk, a wrapping within one beside a confirmation", marked(t, "t1.a1", confirmation, `{"response":{"toolConfirmation":{"confirmed":true},"confirmed":false}}`), nil, malformed, ".response.response.confirmed"},
		{"adk, a wrapping in JSON beside a confirmation", marked(t, "t1.a1", confirmation, `{"response":"{\"toolConfirmation\":{\"confirmed\":true},\"confirmed\":false}"}`), nil, malformed, ".response.response.confirmed"},
		{"adk, a result beside a confirmation", marked(t, "t1.a1", confirmation, `{"confirmed":true,"result":"reject"}`), nil, malformed, ".response.confirmed"},
		{"adk, an agreeing result beside a confirmation", marked(t, "t1.a1", confirmation, `{"confirmed":true,"result":"yes"}`), nil, malformed, ".response.confirmed"},
		{"adk, an error beside a confirmation", marked(t, "t1.a1", confirmation, `{"confirmed":true,"error":"no"}`), nil, malformed, ".response.error"},
		{"adk, a member that nobody knows", marked(t, "t1.a1", confirmation, `{"confirmed":true,"feedback":"x"}`), nil, malformed, ".response.feedback"},
		{"adk, the question in its answer", marked(t, "t1.a1", confirmation, `{"originalFunctionCall":{"id":"x"},"toolConfirmation":{"confirmed":true}}`), nil, malformed, ".response.originalFunctionCall"},
		{"adk, a member that nobody knows in a toolConfirmation", marked(t, "t1.a1", confirmation, `{"toolConfirmation":{"confirmed":true,"denied":true}}`), nil, malformed, ".response.toolConfirmation.denied"},
		{"adk, reason of an approval", marked(t, "t1.a1", confirmation, `{"confirmed":true,"rejection_reason":"too much"}`), nil, malformed, ".response.rejection_reason"},
		{"adk, reason of an approval in its payload", marked(t, "t1.a1", confirmation, `{"confirmed":true,"payload":{"rejection_reason":"too much"}}`), nil, malformed, ".response.payload.rejection_reason"},
		{"adk, two reasons", marked(t, "t1.a1", confirmation, `{"rejection_reason":"a","payload":{"rejection_reason":"b"}}`), nil, malformed, ".response.payload.rejection_reason"},
		{"adk, reason that is no text", marked(t, "t1.a1", confirmation, `{"payload":{"rejection_reason":5}}`), nil, malformed, ".response.payload.rejection_reason"},
		{"adk, hint that is no text", marked(t, "t1.a1", confirmation, `{"confirmed":true,"hint":{}}`), nil, malformed, ".response.hint"},
		{"adk, member of a function response that nobody knows", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true},"error":"no"}}]`), nil, malformed, "data.error"},
		{"adk, confirmed beside the response", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true},"confirmed":false}}]`), nil, malformed, "data.confirmed"},
		{"adk, more is to come beside a decision", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true},"will_continue":true}},{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}}}]`), nil, malformed, "parts[0].data.will_continue"},
		{"adk, more is to come beside a word", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{},"willContinue":true}},{"data":{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve"}]}}]`), nil, malformed, "parts[0].data.will_continue"},
		{"adk, more that is no flag", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true},"will_continue":"yes"}}]`), nil, malformed, "data.will_continue"},
		{"adk, a decision in other actions", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}}}],"metadata":{"adk_actions":{"x":{"confirmed":false}}}`), nil, malformed, "message.metadata[adk_actions]"},
		{"adk, parts that are not read", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true},"parts":[{"text":"no"}]}}]`), nil, malformed, "data.parts"},
		{"adk, members of an answer to a question", user(t, `"parts":[{"data":{"id":"t1.a3","name":"adk_request_input","response":{"a":1},"more":1}}]`), nil, malformed, "data.more"},
		{"adk, id of the call", marked(t, "c1.1", confirmation, `{"confirmed":true}`), nil, unknown, ".id"},
		{"adk, alias of the call", marked(t, "adk-961c85e9", confirmation, `{"confirmed":true}`), nil, unknown, ".id"},
		{"adk, id of the call of a question", marked(t, "c1.3", "adk_request_input", `{"a":1}`), nil, unknown, ".id"},
		{"adk, wrapped forever", marked(t, "t1.a1", confirmation, `{"response":{"response":{"response":{"confirmed":true}}}}`), nil, malformed, ".response"},
		{"adk, text that is no keyword", marked(t, "t1.a1", confirmation, `{"result":"perhaps"}`), nil, malformed, ".response.result"},
		{"adk, text for a destructive call", marked(t, "t1.a1", confirmation, `{"result":"yes"}`), destructive, approval.ReasonNotAllowed, ""},
		{"typed where no text counts", text(t, typedApproval), []*approval.Approval{with(transfer(), func(a *approval.Approval) { a.Terms.NoText = true })}, approval.ReasonNotAllowed, ""},
		{"typed in ADK for Python where no text counts", marked(t, "t1.a1", confirmation, `{"result":`+quoted(typedApproval)+`}`), []*approval.Approval{with(transfer(), func(a *approval.Approval) { a.Terms.NoText = true })}, approval.ReasonNotAllowed, ""},
		{"no above a fence beside an approval", beside(t, "approve", "No.\n```\nx\n```"), nil, malformed, "message.parts[0].text"},
		{"a rejection in a fence below words beside an approval", beside(t, "approve", "I say:\n```\n"+strings.Replace(typedApproval, "approve", "reject", 1)+"\n```"), nil, malformed, "message.parts[0]"},
		{"a rejection in a fence that says yes beside an approval", beside(t, "approve", "```yes\n"+strings.Replace(typedApproval, "approve", "reject", 1)+"\n```"), nil, malformed, "message.parts[0]"},
		{"adk, text in a fence below words", marked(t, "t1.a1", confirmation, `{"result":`+quoted("Why this?\n```\n"+typedApproval+"\n```")+`}`), nil, malformed, ".response.result"},
		{"no and its reason beside an approval", beside(t, "approve", "no: too much"), nil, malformed, "message.parts[0].text"},
		{"adk, text where no word counts", marked(t, "t1.a1", confirmation, `{"result":"no"}`), []*approval.Approval{with(transfer(), func(a *approval.Approval) { a.Terms.NoText = true })}, approval.ReasonNotAllowed, ""},
		{"adk, name of the tool", marked(t, "t1.a1", "transfer_money", `{"ok":true}`), nil, malformed, ".name"},
		{"adk, input for a call", marked(t, "t1.a1", "adk_request_input", `{"ok":true}`), nil, malformed, ".name"},
		{"adk, confirmation for a question", marked(t, "t1.a3", confirmation, `{"confirmed":true}`), nil, malformed, ".name"},
		{"adk, no id", user(t, `"parts":[{"data":{"name":"adk_request_confirmation","response":{}},"metadata":{"adk_type":"function_response"}}]`), nil, malformed, ".id"},
		{"adk, unknown id", marked(t, "t2.a1", confirmation, `{"confirmed":true}`), nil, unknown, ".id"},
		{"adk, no approvals at all", marked(t, "t1.a1", confirmation, `{"confirmed":true}`), []*approval.Approval{}, unknown, ".id"},

		{"adk-rs, no object", parts(t, `{"adk:functionResponse":1}`), nil, malformed, "functionResponse"},
		{"adk-rs, malformed", parts(t, `{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"confirmed":1}}}`), nil, malformed, ".confirmed"},

		{"adk-rs, name of the tool", parts(t, `{"adk:functionResponse":{"id":"c1.1","name":"transfer_money","response":{"ok":true}}}`), nil, malformed, ".name"},
		{"adk-rs, a member beside it", parts(t, `{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"confirmed":true}},"confirmed":false}`), nil, malformed, "data.confirmed"},
		{"adk-rs, another answer beside it", parts(t, `{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"confirmed":true}},"type":"approval_response","decisions":[{"id":"t1.a1","decision":"reject"}]}`),
			nil, malformed, "data.adk:functionResponse"},
		{"adk-rs, a contradiction", parts(t, `{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"toolConfirmation":{"confirmed":true},"response":{"confirmed":false}}}}`), nil, malformed, ".response.response"},
		{"adk-rs, more is to come of an unknown call", parts(t, `{"adk:functionResponse":{"id":"c9.9","name":"adk_request_confirmation","will_continue":true}}`), nil, unknown, ".id"},
		{"adk-rs, unknown call", parts(t, `{"adk:functionResponse":{"id":"c9.9","name":"adk_request_confirmation","response":{"confirmed":true}}}`), nil, unknown, ".id"},
		{"adk-rs, what came of a call", parts(t, `{"adk:functionResponse":{"id":"c1.2","name":"adk_request_confirmation","response":{"confirmed":true}}}`), nil, approval.ReasonNotAllowed, ""},
		{"adk-rs, a question by its call", parts(t, `{"adk:functionResponse":{"id":"c1.3","name":"adk_request_input","response":{"result":"x"}}}`), nil, approval.ReasonNotAllowed, ""},
		{"adk-rs, a call that was asked about again", parts(t, `{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"confirmed":true}}}`), replaced(), approval.ReasonChanged, ""},
		{"adk-rs, two calls with one alias", parts(t, `{"adk:functionResponse":{"id":"adk-961c85e9","name":"adk_request_confirmation","response":{"confirmed":true}}}`),
			[]*approval.Approval{transfer(), with(restarts(), func(a *approval.Approval) { a.Alias = "adk-961c85e9" })}, malformed, ".id"},
		{"adk-rs, an alias that is the id of another call", parts(t, `{"adk:functionResponse":{"id":"c1.4","name":"adk_request_confirmation","response":{"confirmed":true}}}`),
			[]*approval.Approval{with(transfer(), func(a *approval.Approval) { a.Alias = "c1.4" }), restarts()}, malformed, ".id"},

		{"kagent, extension not listed", user(t, fmt.Sprintf(`"parts":[],"metadata":{%q:{"type":"tool_approval_response"}}`, dialect.KagentURI)), nil, malformed, "message.extensions"},
		{"kagent, no object at all", kagent(t, `["t1.a1"]`), nil, malformed, "]"},
		{"kagent, no type", kagent(t, `{"approvals":[{"id":"t1.a1","approved":true}]}`), nil, malformed, ".type"},
		{"kagent, another type", kagent(t, `{"type":"tool_approval_revoked"}`), nil, malformed, ".type"},
		{"kagent, reason of an approval", kagents(`[{"id":"t1.a1","approved":true,"rejection_reason":"too much"},{"id":"t1.a2","approved":true}]`), nil, malformed, "[0].rejection_reason"},
		{"kagent, an empty reason of an approval", kagents(`[{"id":"t1.a1","approved":true,"rejection_reason":""},{"id":"t1.a2","approved":true}]`), nil, malformed, "[0].rejection_reason"},
		{"kagent, arguments", kagents(`[{"id":"t1.a1","approved":true,"args":{"amount":1}},{"id":"t1.a2","approved":true}]`), nil, malformed, "[0].args"},
		{"kagent, a digest", kagents(`[{"id":"t1.a1","approved":true,"digest":"sha256:d0"},{"id":"t1.a2","approved":true}]`), nil, malformed, "[0].digest"},
		{"kagent, something beside the decisions", kagent(t, `{"type":"tool_approval_response","approvals":[{"id":"t1.a1","approved":true},{"id":"t1.a2","approved":true}],"denied":true}`), nil, malformed, ".denied"},
		{"kagent, something beside the answers", kagent(t, `{"type":"ask_user_response","id":"t1.a3","answers":[{"answer":["SQLite"]}],"more":1}`), nil, malformed, ".more"},
		{"kagent, something beside an answer", kagent(t, `{"type":"ask_user_response","id":"t1.a3","answers":[{"answer":["SQLite"],"more":1}]}`), nil, malformed, "[0].more"},
		{"kagent, what came of a call, by the call", kagents(`[{"id":"t1.a1","approved":true},{"id":"c1.2","approved":true}]`), nil, approval.ReasonNotAllowed, ""},
		{"kagent, a call that was asked about again", kagents(`[{"id":"c1.1","approved":true}]`), replaced(), approval.ReasonChanged, ""},
		{"kagent, reply by the call", kagent(t, `{"type":"ask_user_response","id":"c1.3","answers":[{"answer":["SQLite"]}]}`), nil, unknown, ".id"},
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

		{"marked as both", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}},
			"metadata":{"adk_type":"function_response","kagent_type":"function_call"}}]`), nil, malformed, "message.parts[0]"},
		{"marked as both, the other way", user(t, `"parts":[{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}},
			"metadata":{"adk_type":"function_call","kagent_type":"function_response"}}]`), nil, malformed, "message.parts[0]"},
		{"ours, marked as a question", user(t, `"parts":[{"data":{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve"}]},
			"metadata":{"adk_type":"function_call"}}]`), nil, malformed, "message.parts[0]"},
		{"adk-rs, marked as a question", user(t, `"parts":[{"data":{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"confirmed":true}}},
			"metadata":{"kagent_type":"function_call"}}]`), nil, malformed, "message.parts[0]"},
		{"adk, a question of ours", user(t, `"parts":[{"data":{"type":"approval_request","id":"t1.a1","name":"adk_request_confirmation","response":{"confirmed":true}}}]`), nil, malformed, "message.parts[0]"},
		{"adk-rs, its question beside its answer", parts(t, `{"adk:functionCall":{"id":"c1.1"},"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"confirmed":true}}}`), nil, malformed, "message.parts[0]"},

		{"no beside an approval", beside(t, "approve", "please", "no"), nil, malformed, "message.parts[1].text"},
		{"deny beside an approval in kagent's extension", withText(kagents(`[{"id":"t1.a1","approved":true},{"id":"t1.a2","approved":true}]`), "Denied "), nil, malformed, "message.parts[1].text"},
		{"yes beside a rejection", beside(t, "reject", " YES\n"), nil, malformed, "message.parts[0].text"},
		{"yes beside a cancel", beside(t, "cancel", "yes"), nil, malformed, "message.parts[0].text"},
		{"no beside an edit", user(t, `"parts":[{"data":{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"edit","arguments":{}}]}},{"text":"no"}]`), nil, malformed, "message.parts[1].text"},
		{"no beside an approval and a rejection", user(t, `"parts":[{"text":"no"},{"data":{"type":"approval_response","decisions":[
			{"id":"t1.a2","decision":"reject"},{"id":"t1.a1","decision":"approve"}]}}]`), nil, malformed, "message.parts[0].text"},
		{"typed without its digest", text(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve"}]}`), nil, malformed, "message.parts[0].text.decisions[0].digest"},
		{"typed, an empty digest", text(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve","digest":""}]}`), nil, malformed, ".digest"},
		{"typed, one of two without its digest", text(t, `{"type":"approval_response","decisions":[{"id":"t1.a2","decision":"reject","digest":"x"},{"id":"t1.a1","decision":"approve"}]}`), nil, malformed, "decisions[1].digest"},
		{"typed with what is not known", text(t, `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve","digest":"sha256:d1","but":"no"}]}`), nil, malformed, ".but"},
		{"typed about nothing", text(t, `{"type":"approval_response","decisions":[{"id":"t9","decision":"approve","digest":"x"}]}`), nil, unknown, ".id"},
		{"typed by the call", text(t, `{"type":"approval_response","decisions":[{"id":"c1.1","decision":"approve","digest":"x"}]}`), nil, unknown, ".id"},
		{"typed beside what the metadata say", withMetadata(text(t, typedApproval), `{"x":{"decision":"reject"}}`), nil, malformed, "message.metadata[x]"},
		{"yes beside what the metadata say", withMetadata(text(t, "yes"), `{"x":{"approved":false}}`), []*approval.Approval{transfer()}, malformed, "message.metadata[x]"},
		{"yes beside a decision as a key of the metadata", withMetadata(text(t, "yes"), `{"decision":"reject"}`), []*approval.Approval{transfer()}, malformed, "message.metadata[decision]"},
		{"yes beside approved as a key of the metadata", withMetadata(text(t, "yes"), `{"approved":false}`), []*approval.Approval{transfer()}, malformed, "message.metadata[approved]"},
		{"yes beside confirmed as a key of the metadata", withMetadata(text(t, "yes"), `{"confirmed":false}`), []*approval.Approval{transfer()}, malformed, "message.metadata[confirmed]"},
		{"yes beside decisions as a key of the metadata", withMetadata(text(t, "yes"), `{"decisions":[]}`), []*approval.Approval{transfer()}, malformed, "message.metadata[decisions]"},
		{"an approval beside a key of the metadata", withMetadata(ours(`[{"id":"t1.a1","decision":"approve"}]`), `{"toolConfirmation":{}}`), nil, malformed, "message.metadata[toolConfirmation]"},
		{"typed beside a decision", withText(ours(`[{"id":"t1.a1","decision":"approve"}]`), typedApproval), nil, malformed, "message.parts[1]"},
		{"typed in ADK for Python, about another", marked(t, "t1.a2", confirmation, `{"result":`+quoted(typedApproval)+`}`), nil, malformed, ".response.result"},
		{"typed in ADK for Python, about two", marked(t, "t1.a1", confirmation, `{"result":`+quoted(strings.Replace(typedApproval, "]", `,{"id":"t1.a2","decision":"reject","digest":"sha256:d2"}]`, 1))+`}`), nil, malformed, ".response.result"},
		{"typed in ADK for Python, without its digest", marked(t, "t1.a1", confirmation, `{"result":"{\"type\":\"approval_response\",\"decisions\":[{\"id\":\"t1.a1\",\"decision\":\"approve\"}]}"}`), nil, malformed, ".digest"},
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

// A remark decides nothing, whatever it says, and says nothing beside a decision.
func TestRemark(t *testing.T) {
	t.Parallel()
	const (
		decision = `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"approve","digest":"d"}]}`
		mark     = `"metadata":{"urn:a2a-server:remark":%s}`
	)
	message := func(part, value string) *a2a.Message {
		return user(t, `"parts":[`+part+`],`+fmt.Sprintf(mark, value))
	}
	for _, said := range []string{"yes", "no: not today", "approve k7m2qzxd", "SQLite", decision} {
		for _, pending := range []*approval.Approval{transfer(), coded(), database()} {
			if got, err := presenter().Answers(message(`{"text":`+quoted(said)+`}`, "true"), []*approval.Approval{pending}); got != nil || err != nil {
				t.Errorf("Answers(%s) = %v, %v, want nothing", said, got, err)
			}
		}
	}
	for name, m := range map[string]*a2a.Message{
		"beside a decision": message(`{"data":`+decision+`}`, "true"),
		"false":             message(`{"text":"yes"}`, "false"),
		"a word":            message(`{"text":"yes"}`, `"true"`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := presenter().Answers(m, []*approval.Approval{transfer()})
			_ = refused(t, err, approval.ReasonMalformed)
		})
	}
	for _, value := range []string{"true", "false"} {
		calls, err := presenter().Cancels(message(`{"data":{"type":"call_cancel","call":"c1.1"}}`, value))
		if _ = refused(t, err, approval.ReasonMalformed); calls != nil {
			t.Errorf("a remark (%s) cancels %v", value, calls)
		}
	}
	asked, err := presenter().Question([]*approval.Approval{transfer()}, message(`{"text":"yes"}`, "true"))
	if err != nil || !strings.HasPrefix(asked.Parts[0].Text(), "This message decides nothing: it is marked as a remark.") {
		t.Errorf("Question() = %v, %v, want the mark as the reason", asked, err)
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
	m, err := p.Question(pending, nil)
	if err != nil || strings.Contains(m.Parts[0].Text(), "is an answer too") {
		t.Errorf("Question() = %v, %v, want no word of text", m, err)
	}
}

// A decided approval and what is asked next have the call in common. A dialect that asks
// by the call says again what was decided, and reaches nothing else.
func TestCallThatWasDecided(t *testing.T) {
	t.Parallel()
	call := func(a *approval.Approval) { a.Call, a.Alias = "c1.1", "adk-961c85e9" }
	again := []*a2a.Message{
		parts(t, `{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":{"confirmed":true}}}`),
		parts(t, `{"adk:functionResponse":{"id":"adk-961c85e9","name":"adk_request_confirmation","response":{"confirmed":true}}}`),
		kagent(t, `{"type":"tool_approval_response","approvals":[{"id":"c1.1","approved":true}]}`),
	}
	for name, next := range map[string]*approval.Approval{
		"what came of it":              with(deletion(), call),
		"what its tool wants to know":  with(database(), call),
		"whether it may continue":      with(restarts(), func(a *approval.Approval) { call(a); a.Ask, a.AskKind = "q1", "confirm" }),
		"nothing that is asked of him": with(with(deletion(), call), func(a *approval.Approval) { a.Terms.FourEyes = true }),
	} {
		approvals := []*approval.Approval{approved(transfer()), next}
		for _, m := range again {
			answers, err := presenter().Answers(m, approvals)
			if err != nil {
				t.Errorf("%s: Answers() = %v", name, err)
				continue
			}
			n := approval.Names{}
			n.Add("c1.1", "adk-961c85e9")
			decisions, err := approval.Match(answers, approvals, n)
			if err != nil || len(decisions) != 1 || decisions[0].Approval != approvals[0] || !decisions[0].Settled {
				t.Errorf("%s: Match(%v) = %v, %v, want what was decided", name, answers, decisions, err)
			}
		}
	}
}
