package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/internal/testserver"
)

// configured returns the configuration of a test whose tools are those of a file.
func configured(t *testing.T, text string) (c testserver.Config, file string) {
	t.Helper()
	c = load(t, nil)
	c.DefaultTools, c.Tools = c.Tools, nil
	c.File = filepath.Join(t.TempDir(), "a2a-server.yaml")
	c.Environment = []string{"PATH=" + os.Getenv("PATH"), "TOKEN=S3-cret", "OTHER=leak"}
	rewrite(t, c.File, text)
	return c, c.File
}

// skills returns the names of the skills of the card.
func (in *instance) skills(t *testing.T) string {
	t.Helper()
	names, _, _ := in.card(t, "")
	return strings.Join(names, " ")
}

// everything returns the whole task and its events as the server sends them.
func (in *instance) everything(t *testing.T, id string) string {
	t.Helper()
	var all json.RawMessage
	in.rpc(t, "GetTask", map[string]any{"id": id}, &all)
	return string(all)
}

// Without the key tools there are the default ones, and the log says so; with it, only what
// it lists.
func TestWhichTools(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                     "echo stream transfer_money",
		"tools: []\n":                          "tasks",
		"tools:\n":                             "tasks",
		"tools: [{builtin: demo}]\n":           "echo stream transfer_money",
		"tools: [{builtin: ask_user}]\n":       "ask_user",
		"tools: [{builtin: request_approval}]": "request_approval",
		"tools: [{command: hello, description: x, run: [echo, hello]}, {builtin: demo}]": "hello echo stream transfer_money",
	} {
		c, _ := configured(t, text)
		in := start(t, c)
		if got := in.skills(t); got != want {
			t.Errorf("with %q the skills are %q, want %q", text, got, want)
		}
		says := len(in.log.find("the configuration has no key tools, so the tools to try the server by are there: add tools: to choose your own"))
		if (says == 1) != (text == "") {
			t.Errorf("with %q the log says %d times that the default tools are there", text, says)
		}
	}
	c, _ := configured(t, "")
	c.DefaultTools = nil
	if got := start(t, c).skills(t); got != "tasks" {
		t.Errorf("a program without tools of its own has %q", got)
	}
}

// A command of the file asks, runs once it is approved, and gets its secret in the
// environment and nowhere else.
func TestCommandOfTheFile(t *testing.T) {
	t.Parallel()
	c, file := configured(t, `secrets: {token: {env: TOKEN}, file: {file: secret}}
tools:
  - command: show
    description: Shows what it gets.
    run: [sh, -c, 'echo "$1 ${#A} ${#B} ${OTHER:-none} $C"; pwd', --, "{word}"]
    args: {word: {type: string, maxLength: 10}}
    env: {A: {secret: token}, B: {secret: file}, C: plain}
`)
	rewrite(t, filepath.Join(filepath.Dir(file), "secret"), "1234\n")
	in := start(t, c)
	sent := in.send(t, "m1", `/show {"word": "hi"}`)
	if sent.Status.State != "TASK_STATE_INPUT_REQUIRED" {
		t.Fatalf("the call does not ask: %+v", sent)
	}
	in.approve(t, "m2", sent.ID, sent.ID+".a1")
	all := in.everything(t, sent.ID)
	for _, want := range []string{"hi 7 4 none plain\\n", filepath.Dir(file) + "\\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("the result has no %q: %s", want, all)
		}
	}
	log, err := json.Marshal(in.log.all())
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"the task": all, "the log": string(log)} {
		if strings.Contains(text, "S3-cret") {
			t.Errorf("%s has the secret: %s", what, text)
		}
	}
}

// An HTTP request of the file carries its secret in the header; without the secret nothing is
// sent, and the caller learns neither what it is nor where.
func TestRequestOfTheFile(t *testing.T) {
	t.Parallel()
	var got http.Header
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"key": ` + string(body) + `}`))
	}))
	t.Cleanup(remote.Close)
	c, file := configured(t, `secrets: {token: {file: secret}}
tools:
  - http: create
    description: Creates.
    request: POST `+remote.URL+`/issue/{project}
    header: {Authorization: "Bearer {secret:token}"}
    body: {n: 1, title: "{title}"}
    args: {project: {type: string}, title: {type: string}}
    optional: [title]
    result: /key
    networks: [127.0.0.1]
    approve: false
  - http: read
    description: Reads.
    request: GET `+remote.URL+`/
`)
	in := start(t, c)
	secret := filepath.Join(filepath.Dir(file), "secret")
	failed := in.everything(t, in.send(t, "m1", `/create {"project": "a"}`).ID)
	if !strings.Contains(failed, "the secret token cannot be read") || strings.Contains(failed, secret) || got != nil {
		t.Errorf("without the secret: %s, and what was sent has %v", failed, got)
	}
	if lines := in.log.find("a secret cannot be read"); len(lines) == 0 || !strings.Contains(fmt.Sprint(lines[0]["error"]), secret) {
		t.Errorf("the log does not say why: %v", lines)
	}
	rewrite(t, secret, "S3-cret\n")
	if all := in.everything(t, in.send(t, "m2", `/create {"project": "a"}`).ID); !strings.Contains(all, `"n":1`) || strings.Contains(all, "title") || strings.Contains(all, "S3-cret") {
		t.Errorf("the result: %s", all)
	}
	if got.Get("Authorization") != "Bearer S3-cret" {
		t.Errorf("the header is %q", got.Get("Authorization"))
	}
	if err := os.Chmod(secret, 0o644); err != nil {
		t.Fatal(err)
	}
	if all := in.everything(t, in.send(t, "m3", `/create {"project": "a"}`).ID); !strings.Contains(all, "the secret token cannot be read") {
		t.Errorf("a secret that everybody can read was used: %s", all)
	}
	if all := in.everything(t, in.send(t, "m4", `/read {}`).ID); !strings.Contains(all, "address refused") {
		t.Errorf("an address that is not listed was reached: %s", all)
	}
}

// byHeader authenticates everybody as who their header says.
type byHeader struct{}

func (byHeader) Authenticate(_ context.Context, r *auth.Credentials) (auth.Principal, error) {
	return auth.Principal{Subject: strings.Join(r.Header("Authorization"), ","), Roles: []string{auth.RoleRequester}, Method: "test"}, nil
}

// What wants to know who calls is refused while nobody is known.
func TestForWithoutAuthentication(t *testing.T) {
	t.Parallel()
	c, _ := configured(t, "tools: [{builtin: demo, for: {roles: [ops]}}]\n")
	for _, noListen := range []bool{false, true} {
		c.NoListen = noListen
		if err := testserver.Check(c); err == nil || !strings.Contains(err.Error(), "tools[0].for: ") {
			t.Errorf("Check() = %v", err)
		}
	}
}

// TestApprove shows what decides whether a call asks.
func TestApprove(t *testing.T) {
	t.Parallel()
	const entry = `command: run, description: x, run: ["true"]`
	for name, tt := range map[string]struct {
		text string
		tool string
		asks bool
		says string // in the log
	}{
		"the default of a command":                {"tools: [{" + entry + "}]", "run", true, ""},
		"approve: false":                          {"tools: [{" + entry + ", approve: false}]", "run", false, ""},
		"approve: true":                           {"tools: [{" + entry + ", approve: true}]", "run", true, ""},
		"the default taken back":                  {"no_approve_tools: [run]\ntools: [{" + entry + "}]", "run", false, ""},
		"taken back by a pattern":                 {"no_approve_tools: [\"r*\"]\ntools: [{" + entry + "}]", "run", false, ""},
		"another one taken back":                  {"no_approve_tools: [\"x*\"]\ntools: [{" + entry + "}]", "run", true, `no tool matches "x*"`},
		"approve: true is not taken back":         {"no_approve_tools: [run]\ntools: [{" + entry + ", approve: true}]", "run", true, "no_approve_tools: calls of run still have to be approved, because of approve at "},
		"a gate is not taken back":                {"no_approve_tools: [run]\ntools: [{" + entry + "}]\ngates: [{tool: run}]", "run", true, "because of gate gate:run ("},
		"a tool in Go is not taken back":          {"no_approve_tools: [transfer_money]\ntools: [{builtin: demo}]", "transfer_money", true, "because the tool itself declares it"},
		"approve_tools":                           {"approve_tools: [ru*]\ntools: [{" + entry + ", approve: false}]", "run", true, ""},
		"approve_tools wins":                      {"approve_tools: [run]\nno_approve_tools: [\"*\"]\ntools: [{" + entry + "}]", "run", true, ""},
		"a gate that allows":                      {"tools: [{" + entry + ", approve: true}]\ngates: [{tool: run, action: allow}]", "run", false, ""},
		"approve_tools over it":                   {"approve_tools: [run]\ntools: [{" + entry + "}]\ngates: [{tool: run, action: allow}]", "run", true, ""},
		"gates ignored":                           {"declared_gates: ignore\ntools: [{" + entry + "}]", "run", false, ""},
		"gates ignored, and approve: true":        {"declared_gates: ignore\ntools: [{" + entry + ", approve: true}]", "run", true, ""},
		"gates ignored, and approve_tools":        {"declared_gates: ignore\napprove_tools: [run]\ntools: [{" + entry + "}]", "run", true, ""},
		"gates ignored, taken back where it asks": {"declared_gates: ignore\nno_approve_tools: [run]\ntools: [{" + entry + ", approve: true}]", "run", true, "still have to be approved"},
		"approve_tools of a tool in Go":           {"approve_tools: [echo]\ntools: [{builtin: demo}]", "echo", true, ""},
		"approve_tools of the default tool":       {"approve_tools: [echo]\n", "echo", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := configured(t, tt.text+"\n")
			in := start(t, c)
			args := map[string]string{"run": `{}`, "echo": `{"text": "x"}`, "transfer_money": `{"to": "a", "amount": 1}`}[tt.tool]
			sent := in.send(t, "m1", "/"+tt.tool+" "+args)
			if asks := sent.Status.State == "TASK_STATE_INPUT_REQUIRED"; asks != tt.asks {
				t.Errorf("the task is %s, want that it asks: %v: %s", sent.Status.State, tt.asks, in.everything(t, sent.ID))
			}
			if said := in.log.saying("no_approve_tools: "); (len(said) > 0) != (tt.says != "") || len(said) != len(in.log.saying(tt.says)) && tt.says != "" {
				t.Errorf("the log says %v, want %q", said, tt.says)
			}
		})
	}
}

// What is wrong with an entry is said with its place, all at once, and nothing is opened.
func TestToolsOfTheFileThatAreWrong(t *testing.T) {
	t.Parallel()
	c, file := configured(t, `tools:
  - command: deploy
    description: x
    run: [deploy, "{who}"]
  - http: fetch
    description: x
    request: GET ftp://x/{y}
  - command: typed
    description: x
    run: [x, --, "{a}"]
    args: {a: {type: date}}
`)
	err := testserver.Check(c)
	if err == nil {
		t.Fatal("Check() = nil")
	}
	for _, want := range []string{
		file + ":4:10: tools[0].run: ", file + ":7:14: tools[1].request: ", file + ":11:11: tools[2].args: a: ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Check() = %v, want %q in it", err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(c.Set["data"], "tasks.db")); err == nil {
		t.Error("the store was opened")
	}
	c, _ = configured(t, "no_approve_tools: [rnu]\ntools: [{command: run, description: x, run: [x]}]\n")
	if err := testserver.Check(c); err == nil || !strings.Contains(err.Error(), `there is no tool "rnu"; did you mean run?`) {
		t.Errorf("Check() = %v", err)
	}
}

// A reload takes over tools, secrets and gates, at once and together; what waits for a
// decision about a tool that has changed is asked again.
func TestReload(t *testing.T) {
	t.Parallel()
	const one = `tools:
  - {command: run, description: x, run: [echo, first]}
  - {command: gone, description: x, run: ["true"]}
`
	c, file := configured(t, one)
	in := start(t, c)
	if got := in.skills(t); got != "run gone" {
		t.Fatalf("skills: %s", got)
	}
	_, _, h := in.card(t, "")
	waits := in.send(t, "m1", "/run {}")
	same := in.send(t, "m2", "/gone {}")

	// What is wrong changes nothing.
	for _, wrong := range []string{"tools: [", "tools: [{command: run}]", one + "gates: [{tool: rum}]\n", "tools: [{command: run, description: x, run: [\"{x}\"]}]"} {
		rewrite(t, file, wrong)
		if err := in.server.Reload(); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("Reload() of %q = %v, want an error with its place", wrong, err)
		}
	}
	if got := in.skills(t); got != "run gone" {
		t.Errorf("after a failed reload the skills are %s", got)
	}

	rewrite(t, file, `tools:
  - {command: run, description: x, run: [echo, second]}
  - {command: gone, description: x, run: ["true"]}
  - {command: new, description: x, run: [echo, third], approve: false}
gates: [{tool: new, hint: Really?}]
limits: {queue: 3}
`)
	in.reload(t)
	if got := in.skills(t); got != "run gone new" {
		t.Errorf("after the reload the skills are %s", got)
	}
	if _, status, _ := in.card(t, h.Get("ETag")); status != http.StatusOK {
		t.Errorf("a client that has the old card gets %d", status)
	}
	if lines := in.log.find("these keys have changed, too: they take effect when the server is restarted"); len(lines) != 1 || lines[0]["keys"] != "limits.queue" {
		t.Errorf("the log about other keys: %v", lines)
	}
	if sent := in.send(t, "m3", "/new {}"); sent.Status.State != "TASK_STATE_INPUT_REQUIRED" {
		t.Errorf("the new gate does not ask: %+v", sent)
	}

	// The decision on the old definition starts nothing: the new one is asked about.
	_, answer := in.sendAs(t, approve("m4", waits.ID, waits.ID+".a1"))
	if all := in.everything(t, waits.ID); !strings.Contains(answer, "APPROVAL_CHANGED") || strings.Contains(all, "artifacts") || !strings.Contains(all, ".a2") {
		t.Errorf("the old decision: %s, and the task is %s", answer, all)
	}
	if got := in.approve(t, "m5", waits.ID, waits.ID+".a2"); got.Status.State != "TASK_STATE_COMPLETED" || len(got.Artifacts) != 1 || got.Artifacts[0].Parts[0].Text != "second\n" {
		t.Errorf("after the new decision: %+v", got)
	}
	if got := in.approve(t, "m6", same.ID, same.ID+".a1"); got.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("a tool that has not changed is asked about again: %+v", got)
	}

	rewrite(t, file, "")
	in.reload(t)
	if got := in.skills(t); got != "echo stream transfer_money" {
		t.Errorf("without the key the skills are %s", got)
	}
}

// An approval is one of what was to run when it was asked for: whatever changes that makes
// the server ask again, and what does not change it does not.
func TestReloadAsksAgain(t *testing.T) {
	t.Parallel()
	const secrets = "secrets: {one: {env: TOKEN}, two: {env: TOKEN}}\n"
	const command = "tools: [{command: run, description: x, run: [echo, a, \"{b}\"], args: {b: {type: string, default: c}}"
	const httpTool = "tools: [{http: run, description: x, request: \"POST http://127.0.0.1:1/a?b=c\", networks: [127.0.0.1/32]"
	for name, tt := range map[string]struct {
		before, after string
		again         bool
	}{
		"the command":              {command + "}]", strings.Replace(command, "echo", "printf", 1) + "}]", true},
		"a default":                {command + "}]", strings.Replace(command, "default: c", "default: d", 1) + "}]", true},
		"the folder":               {command + "}]", command + ", dir: /}]", true},
		"the input":                {command + "}]", command + ", stdin: x}]", true},
		"a new variable":           {command + "}]", command + ", env: {A: b}}]", true},
		"the value of a variable":  {command + ", env: {A: staging}}]", command + ", env: {A: production}}]", true},
		"the secret of a variable": {command + ", env: {A: {secret: one}}}]", command + ", env: {A: {secret: two}}}]", true},
		"a secret, and not a text": {command + ", env: {A: one}}]", command + ", env: {A: {secret: one}}}]", true},
		"the time limit":           {command + "}]", command + ", timeout: 1m}]", false},
		"the output":               {command + "}]", command + ", output: {max: 2KiB, as: bytes}}]", false},
		"nothing of a command":     {command + ", env: {A: {secret: one}, B: c}}]", command + ", env: {B: c, A: {secret: one}}}]", false},
		"the URL":                  {httpTool + "}]", strings.Replace(httpTool, "/a", "/b", 1) + "}]", true},
		"the query":                {httpTool + "}]", strings.Replace(httpTool, "b=c", "b=d", 1) + "}]", true},
		"the method":               {httpTool + "}]", strings.Replace(httpTool, "POST", "DELETE", 1) + "}]", true},
		"a header":                 {httpTool + "}]", httpTool + ", header: {X-A: b}}]", true},
		"the secret of a header":   {httpTool + ", header: {X-A: \"{secret:one}\"}}]", httpTool + ", header: {X-A: \"{secret:two}\"}}]", true},
		"the body":                 {httpTool + ", body: {a: 1}}]", httpTool + ", body: {a: \"1\"}}]", true},
		"a form":                   {httpTool + ", form: {a: b}}]", httpTool + ", form: {a: c}}]", true},
		"another kind":             {command + "}]", httpTool + "}]", true},
		"the part of the answer":   {httpTool + "}]", httpTool + ", result: /a}]", false},
		"nothing of a request":     {httpTool + "}]", httpTool + "}]", false},
		"who may use it":           {command + "}]", command + ", for: {callers: [alice]}}]", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, file := configured(t, secrets+tt.before+"\n")
			c.Authenticator = byHeader{}
			in := start(t, c)
			sent, answer := in.sendAs(t, message("m1", "/run {}"), "Authorization", "alice")
			if sent.Status.State != "TASK_STATE_INPUT_REQUIRED" {
				t.Fatalf("the call does not ask: %s", answer)
			}
			rewrite(t, file, secrets+tt.after+"\n")
			in.reload(t)
			id := sent.ID
			if tt.again {
				until(t, "the task asks again", func() bool {
					_, answer := in.do(t, http.MethodPost, "/", request(t, "GetTask", map[string]any{"id": id}), "Authorization", "alice")
					return strings.Contains(answer, id+".a2")
				})
			}
			_, answer = in.sendAs(t, approve("m2", id, id+".a1"), "Authorization", "alice")
			if again := strings.Contains(answer, "APPROVAL_CHANGED"); again != tt.again {
				t.Errorf("asked again: %v, want %v: %s", again, tt.again, answer)
			}
		})
	}
}

// A right that a reload takes away is also taken from calls that wait for a decision.
func TestReloadTakesARightAway(t *testing.T) {
	t.Parallel()
	const tools = "tools: [{command: run, description: x, run: [echo, done], for: {callers: [%s]}}]\n"
	c, file := configured(t, fmt.Sprintf(tools, "alice"))
	c.Authenticator = byHeader{}
	in := start(t, c)
	sent, answer := in.sendAs(t, message("m1", "/run {}"), "Authorization", "alice")
	if sent.Status.State != "TASK_STATE_INPUT_REQUIRED" {
		t.Fatalf("the call does not ask: %s", answer)
	}
	rewrite(t, file, fmt.Sprintf(tools, "bob"))
	in.reload(t)
	_, answer = in.sendAs(t, approve("m2", sent.ID, sent.ID+".a1"), "Authorization", "alice")
	_, after := in.do(t, http.MethodGet, "/tasks/"+sent.ID, "", "Authorization", "alice")
	if strings.Contains(answer+after, "artifacts") || !strings.Contains(after, "there is no tool") {
		t.Errorf("the call ran: %s, %s", answer, after)
	}
}

// A call that runs keeps its tool, also if the next configuration does not have it.
func TestReloadWhileACallRuns(t *testing.T) {
	t.Parallel()
	c, file := configured(t, "")
	gate := filepath.Join(filepath.Dir(file), "gate")
	rewrite(t, file, `tools:
  - {command: run, description: x, run: [sh, -c, 'echo begun; until test -e "`+gate+`"; do sleep 0.02; done; echo old'], approve: false}
`)
	in := start(t, c)
	stream := in.follow(t, request(t, "SendStreamingMessage", message("m1", "/run {}")))
	until(t, "the command begins", func() bool {
		_, list := in.get(t, "/tasks?includeArtifacts=true")
		return strings.Contains(list, "begun")
	})
	rewrite(t, file, "tools: []\n")
	in.reload(t)
	rewrite(t, gate, "")
	if lines := strings.Join(stream.end(t), "\n"); !strings.Contains(lines, "old") || !strings.Contains(lines, "COMPLETED") {
		t.Errorf("the call that ran: %s", lines)
	}
	if got := in.skills(t); got != "tasks" {
		t.Errorf("skills: %s", got)
	}
}

func TestReloadAfterClose(t *testing.T) {
	t.Parallel()
	c, _ := configured(t, "")
	c.Log = zerolog.Nop()
	s, err := testserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err == nil {
		t.Error("Reload() = nil after Close")
	}
}

// Files that say what is called are refused if every user may write them.
func TestFilesThatOthersWrite(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{
		"pets.yaml": "tools: [{openapi: pets, spec: pets.yaml, server: 'https://pets.example.com', only: ['*']}]\n",
	} {
		c, path := configured(t, text)
		path = filepath.Join(filepath.Dir(path), file)
		rewrite(t, path, "{}\n")
		if err := os.Chmod(path, 0o666); err != nil { //nolint:gosec // that is the case
			t.Fatal(err)
		}
		if err := testserver.Check(c); err == nil || !strings.Contains(err.Error(), "run chmod o-w ") {
			t.Errorf("%s: Check() = %v", file, err)
		}
	}
}
