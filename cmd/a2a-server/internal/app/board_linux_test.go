package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"a2a-server/client"
)

// openRich runs a command in a terminal, which also shows its standard output.
func openRich(t *testing.T, env []string, args ...string) *session {
	t.Helper()
	person, program := openTerminal(t)
	return begin(t, person, program, program, append(env, "TERM=xterm"), args...)
}

// In a terminal, the state of the task and of its calls is redrawn in place, and an approval is
// asked about in a frame.
func TestRich(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), allRoles)
	one := openRich(t, s.elsewhere(t.TempDir()), "chat")
	one.answer("> ", "/echo text=hello")
	one.expect("\x1b[36m● working\x1b[0m\n")
	one.expect("\x1b[1A\r\x1b[J\x1b[32m✓\x1b[0m echo c1.1  \x1b[32mdone\x1b[0m\nhello\n")
	one.expect("\x1b[32m● completed\x1b[0m\n")
	one.answer("> ", "/stream chunks=3 size=10")
	one.expect("\x1b[Jevery event is on the disk bef\n\x1b[32m✓\x1b[0m stream c1.1  ")
	one.answer("> ", "/transfer_money to=bob amount=5")
	one.expect("╭─ \x1b[0m\x1b[1mApproval needed\x1b[0m\n")
	one.expect("│ \x1b[0m\x1b[1marguments\x1b[0m   {\"amount\":5,\"to\":\"bob\"}\n")
	one.answer("Approve? [y/n/edit/reason] ", "y")
	one.expect("▸\x1b[0m transfer_money c1.1  running\n")
	one.expect("✓\x1b[0m transfer_money c1.1  \x1b[32mdone\x1b[0m\n{\"ledger\"")
	one.answer("> ", "/transfer_money to=bob amount=5")
	one.answer("Approve? [y/n/edit/reason] ", "n")
	one.expect("\x1b[31m✗\x1b[0m transfer_money c1.1  \x1b[31mrejected\x1b[0m\nthe call was rejected\n")
	one.expect("\x1b[31m● canceled\x1b[0m\n")
	one.answer("> ", "\x04")
	if code, _ := one.end(); code != 0 {
		t.Errorf("chat exits with %d", code)
	}
	for name, args := range map[string][]string{"NO_COLOR=1": nil, "A=b": {"-o", "text"}} {
		plain := openRich(t, append(s.elsewhere(t.TempDir()), name), append([]string{"send", "/echo text=hello"}, args...)...)
		if code, _ := plain.end(); code != 0 {
			t.Errorf("send with %s exits with %d", name, code)
		}
		plain.expect("hello\n")
		if text := plain.shown(); text != "hello\n" {
			t.Errorf("with %s the screen shows %q", name, text)
		}
	}
	code, stdout, _ := s.remote(t.TempDir(), nil, "send", "-o", "json", "/echo text=hello")
	if lines := strings.Split(strings.TrimSpace(stdout), "\n"); code != 0 || len(lines) < 3 || !json.Valid([]byte(lines[0])) || !strings.Contains(lines[len(lines)-1], "TASK_STATE_COMPLETED") {
		t.Errorf("send -o json exits with %d and prints %s", code, stdout)
	}
	if code, _, stderr := s.remote(t.TempDir(), nil, "send", "-o", "nice", "x"); code != 2 || !strings.Contains(stderr, "write rich, text or json") {
		t.Errorf("send -o nice exits with %d: %s", code, stderr)
	}
}

// hostile is what would change a screen: sequences of ANSI, one of them with a C1 control.
const hostile = "\x1b[2J\x1b]0;title\x07\u009b1A\u202e\r"

// hostileServer is a server whose texts are all hostile.
func hostileServer(t *testing.T) string {
	t.Helper()
	const id = "01a21860-c45b-732a-8d20-78186b56413c"
	object := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	type m = map[string]any
	parts := []m{{"text": hostile}, {"data": hostile}, {"url": hostile, "filename": hostile, "mediaType": hostile}}
	status := func(state string, metadata m) m {
		return m{"statusUpdate": m{"status": m{"state": state, "message": m{"parts": parts}}, "metadata": metadata}}
	}
	artifact := func(id string, more bool, about m) m {
		return m{"artifactUpdate": m{"artifact": m{"artifactId": id, "name": hostile, "parts": parts}, "lastChunk": !more, "metadata": about}}
	}
	asked := client.Approval{
		ID: id + ".a1", Task: id, State: client.Pending, Kind: client.KindCall, Tool: hostile, Call: hostile, Hint: hostile, Digest: hostile,
		Description: hostile, Risk: hostile, Gate: hostile, Declared: []string{hostile}, Claimed: []string{hostile},
		Decisions: []client.DecisionType{client.Approve}, Arguments: json.RawMessage(object(hostile)), Requester: client.Principal{Subject: hostile},
	}
	detail := client.ApprovalDetail{Approval: asked}
	detail.May.Decide = true
	answer := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, object(v)) }
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /message:send", answer(m{"task": m{"id": id, "contextId": hostile}}))
	mux.HandleFunc("GET /api/v1/approvals", answer(client.ApprovalPage{Items: []client.Approval{asked}}))
	mux.HandleFunc("GET /api/v1/approvals/{id}", answer(detail))
	mux.HandleFunc("POST /api/v1/approvals/{id}/decision", answer(client.Decided{}))
	mux.HandleFunc("GET /api/v1/tasks/{id}/events", func(w http.ResponseWriter, _ *http.Request) {
		for i, e := range []m{
			status("TASK_STATE_"+hostile, nil),
			status("TASK_STATE_WORKING", m{"urn:a2a-server:progress": m{"callId": hostile, "tool": strings.Repeat(hostile, 20), "done": 1, "message": hostile}}),
			artifact("a", true, nil), artifact("a", true, nil), artifact("b", false, m{"urn:a2a-server:error": hostile}), artifact("e", true, m{"stream": "stderr"}),
			status("TASK_STATE_INPUT_REQUIRED", nil),
			status("TASK_STATE_FAILED", nil),
		} {
			_, _ = fmt.Fprintf(w, "id: %d\ndata: %s\n\n", i, object(e))
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// Nothing that a server sends can control the terminal, in any form.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	url := hostileServer(t)
	for _, form := range []string{"rich", "text", "json"} {
		one := openRich(t, []string{"A2A_SERVER_URL=" + url}, "send", "-o", form, "x")
		want := 1
		if form == "json" {
			want = 3 // nobody is asked
		} else {
			one.answer("Approve? ", "y")
		}
		if code, _ := one.end(); code != want {
			t.Errorf("%s: it exits with %d, want %d", form, code, want)
		}
		one.expect("a2a-server: ")
		left := one.shown()
		if form == "rich" {
			left = regexp.MustCompile(`\x1b\[(0|1|3[1236])m|\x1b\[[0-9]A\r\x1b\[J`).ReplaceAllString(left, "")
		}
		if at := strings.IndexAny(left, "\x1b\x07\u009b\u202e\r"); at >= 0 {
			t.Errorf("%s: the screen gets %q", form, left[max(0, at-40):min(len(left), at+40)])
		}
		if form != "json" && !strings.Contains(left, "replaces its printed part") {
			t.Errorf("%s: nothing says that a result starts over:\n%s", form, left)
		}
	}
}
