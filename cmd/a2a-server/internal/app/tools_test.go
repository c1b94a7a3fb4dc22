package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"a2a-server/cmd/a2a-server/internal/app"
	"a2a-server/internal/golden"
)

// asServer is the variable that makes the test program an MCP server over stdio.
const asServer = "A2ASERVER_TEST_MCP"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(serveFiles())
	}
	// Tests mostly wait, for answers and for time limits: more of them run side by side than there
	// are processors, unless -parallel says otherwise.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // it is a flag of every test program
	}
	// Servers are short-lived and small: most collections would find little.
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// serveFiles is an MCP server with two tools, which say what they would do.
func serveFiles() int {
	s := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	yes := true
	for _, t := range []*mcp.Tool{
		{Name: "read_file", Description: "Reads a file", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		{Name: "write_file", Description: "Writes a file\u202eelif a", Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes}},
	} {
		t.InputSchema = map[string]any{
			"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}, "required": []any{"path"},
		}
		s.AddTool(t, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: t.Name + " " + string(r.Params.Arguments)}}}, nil
		})
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// secret is the value of a secret, which is nowhere to be seen.
const secret = "hunter-2-secret"

// console runs the program in a folder with a configuration file.
type console struct {
	t      *testing.T
	folder string
	file   string
}

// documented is a console with the configuration that docs/tools.md shows.
func documented(t *testing.T) *console {
	t.Helper()
	text, err := os.ReadFile("testdata/tools/a2a-server.yaml")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := withFile(t, strings.NewReplacer("[files-server]", `["`+self+`"]`, "{ROOT: /srv/data}", "{"+asServer+`: "1"}`).Replace(string(text)))
	pets, err := os.ReadFile("testdata/tools/pets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.folder, "pets.yaml"), pets, 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// withFile is a console with a configuration file.
func withFile(t *testing.T, text string) *console {
	t.Helper()
	c := &console{t: t, folder: t.TempDir()}
	c.file = filepath.Join(c.folder, "a2a-server.yaml")
	if err := os.WriteFile(c.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// args adds what every command line needs.
func (c *console) args(args []string) []string {
	return append(args, "--config", c.file, "--data", filepath.Join(c.folder, "data"))
}

// environment is that of the program.
func environment() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "JIRA_TOKEN=" + secret}
}

// run runs a command and returns what it writes, without the path of the folder.
func (c *console) run(stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	c.t.Helper()
	var out, problems bytes.Buffer
	code = app.Run(c.t.Context(), c.args(args), environment(), stdin, &out, &problems)
	stdout, stderr = strings.ReplaceAll(out.String(), c.folder+"/", ""), strings.ReplaceAll(problems.String(), c.folder+"/", "")
	if strings.Contains(stdout+stderr, secret) {
		c.t.Errorf("%v shows a secret:\n%s%s", args, stdout, stderr)
	}
	return code, stdout, stderr
}

// want runs a command that exits with a code and says something. It prints nothing else if it
// fails.
func (c *console) want(code int, says string, args ...string) {
	c.t.Helper()
	got, stdout, stderr := c.run(nil, args...)
	if got != code || !strings.Contains(stdout+stderr, says) || code != 0 && stdout != "" {
		c.t.Errorf("%v exits with %d, want %d and %q: %s%s", args, got, code, says, stdout, stderr)
	}
}

const document = "../../../../docs/tools.md"

// fromFile is the note of a command that shows tools of the configuration of a console.
const fromFile = "From the configuration a2a-server.yaml, not from a running server:\n"

// The document shows what the commands print: every kind, a gate of each origin, and a
// server that is down.
func TestToolsDocumented(t *testing.T) {
	t.Parallel()
	c := documented(t)
	file, err := os.ReadFile("testdata/tools/a2a-server.yaml")
	if err != nil {
		t.Fatal(err)
	}
	golden.Section(t, document, "tools configuration", "```yaml\n"+string(file)+"```\n")
	code, stdout, stderr := c.run(nil, "tools", "list")
	if code != 0 {
		t.Errorf("tools list exits with %d", code)
	}
	note, problems, _ := strings.Cut(stderr, "\n")
	golden.Section(t, document, "tools list", "```\n$ a2a-server tools list\n"+note+"\n"+stdout+problems+"```\n")
	code, stdout, stderr = c.run(nil, "tools", "show", "files_write_file")
	if code != 0 || stderr != fromFile {
		t.Errorf("tools show exits with %d and says %s", code, stderr)
	}
	golden.Section(t, document, "tools show", "```\n$ a2a-server tools show files_write_file\n"+stderr+stdout+"```\n")
	code, stdout, stderr = c.run(nil, "tools", "call", "deploy", "env=prod", "service=web")
	if code != 3 || stdout != "" {
		t.Errorf("tools call exits with %d and prints %s", code, stdout)
	}
	golden.Section(t, document, "tools call", "```\n$ a2a-server tools call deploy env=prod service=web </dev/null\n"+stderr+"```\n")
}

// What tools show prints of each tool of each kind.
func TestToolsShow(t *testing.T) {
	t.Parallel()
	c := documented(t)
	for _, name := range []string{"deploy", "files_read_file", "create_issue", "pets_listPets", "ask_user"} {
		code, stdout, stderr := c.run(nil, "tools", "show", name)
		if code != 0 || stderr != fromFile {
			t.Errorf("tools show %s exits with %d and says %s", name, code, stderr)
		}
		golden.File(t, filepath.Join("testdata", "tools", name+".txt"), stdout)
	}
	for name, want := range map[string]string{"deplo": `there is no tool "deplo"; did you mean deploy?`, "git_log": "1 problem: mcp git (line 27): "} {
		c.want(1, want, "tools", "show", name)
	}
	c.want(2, "tools list", "tools", "show")
}

// A pin that is copied from tools show fits, and one that does not is said to.
func TestToolsPins(t *testing.T) {
	t.Parallel()
	c := documented(t)
	_, stdout, _ := c.run(nil, "tools", "show", "files_read_file")
	_, line, _ := strings.Cut(stdout, "\npins:")
	line, _, _ = strings.Cut(strings.TrimSpace(line), "\n")
	text, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	pin := func(value string) string {
		t.Helper()
		pinned := strings.Replace(string(text), "    trust: [read_file]\n", "    trust: [read_file]\n    pins: "+value+"\n", 1)
		pinned = strings.NewReplacer("[read_file, write_file]", "[read_file]", "approve: [write_file]", "approve: none").Replace(pinned)
		if err := os.WriteFile(c.file, []byte(pinned), 0o600); err != nil {
			t.Fatal(err)
		}
		_, stdout, _ := c.run(nil, "tools", "list")
		for row := range strings.Lines(stdout) {
			if strings.HasPrefix(row, "files_read_file ") {
				return strings.Join(strings.Fields(row), " ")
			}
		}
		return ""
	}
	if got := pin(line); !strings.Contains(got, "– read-only (trusted)") || !strings.HasSuffix(got, " pinned") {
		t.Errorf("with its own digest the tool is %q", got)
	}
	if got := pin("{read_file: " + strings.Repeat("ab", 32) + "}"); !strings.Contains(got, "asks (pins, line 17) read-only ") || !strings.HasSuffix(got, " not the pinned one") {
		t.Errorf("with another digest the tool is %q", got)
	}
}

// Programs read JSON, which says the same as the table.
func TestToolsJSON(t *testing.T) {
	t.Parallel()
	c := documented(t)
	code, stdout, stderr := c.run(nil, "tools", "list", "-o", "json")
	if code != 0 || stderr != "" {
		t.Errorf("it exits with %d and says %s", code, stderr)
	}
	var got struct {
		Tools []struct {
			Name, Decision, Digest, Description string
			Gates                               []struct{ Action, Why, File string }
		}
		Problems []struct {
			Origin  struct{ Entry string }
			Problem string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v:\n%s", err, stdout)
	}
	var decisions []string
	for _, one := range got.Tools {
		decisions = append(decisions, one.Name+" "+one.Decision)
		if len(one.Digest) != 64 {
			t.Errorf("the digest of %s is %s", one.Name, one.Digest)
		}
	}
	if got, want := strings.Join(decisions, ", "), "deploy ask, files_read_file allow, files_write_file ask, create_issue deny, pets_listPets allow, pets_createPet ask, ask_user allow"; got != want {
		t.Errorf("the decisions are %s, want %s", got, want)
	}
	if len(got.Problems) != 1 || got.Problems[0].Origin.Entry != "git" {
		t.Errorf("the problems are %v", got.Problems)
	}
	c.want(2, "write text or json", "tools", "list", "-o", "xml")
}

// The gates of flags are there, and a configuration that no server starts with is no list.
func TestToolsFlags(t *testing.T) {
	t.Parallel()
	c := documented(t)
	_, stdout, _ := c.run(nil, "tools", "list", "--approve-tools", "ask_*", "--no-approve-tools", "pets_createPet")
	for _, want := range []string{"ask_user", "asks (--approve-tools)"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the list has no %q:\n%s", want, stdout)
		}
	}
	if _, stdout, _ := c.run(nil, "tools", "show", "pets_createPet", "--no-approve-tools", "pets_createPet"); !strings.Contains(stdout, "allow: no_approve_tools, --no-approve-tools") {
		t.Errorf("what takes a default back is not shown:\n%s", stdout)
	}
	c.want(2, "the configuration is invalid", "tools", "list", "--listen", "nowhere")
	none := withFile(t, "tools: []\n")
	none.want(0, "there are no tools\n", "tools", "list")
	if _, stdout, _ := withFile(t, "").run(nil, "tools", "list"); !strings.Contains(stdout, "transfer_money  default  asks (the tool)") {
		t.Errorf("the tools of a server without a file are\n%s", stdout)
	}
}
