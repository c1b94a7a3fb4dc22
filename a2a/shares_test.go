package a2a_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/task/engine"
)

// shared starts a server that knows its callers.
func shared(t *testing.T, configure func(*a2a.Config)) string {
	t.Helper()
	return startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) { configure(c) }).listen(t)
}

// text is the body of a send, with what else the message has.
func text(id, says, more string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]%s}}`, id, says, more)
}

// tasks returns the list of somebody's tasks.
func tasks(t *testing.T, url, who string) string {
	t.Helper()
	return get(t, url+"/tasks", "Authorization", "Bearer "+who).body
}

// soon waits until something holds that nobody announces.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// Of the messages that may wait for their tasks, one caller has a share: beyond it a new
// one is refused before anything is done for it, and those of others are not.
func TestMessagesThatWaitAreShared(t *testing.T) {
	t.Parallel()
	url := shared(t, func(c *a2a.Config) { c.Waiting, c.WaitingPerCaller = 2, 1 })
	alice, bob := []string{"Authorization", "Bearer alice"}, []string{"Authorization", "Bearer bob"}
	send := func(body string, who []string) (int, string) {
		return post(t, url+"/message:send", body, who...)
	}
	_, asked := send(text("m1", `/transfer {"amount":5,"to":"bob"}`, ""), alice)
	_, rest, _ := strings.Cut(asked, `"taskId":"`)
	parked, _, _ := strings.Cut(rest, `"`)

	held := make(chan string, 1)
	go func() {
		_, body := send(text("m2", "/hold", ""), alice)
		held <- body
	}()
	soon(t, "a message waits", func() bool { return strings.Contains(tasks(t, url, "alice"), "TASK_STATE_WORKING") })

	status, body := send(text("m3", "/echo text=x", ""), alice)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "1 messages wait for their tasks for this caller") {
		t.Errorf("a second message that waits: %d %s, want 503", status, body)
	}
	rpc := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":%s}`, text("m3", "/echo text=x", ""))
	if got := do(t, newRequest(t, http.MethodPost, url, rpc, alice...)); got.header.Get("Retry-After") == "" || !strings.Contains(got.body, `"code":-32603`) || !strings.Contains(got.body, "UNAVAILABLE") {
		t.Errorf("by JSON-RPC: %v %s", got.header, got.body)
	}
	if body := tasks(t, url, "alice"); !strings.Contains(body, `"totalSize":2`) {
		t.Errorf("what was refused has made a task: %s", body)
	}
	if status, body := send(text("m4", "/echo text=x", ""), bob); status != http.StatusOK || !strings.Contains(body, "TASK_STATE_COMPLETED") {
		t.Errorf("another caller's message: %d %s", status, body)
	}
	now := strings.Replace(text("m5", "/echo text=x", ""), `{"message"`, `{"configuration":{"returnImmediately":true},"message"`, 1)
	if status, body := send(now, alice); status != http.StatusOK {
		t.Errorf("a message that does not wait: %d %s", status, body)
	}
	// What may be a decision is taken; it is not waited for.
	if status, body := send(text("m6", "approve", `,"taskId":"`+parked+`"`), alice); !strings.Contains(body, "TASK_STATE_COMPLETED") && !strings.Contains(body, "was recorded in task "+parked) {
		t.Errorf("a decision: %d %s", status, body)
	}
	soon(t, "the decision counts", func() bool { return strings.Contains(tasks(t, url, "alice"), "TASK_STATE_COMPLETED") })

	list := tasks(t, url, "alice")
	for _, part := range strings.Split(list, `"id":"`)[1:] {
		id, _, _ := strings.Cut(part, `"`)
		if len(id) == 36 && id != parked {
			post(t, url+"/tasks/"+id+":cancel", "", alice...)
		}
	}
	if body := <-held; !strings.Contains(body, "TASK_STATE_CANCELED") {
		t.Errorf("the message that has waited: %s", body)
	}
	if status, body := send(text("m7", "/echo text=x", ""), alice); status != http.StatusOK {
		t.Errorf("when none waits any more: %d %s", status, body)
	}
}

// Of the streams one caller has a share, too.
func TestStreamsAreShared(t *testing.T) {
	t.Parallel()
	url := shared(t, func(c *a2a.Config) { c.Streams = 8 }) // a quarter of it for each
	follow := func(who string) *http.Response {
		resp, err := http.DefaultClient.Do(newRequest(t, http.MethodPost, url+"/message:stream", text("s", "/hold", ""), "Authorization", "Bearer "+who))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	for i := range 3 {
		want := http.StatusOK
		if i == 2 {
			want = http.StatusServiceUnavailable
		}
		if resp := follow("alice"); resp.StatusCode != want { //nolint:bodyclose // it has been read, or is closed with the test
			t.Errorf("stream %d of alice: %d, want %d", i+1, resp.StatusCode, want)
		}
	}
	if resp := follow("bob"); resp.StatusCode != http.StatusOK { //nolint:bodyclose // it has been read, or is closed with the test
		t.Errorf("a stream of bob: %d", resp.StatusCode)
	}
}
