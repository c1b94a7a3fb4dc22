package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/app"
	"a2a-server/cmd/a2a-server/internal/approvals"
)

// until is an output that ends a command once it has a text.
type until struct {
	mu   sync.Mutex
	all  bytes.Buffer
	text string
	end  context.CancelFunc
}

func (u *until) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all.Write(p)
	if strings.Contains(u.all.String(), u.text) {
		u.end()
	}
	return len(p), nil
}

// remote runs a command as on another machine: it knows the URL of the server, and nothing of
// its configuration. home is the folder of its own.
func (s *served) remote(home string, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	var out, problems bytes.Buffer
	code = app.Run(s.t.Context(), args, s.elsewhere(home), stdin, &out, &problems)
	return code, out.String(), problems.String()
}

func (s *served) elsewhere(home string) []string {
	return append(environment(), "XDG_CONFIG_HOME="+home, "A2A_SERVER_URL="+s.url)
}

// Every command of docs/admin.md works as it stands, once it has an id and a server.
func TestAdminDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../docs/admin.md")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, os.Getuid(), allRoles)
	home := t.TempDir()
	arguments, key := filepath.Join(home, "arguments.json"), filepath.Join(home, "prod.key")
	for path, content := range map[string]string{arguments: `{"amount":1,"to":"bob"}`, key: "a2ak_x"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for line := range strings.SplitSeq(string(text), "\n") {
		command, is := strings.CutPrefix(line, "a2a-server ")
		if !is {
			continue
		}
		task, id := s.ask("to=bob amount=5")
		args := words(strings.NewReplacer("ID", id[28:], "TASK", task[28:], "arguments.json", arguments, "prod.key", key, "https://agents.example.com", s.url, "corp-login", "echo").Replace(command))
		name := strings.Join(args[:min(2, len(args))], " ")
		seen[name], seen[args[0]] = true, true
		if name == "tasks delete" { // it has to have ended
			if code, _, stderr := s.run(nil, "tasks", "cancel", task, "--anonymous", "--yes"); code != 0 {
				t.Fatal(stderr)
			}
		}
		switch {
		case args[0] == "context", args[0] == "send", args[0] == "chat":
			if code, stdout, stderr := s.remote(home, strings.NewReader(""), args...); code != 0 || stdout == "" && args[0] != "chat" {
				t.Errorf("%s exits with %d: %s%s", line, code, stdout, stderr)
			}
		case args[1] == "watch":
			ctx, end := context.WithCancel(t.Context())
			out := &until{text: task[28:], end: end}
			if code := app.Run(ctx, s.args(append(args, "--anonymous")), environment(), nil, out, &until{text: "waits for approval", end: end}); code > 1 {
				t.Errorf("%s exits with %d", line, code)
			}
			end()
		case slices.Contains([]string{"list", "show", "extend", "wait"}, args[1]):
			want := map[bool]int{true: 5}[args[1] == "wait"]
			says := task[28:]
			if slices.Contains(args, "--mine") {
				says = ""
			}
			s.want(want, says, append(args, "--anonymous")...)
		default:
			one := s.openCommand(append(args, "--anonymous")...)
			one.answer("[y/N] ", "y")
			one.ends(0, task)
		}
	}
	for _, command := range []string{
		"approvals list", "approvals show", "approvals approve", "approvals edit", "approvals reject", "approvals watch", "approvals wait", "approvals extend",
		"tasks list", "tasks show", "tasks watch", "tasks cancel", "tasks delete", "calls cancel", "send", "chat", "context set", "context use", "context list", "context show",
	} {
		if !seen[command] {
			t.Errorf("the document has no example of %s", command)
		}
	}
}

// From another machine, an approver is who the key of a context says, decides in a script what
// they have seen, and learns what others have decided.
func TestRemote(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	keys, alice := filepath.Join(home, "keys.yaml"), filepath.Join(home, "alice.key")
	var key, problems bytes.Buffer
	if code := app.Run(t.Context(), []string{"keys", "add", "alice", "--role", "requester", "--role", "approver", "--tenant", "acme", "--file", keys}, environment(), nil, &key, &problems); code != 0 {
		t.Fatal(problems.String())
	}
	if err := os.WriteFile(alice, key.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	stranger := filepath.Join(home, "stranger.key")
	if err := os.WriteFile(stranger, []byte("a2ak_x"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := withFile(t, "listen: 127.0.0.1:0\nauth: {tenant: acme, keys: {file: "+keys+"}}\nlimits: {grace: 1s}\n")
	s := serveConfig(t, c)
	run := func(want int, says string, args ...string) string {
		t.Helper()
		code, stdout, stderr := s.remote(home, nil, args...)
		if code != want || !strings.Contains(stdout+stderr, says) {
			t.Errorf("%v exits with %d, want %d and %q: %s%s", args, code, want, says, stdout, stderr)
		}
		return stdout
	}
	run(1, "wants to know the caller: set A2A_SERVER_TOKEN", "approvals", "list")
	run(2, "either url or socket", "context", "set", "x")
	run(2, "one of token_file, key_file and token_command", "context", "set", "x", "--url", s.url, "--key-file", alice, "--token-file", alice)
	run(0, "prod was set", "context", "set", "prod", "--url", s.url, "--key-file", alice)
	run(2, "did you mean prod?", "context", "use", "prd")
	run(0, "key in "+alice, "context", "list")
	run(0, "key:alice in acme", "context", "show", "--context", "prod")
	run(3, "no terminal to ask on", "send", "/transfer_money to=bob amount=5", "--context", "prod")
	var list struct{ Items []client.Approval }
	if err := json.Unmarshal([]byte(run(0, "key:alice", "approvals", "list", "--context", "prod", "-o", "json")), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("listed are %+v, %v", list, err)
	}
	a := list.Items[0]
	end := a.ID[28:]
	run(2, "--yes needs --digest", "approvals", "approve", end, "--yes", "--context", "prod")
	run(2, "name the server in one way", "context", "show", "--context", "prod", "--url", s.url)
	run(5, "still waits", "approvals", "wait", end, "--timeout", "10ms", "--context", "prod")
	run(0, "the deadline of "+a.ID+" is ", "approvals", "extend", end, "--by", "1h", "--context", "prod")
	run(0, a.ID+" was rejected by key:alice", "approvals", "reject", end, "--reason", "no", "--yes", "--digest", a.Digest, "--context", "prod")
	run(0, "had been rejected by key:alice in acme already", "approvals", "reject", end, "--yes", "--digest", a.Digest, "--context", "prod")
	run(6, "was already rejected by key:alice in acme ", "approvals", "approve", end, "--yes", "--digest", a.Digest, "--context", "prod")
	run(10, "was rejected by key:alice in acme: no", "approvals", "wait", end, "--context", "prod")
	run(0, "other was set", "context", "set", "other", "--url", s.url, "--key-file", stranger)
	run(1, "does not accept your credential", "approvals", "list", "--context", "other")
	run(0, "other was removed", "context", "set", "other", "--remove")
	run(0, "prod was removed", "context", "set", "prod", "--remove")
	run(0, "there are no contexts", "context", "list")
}

// Whoever talks to an agent is asked when its task waits, and continues where they were.
func TestChat(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), allRoles)
	open := func(args ...string) *session {
		t.Helper()
		person, program := openTerminal(t)
		return begin(t, person, program, nil, s.elsewhere(t.TempDir()), args...)
	}
	one := open("chat")
	one.answer("> ", "/echo text=hello")
	one.answer("> ", "/transfer_money to=bob amount=5")
	one.answer("Approve? [y/n/edit/reason] ", "") // a rejection ends the task, so it takes a word
	one.expect("Write one of the words in brackets.\n")
	one.answer("Approve? [y/n/edit/reason] ", "edit")
	one.answer(approvals.EditPrompt+" ", `{"amount":"much"}`)
	one.expect("do not fit the tool")
	one.answer("Approve? [y/n/edit/reason] ", "edit")
	one.answer(approvals.EditPrompt+" ", "amount=1")
	one.answer("> ", "/transfer_money to=eve amount=5")
	one.answer("Approve? [y/n/edit/reason] ", "reason")
	one.answer("Why not? ", "too much")
	one.expect("was canceled: transfer_money (c1.1) was rejected: too much")
	one.answer("> ", "\x04")
	if code, stdout := one.end(); code != 0 || !strings.HasPrefix(stdout, "hello\n") || !strings.Contains(stdout, `"transferred":1`) {
		t.Errorf("chat exits with %d and prints %q\n%s", code, stdout, one.shown())
	}
	task, _ := s.ask("to=carl amount=2")
	back := open("chat", "--task", task[28:])
	back.answer("Approve? [y/n/edit/reason] ", "y")
	back.answer("> ", "\x04")
	back.ends(0, `"to":"carl"`)
	person, program := openTerminal(t)
	left := begin(t, person, program, program, s.elsewhere(t.TempDir()), "send", "/stream chunks=3 interval=1h")
	left.expect("every event")
	left.cancel()
	left.ends(5, "")
	left.expect(" continues; 'a2a-server chat --task ")
	if code, stdout, stderr := s.remote(t.TempDir(), strings.NewReader("/echo text=a\n\n/echo text=b\n"), "chat"); code != 0 || stdout != "a\nb\n" {
		t.Errorf("without a terminal it exits with %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := s.remote(t.TempDir(), nil, "tasks", "watch", task); code != 0 || !strings.Contains(stdout, `"to":"carl"`) {
		t.Errorf("tasks watch exits with %d: %s%s", code, stdout, stderr)
	}
	if code, _, stderr := s.remote(t.TempDir(), nil, "send", "/transfer_money to=bob", "--socket", "x"); code != 2 || !strings.Contains(stderr, "--url") {
		t.Errorf("send to a socket exits with %d: %s", code, stderr)
	}
}

// A message that makes no task runs nothing: send says so, and which tool was meant.
func TestSendWithoutATask(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), allRoles)
	for text, says := range map[string]string{
		"/transfr_money to=bob": `unknown tool "transfr_money"; did you mean transfer_money?`, "/help": "Tools that you may call:",
		"pay bob": "No language model reads plain words here.",
	} {
		code, stdout, stderr := s.remote(t.TempDir(), nil, "send", text, "--url", s.url)
		if slash := "key=value:\na2a-server send '/echo …' --url " + s.url + "\n"; strings.Contains(stderr, slash) != (text[0] != '/') {
			t.Errorf("send %q says %s", text, stderr)
		}
		if code != 8 || !strings.Contains(stdout, says) || strings.Contains(stdout, `{"tools":`) || !strings.Contains(stderr, "no tool ran") {
			t.Errorf("send %q exits with %d and says %s\n%s", text, code, stderr, stdout)
		}
	}
}

// Hints are for the server that the command line named, and a server that is not there is told in words.
func TestHintsNameTheServer(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), allRoles)
	_, id := s.ask("to=bob amount=5")
	for url, want := range map[string]string{
		s.url:                 "there is no approval whose id ends with \"zzzz\": 'a2a-server approvals list --url " + s.url + "' has them",
		"http://127.0.0.1:1":  "the server at http://127.0.0.1:1 cannot be reached: nothing listens there\nStart it with 'a2a-server serve', or name another server with --url",
		"http://[::1%25x]:1/": "cannot be reached: ",
	} {
		if code, _, stderr := s.remote(t.TempDir(), nil, "approvals", "show", "zzzz", "--url", url); code != 1 || !strings.Contains(stderr, want) || strings.Contains(stderr, "dial") {
			t.Errorf("at %s show exits with %d: %s\nwant %s", url, code, stderr, want)
		}
	}
	if code, _, stderr := s.remote(t.TempDir(), nil, "approvals", "watch", "--url", "http://127.0.0.1:1"); code != 1 || !strings.Contains(stderr, "the server at http://127.0.0.1:1 cannot be reached") {
		t.Errorf("watch exits with %d: %s", code, stderr)
	}
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "{}", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "{}")
	}))
	defer away.Close()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	again := &until{text: "; trying again\n", end: end}
	if code := app.Run(ctx, []string{"approvals", "watch", "--url", away.URL}, s.elsewhere(t.TempDir()), nil, io.Discard, again); code != 0 || !strings.HasPrefix(again.all.String(), away.URL+": ") {
		t.Errorf("watch of a server that is away exits with %d: %s", code, again.all.String())
	}
	conf := filepath.Join(t.TempDir(), "a2a-server.yaml")
	if err := os.WriteFile(conf, []byte("listen: 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := s.remote(t.TempDir(), nil, "approvals", "list", "--config", conf, "--data", "d", "--anonymous")
	if want := "no server listens on http://127.0.0.1:1: start it with 'a2a-server serve --config " + conf + " --data d'. "; code != 1 || !strings.Contains(stderr, want) {
		t.Errorf("list exits with %d: %s", code, stderr)
	}
	code, _, stderr = s.remote(t.TempDir(), nil, "send", "/transfer_money to=bob amount=5", "--url", s.url)
	if command := " --url " + s.url + "\n"; code != 3 || !strings.Contains(stderr, "a2a-server approvals approve ") || !strings.Contains(stderr, command) {
		t.Errorf("send exits with %d: %s", code, stderr)
	}
	if code, _, stderr := s.remote(t.TempDir(), nil, "approvals", "approve", id, "--yes", "--socket", "it's"); code != 2 || !strings.Contains(stderr, "a2a-server approvals show "+id+` --socket 'it'\''s'`) {
		t.Errorf("approve exits with %d: %s", code, stderr)
	}
}

// Before a credential goes over a network without TLS, there is a warning.
func TestUnencrypted(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	for _, tc := range []struct {
		url, token string
		warned     bool
	}{
		{"http://a2a.example", "secret", true}, {"http://192.0.2.1:8080/agent", "secret", true}, {"http://0.0.0.0:8080", "secret", true},
		{"https://a2a.example", "secret", false}, {"http://a2a.example", "", false},
		{"http://localhost:8080", "secret", false}, {"http://127.0.0.2", "secret", false}, {"http://[::1]:80", "secret", false},
	} {
		var stderr bytes.Buffer
		env := []string{"A2A_SERVER_URL=" + tc.url, "A2A_SERVER_TOKEN=" + tc.token}
		if code := app.Run(ended, []string{"approvals", "list"}, env, nil, &bytes.Buffer{}, &stderr); code != 1 {
			t.Errorf("%s: it exits with %d", tc.url, code)
		}
		want := 0
		if tc.warned {
			want = 1
		}
		if n := strings.Count(stderr.String(), "unencrypted"); n != want || strings.Contains(stderr.String(), "secret") {
			t.Errorf("%s with the token %q: %s", tc.url, tc.token, stderr.String())
		}
	}
}

// An approve lets later calls start, until the grant is revoked.
func TestGrantsOfTheCommandLine(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	c := withFile(t, "listen: 127.0.0.1:0\ngates:\n  - {tool: echo, grants: {scopes: [time], max: 8h, uses: 50}}\n  - {tool: transfer_money, grants: {scopes: [time]}} # it is destructive\nlimits: {grace: 1s}\n")
	s := serveConfig(t, c)
	run := func(want int, says string, args ...string) string {
		t.Helper()
		code, stdout, stderr := s.remote(home, nil, append(args, "--url", s.url)...)
		if code != want || !strings.Contains(stdout+stderr, says) {
			t.Errorf("%v exits with %d, want %d and %q: %s%s", args, code, want, says, stdout, stderr)
		}
		return stdout
	}
	run(3, "no terminal to ask on", "send", "/echo text=hi")
	var list struct{ Items []client.Approval }
	if err := json.Unmarshal([]byte(run(0, "hi", "approvals", "list", "-o", "json")), &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("listed are %+v, %v", list, err)
	}
	a := list.Items[0]
	run(0, "may grant", "approvals", "show", a.ID)
	run(2, "--uses needs --grant", "approvals", "approve", a.ID, "--yes", "--digest", a.Digest, "--uses", "3")
	run(2, "ask_once, task, context, or a time", "approvals", "approve", a.ID, "--yes", "--digest", a.Digest, "--grant", "forever")
	run(1, "not among the scopes", "approvals", "approve", a.ID, "--yes", "--digest", a.Digest, "--grant", "context")
	run(0, "was approved", "approvals", "approve", a.ID, "--yes", "--digest", a.Digest, "--grant", "1h", "--uses", "3")
	run(0, "", "send", "/echo text=hi")
	run(3, "no terminal to ask on", "send", "/echo text=ho")
	run(3, "no terminal to ask on", "send", "/transfer_money to=bob amount=5")
	var asked struct{ Items []client.Approval }
	if err := json.Unmarshal([]byte(run(0, "bob", "approvals", "list", "--tool", "transfer_money", "-o", "json")), &asked); err != nil || len(asked.Items) != 1 {
		t.Fatalf("listed are %+v, %v", asked, err)
	}
	run(1, "allows no grants", "approvals", "approve", asked.Items[0].ID, "--yes", "--digest", asked.Items[0].Digest, "--grant", "1h")
	var all struct{ Grants []client.Grant }
	if err := json.Unmarshal([]byte(run(0, `echo with text \"hi\", until`, "approvals", "grants", "list", "-o", "json")), &all); err != nil || len(all.Grants) != 1 || all.Grants[0].Used != 1 {
		t.Fatalf("grants are %+v, %v", all, err)
	}
	run(0, "1 of 3 used", "approvals", "grants", "list")
	run(1, "there is no such grant", "approvals", "grants", "revoke", "another")
	run(2, "or --by", "approvals", "grants", "revoke")
	run(2, "or --by", "approvals", "grants", "revoke", all.Grants[0].ID, "--by", all.Grants[0].By.Subject)
	run(0, "there are no grants by key:nobody", "approvals", "grants", "revoke", "--by", "key:nobody")
	run(0, all.Grants[0].ID+" is revoked", "approvals", "grants", "revoke", "--by", strings.ToUpper(all.Grants[0].By.Subject), "--reason", "enough")
	run(0, "there are no grants", "approvals", "grants", "list")
	run(3, "no terminal to ask on", "send", "/echo text=hi")
	server, err := client.New(client.Config{URL: s.url})
	if err != nil {
		t.Fatal(err)
	}
	page, err := server.Audit(t.Context(), 0, 0)
	var trail []string
	for _, e := range page.Items {
		if e.Grant == all.Grants[0].ID {
			trail = append(trail, e.What+" "+e.Gate+" "+e.Via+" "+e.Reason)
		}
	}
	if got, want := strings.Join(trail, "; "), "resolved echo api ; started echo  ; finished   ; grant_revoked echo api enough"; err != nil || got != want {
		t.Errorf("the audit says %q of the grant, %v; want %q", got, err, want)
	}
}
