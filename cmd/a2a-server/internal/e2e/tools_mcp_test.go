package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"a2a-server/internal/testserver"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// asServer is the variable that makes the test program an MCP server over stdio.
const asServer = "A2ASERVER_TEST_MCP"

// theServer is an MCP server with a tool that says what it has got.
func theServer(said func() string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	schema := map[string]any{"type": "object"}
	for _, name := range []string{"read", "write", "other"} {
		s.AddTool(&mcp.Tool{Name: name, Description: "does " + name, InputSchema: schema}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + " " + said()}}}, nil
		})
	}
	return s
}

// overHTTP serves an MCP server until the test ends.
func overHTTP(t *testing.T, s *mcp.Server) (url string) {
	t.Helper()
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(func() {
		for session := range s.Sessions() {
			_ = session.Close()
		}
		web.Close()
	})
	return web.URL
}

// self is the test program.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func serveMCP() int {
	s := theServer(func() string { return fmt.Sprintf("%d %s%d", len(os.Getenv("TOKEN")), os.Getenv("OTHER"), os.Getpid()) })
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// An MCP server that is a program is started with what the file gives it, asks as the file
// says, keeps its process over a reload that does not concern it, and is closed by one that
// removes it.
func TestMCPServerOfTheFile(t *testing.T) {
	t.Parallel()
	entry := `  - mcp: files
    command: ["` + self(t) + `"]
    env: {` + asServer + `: "1", TOKEN: {secret: token}}
    only: [read, write]
`
	c, file := configured(t, "secrets: {token: {env: TOKEN}}\nno_approve_tools: [files_r*]\ntools:\n"+entry)
	in := startListed(t, c, "files_read", "files_write")
	if sent := in.send(t, "m1", "/files_write {}"); sent.Status.State != "TASK_STATE_INPUT_REQUIRED" {
		t.Errorf("the default of MCP tools does not ask: %+v", sent)
	}
	said := func(id string) string {
		t.Helper()
		sent := in.send(t, id, "/files_read {}")
		if len(sent.Artifacts) == 0 || sent.Status.State != "TASK_STATE_COMPLETED" {
			t.Fatalf("files_read: %s", in.everything(t, sent.ID))
		}
		return sent.Artifacts[0].Parts[0].Text
	}
	first := said("m2")
	if !strings.HasPrefix(first, "read 7 ") {
		t.Errorf("the server has got %s", first)
	}
	rewrite(t, file, "secrets: {token: {env: TOKEN}}\nno_approve_tools: [files_r*]\ngates: [{tool: files_write, action: deny}]\ntools:\n"+entry)
	in.reload(t)
	if again := said("m3"); again != first {
		t.Errorf("after a reload another process answers: %s, and before %s", again, first)
	}
	if sent := in.send(t, "m4", "/files_write {}"); sent.Status.State == "TASK_STATE_INPUT_REQUIRED" {
		t.Errorf("the new gate does not deny: %+v", sent)
	}
	rewrite(t, file, "tools: []\n")
	in.reload(t)
	if got := in.skills(t); got != "tasks" {
		t.Errorf("without the server the skills are %s", got)
	}
}

// With declared_gates: ignore the default of MCP tools asks nobody, but a definition that is not the pinned one
// still does.
func TestPinsWithoutDeclaredGates(t *testing.T) {
	t.Parallel()
	for pins, ask := range map[string]bool{"": false, "    pins: {read: " + strings.Repeat("0", 64) + "}\n": true} {
		c, _ := configured(t, "declared_gates: ignore\ntools:\n  - mcp: files\n    command: [\""+self(t)+"\"]\n    env: {"+asServer+": \"1\"}\n    only: [read]\n"+pins)
		in := startListed(t, c, "files_read")
		if sent := in.send(t, "m1", "/files_read {}"); (sent.Status.State == "TASK_STATE_INPUT_REQUIRED") != ask {
			t.Errorf("with %q the task is %s, want that it asks: %v", pins, sent.Status.State, ask)
		}
	}
}

// An MCP server that cannot be started is a warning.
func TestMCPServerThatIsDown(t *testing.T) {
	t.Parallel()
	c, _ := configured(t, "tools:\n  - {mcp: gone, command: [/no/such/program], only: [\"*\"]}\n  - {command: run, description: x, run: [x]}\n")
	in := start(t, c)
	if got := in.skills(t); got != "run" {
		t.Errorf("skills: %s", got)
	}
	if said := in.log.saying("some tools cannot be listed"); !strings.Contains(fmt.Sprint(said), "mcp gone") {
		t.Errorf("the log does not say it: %v", said)
	}
}

// slowServer is a configuration with a server of tools that answers once the file door exists,
// and with a gate that matches none of its tools.
func slowServer(t *testing.T) (conf, door string) {
	t.Helper()
	door = filepath.Join(t.TempDir(), "door")
	return `tools:
  - mcp: slow
    command: [sh, -c, 'until test -e "$0"; do sleep 0.05; done; exec "$1"', "` + door + `", "` + self(t) + `"]
    env: {` + asServer + `: "1"}
    only: [read]
    approve: none
  - builtin: demo
gates: [{tool: "slow_w*"}]
`, door
}

// A server that hangs does not keep the others waiting: this one serves at once, and the
// tools appear when the server answers. Nor does it keep a reload from happening.
func TestMCPServerThatHangs(t *testing.T) {
	t.Parallel()
	for _, reload := range []bool{false, true} {
		t.Run(fmt.Sprintf("at a reload %t", reload), func(t *testing.T) {
			t.Parallel()
			conf, door := slowServer(t)
			before := conf
			if reload {
				before = "tools: [{builtin: demo}]\n"
			}
			c, file := configured(t, before)
			in := start(t, c) // the door is closed: a start that waits never listens
			if got := in.skills(t); got != "echo stream transfer_money" {
				t.Errorf("skills before the server answers: %s", got)
			}
			if reload {
				rewrite(t, file, conf)
				in.reload(t)
			}
			in.slowServerAnswers(t, door)
		})
	}
}

// slowServerAnswers opens the door of the server of [slowServer], whose tools then are there.
func (in *instance) slowServerAnswers(t *testing.T, door string) {
	t.Helper()
	if said := in.log.all(); strings.Contains(fmt.Sprint(said), "slow_w*") || strings.Contains(fmt.Sprint(said), "cannot be listed") {
		t.Errorf("the log has warnings about tools that are not known yet: %v", said)
	}
	rewrite(t, door, "")
	until(t, "the tools of the server are there", func() bool { return in.skills(t) == "slow_read echo stream transfer_money" })
	until(t, "the log says what is wrong with them", func() bool { return strings.Contains(fmt.Sprint(in.log.all()), "slow_w*") })
	if sent := in.send(t, "m1", "/slow_read {}"); sent.Status.State != "TASK_STATE_COMPLETED" {
		t.Errorf("a call of its tool: %s", in.everything(t, sent.ID))
	}
}

// A dot in the name of a tool is a letter like any other: in a message, a gate and a pattern.
func TestDotsInNamesOfTools(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	for _, name := range []string{"a.read", "a.write", "a.pay", "aXpay", ".hidden", "last."} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil
		})
	}
	c, _ := configured(t, `gates: [{tool: far_a.pay, action: deny}]
tools:
  - mcp: far
    url: `+overHTTP(t, s)+`
    networks: [127.0.0.1]
    only: ["*"]
no_approve_tools: ["far_a.r*", far_aXpay, far_a.pay]
`)
	in := startListed(t, c, "far_aXpay")
	if got := in.skills(t); strings.Contains(got, "last") || !strings.Contains(got, "far_.hidden") {
		t.Errorf("skills: %s", got)
	}
	for name, want := range map[string]string{"far_a.read": "TASK_STATE_COMPLETED", "far_a.write": "TASK_STATE_INPUT_REQUIRED", "far_a.pay": "TASK_STATE_FAILED", "far_aXpay": "TASK_STATE_COMPLETED"} {
		sent := in.send(t, "m-"+name, "/"+name+" {}")
		if sent.Status.State != want {
			t.Errorf("%s is %s, want %s", name, sent.Status.State, want)
		}
	}
}

// What an MCP server wrote before it died is in the log, and reaches no requester.
func TestLastWordsOfAnMCPServer(t *testing.T) {
	t.Parallel()
	c, _ := configured(t, "tools:\n  - {mcp: gone, command: [sh, -c, 'echo \"no licence in \\u001b/etc/pass\" >&2; exit 3'], only: [run]}\n  - {builtin: demo}\n")
	in := start(t, c)
	until(t, "the log has it", func() bool { return len(in.log.find("mcp server ended; its last lines on stderr")) > 0 })
	if got := fmt.Sprint(in.log.find("mcp server ended; its last lines on stderr")[0]["lines"]); got != `[no licence in \u001b/etc/pass]` {
		t.Errorf("the log has %s", got)
	}
	for _, text := range []string{"/gone_run {}", "/echo text=x", "/help"} {
		_, answer := in.do(t, http.MethodPost, "/", request(t, "SendMessage", message("m-"+text, text)))
		_, card := in.get(t, "/.well-known/agent-card.json")
		if strings.Contains(answer+card, "licence") || !strings.Contains(answer, "result") {
			t.Errorf("%s is answered %s", text, answer)
		}
	}
}

// A secret reaches an MCP server over HTTP in the header; so do the secrets of an OpenAPI
// document, whose tools ask as their method says.
func TestRemoteToolsOfTheFile(t *testing.T) {
	t.Parallel()
	var authorized, pets string
	mcpServer := theServer(func() string { return "" })
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		authorized = r.Header.Get("Authorization")
		return mcpServer
	}, nil))
	mux.HandleFunc("/v1/pets", func(w http.ResponseWriter, r *http.Request) {
		pets = r.Method + " " + r.Header.Get("X-Key")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"name": "cat"}`))
	})
	remote := httptest.NewServer(mux)
	t.Cleanup(remote.Close)
	c, file := configured(t, `secrets: {token: {env: TOKEN}}
no_approve_tools: ["pets_remove*"]
tools:
  - mcp: far
    url: `+remote.URL+`/mcp
    header: {Authorization: "Bearer {secret:token} {{x}}"}
    networks: [127.0.0.1]
    only: ["*"]
    approve: [write]
  - openapi: pets
    spec: pets.yaml
    server: `+remote.URL+`/v1
    header: {X-Key: "{secret:token}"}
    networks: [127.0.0.1]
    only: ["*"]
`)
	rewrite(t, filepath.Join(filepath.Dir(file), "pets.yaml"), `openapi: 3.0.3
info: {title: pets, version: "1"}
paths:
  /pets:
    get: {operationId: list, responses: {"200": {description: all}}}
    post: {operationId: add, responses: {"200": {description: added}}}
    delete: {operationId: removeAll, responses: {"200": {description: gone}}}
`)
	in := startListed(t, c, "far_read", "far_write", "far_other")
	asks := map[string]bool{"far_read": false, "far_write": true, "far_other": false, "pets_list": false, "pets_add": true, "pets_removeAll": false}
	if got := in.skills(t); len(strings.Fields(got)) != len(asks) {
		t.Errorf("skills: %s", got)
	}
	for name, ask := range asks {
		sent := in.send(t, "m-"+name, "/"+name+" {}")
		if (sent.Status.State == "TASK_STATE_INPUT_REQUIRED") != ask || !ask && sent.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("%s is %s, want that it asks: %v: %s", name, sent.Status.State, ask, in.everything(t, sent.ID))
		}
	}
	if authorized != "Bearer S3-cret {x}" || !strings.HasSuffix(pets, " S3-cret") {
		t.Errorf("the headers are %q and %q", authorized, pets)
	}
}

// An approval is for the tool of one server: another command with the same definitions, another
// secret or another value is asked about again.
func TestApprovalOfAnotherMCPServer(t *testing.T) {
	t.Parallel()
	entry := func(more string) string {
		return "secrets: {one: {env: TOKEN}, two: {env: TOKEN}}\ntools:\n  - mcp: files\n    only: [write]\n    " + more + "\n"
	}
	command, env := "command: [\""+self(t)+"\"%s]\n", "    env: {"+asServer+": \"1\"%s}"
	of := func(arg, variable string) string { return fmt.Sprintf(command, arg) + fmt.Sprintf(env, variable) }
	for _, change := range [][2]string{
		{of("", ""), of(", other", "")}, {of("", ", TOKEN: staging"), of("", ", TOKEN: production")},
		{of("", ", TOKEN: {secret: one}"), of("", ", TOKEN: {secret: two}")},
	} {
		c, file := configured(t, entry(change[0]))
		in := startListed(t, c, "files_write")
		sent := in.send(t, "m1", "/files_write {}")
		rewrite(t, file, entry(change[1]))
		in.reload(t)
		_, answer := in.sendAs(t, approve("m2", sent.ID, sent.ID+".a1"))
		if all := in.everything(t, sent.ID); !strings.Contains(answer, "APPROVAL_CHANGED") || strings.Contains(all, "artifacts") {
			t.Fatalf("%v: the approval for the first: %s, and the task is %s", change, answer, all)
		}
		if again := in.approve(t, "m3", sent.ID, sent.ID+".a2"); again.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("%v: after an approval for the second: %s", change, in.everything(t, sent.ID))
		}
	}
}

// A server that is down after a restart keeps its tools, and a call that is approved meanwhile
// runs when it is back.
func TestMCPServerThatIsDownAfterARestart(t *testing.T) {
	t.Parallel()
	down := filepath.Join(t.TempDir(), "down")
	entry := func(more string) string {
		return `tools:
  - mcp: files
    command: [sh, -c, 'test ! -e "$0" && exec "$1"', "` + down + `", "` + self(t) + `"` + more + `]
    env: {` + asServer + `: "1"}
    only: [read, write]
`
	}
	c, file := configured(t, entry(""))
	in := startListed(t, c, "files_read", "files_write")
	waits := in.send(t, "m1", "/files_write {}")
	kept, err := filepath.Glob(filepath.Join(c.Set["data"], "mcp", "files*.json"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("definitions are kept in %q, %v", kept, err)
	}
	for path, mode := range map[string]os.FileMode{filepath.Dir(kept[0]): 0o700, kept[0]: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
	in.halt(t)

	rewrite(t, down, "")
	in = start(t, c)
	if got := in.skills(t); got != "files_read files_write" {
		t.Errorf("skills of a server that is down: %s", got)
	}
	approval := approve("m2", waits.ID, waits.ID+".a1")
	approval["configuration"] = map[string]any{"returnImmediately": true}
	if task, answer := in.sendAs(t, approval); task.ID == "" {
		t.Fatalf("the approval: %s", answer)
	}
	until(t, "the call is tried again", func() bool { return len(in.log.find("mcp server is down")) > 1 })
	if all := in.everything(t, waits.ID); !strings.Contains(all, "TASK_STATE_WORKING") {
		t.Fatalf("while the server is down: %s", all)
	}
	if err := os.Remove(down); err != nil {
		t.Fatal(err)
	}
	until(t, "the call has run", func() bool {
		return strings.Contains(in.everything(t, waits.ID), "TASK_STATE_COMPLETED")
	})
	if all := in.everything(t, waits.ID); !strings.Contains(all, "write 0") {
		t.Errorf("the result: %s", all)
	}
	in.halt(t)

	// What another command has listed is not used.
	rewrite(t, down, "")
	rewrite(t, file, entry(", other"))
	if got := start(t, c).skills(t); got != "tasks" {
		t.Errorf("skills of another command: %s", got)
	}
}

// startListed is start for tools that another server lists, which may be after the start: it waits
// until the card has them.
func startListed(t *testing.T, c testserver.Config, tools ...string) *instance {
	t.Helper()
	in := start(t, c)
	until(t, "the tools are listed", func() bool {
		listed := strings.Fields(in.skills(t))
		return !slices.ContainsFunc(tools, func(name string) bool { return !slices.Contains(listed, name) })
	})
	return in
}

// until waits until something holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long until %s", what)
		}
	}
}

// A gate that denies destructive tools is no weaker for a tool that is not trusted than for the same tool with
// trust. The tool has no hints, which MCP takes for destructive: a server escapes the gate by withdrawing its hint.
func TestServersWithdrawNoAnnotation(t *testing.T) {
	t.Parallel()
	for _, trust := range []string{"", "    trust: [read]\n"} {
		c, _ := configured(t, "gates: [{name: careful, tool: \"*\", action: deny, who: {annotations: [destructive]}}]\n"+
			"tools:\n  - mcp: files\n    command: [\""+self(t)+"\"]\n    env: {"+asServer+": \"1\"}\n    only: [read]\n    approve: none\n"+trust)
		in := startListed(t, c, "files_read")
		sent := in.send(t, "m1", "/files_read {}")
		if all := in.everything(t, sent.ID); !strings.Contains(all, "careful") {
			t.Errorf("with %q the call is %s, want that the gate denies it", trust, sent.Status.State)
		}
	}
}

// A tool that differs from its pin needs approval (docs/configuration.md, pins): the operator who wrote the
// gate that allows it has reviewed another definition. With declared_gates: ignore it asks, without it runs.
func TestPinsBesideAnAllow(t *testing.T) {
	t.Parallel()
	for _, declared := range []string{"ask", "ignore"} {
		c, _ := configured(t, "declared_gates: "+declared+"\ngates: [{tool: files_read, action: allow}]\ntools:\n  - mcp: files\n    command: [\""+self(t)+"\"]\n    env: {"+asServer+
			": \"1\"}\n    only: [read]\n    pins: {read: "+strings.Repeat("0", 64)+"}\n")
		in := startListed(t, c, "files_read")
		if sent := in.send(t, "m1", "/files_read {}"); sent.Status.State != "TASK_STATE_INPUT_REQUIRED" {
			t.Errorf("declared_gates: %s: a call of a tool that differs from its pin is %s, want that it asks", declared, sent.Status.State)
		}
	}
}
