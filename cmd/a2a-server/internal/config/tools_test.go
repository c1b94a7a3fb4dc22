package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/cmd/a2a-server/internal/config"
)

// TestTools shows what an entry of each kind becomes.
func TestTools(t *testing.T) {
	t.Parallel()
	path := write(t, `secrets:
  jira: {env: JIRA_TOKEN}
  deploy: {file: secret}
tools:
  - command: deploy
    description: Deploys.
    run: [./deploy.sh, -v, -v, "{{}}", "{service}", 007]
    args: {service: {type: string}}
    optional: [service]
    env: {A: "{x}", TOKEN: {secret: deploy}, N: 1.10}
    for: {callers: [alice]}
  - mcp: files
    url: https://x/mcp
    header: {authorization: "Bearer {secret:jira} {{secret:none}}"}
    only: ["*"]
  - http: create
    description: |
      Creates.
    request: POST https://x/{a}
    body: {a: "{a}", n: 1, l: [true, null], "": "\u2028<&>"}
    networks: [10.0.0.0/8]
    timeout: 1m30s
    approve: false
  - openapi: pets
    spec: ../pets.yaml
    server: https://x
    only: [a, b]
    approve: none
  - builtin: ask_user
`)
	folder := filepath.Dir(path)
	c := load(t, config.Source{File: path, Callers: true})
	command := config.Tool{
		Kind: config.KindCommand, Name: "deploy", For: &config.For{Callers: []string{"alice"}}, Description: "Deploys.",
		Args: map[string]any{"service": map[string]any{"type": "string"}}, Optional: []string{"service"},
		Run: []string{"./deploy.sh", "-v", "-v", "{{}}", "{service}", "007"}, Dir: folder,
		Env: map[string]config.Value{"A": {Text: "{x}"}, "TOKEN": {Secret: "deploy"}, "N": {Text: "1.10"}},
	}
	command.OutputMax, command.OutputAs = 1<<20, "lines"
	want := config.Tools{Given: true, Entries: []config.Tool{
		command,
		{
			Kind: config.KindMCP, Name: "files", URL: "https://x/mcp", Only: []string{"*"}, Elicit: "decline", Protocol: "newest",
			Header: map[string]string{"authorization": "Bearer {secret:jira} {{secret:none}}"},
		},
		{
			Kind: config.KindHTTP, Name: "create", Description: "Creates.\n",
			Request: "POST https://x/{a}", Body: map[string]any{"a": "{a}", "n": int64(1), "l": []any{true, nil}, "": "\u2028<&>"},
			Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Timeout: 90 * time.Second, Approve: config.Approve{},
		},
		{
			Kind: config.KindOpenAPI, Name: "pets", Spec: filepath.Join(filepath.Dir(folder), "pets.yaml"), Server: "https://x",
			Only: []string{"a", "b"}, Approve: config.Approve{},
		},
		{Kind: config.KindBuiltin, Name: "ask_user"},
	}}
	if diff := cmp.Diff(want, c.Tools, values()); diff != "" {
		t.Errorf("Tools (-want +got):\n%s", diff)
	}
	if entries := c.Tools.Entries; entries[0].Approve != nil || entries[2].Approve == nil || entries[3].Approve == nil {
		t.Errorf("Approve = %#v, %#v and %#v, want nil and two empty lists", entries[0].Approve, entries[2].Approve, entries[3].Approve)
	}
	secrets := map[string]config.Secret{"jira": {Env: "JIRA_TOKEN"}, "deploy": {File: filepath.Join(folder, "secret")}}
	if diff := cmp.Diff(secrets, c.Secrets); diff != "" {
		t.Errorf("Secrets (-want +got):\n%s", diff)
	}
	for key, line := range map[string]int{"run": 7, "command": 5, "approve": 5} {
		if file, got := c.Place(c.ToolPath(0, key)); file != path || got != line {
			t.Errorf("the place of %s = %s:%d, want %s:%d", key, file, got, path, line)
		}
	}
	roundTrip(t, c, true)
}

// TestToolsGiven shows that an empty list is not the same as none: the operator wants no
// tools.
func TestToolsGiven(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, "gates: []\n": false, "tools:\n": true, "tools: []\n": true, "tools:\n# - builtin: demo\n": true} {
		c := load(t, config.Source{File: write(t, text)})
		if c.Tools.Given != want || len(c.Tools.Entries) > 0 {
			t.Errorf("Tools of %q = %+v, want given %v", text, c.Tools, want)
		}
		roundTrip(t, c, false)
	}
}

// TestToolNames shows which entries may stand next to each other: those of which no two
// tools can ever have the same name.
func TestToolNames(t *testing.T) {
	t.Parallel()
	command := func(name string) string { return "{command: " + name + ", description: x, run: [x]}" }
	server := func(name, only string) string {
		return "{mcp: " + name + ", command: [x], only: [" + only + "]}"
	}
	for _, tt := range []struct{ name, one, other, says string }{
		{"two names", command("a"), command("b"), ""},
		{"twice", command("a"), command("a"), "line 1 is also called that"},
		{"of two kinds", command("a"), "{http: a, description: x, request: GET https://x}", "is also called that"},
		{"a tool and a server", command("a"), server("a", `"*"`), ""},
		{"two servers", server("a", "x"), server("a", "y"), "is also called that"},
		{"a server and a document", server("a", "x"), "{openapi: a, spec: s, server: https://x, only: [y]}", "is also called that"},
		{"a tool of the server", command("a_x"), server("a", "x, y"), `"a_x"`},
		{"no tool of the server", command("a_z"), server("a", "x, y"), ""},
		{"a tool that it may get", command("a_z"), server("a", `"*"`), `"a_z"`},
		{"the same names of two servers", server("a", "b_c"), server("a_b", "c"), `"a_b_c"`},
		{"other names of two servers", server("a", "b_c"), server("a_b", "d"), ""},
		{"names that they may get", server("a", `"*"`), server("a_b", `"*"`), `beginning with "a_b_"`},
		{"a name that it may get", server("a_b", "c"), server("a", `"*"`), `"a_b_c"`},
		{"a tool of the demo", "{builtin: demo}", command("echo"), `"echo"`},
		{"a built-in tool", "{builtin: ask_user}", command("ask_user"), "also called that"},
		{"a built-in tool of a server", "{builtin: ask_user}", server("ask", `"*"`), `"ask_user"`},
	} {
		for _, order := range [][2]string{{tt.one, tt.other}, {tt.other, tt.one}} {
			path := write(t, "tools: ["+order[0]+",\n "+order[1]+"]\n")
			if tt.says == "" {
				load(t, config.Source{File: path})
				continue
			}
			all := problems(t, config.Source{File: path}).Problems
			if len(all) != 1 || all[0].Line != 2 || !strings.Contains(all[0].Problem, tt.says) || !strings.Contains(all[0].Problem, "on line 1") {
				t.Errorf("%s: problems = %v, want one on line 2 that says %s and names line 1", tt.name, all, tt.says)
			}
		}
	}
}

// TestSecretsStayOut gives a secret where its place belongs: no problem repeats it.
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"secrets: {a: S3-cret}\n", "secrets: {a: {env: S3-cret}}\n", "secrets: {a: [S3-cret]}\n", "secrets: {a: {env: [S3-cret]}}\n"} {
		if got := problems(t, config.Source{File: write(t, text)}).Error(); strings.Contains(got, "S3-cret") {
			t.Errorf("the problems of %s repeat it: %s", text, got)
		}
	}
	// Nor does reading the configuration read a secret.
	folder := t.TempDir()
	file := filepath.Join(folder, "a2a-server.yaml")
	for path, text := range map[string]string{filepath.Join(folder, "secret"): "S3-cret", file: "secrets: {a: {file: secret}, b: {env: TOKEN}}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if shown := show(t, load(t, config.Source{File: file, Environment: []string{"TOKEN=S3-cret"}})); strings.Contains(shown, "S3-cret") {
		t.Errorf("shown: %s", shown)
	}
}

// A command line with the syntax of a shell is not split at its spaces: the list would not be
// what it meant.
func TestCommandLineOfAShell(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`''`, `'echo "x y"'`, `"echo 'x y'"`, `'ls | wc'`, `'echo x > y'`, `'a && b'`, `'echo $HOME'`, `'echo x\ y'`} {
		_, err := config.Load(config.Source{File: write(t, "tools: [{command: x, description: y, run: "+line+"}]")})
		if err == nil || !strings.HasSuffix(err.Error(), "there is no shell that would read it: write it as [program, argument]") {
			t.Errorf("run: %s: Load() = %v, want no list", line, err)
		}
	}
}

// An argument in braces without quotes, which YAML takes for a mapping, is not sent as one.
func TestBracesWithoutQuotes(t *testing.T) {
	t.Parallel()
	const tool = "tools: [{http: x, description: y, request: \"POST https://x.example/{id}\", args: {id: {type: string}}, VALUE}]"
	for _, value := range []string{"body: {id}", "body: [1, {a: {id}}]", "body: {a: [{id}]}", "form: {a: {id}}"} {
		wrong := strings.Replace(tool, "VALUE", value, 1)
		_, err := config.Load(config.Source{File: write(t, wrong)})
		if err == nil || !strings.HasSuffix(err.Error(), `{id} without quotes is a mapping; write "{id}"`) {
			t.Errorf("%s: Load() = %v, want advice about quotes", value, err)
		}
		load(t, config.Source{File: write(t, strings.Replace(tool, "VALUE", strings.Replace(value, "{id}", `"{id}"`, 1), 1))})
	}
	for _, value := range []string{"body: {id: null}", "body: {id: ~}", `body: {"id": ""}`, "body: {}"} {
		load(t, config.Source{File: write(t, strings.Replace(tool, "VALUE", value, 1))})
	}
}

// The advice of an error works: with what it says in place of what was wrong, the file loads.
func TestAdviceAboutLists(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`tools: [{mcp: x, command: [sh], only: VALUE}]`, `approve_tools: VALUE`, `tools: [{command: x, description: y, run: VALUE, args: {a: {type: string}}, stdin: "{a}"}]`,
	} {
		for _, value := range []string{`"*"`, "read_file", `"git_*"`, `"sh -c *"`, `"echo {a} -- \"b\" c:d #e, f"`, "'-'", "'[a]'", "'&a'", "'a: b'", `"null"`, "echo null"} {
			wrong := strings.Replace(text, "VALUE", value, 1)
			_, err := config.Load(config.Source{File: write(t, wrong)})
			if err == nil {
				t.Errorf("%s is accepted", wrong)
				continue
			}
			at := strings.LastIndex(err.Error(), "write it ")
			_, advice, ok := strings.Cut(err.Error()[max(at, 0):], "[")
			if !ok {
				t.Errorf("%s: %v, want advice", wrong, err)
				continue
			}
			right := strings.Replace(text, "VALUE", "["+advice, 1)
			if _, err := config.Load(config.Source{File: write(t, right)}); err != nil {
				t.Errorf("%s: the advice does not load: %s: %v", wrong, right, err)
			}
		}
	}
}
