package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// send makes a request, and returns the status and the answer.
func (s *served) send(method, path, body string) (status int, answer string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return got.StatusCode, string(text)
}

// Every request and every command of docs/push.md works as it stands, with the configuration
// to try it, and the URL of a webhook that is there.
func TestPushDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/push.md")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan http.Header, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header }))
	t.Cleanup(hook.Close)
	try := regexp.MustCompile("(?s)```yaml try\n(.*?)```").FindSubmatch(text)
	if try == nil {
		t.Fatal("the document has no configuration to try it with")
	}
	s := serveWith(t, os.Getuid(), allRoles, string(try[1]))
	task, _ := s.ask("to=bob amount=5")
	seen := 0
	for _, block := range regexp.MustCompile("(?s)```http\n(\\S+) (\\S+)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		block[2], block[3] = strings.ReplaceAll(block[2], "TASK", task), strings.NewReplacer("MESSAGE", fmt.Sprint("document-", seen), "https://ci.example.com/hook", hook.URL).Replace(block[3])
		status, answer := s.send(block[1], block[2], block[3])
		if status != http.StatusOK {
			t.Errorf("%s %s %s is answered with %d %s", block[1], block[2], block[3], status, answer)
		}
		if strings.Contains(answer, "of-the-receiver") || strings.Contains(answer, "kept-by-the-receiver") {
			t.Errorf("%s %s: a secret is in %s", block[1], block[2], answer)
		}
		seen++
	}
	if seen != 4 {
		t.Errorf("the document has %d requests, want 4", seen)
	}
	for completed := false; !completed; {
		select {
		case h := <-got:
			completed = h.Get("A2A-Notification-Token") == "kept-by-the-receiver" && h.Get("A2A-Notification-Id") != ""
		case <-time.After(20 * time.Second):
			t.Fatal("the webhook of the document is not notified")
		}
	}
	if status, answer := s.send(http.MethodPost, "/tasks/"+task+"/pushNotificationConfigs", `{"id":"listed","url":"`+hook.URL+`"}`); status != http.StatusOK {
		t.Fatal(answer)
	}
	commands := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		command, is := strings.CutPrefix(line, "a2a-server ")
		if !is {
			continue
		}
		commands++
		code, stdout, stderr := s.run(nil, append(words(command), "--anonymous")...)
		if want := !strings.Contains(command, "dead"); code != 0 || strings.Contains(stdout, "listed") != want || strings.Contains(stdout, hook.URL) {
			t.Errorf("%s exits with %d: %s%s", line, code, stdout, stderr)
		}
	}
	if commands != 3 {
		t.Errorf("the document has %d commands, want 3", commands)
	}
}

func TestPushList(t *testing.T) {
	t.Parallel()
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	t.Cleanup(hook.Close)
	s := serveWith(t, os.Getuid(), allRoles, "push: {enabled: true, allow_http: true, allow_loopback: true}\n")
	if code, stdout, stderr := s.run(nil, "push", "list", "--anonymous"); code != 0 || stdout != "there are no such webhooks\n" {
		t.Errorf("without webhooks it exits with %d: %s%s", code, stdout, stderr)
	}
	task, _ := s.ask("to=bob amount=5")
	if status, answer := s.send(http.MethodPost, "/tasks/"+task+"/pushNotificationConfigs", `{"id":"gone","url":"`+hook.URL+`/secret-path"}`); status != http.StatusOK {
		t.Fatal(answer)
	}
	if status, answer := s.send(http.MethodPost, "/tasks/"+task+":cancel", ""); status != http.StatusOK {
		t.Fatal(answer)
	}
	var list struct {
		Webhooks []struct{ ID, Task, State, Error, Host string }
	}
	for over := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		code, stdout, stderr := s.run(nil, "push", "list", "--anonymous", "--state", "dead", "-o", "json")
		if err := json.Unmarshal([]byte(stdout), &list); code != 0 || err != nil {
			t.Fatalf("it exits with %d: %s%s", code, stdout, stderr)
		}
		if len(list.Webhooks) == 1 {
			break
		}
		if time.Now().After(over) {
			t.Fatal("the webhook does not die")
		}
	}
	if w := list.Webhooks[0]; w.ID != "gone" || w.Task != task || w.State != "dead" || w.Error != "HTTP 410" || w.Host != "127.0.0.1" {
		t.Errorf("it lists %+v", w)
	}
	code, stdout, _ := s.run(nil, "push", "list", "--anonymous")
	if !regexp.MustCompile(`(?m)^`+task+` +gone +dead +127\.0\.0\.1 +anonymous .*HTTP 410`).MatchString(stdout) || code != 0 || strings.Contains(stdout, "secret-path") {
		t.Errorf("it exits with %d and prints %s", code, stdout)
	}
	if code, stdout, _ := s.run(nil, "push", "list"); code != 0 || strings.Contains(stdout, task) {
		t.Errorf("the tenant has %s", stdout)
	}
	for args, want := range map[string]string{"--state asleep": "active, retrying and dead", "--limit 0": "write a number from 1", "now": "takes no"} {
		if code, stdout, stderr := s.run(nil, append([]string{"push", "list"}, strings.Fields(args)...)...); code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("push list %s exits with %d: %s%s", args, code, stdout, stderr)
		}
	}
	off := serve(t, os.Getuid(), allRoles)
	if code, _, stderr := off.run(nil, "push", "list"); code != 1 || !strings.Contains(stderr, "set push.enabled") {
		t.Errorf("without push notifications it exits with %d: %s", code, stderr)
	}
}
