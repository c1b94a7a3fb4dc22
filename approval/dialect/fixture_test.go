package dialect_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/approval/dialect"
)

// transfer is the approval t1.a1, of a call.
func transfer() *approval.Approval {
	deadline := time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
	return &approval.Approval{
		V: 1, ID: "t1.a1", Kind: approval.KindCall, State: approval.Pending,
		Task: "t1", Context: "x1", Call: "c1.1", Alias: "adk-961c85e9",
		Agent: "bank", Tool: "transfer_money", Definition: "sha256:aa",
		Args: json.RawMessage(`{"to":"bob","amount":100}`), Digest: "sha256:d1",
		Hint: "Transfer of 100 to bob <today>", Payload: json.RawMessage(`{"max":5}`),
		Terms:     approval.Terms{Gate: "money", Expires: time.Hour},
		Requester: auth.Anonymous(),
		Asked:     time.Date(2026, 3, 2, 8, 30, 0, 123e6, time.UTC),
		Deadline:  &deadline,
	}
}

// coded is transfer marked as destructive, with a code.
func coded() *approval.Approval {
	return with(transfer(), func(a *approval.Approval) { a.Terms.Destructive, a.Code = true, "k7m2qzxd" })
}

// described is coded with what its tool says about itself.
func described() *approval.Approval {
	return with(coded(), func(a *approval.Approval) {
		a.About = &approval.About{
			Description: "Transfers money. [terms](https://evil.example) \u202e\nArguments: {}",
			Declared:    []string{"idempotent", "destructive"}, Claimed: []string{"read-only", "open\nworld"},
		}
	})
}

// deletion is the approval t1.a2, of a call whose outcome is unknown.
func deletion() *approval.Approval {
	a := transfer()
	a.ID, a.Kind, a.Call, a.Alias, a.Tool = "t1.a2", approval.KindOutcome, "c1.2", "", "delete_file"
	a.Args, a.Digest, a.Hint, a.Payload = json.RawMessage(`{"path":"/tmp/x"}`), "sha256:d2", "", nil
	a.Deadline, a.Attempt, a.Supersedes = nil, 1, "t1.a0"
	a.Terms = approval.Terms{Gate: "files", OnExpiry: approval.ExpiryKeeps}
	return a
}

// database is the approval t1.a3, a question that a running tool asks.
func database() *approval.Approval {
	a := deletion()
	a.ID, a.Kind, a.Call, a.Tool = "t1.a3", approval.KindQuestion, "c1.3", "install"
	a.Args, a.Digest, a.Hint = json.RawMessage(`{}`), "sha256:d3", "Which database?"
	a.Schema = json.RawMessage(`{"enum":["PostgreSQL","SQLite"]}`)
	a.Ask, a.AskKind, a.Attempt, a.Supersedes = "db", "question", 0, ""
	return a
}

// color is a question that a tool wants answered in words.
func color() *approval.Approval {
	a := database()
	a.Hint, a.Schema = "Which color?", nil
	return a
}

// formQuestion is a question like database with another schema.
func formQuestion(schema string) *approval.Approval {
	a := database()
	a.Schema = json.RawMessage(schema)
	return a
}

// restarts is an approval of the kind of transfer, t1.a4.
func restarts() *approval.Approval {
	a := transfer()
	a.ID, a.Call, a.Alias, a.Tool, a.Payload = "t1.a4", "c1.4", "", "restart", nil
	return a
}

func with(a *approval.Approval, change func(*approval.Approval)) *approval.Approval {
	change(a)
	return a
}

func approved(a *approval.Approval) *approval.Approval {
	a.State = approval.Approved
	a.Resolution = &approval.Resolution{Decision: approval.Approve, Via: "a2a", At: a.Asked}
	return a
}

// replaced returns a call's approval that was superseded, and its successor.
func replaced() []*approval.Approval {
	old := with(transfer(), func(a *approval.Approval) {
		a.State, a.Resolution = approval.Superseded, &approval.Resolution{Via: "system", At: a.Asked}
	})
	return []*approval.Approval{old, with(transfer(), func(a *approval.Approval) { a.ID, a.Supersedes = "t1.a9", "t1.a1" })}
}

func all() []*approval.Approval {
	return []*approval.Approval{transfer(), deletion(), database()}
}

func presenter() *dialect.Presenter {
	return dialect.New(dialect.Config{Keywords: true, NewID: func() string { return "m1" }})
}

// user returns a message with these fields of its JSON, as the wire gives it.
func user(t testing.TB, fields string) *a2a.Message {
	t.Helper()
	var m a2a.Message
	text := `{"messageId":"u1","taskId":"t1","contextId":"x1","role":"ROLE_USER",` + fields + `}`
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("message %s: %v", text, err)
	}
	return &m
}

// parts returns a message of these data parts.
func parts(t testing.TB, data ...string) *a2a.Message {
	t.Helper()
	for i, d := range data {
		data[i] = `{"data":` + d + `}`
	}
	return user(t, `"parts":[`+strings.Join(data, ",")+`]`)
}

// marked returns a message of one function response with ADK's mark.
func marked(t testing.TB, id, name, response string) *a2a.Message {
	t.Helper()
	return user(t, fmt.Sprintf(`"parts":[{"data":{"id":%q,"name":%q,"response":%s},"metadata":{"adk_type":"function_response"}}]`,
		id, name, response))
}

// kagent returns a message with a payload of kagent's extension.
func kagent(t testing.TB, payload string) *a2a.Message {
	t.Helper()
	return user(t, fmt.Sprintf(`"parts":[{"text":"done"}],"extensions":[%q],"metadata":{%q:%s}`,
		dialect.KagentURI, dialect.KagentURI, payload))
}

// byCall returns answers as dialects give them that may name a call.
func byCall(answers ...approval.Decision) []approval.Decision {
	marked := make([]approval.Decision, len(answers))
	for i, a := range answers {
		a.ByCall = true
		marked[i] = a
	}
	return marked
}

func text(t testing.TB, texts ...string) *a2a.Message {
	t.Helper()
	m := user(t, `"parts":[]`)
	for _, s := range texts {
		m.Parts = append(m.Parts, a2a.NewTextPart(s))
	}
	return m
}

// names returns what the calls of approvals are called, of which each has one.
func names(approvals []*approval.Approval) approval.Names {
	n := approval.Names{}
	for _, a := range approvals {
		n.Add(a.Call, a.Alias)
	}
	return n
}

// refused returns the *approval.Error of err, which has to be one of this reason.
func refused(t testing.TB, err error, want approval.Reason) *approval.Error {
	t.Helper()
	var e *approval.Error
	if !errors.As(err, &e) {
		t.Fatalf("Answers() error = %v, want an *approval.Error", err)
	}
	if e.Reason != want {
		t.Errorf("Answers() reason = %s (%v), want %s", e.Reason, e, want)
	}
	return e
}
