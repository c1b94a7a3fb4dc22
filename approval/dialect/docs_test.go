package dialect_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/approval/dialect"
)

// The examples of docs/approvals.md are what is asked, and what is understood.
func TestDocument(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/approvals.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, block := range strings.Split(string(doc), "```json ")[1:] {
		block, _, _ = strings.Cut(block, "```")
		what, example, _ := strings.Cut(block, "\n")
		seen[what]++
		if what == "question" {
			checkQuestion(t, example)
			continue
		}
		var part struct{ Data json.RawMessage }
		if err := json.Unmarshal([]byte(example), &part); err != nil {
			t.Fatal(err)
		}
		if part.Data != nil && !presenter().Imitates(part.Data) {
			t.Errorf("a tool may return %s as data", part.Data)
		}
		pending := all()
		if strings.Contains(example, `"text"`) {
			pending = pending[:1]
		}
		answers, err := presenter().Answers(user(t, `"parts":[`+example+`]`), pending)
		if err != nil || len(answers) != 1 || string(answers[0].Type) != what {
			t.Errorf("%s is read as %v, %v; want to %s", example, answers, err, what)
			continue
		}
		decisions, err := approval.Match(answers, pending, names(pending))
		if err != nil {
			t.Errorf("%s: %v", example, err)
			continue
		}
		if err := decisions[0].Approval.Check(decisions[0].Decision, approval.Decider{By: transfer().Requester, Via: "a2a"}, transfer().Asked); err != nil {
			t.Errorf("%s: %v", example, err)
		}
	}
	for _, what := range []string{"question", "approve", "edit", "reject", "respond", "cancel"} {
		if seen[what] == 0 {
			t.Errorf("docs/approvals.md has no example of %s", what)
		}
	}
}

func checkQuestion(t *testing.T, example string) {
	t.Helper()
	m, err := presenter().Question([]*approval.Approval{transfer()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := json.Marshal(m.Metadata[dialect.URI])
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal([]byte(example), &want); err != nil {
		t.Fatalf("%s: %v", example, err)
	}
	if err := json.Unmarshal(asked, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a question (-docs/approvals.md +asked):\n%s", diff)
	}
}

// What clients could take for a question or an answer is known by its form, in any spelling
// of JSON; other data is not.
func TestImitates(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]bool{
		`{"adk:functionCall":{}}`:                                true,
		`{ "n":1,"type":"approval_request"}`:                     true,
		`{"type":"ask_user_request"}`:                            true,
		`{"type":"approval\u005fresponse"}`:                      true,
		`{"type":"approval_response","type":"x"}`:                true,
		`{"id":"a","name":"b","response":null}`:                  true,
		`{"id":"a","name":"b","args":{}}`:                        false,
		`{"id":"a","name":"adk_request_confirmation","args":{}}`: true,
		`{"id":"a","name":"adk_request_input"}`:                  true,
		`{"id":1,"name":"b","response":{}}`:                      false,
		`{"adk:functionResponse":null}`:                          false,
		`{"type":["approval_response"]}`:                         false,
		`{"result":{"type":"approval_response"}}`:                false,
		`[{"type":"approval_response"}]`:                         false,
		`"approval_response"`:                                    false,
		`{"type":"approval_response"`:                            true,
		`{"n":`:                                                  true,
		``:                                                       false,
	} {
		if got := presenter().Imitates(json.RawMessage(data)); got != want {
			t.Errorf("Imitates(%s) = %t, want %t", data, got, want)
		}
	}
}
