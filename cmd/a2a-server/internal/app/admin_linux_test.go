package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/app"
)

// served is a console beside a server that runs, with this process's user on its socket.
type served struct {
	*console
	url  string
	stop func() int // ends the server, and returns its exit code
	log  *talking
	mu   sync.Mutex
	sent int
}

// talking keeps what a server writes, and says when it listens.
type talking struct {
	mu   sync.Mutex
	said bytes.Buffer
	url  chan string
}

func (l *talking) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var line struct{ Message, URL string }
	if json.Unmarshal(p, &line) == nil && line.Message == "listening" {
		l.url <- line.URL
	}
	return l.said.Write(p)
}

// serve starts a server whose only local user is uid, with roles.
func serve(t *testing.T, uid int, roles string) *served {
	t.Helper()
	return serveWith(t, uid, roles, "")
}

// serveWith is serve with more lines in the configuration.
func serveWith(t *testing.T, uid int, roles, more string) *served {
	t.Helper()
	c := withFile(t, fmt.Sprintf("listen: 127.0.0.1:0\nauth: {socket: [{uid: %d, subject: ann, tenant: acme, roles: [%s]}]}\nlimits: {grace: 1s}\n%s", uid, roles, more))
	return serveConfig(t, c)
}

// serveConfig starts a server with the configuration of a console.
func serveConfig(t *testing.T, c *console) *served {
	t.Helper()
	log := &talking{url: make(chan string, 1)}
	s := &served{console: c, log: log}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		ended <- app.Run(ctx, c.args([]string{"serve", "--listen", "127.0.0.1:0"}), environment(), nil, io.Discard, log)
	}()
	s.stop = sync.OnceValue(func() int {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { s.stop() })
	select {
	case s.url = <-log.url:
	case code := <-ended:
		ended <- code
		log.mu.Lock()
		defer log.mu.Unlock()
		t.Fatalf("the server ends with %d: %s", code, log.said.String())
	case <-time.After(time.Minute):
		t.Fatal("the server does not listen")
	}
	return s
}

// ask makes a call that has to be approved, and returns the id of its approval.
func (s *served) ask(arguments string) (task, id string) {
	s.t.Helper()
	return s.askFor("transfer_money", arguments)
}

// askFor is ask for a tool.
func (s *served) askFor(tool, arguments string) (task, id string) {
	s.t.Helper()
	s.mu.Lock()
	s.sent++
	message := fmt.Sprint("m", s.sent)
	s.mu.Unlock()
	text, err := json.Marshal(map[string]any{"message": map[string]any{"messageId": message, "role": "ROLE_USER", "parts": []any{map[string]any{"text": "/" + tool + " " + arguments}}}})
	if err != nil {
		s.t.Fatal(err)
	}
	_, answer := s.send(http.MethodPost, "/message:send", string(text))
	var out struct{ Task struct{ ID string } }
	if err := json.Unmarshal([]byte(answer), &out); err != nil || out.Task.ID == "" {
		s.t.Fatalf("the message is answered with %s: %v", answer, err)
	}
	return out.Task.ID, out.Task.ID + ".a1"
}

// state returns the state and the arguments that run, of an approval.
func (s *served) state(id string) (state, args, reason string) {
	s.t.Helper()
	code, stdout, stderr := s.run(nil, "approvals", "show", id, "--anonymous", "-o", "json")
	var d client.ApprovalDetail
	if err := json.Unmarshal([]byte(stdout), &d); code != 0 || err != nil {
		s.t.Fatalf("show exits with %d: %s%s", code, stdout, stderr)
	}
	r := d.Approval.Resolution
	if r == nil {
		return string(d.Approval.State), "", ""
	}
	var compact bytes.Buffer
	if len(r.Arguments) > 0 {
		if err := json.Compact(&compact, r.Arguments); err != nil {
			s.t.Fatal(err)
		}
	}
	return string(d.Approval.State), compact.String(), r.Reason
}

const allRoles = "approver, operator, admin, viewer"

// The person at the terminal sees what they decide, and decides it.
func TestApprovalsDecide(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), allRoles)
	file := filepath.Join(t.TempDir(), "args.json")
	if err := os.WriteFile(file, []byte("{\n \"amount\": 2,\n \"to\": \"carl\"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const approves, edits, rejects = "Approve this, as socket:ann? [y/N] ", `after "runs with", as socket:ann? [y/N] `, "Reject this, as socket:ann? [y/N] "
	for name, tc := range map[string]struct {
		args    []string
		prompt  string
		answers []string
		code    int
		state   string
		edited  string
		reason  string
		stdout  string
		shows   []string
	}{
		"yes": {args: []string{"approve"}, prompt: approves, answers: []string{"y"}, state: "approved", stdout: `^\S+\.a1 was approved by socket:ann\ntransfer_money answered: \{"ledger":.*"transferred":5\}\n$`, shows: []string{
			"tool        transfer_money", `arguments   {"amount":5,"to":"bob \u202e\u200b"}`, "effects     it is destructive", "gate        tool", "requester   anonymous", "digest      ",
		}},
		"yes, in JSON":           {args: []string{"approve", "-o", "json"}, prompt: approves, answers: []string{"yes"}, state: "approved", stdout: `(?s)^\{\n  "approval": .*"state": "approved"`},
		"no":                     {args: []string{"approve"}, prompt: approves, answers: []string{"n"}, code: 3, state: "pending", shows: []string{"nothing was done"}},
		"an empty line":          {args: []string{"approve"}, prompt: approves, answers: []string{""}, code: 3, state: "pending"},
		"something else":         {args: []string{"approve"}, prompt: approves, answers: []string{"approve", "yes please", "Y"}, state: "approved", stdout: "was approved", shows: []string{"Write y or n"}},
		"the end":                {args: []string{"approve"}, prompt: approves, answers: []string{"\x04"}, code: 3, state: "pending"},
		"edit":                   {args: []string{"edit", "--args", `{"amount":1,"to":"bob"}`}, prompt: edits, answers: []string{"y"}, state: "edited", edited: `{"amount":1,"to":"bob"}`, stdout: "with other arguments by socket:ann", shows: []string{`runs with   {"amount":1,"to":"bob"}`}},
		"edit, from a file":      {args: []string{"edit", "--args-file", file}, prompt: edits, answers: []string{"y"}, state: "edited", edited: `{"amount":2,"to":"carl"}`, stdout: "with other arguments", shows: []string{`runs with   {"amount":2,"to":"carl"}`}},
		"edit, one argument":     {args: []string{"edit", "amount=1"}, prompt: edits, answers: []string{"y"}, state: "edited", edited: `{"amount":1,"to":"bob \u202e\u200b"}`, stdout: "with other arguments", shows: []string{`runs with   {"amount":1,"to":"bob \u202e\u200b"}`}},
		"edit, a misspelled one": {args: []string{"edit", "amuont=1"}, code: 2, state: "pending", shows: []string{`there is no argument "amuont"; did you mean amount?`}},
		"edit, asked for":        {args: []string{"edit"}, prompt: "on one line: ", answers: []string{"amount", "amount=much", "\x04"}, code: 3, state: "pending", shows: []string{"expected key=value", "at /amount: got string", "without an answer"}},
		"edit that lacks some":   {args: []string{"edit", "--args", `{"amount":1}`}, code: 1, state: "pending", shows: []string{"at /to: is missing", "To change some: 'a2a-server approvals edit ", " name=value "}},
		"edit that is not valid": {args: []string{"edit", "--args", `{"amount":"much"}`}, code: 1, state: "pending", shows: []string{"nothing was decided", "at /amount: got string, want number"}},
		"reject":                 {args: []string{"reject", "--reason", "too\x1b[2J much"}, prompt: rejects, answers: []string{"y"}, state: "rejected", reason: "too\x1b[2J much", stdout: "was rejected by socket:ann", shows: []string{`reason      too\u001b[2J much`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, id := s.ask("{\"amount\":5,\"to\":\"bob \u202e\u200b\"}")
			one := s.openCommand(append([]string{"approvals", tc.args[0], id, "--anonymous"}, tc.args[1:]...)...)
			for _, line := range tc.answers {
				one.answer(tc.prompt, line)
			}
			code, stdout := one.end()
			state, edited, reason := s.state(id)
			if code != tc.code || state != tc.state || edited != tc.edited || reason != tc.reason || !regexp.MustCompile(tc.stdout).MatchString(stdout) || tc.stdout == "" && stdout != "" {
				t.Errorf("it exits with %d and prints %q; the approval is %s with %q and the reason %q; want %d, %q, %s, %q, %q\n%s", code, stdout, state, edited, reason, tc.code, tc.stdout, tc.state, tc.edited, tc.reason, one.shown())
			}
			for _, text := range tc.shows {
				one.read = 0
				one.expect(text)
			}
		})
	}
}

// Several approvals are decided one after the other, each with its outcome, and the first code that is not 0 counts.
func TestApprovalsInTurn(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), allRoles)
	var ids []string
	for _, to := range []string{"ann", "bob", "carl", "dora"} {
		_, id := s.ask("amount=5 to=" + to)
		ids = append(ids, id)
	}
	one := s.openCommand("approvals", "reject", ids[0], "wrong", "recipient")
	one.ends(2, "")
	one.expect(`"wrong" is not the id of an approval; a reason is written with --reason: 'a2a-server approvals reject ` + ids[0] + ` --reason 'wrong recipient' `)
	s.want(2, "--digest identifies one approval", "approvals", "reject", ids[0], ids[1], "--yes", "--digest", "x")
	s.want(1, `no approval whose id ends with "dead"`, "approvals", "approve", ids[0], "dead", "--anonymous")
	one = s.openCommand("approvals", "approve", ids[0], ids[1][26:], ids[2], "--anonymous")
	one.answer("as socket:ann? [y/N] ", "y")
	one.expect("\n\napproval    " + ids[1])
	one.answer("as socket:ann? [y/N] ", "n")
	one.expect("nothing was done\n\napproval    " + ids[2])
	one.answer("as socket:ann? [y/N] ", "y")
	one.ends(3, ids[2]+" was approved by socket:ann\ntransfer_money answered")
	one.expect("1 of 3 approvals were not decided")
	one = s.openCommand("approvals", "reject", ids[1], ids[3], "--anonymous")
	one.expect("[y/N] ")
	one.cancel()
	one.ends(3, "")
	one.expect("interrupted, and not asked about: " + ids[3])
	for i, want := range []string{"approved", "pending", "approved", "pending"} {
		if state, _, _ := s.state(ids[i]); state != want {
			t.Errorf("the approval of call %d is %s, want %s", i, state, want)
		}
	}
}

// What a gate masks is in no list and in no line of the log; whoever decides sees it.
func TestApprovalsMasked(t *testing.T) {
	t.Parallel()
	s := serveWith(t, os.Getuid(), allRoles, `log: {level: debug}
notify:
  - {name: ops, kind: slack, url: {env: NO_SUCH_VARIABLE}}
gates:
  - {name: payments, tool: transfer_money, hint: "Pay {amount} to {to}?", risk: low, mask: [/to], notify: [ops]}
  - {name: everything, tool: "*", risk: medium}
`)
	const secret, secret2 = "DE47110815", "DE0815"
	task, id := s.ask("to=" + secret + " amount=5")
	run := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := s.run(nil, append(args, "--anonymous")...)
		if code != 0 {
			t.Fatalf("%q exits with %d: %s", args, code, stderr)
		}
		return stdout
	}
	shown := run("approvals", "show", id)
	for _, want := range []string{`{"amount":5,"to":"` + secret + `"}`, `Pay 5 to "•••"?`, "risk        medium"} {
		if !strings.Contains(shown, want) {
			t.Errorf("show lacks %q:\n%s", want, shown)
		}
	}
	if whole := run("approvals", "show", id, "-o", "json"); !strings.Contains(whole, secret) {
		t.Errorf("show in JSON lacks %q:\n%s", secret, whole)
	}
	lists := func() string {
		return run("approvals", "list") + run("approvals", "list", "-o", "json") + run("approvals", "list", "--task", task) + run("approvals", "list", "--task", task, "-o", "json") + run("tasks", "list")
	}
	if got := lists(); strings.Contains(got, secret) || !strings.Contains(got, `{"amount":5,"to":"•••"}`) || !strings.Contains(got, `"to": "•••"`) {
		t.Errorf("lists have %q, or do not mask it:\n%s", secret, got)
	}
	one := s.openCommand("approvals", "edit", id, "--args", `{"amount":6,"to":"`+secret2+`"}`, "--anonymous")
	one.answer("[y/N] ", "y")
	if code, stdout := one.end(); code != 0 {
		t.Fatalf("edit exits with %d: %s", code, stdout)
	}
	if got := lists(); strings.Contains(got, secret) || strings.Contains(got, secret2) {
		t.Errorf("lists after the edit have %q or %q:\n%s", secret, secret2, got)
	}
	if _, edited, _ := s.state(id); !strings.Contains(edited, secret2) {
		t.Errorf("show has %s after the edit, want %q", edited, secret2)
	}
	s.stop()
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	if got := s.log.said.String(); strings.Contains(got, secret) || strings.Contains(got, secret2) || !strings.Contains(got, id) {
		t.Errorf("the log has %q or %q, or lacks %s:\n%s", secret, secret2, id, got)
	}
}

// What changes or is decided while the person reads, is not decided again.
func TestApprovalsDecidedMeanwhile(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), allRoles)
	_, id := s.ask("to=bob amount=5")
	slow, fast := s.openCommand("approvals", "approve", id, "--anonymous"), s.openCommand("approvals", "reject", id, "--anonymous")
	same := s.openCommand("approvals", "reject", id, "--anonymous")
	const prompt = "as socket:ann? [y/N] "
	slow.expect(prompt)
	same.expect(prompt)
	fast.answer(prompt, "y")
	fast.ends(0, "was rejected by socket:ann")
	for _, one := range []*session{slow, same} {
		if _, err := one.person.WriteString("y\n"); err != nil {
			t.Fatal(err)
		}
	}
	slow.ends(6, "")
	slow.expect("was already rejected by socket:ann in acme ")
	same.end() // the task may have ended with the rejection
	if code, _, stderr := s.run(nil, "approvals", "show", id, "--anonymous"); code != 0 {
		t.Errorf("show exits with %d: %s", code, stderr)
	}
	late := s.openCommand("approvals", "approve", id, "--anonymous")
	late.ends(6, "")
	late.expect("was already rejected")
	canceled, open := s.ask("to=carl amount=5")
	waiting := s.openCommand("approvals", "approve", open, "--anonymous")
	waiting.expect(prompt)
	s.want(0, canceled+" was canceled\n", "tasks", "cancel", canceled, "--anonymous", "--yes")
	if _, err := waiting.person.WriteString("y\n"); err != nil {
		t.Fatal(err)
	}
	waiting.ends(6, "")
}

// An answer that was written before the question is none, and a terminal that is gone
// decides nothing.
func TestApprovalsTypedAhead(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), allRoles)
	_, id := s.ask("to=bob amount=5")
	person, program := openTerminal(t)
	if _, err := person.WriteString("y\ny\ny\n"); err != nil {
		t.Fatal(err)
	}
	early := begin(t, person, program, nil, environment(), s.args([]string{"approvals", "approve", id, "--anonymous"})...)
	early.expect("[y/N] ")
	early.cancel() // as a signal does
	early.ends(3, "")
	early.expect("nothing was done: the command was interrupted")
	if state, _, _ := s.state(id); state != "pending" {
		t.Errorf("the approval is %s", state)
	}
}

// Without a terminal nothing is decided, whatever standard input has.
func TestApprovalsWithoutATerminal(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), allRoles)
	task, id := s.ask("to=bob amount=5")
	yes := filepath.Join(t.TempDir(), "yes")
	if err := os.WriteFile(yes, []byte("y\ny\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(yes)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, stdin := range []io.Reader{nil, strings.NewReader("y\n"), file} {
		for _, command := range [][]string{{"approvals", "approve", id}, {"approvals", "reject", id}, {"approvals", "edit", id, "--args", `{"amount":1,"to":"it's"}`}, {"tasks", "cancel", task}, {"tasks", "delete", task}} {
			code, stdout, stderr := s.run(stdin, append(command, "--anonymous")...)
			if code != 3 || stdout != "" || !strings.Contains(stderr, "no terminal to ask on") {
				t.Errorf("%v exits with %d and prints %q: %s", command, code, stdout, stderr)
			}
		}
	}
	if state, _, _ := s.state(id); state != "pending" {
		t.Errorf("the approval is %s", state)
	}
}

// Without a terminal the approval is shown, with the whole command that decides it as shown.
func TestApprovalsCommandToCopy(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), allRoles)
	_, id := s.ask("to=bob amount=5")
	code, _, stderr := s.run(nil, "approvals", "reject", id[28:], "--anonymous", "--reason", "it's too much")
	facts, command, _ := strings.Cut(stderr, "To decide it as shown:\na2a-server ")
	if code != 3 || !strings.Contains(facts, `arguments   {"amount":5,"to":"bob"}`) {
		t.Errorf("reject exits with %d: %s", code, stderr)
	}
	if want := regexp.MustCompile(`^approvals reject ` + id + ` --yes --digest [0-9a-f]{64} --reason 'it'\\''s too much' --(config|data) \S+ .*--anonymous\n$`); !want.MatchString(command) {
		t.Errorf("reject says\n%s\nwant %v", command, want)
	}
	digest := regexp.MustCompile(`[0-9a-f]{64}`).FindString(command)
	s.want(0, id+" was rejected by socket:ann\n", "approvals", "reject", id, "--anonymous", "--yes", "--digest", digest)
}

// What came of an approved call is told, with an exit code of its own.
func TestApproveTellsTheOutcome(t *testing.T) {
	t.Parallel()
	s := serveWith(t, os.Getuid(), allRoles, `admin: {own_user_decides: true}
tools:
  - {command: fail, description: x, run: [sh, -c, "echo why >&2; exit 3"]}
  - {command: slow, description: x, run: [sleep, "60"]}
`)
	approve := func(tool string, more ...string) []string {
		_, id := s.askFor(tool, "")
		code, stdout, stderr := s.run(nil, "approvals", "show", id, "--anonymous", "-o", "json")
		var d client.ApprovalDetail
		if err := json.Unmarshal([]byte(stdout), &d); err != nil {
			t.Fatalf("show exits with %d: %v: %s", code, err, stderr)
		}
		return append([]string{"approvals", "approve", id, "--anonymous", "--yes", "--digest", d.Approval.Digest}, more...)
	}
	for name, tc := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"failed":          {approve("fail"), 7, `^\S+ was approved by socket:ann\n$`, `^a2a-server: fail has failed: exit code 3: why\n$`},
		"failed, as JSON": {approve("fail", "-o", "json"), 7, `(?s)"run": \{.*"outcome": "error"`, `has failed`},
		"not waited for":  {approve("slow", "--no-wait"), 0, `^\S+ was approved by socket:ann\n$`, `^$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := s.run(nil, tc.args...)
			if code != tc.code || !regexp.MustCompile(tc.stdout).MatchString(stdout) || !regexp.MustCompile(tc.stderr).MatchString(stderr) {
				t.Errorf("approve exits with %d, prints %q and says %q, want %d, %s and %s", code, stdout, stderr, tc.code, tc.stdout, tc.stderr)
			}
		})
	}
	one := s.openCommand(approve("slow")...)
	one.expect("waiting for the call; Ctrl-C leaves it running")
	one.cancel()
	one.ends(5, "was approved by socket:ann\n")
	one.expect("slow has not ended yet: 'a2a-server approvals show ")
}

// Lists and tasks, as text and as JSON.
func TestTasksCommands(t *testing.T) {
	t.Parallel()
	s := serve(t, os.Getuid(), allRoles)
	s.want(0, "nothing waits for approval\n", "approvals", "list", "--anonymous")
	first, id := s.ask("to=bob amount=5")
	second, _ := s.ask("to=carl amount=6")
	for command, want := range map[string]struct {
		code  int
		lines []string // of stdout, or of stderr if the code is not 0
	}{
		"approvals list --anonymous":                                  {0, []string{`(?m)^ID +TOOL +RISK +REQUESTER +REQUESTED +DEADLINE +GATE +ARGUMENTS$`, `(?m)^` + id[28:] + ` +transfer_money +high +anonymous +(now|\d+ s ago) +in 7 days +tool +\{"amount":5,"to":"bob"\}$`}},
		"approvals list --anonymous --task " + first:                  {0, []string{`(?m)^ID +STATE +TOOL`, `(?m)^` + id[28:] + ` +pending +transfer_money`}},
		"approvals list --anonymous --limit 1 -o json":                {0, []string{`"more": true`, `"id": "` + id + `"`}},
		"approvals list":                                              {0, []string{`^nothing waits for approval\n$`}}, // of the tenant
		"approvals list --limit 0":                                    {2, []string{`--limit is 0`}},
		"tasks list --anonymous":                                      {0, []string{`(?m)^ID +STATE +SINCE +OWNER +PENDING +BYTES$`, `(?m)^` + second[28:] + ` +input-required +(now|\d+ s ago) +anonymous +1 +\d+$`}},
		"tasks list --anonymous --state input-required -o json":       {0, []string{`"state": "TASK_STATE_INPUT_REQUIRED"`, `"owner": "anonymous"`, `"pending": 1`}},
		"tasks list --anonymous --state TASK_STATE_COMPLETED":         {0, []string{`^there are no such tasks\n$`}},
		"tasks list --anonymous --state lost":                         {1, []string{`TASK_STATE_LOST`}},
		"tasks show --anonymous " + first:                             {0, []string{`(?m)^owner +anonymous$`, `(?m)^state +input-required since `, `approvals list --task ` + first[28:], `(?m)^call +c1\.1 transfer_money, asked$`}},
		"tasks show --anonymous -o json " + first:                     {0, []string{`"task"`, `"history"`, `"calls"`}},
		"tasks show --anonymous " + first[28:]:                        {0, []string{`(?m)^task +` + first + `$`}},
		"approvals show --anonymous " + first[26:]:                    {0, []string{`(?m)^approval +` + id + `$`}},
		"approvals show --anonymous " + id[30:]:                       {0, []string{`(?m)^approval +` + id + `$`}},
		"approvals show --anonymous .a1":                              {2, []string{`too short`}},
		"approvals show --anonymous 0000000.a1":                       {1, []string{`no approval whose id ends with "0000000.a1"`}},
		"approvals approve --yes " + id:                               {2, []string{`--yes needs --digest`}},
		"approvals approve --anonymous --yes --digest x " + id:        {1, []string{`the digest is not that of the approval, which is [0-9a-f]{64}`}},
		"approvals list --url x":                                      {2, []string{`name the server in one way`}},
		"tasks show " + first:                                         {1, []string{`there is no such task`}},
		"tasks show --anonymous 0194f0c0-0000-7000-8000-000000000000": {1, []string{`there is no such task`}},
		"tasks show --anonymous ../approvals":                         {2, []string{`is not the id of one task`}},
		"tasks delete --anonymous --yes " + first:                     {1, []string{`cancel it first`}},
		"approvals show --anonymous " + first + ".a9":                 {1, []string{`there is no such approval`}},
		"approvals show":                                              {2, []string{`approvals show takes the id of one approval; 'a2a-server approvals list --config \S+ --data \S+' has them\nTry 'a2a-server help approvals show'`}},
		"approvals edit --anonymous " + id:                            {2, []string{`--args or --args-file`}},
		"approvals edit --args [] " + id:                              {2, []string{`not a JSON object`}},
		"approvals edit --args {} --args-file x " + id:                {2, []string{`--args or --args-file`}},
		"approvals edit --args-file /nowhere " + id:                   {1, []string{`/nowhere`}},
		"approvals reject --reason \xff " + id:                        {2, []string{`not valid UTF-8`}},
		"approvals delete " + id:                                      {2, []string{`approvals delete`}},
		"tasks x":                                                     {2, []string{`there is no command 'tasks x'`}},
		"help approvals approve":                                      {0, []string{`(?m)^Usage: a2a-server approvals approve ID\.\.\. \[flags\]\nExample: a2a-server approvals approve ID$`, `(?m)^   7  the approved call has failed$`, `asks on the terminal`}},
	} {
		var out, problems bytes.Buffer
		args := strings.Fields(command)
		if args[0] != "help" {
			args = s.args(args)
		}
		code := app.Run(t.Context(), args, environment(), nil, &out, &problems)
		text := out.String()
		if code != 0 {
			text = problems.String()
		}
		if code != want.code || code != 0 && out.Len() > 0 {
			t.Errorf("%s exits with %d, want %d, and prints %s%s", command, code, want.code, out.String(), problems.String())
		}
		for _, line := range want.lines {
			if !regexp.MustCompile(line).MatchString(text) {
				t.Errorf("%s prints no %q:\n%s", command, line, text)
			}
		}
	}
	third, rejected := s.ask("to=eve amount=7")
	decided := s.openCommand("approvals", "reject", rejected, "--reason", "too much", "--anonymous")
	decided.answer("[y/N] ", "y")
	if code, stdout := decided.end(); code != 0 {
		t.Errorf("reject exits with %d: %s", code, stdout)
	}
	if code, stdout, stderr := s.run(nil, "tasks", "show", third, "--anonymous"); code != 0 || !regexp.MustCompile(`decided +(\| )?`+third[28:]+`\.a1 of transfer_money was rejected by socket:ann in acme `).MatchString(stdout) || !strings.Contains(stdout, " transfer_money, 1 part\n") {
		t.Errorf("whoever asked does not learn who decided: %d, %s%s", code, stdout, stderr)
	}
	one := s.openCommand("tasks", "cancel", first, "--anonymous")
	one.answer("Cancel this task, as socket:ann? [y/N] ", "y")
	one.ends(0, first+" was canceled\n")
	one = s.openCommand("tasks", "delete", first, "--anonymous")
	one.answer("[y/N] ", "n")
	one.ends(3, "")
	s.want(0, first+" was deleted\n", "tasks", "delete", first, "--anonymous", "--yes")
	s.want(1, "no such task", "tasks", "show", first, "--anonymous")
}

// Who is not mapped, or has no role, learns what to do; and so does everybody when the
// server does not run.
func TestAdminRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		uid   int
		roles string
		want  string
	}{
		"not mapped": {54321, "approver", fmt.Sprintf("the user with the uid %d is not in auth.socket", os.Getuid())},
		"no role":    {os.Getuid(), "sre", "the credential lacks a role for this"},
	} {
		door := ""
		if tc.uid != os.Getuid() {
			group := os.Getgid()
			if group == 0 {
				group = 54321 // root may give a file to every group
			}
			door = fmt.Sprintf("admin: {mode: '0660', group: '%d', socket: %s}\n", group, filepath.Join(t.TempDir(), "s"))
		}
		s := serveWith(t, tc.uid, tc.roles, door)
		_, id := s.ask("to=bob amount=5")
		for _, command := range [][]string{{"approvals", "list"}, {"approvals", "show", id}, {"tasks", "list"}, {"tasks", "cancel", strings.TrimSuffix(id, ".a1"), "--yes"}} {
			s.want(1, tc.want, command...)
		}
		one := s.openCommand("approvals", "approve", id)
		one.ends(1, "")
		one.expect(tc.want)
		if code := s.stop(); code != 0 {
			t.Errorf("the server ends with %d", code)
		}
		if code, _, stderr := s.run(nil, "approvals", "list"); code != 1 || !strings.Contains(stderr, "there is no socket") || !strings.Contains(stderr, "--data") {
			t.Errorf("%s: without a server: %d, %s", name, code, stderr)
		}
	}
}

// words splits a command line at its spaces, apart from those in quotes.
func words(line string) (all []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}
