package dialect_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/approval/dialect"
)

// A form is a way to say approve or reject about t1.a1: a part, or a member of the
// metadata. Some are read, and the others only look like it.
type form struct {
	name           string
	part, metadata func(verb string) string
}

func forms() []form {
	ours := func(verb string) string {
		return `{"type":"approval_response","decisions":[{"id":"t1.a1","decision":"` + verb + `","digest":"sha256:d1"}]}`
	}
	confirmed := func(verb string) string { return fmt.Sprintf(`{"confirmed":%t}`, verb == "approve") }
	adk := func(name, mark string, response func(verb string) string) form {
		return form{name: name, part: func(verb string) string {
			return `{"data":{"id":"t1.a1","name":"adk_request_confirmation","response":` + response(verb) + `},"metadata":` + mark + `}`
		}}
	}
	const mark = `{"adk_type":"function_response"}`
	written := func(before, after string) func(string) string {
		return func(verb string) string { return `{"text":` + quoted(before+ours(verb)+after) + `}` }
	}
	return []form{
		{name: "ours", part: func(verb string) string { return `{"data":` + ours(verb) + `}` }},
		{name: "ours in the metadata", metadata: func(verb string) string { return `"` + dialect.URI + `":` + ours(verb) }},
		{name: "ours in a list", part: func(verb string) string { return `{"data":[` + ours(verb) + `]}` }},
		{name: "ours within something else", part: func(verb string) string { return `{"data":{"x":{"y":[` + ours(verb) + `]}}}` }},
		{name: "ours in other metadata", metadata: func(verb string) string { return `"x":` + ours(verb) }},
		{name: "ours in the metadata of a part", part: func(verb string) string { return `{"text":"x","metadata":{"a":` + ours(verb) + `}}` }},
		{name: "written", part: written("", "")},
		{name: "written with space", part: written("\n ", "\r\n")},
		{name: "written as a list", part: written("[", "]")},
		{name: "written with a name twice", part: written(`{"a":1,"a":`, "}")},
		{name: "a word", part: func(verb string) string { return `{"text":"` + verb + `"}` }},
		{name: "a word in capitals", part: func(verb string) string { return `{"text":" ` + strings.ToUpper(verb) + `\n"}` }},
		adk("adk", mark, confirmed),
		adk("adk, no mark", `{}`, confirmed),
		adk("adk, mark is null", `{"adk_type":null}`, confirmed),
		adk("adk, kagent's mark", `{"kagent_type":"function_response"}`, confirmed),
		adk("adk, mark of a call", `{"adk_type":null,"kagent_type":"function_call"}`, confirmed),
		adk("adk, toolConfirmation", mark, func(verb string) string { return `{"toolConfirmation":` + confirmed(verb) + `}` }),
		adk("adk, response", mark, func(verb string) string { return `{"response":` + confirmed(verb) + `}` }),
		adk("adk, response as text", mark, func(verb string) string { return `{"response":` + quoted(confirmed(verb)) + `}` }),
		adk("adk, a word", mark, func(verb string) string { return `{"result":"` + verb + `"}` }),
		adk("adk, written", mark, func(verb string) string { return `{"result":` + quoted(ours(verb)) + `}` }),
		{name: "adk-rs", part: func(verb string) string {
			return `{"data":{"adk:functionResponse":{"id":"c1.1","name":"adk_request_confirmation","response":` + confirmed(verb) + `}}}`
		}},
		{name: "beside another function of adk-rs", part: func(verb string) string {
			return `{"data":{"adk:functionResponse":{"id":"zz","name":"f","response":{}},"x":` + ours(verb) + `}}`
		}},
		{name: "kagent", metadata: func(verb string) string {
			return fmt.Sprintf(`%q:{"type":"tool_approval_response","approvals":[{"id":"t1.a1","approved":%t}]}`, dialect.KagentURI, verb == "approve")
		}},
	}
}

// Whatever two forms a message says approve and reject in, it decides nothing; alone, each
// form says what it says, or decides nothing.
func TestFormsContradict(t *testing.T) {
	t.Parallel()
	decide := func(t *testing.T, say map[string]form) (string, error) {
		t.Helper()
		var parts, metadata []string
		for _, verb := range []string{"approve", "reject"} {
			f, says := say[verb]
			switch {
			case !says:
			case f.part != nil:
				parts = append(parts, f.part(verb))
			default:
				metadata = append(metadata, f.metadata(verb))
			}
		}
		if len(parts) == 0 {
			parts = []string{`{"text":"hello"}`}
		}
		var m a2a.Message
		text := fmt.Sprintf(`{"messageId":"u1","role":"ROLE_USER","parts":[%s],"metadata":{%s},"extensions":[%q]}`,
			strings.Join(parts, ","), strings.Join(metadata, ","), dialect.KagentURI)
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		all := []*approval.Approval{transfer()}
		answers, err := presenter().Answers(&m, all)
		if err != nil {
			return "", err
		}
		decisions, err := approval.Match(answers, all, names(all))
		if err != nil || len(decisions) == 0 {
			return "", err
		}
		return string(decisions[0].Decision.Type), nil
	}
	decided := 0
	for i, f := range forms() {
		for _, verb := range []string{"approve", "reject"} {
			got, err := decide(t, map[string]form{verb: f})
			if err != nil || got != "" && got != verb {
				t.Errorf("%s, %s: decides %q, %v", f.name, verb, got, err)
			}
			if got != "" {
				decided++
			}
		}
		for j, g := range forms() {
			if i == j && f.metadata != nil {
				continue // a member cannot be there twice
			}
			if got, err := decide(t, map[string]form{"approve": f, "reject": g}); got != "" {
				t.Errorf("%s to approve and %s to reject: decides %q, %v", f.name, g.name, got, err)
			}
		}
	}
	if decided < 30 {
		t.Errorf("%d of the forms decide, want most: nothing is shown", decided)
	}
}
