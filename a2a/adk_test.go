package a2a_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"a2a-server/a2a/dialect"
)

// ADK's client for Python looks into an update only when it has the mark, and so does
// its command line: each Task and status update has it, over both bindings, in answers,
// lists and streams (C1).
func TestEverythingIsMarkedForADK(t *testing.T) {
	t.Parallel()
	url := startWireServer(t, zerolog.Nop()).listen(t)
	send := func(id, more, text string) string {
		return `{"message":{"messageId":"` + id + `","contextId":"talk","role":"ROLE_USER"` + more + `,"parts":[{"text":"` + text + `"}]}}`
	}
	rpc := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	}
	const id = "019b7c00-0000-7000-8000-000000000001"
	for _, r := range []struct{ name, path, body string }{
		{"question", "/message:send", send("m1", "", "/transfer amount=5 to=bob")},
		{"no decision", "/", rpc("SendMessage", send("m2", `,"taskId":"`+id+`"`, "perhaps"))},
		{"task", "/", rpc("GetTask", `{"id":"`+id+`"}`)},
		{"approval", "/", rpc("SendStreamingMessage", send("m3", `,"taskId":"`+id+`"`, "approve"))},
		{"stream", "/message:stream", send("m4", "", "/stream n=2")},
		{"failure", "/message:stream", send("m5", "", "/fail")},
		{"cancel", "/", rpc("SendMessage", send("m6", "", "/transfer amount=5 to=eve"))},
		{"cancel", "/tasks/019b7c00-0000-7000-8000-000000000006:cancel", ""},
		{"list", "/", rpc("ListTasks", `{}`)},
	} {
		status, body := post(t, url+r.path, r.body)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", r.name, status, body)
		}
		seen := 0
		for line := range strings.SplitSeq(body, "\n") {
			var v any
			if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &v) == nil {
				seen += wantMarks(t, r.name, v)
			}
		}
		if seen == 0 {
			t.Errorf("%s: no status in %s", r.name, body)
		}
	}
}

// wantMarks looks at all that has a status, and returns how much has.
func wantMarks(t *testing.T, name string, v any) (seen int) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		if status, ok := v["status"].(map[string]any); ok {
			seen++
			metadata, _ := v["metadata"].(map[string]any)
			if metadata[dialect.ADKURI] != true {
				t.Errorf("%s: %v is not marked: its metadata are %v", name, status["state"], metadata)
			}
		}
		for _, member := range v {
			seen += wantMarks(t, name, member)
		}
	case []any:
		for _, element := range v {
			seen += wantMarks(t, name, element)
		}
	}
	return seen
}

// Clients that show people what came of a call, or hand it to a language model, read
// texts only: a result that is data is there as text too, and a text only once (C2).
func TestResultsAreTextToo(t *testing.T) {
	t.Parallel()
	url := serve(t)
	for _, tt := range []struct{ message, want string }{
		{"/balance", `"parts":[{"data":{"amount":5,"of":"\u003cbob\u003e"}},{"text":"{\"amount\":5,\"of\":\"\u003cbob\u003e\"}"}]`},
		{`/transfer amount=5 to=bob`, `"parts":[{"text":"5 to bob"}]`},
		{"/stream n=0", `"parts":[{"text":""}]`},
	} {
		_, body := post(t, url+"/message:send", `{"message":{"messageId":"`+tt.message+`","role":"ROLE_USER","parts":[{"text":"`+tt.message+`"}]}}`)
		if strings.HasPrefix(tt.message, "/transfer") {
			_, rest, _ := strings.Cut(body, `"id":"`)
			_, body = post(t, url+"/message:send", `{"message":{"messageId":"yes","taskId":"`+rest[:36]+`","role":"ROLE_USER","parts":[{"text":"yes"}]}}`)
		}
		if !strings.Contains(body, tt.want) {
			t.Errorf("%s: %s, want %s", tt.message, body, tt.want)
		}
	}
}
