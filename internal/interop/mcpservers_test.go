package interop

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// allServers is the flag of `make mcp`: with it, the MCP servers run that take a browser or
// a minute to install, too.
var allServers = flag.Bool("mcp.all", false, "install and run all MCP servers, one with a browser; see make mcp")

// An mcpServer is one that was not written here.
type mcpServer struct {
	name  string
	entry string // the rest of its entry of tools
	// calls are made one after the other. One that asks is approved.
	calls []mcpCall
}

type mcpCall struct {
	tool string
	args map[string]any
	asks bool
	want string // in the result, as JSON
}

// testMCPServers lists the tools of servers of npm and PyPI, and calls one or two of each.
func testMCPServers(t *testing.T, program string, servers []mcpServer) {
	text := "tools:\n"
	for _, s := range servers {
		text += fmt.Sprintf("  - mcp: %s\n    only: [\"*\"]\n    %s\n", s.name, strings.ReplaceAll(strings.TrimSpace(s.entry), "\n", "\n    "))
	}
	file := filepath.Join(t.TempDir(), "a2a-server.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var listed struct {
		Tools []struct {
			Name   string
			Origin struct{ Entry string }
		}
		Problems []struct {
			Origin  struct{ Entry string }
			Problem string
		}
	}
	for range 5 { // a server that starts on a busy machine may take longer than it is waited for
		out, err := exec.CommandContext(t.Context(), program, "tools", "list", "-o", "json", "--config", file, "--data", t.TempDir()).Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		listed.Tools, listed.Problems = nil, nil
		if err := json.Unmarshal(out, &listed); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if !strings.Contains(string(out), "it has not connected and listed its tools") {
			break
		}
	}
	running := start(t, program, t.TempDir(), "--config", file)
	connected(t, running, len(servers))
	c := &sdkClient{url: running.url, binding: a2a.TransportProtocolHTTPJSON, resolver: agentcard.NewResolver(&http.Client{})}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			var tools []string
			for _, one := range listed.Tools {
				if one.Origin.Entry == s.name {
					tools = append(tools, one.Name)
				}
			}
			for _, p := range listed.Problems {
				if p.Origin.Entry == s.name {
					t.Errorf("a problem is %s", p.Problem)
				}
			}
			if len(tools) == 0 {
				t.Error("it offers no tools")
			}
			for _, one := range s.calls {
				end := send(ctx, t, c, call(s.name+"_"+one.tool, one.args))
				if one.asks {
					end = send(ctx, t, c, answer(end, decision(asked(t, end).ID, "approve", nil)))
				}
				wantState(t, end, a2a.TaskStateCompleted)
				if got := shownData(t, end); !strings.Contains(got, one.want) {
					t.Errorf("%s is answered %.1000s, want %q in it", one.tool, got, one.want)
				}
			}
		})
	}
}

// connected waits until the server is connected to so many MCP servers: it serves before.
func connected(t *testing.T, s *server, n int) {
	t.Helper()
	for until := time.Now().Add(2 * time.Minute); strings.Count(s.logs(), "mcp server connected") < n; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("the server is not connected to %d MCP servers within two minutes", n)
		}
		if resp, err := http.Get(s.url + "/.well-known/agent-card.json"); err == nil { // who asks for the tools has them listed
			_ = resp.Body.Close()
		}
	}
}

// everything is the server of that name, over stdio and over streamable HTTP. dir has what
// npm installs for the example of MCP.
func everything(t *testing.T, dir string) []mcpServer {
	t.Helper()
	script := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	calls := []mcpCall{
		{tool: "echo", args: map[string]any{"message": "here"}, want: "here"},
		{tool: "get-sum", args: map[string]any{"a": 2, "b": 40}, asks: true, want: "42"},
	}
	return []mcpServer{
		{"everything", fmt.Sprintf("command: [node, %s]\napprove: [get-sum]", script), calls},
		{"everything-http", fmt.Sprintf("url: %s\nnetworks: [127.0.0.1]\napprove: [get-sum]", everythingHTTP(t, script)), calls},
	}
}

// everythingHTTP starts the server on a port that is free, and returns its URL.
func everythingHTTP(t *testing.T, script string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	_ = l.Close() // it cannot say which port it was given, so it is told one
	s := exec.Command("node", script, "streamableHttp")
	s.Env = append(os.Environ(), "PORT="+port)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Process.Kill()
		_ = s.Wait() // killed
	})
	for until := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return "http://" + address + "/mcp"
		}
		if time.Now().After(until) {
			t.Fatal("the server does not listen within a minute")
		}
	}
}

// warm has Python compile the servers, which takes a slow machine longer than a server waits
// for one that starts.
func warm(t *testing.T, interpreter string) {
	t.Helper()
	must(t, ".", interpreter, "-c", "import mcp_server_git.server, mcp_server_time.server")
}

// gitServer is mcp-server-git on a repository with one commit.
func gitServer(t *testing.T, interpreter string) mcpServer {
	t.Helper()
	find(t, "git", "install git")
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		must(t, dir, "git", append([]string{"-c", "user.name=Ann", "-c", "user.email=ann@example.com"}, args...)...)
	}
	git("init", "--quiet", "--initial-branch", "main")
	git("commit", "--quiet", "--allow-empty", "--message", "The first commit")
	return mcpServer{"git", fmt.Sprintf("command: [%s, -m, mcp_server_git, --repository, %s]\napprove: [git_create_branch]", interpreter, dir), []mcpCall{
		{tool: "git_log", args: map[string]any{"repo_path": dir}, want: "The first commit"},
		{tool: "git_create_branch", args: map[string]any{"repo_path": dir, "branch_name": "next"}, asks: true, want: "next"},
		{tool: "git_branch", args: map[string]any{"repo_path": dir, "branch_type": "local"}, want: "next"},
	}}
}

// testOthersMCP is the part of TestMCPServers that is in every run.
func testOthersMCP(t *testing.T, p programs) {
	interpreter := p.python["mcp-servers"]
	warm(t, interpreter)
	testMCPServers(t, p.server, append(everything(t, prepareMCP(t, p.python["mcp"])), gitServer(t, interpreter)))
}

// TestMCPServers is `make mcp`: every server, as an operator would configure it.
func TestMCPServers(t *testing.T) {
	t.Parallel()
	if !*allServers {
		t.Skip("make mcp runs it; of these servers, TestEndToEnd runs everything and git")
	}
	dir := t.TempDir()
	program, modules, files := filepath.Join(dir, "a2a-server"), filepath.Join(dir, "mcp"), filepath.Join(dir, "files")
	must(t, root, "go", "build", "-o", program, "./cmd/a2a-server")
	npm := find(t, "npm", "install npm, which comes with Node.js")
	installNode(t, npm, modules, "mcp/package.json", "mcp/package-lock.json", "mcp/.npmrc")
	chromium := find(t, "chromium", "install Chromium; Debian's package is chromium")
	interpreter := installPython(t, "mcp-servers")
	example := prepareMCP(t, interpreter)
	warm(t, interpreter)
	if err := os.Mkdir(files, 0o700); err != nil {
		t.Fatal(err)
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, "<!doctype html><title>A page of ours</title><h1>Hello</h1>")
	}))
	t.Cleanup(page.Close)
	in := func(folder, path string) string { return filepath.Join(folder, "node_modules", path) }
	testMCPServers(t, program, append(everything(t, example), gitServer(t, interpreter),
		mcpServer{"filesystem", fmt.Sprintf("command: [node, %s, %s]\napprove: [write_file]", in(example, "@modelcontextprotocol/server-filesystem/dist/index.js"), files), []mcpCall{
			{tool: "write_file", args: map[string]any{"path": filepath.Join(files, "note.txt"), "content": "Hello"}, asks: true, want: "note.txt"},
			{tool: "read_text_file", args: map[string]any{"path": filepath.Join(files, "note.txt")}, want: "Hello"},
		}},
		mcpServer{"memory", fmt.Sprintf("command: [node, %s]\nenv: {MEMORY_FILE_PATH: %s}\napprove: [create_entities]", in(modules, "@modelcontextprotocol/server-memory/dist/index.js"), filepath.Join(dir, "memory.jsonl")), []mcpCall{
			{tool: "create_entities", args: map[string]any{"entities": []any{map[string]any{"name": "Ann", "entityType": "person", "observations": []any{"pays"}}}}, asks: true, want: "Ann"},
			{tool: "read_graph", args: map[string]any{}, want: "pays"},
		}},
		mcpServer{"time", fmt.Sprintf("command: [%s, -m, mcp_server_time]", interpreter), []mcpCall{
			{tool: "get_current_time", args: map[string]any{"timezone": "Europe/Paris"}, asks: true, want: "Europe/Paris"},
		}},
		mcpServer{"playwright", fmt.Sprintf("command: [node, %s, --headless, --isolated, --no-sandbox, --executable-path, %s, --output-dir, %s]\ndir: %s\napprove: [browser_navigate]",
			in(modules, "@playwright/mcp/cli.js"), chromium, filepath.Join(dir, "browser"), dir), []mcpCall{
			{tool: "browser_navigate", args: map[string]any{"url": page.URL}, asks: true, want: "A page of ours"},
			{tool: "browser_snapshot", args: map[string]any{}, want: "Hello"},
		}},
	))
}
