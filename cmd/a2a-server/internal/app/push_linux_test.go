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
	text, err := os.ReadFile("../../../../docs/push.md")
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
		case <-time.After(time.Minute):
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
		args := append(words(strings.Replace(command, "TASK", task, 1)), "--anonymous")
		if args[1] == "delete" {
			for _, want := range []string{"deleted", "w"} { // the second time, there is none
				code, stdout, stderr := s.run(nil, append(args, "--yes")...)
				if code != 0 || !strings.Contains(stdout, want) {
					t.Errorf("%s exits with %d: %s%s", line, code, stdout, stderr)
				}
			}
			continue
		}
		code, stdout, stderr := s.run(nil, args...)
		if want := !strings.Contains(command, "dead"); code != 0 || strings.Contains(stdout, "listed") != want || strings.Contains(stdout, hook.URL) {
			t.Errorf("%s exits with %d: %s%s", line, code, stdout, stderr)
		}
	}
	if commands != 6 {
		t.Errorf("the document has %d commands, want 6", commands)
	}
}

func TestPushList(t *testing.T) {
	t.Parallel()
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	t.Cleanup(hook.Close)
	s := serveWith(t, os.Getuid(), allRoles, "push: {enabled: true, allow_http: true, allow_loopback: true}\n")
	s.want(0, "there are no such webhooks\n", "push", "list", "--anonymous")
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
	for over := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
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
	if !regexp.MustCompile(`(?m)^`+task[28:]+` +gone +dead +127\.0\.0\.1 +anonymous .*HTTP 410`).MatchString(stdout) || code != 0 || strings.Contains(stdout, "secret-path") {
		t.Errorf("it exits with %d and prints %s", code, stdout)
	}
	if code, stdout, _ := s.run(nil, "push", "list"); code != 0 || strings.Contains(stdout, task) {
		t.Errorf("the tenant has %s", stdout)
	}
	for args, want := range map[string]string{"--state asleep": "active, retrying, dead and damaged", "--task xxxx": "no task whose id ends with", "--limit 0": "write a number from 1", "now": "takes no"} {
		if code, stdout, stderr := s.run(nil, append([]string{"push", "list"}, strings.Fields(args)...)...); code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("push list %s exits with %d: %s%s", args, code, stdout, stderr)
		}
	}
	off := serve(t, os.Getuid(), allRoles)
	off.want(0, "set push.enabled", "push", "list")
}

// Webhooks are shown before they are deleted, which happens only if the person says yes; what
// was named wrong deletes none.
func TestPushDelete(t *testing.T) {
	t.Parallel()
	s := serveWith(t, os.Getuid(), allRoles, "push: {enabled: true, allow_http: true, allow_loopback: true}\n")
	task, _ := s.ask("to=bob amount=5")
	set := func(id string) {
		t.Helper()
		if status, answer := s.send(http.MethodPost, "/tasks/"+task+"/pushNotificationConfigs", `{"id":"`+id+`","url":"http://127.0.0.1:9/"}`); status != http.StatusOK {
			t.Fatal(answer)
		}
	}
	left := func() string {
		t.Helper()
		_, stdout, _ := s.run(nil, "push", "list", "--anonymous", "-o", "json")
		var list struct{ Webhooks []struct{ ID string } }
		if err := json.Unmarshal([]byte(stdout), &list); err != nil {
			t.Fatal(err)
		}
		ids := ""
		for _, w := range list.Webhooks {
			ids += w.ID
		}
		return ids
	}
	set("a")
	set("b")
	for _, tc := range []struct {
		args, answer string
		code         int
		says, left   string
	}{
		{task + " a --anonymous", "n", 3, "Delete this webhook, as socket:ann? [y/N] ", "ab"},
		{"--principal anonymous --anonymous", "", 3, "Delete these 2 webhooks, as socket:ann? [y/N] ", "ab"},
		{task + " a --anonymous", "y", 0, "Delete this webhook, as socket:ann? [y/N] ", "b"},
	} {
		one := s.openCommand(append([]string{"push", "delete"}, strings.Fields(tc.args)...)...)
		one.expect("127.0.0.1")
		one.answer(tc.says, tc.answer)
		if code, stdout := one.end(); code != tc.code || left() != tc.left || code == 0 && !strings.Contains(stdout, "deleted") {
			t.Errorf("push delete %s exits with %d, prints %q and leaves %s\n%s", tc.args, code, stdout, left(), one.shown())
		}
	}
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"", 2, "or --principal"}, {task, 2, "or --principal"}, {task + " b --principal x", 2, "or --principal"}, {task + " b c", 2, "or --principal"},
		{task + " b", 3, "--yes"}, {task + " b --yes", 1, "no such task"}, {"0194f0c0-0000-7000-8000-000000000000 b --yes --anonymous", 1, "no such task"},
		{"../x b --yes --anonymous", 2, "is not the id of one task"}, {"--principal anonymous --yes", 0, ""}, {task + " B --yes --anonymous", 0, ""},
	} {
		if code, stdout, stderr := s.run(nil, append([]string{"push", "delete"}, strings.Fields(tc.args)...)...); code != tc.code || !strings.Contains(stderr, tc.says) || left() != "b" {
			t.Errorf("push delete %s exits with %d and leaves %s: %s%s", tc.args, code, left(), stdout, stderr)
		}
	}
	if code, stdout, _ := s.run(nil, "push", "delete", "--principal", "anonymous", "--anonymous", "--yes", "-o", "json"); code != 0 || strings.Join(strings.Fields(stdout), "") != `{"webhooks":[{"task":"`+task+`","id":"b","deleted":true}]}` || left() != "" {
		t.Errorf("it exits with %d, prints %s and leaves %s", code, stdout, left())
	}
	s.stop()
	s.want(1, "there is no socket", "push", "delete", task, "b", "--yes", "--anonymous")
}
