package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a command or an MCP server lacks to be started is found before somebody approves a
// call: config check refuses it, with its line, and tools list says it.
func TestMissingPrograms(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ entry, want string }{
		"no program":          {"command: a, description: x, run: [no-such-program, -v]", `tools[0].run: exec: "no-such-program": not found in PATH (/usr/local/bin:/usr/bin:/bin); install it, or name it by its absolute path`},
		"no file":             {"command: a, description: x, run: [./gone.sh]", "tools[0].run: exec: gone.sh: not found: there is no such file"},
		"not executable":      {"command: a, description: x, run: [./plain.sh]", "tools[0].run: exec: plain.sh is not executable; chmod +x it"},
		"no folder":           {"command: a, description: x, run: [sh], dir: gone", "tools[0].dir: exec: the working folder gone does not exist"},
		"a file as folder":    {"command: a, description: x, run: [sh], dir: plain.sh", "tools[0].dir: exec: the working folder plain.sh is not a folder"},
		"in another folder":   {"command: a, description: x, run: [./good.sh], dir: /", "tools[0].run: exec: /good.sh: not found: there is no such file"},
		"in another PATH":     {"command: a, description: x, run: [sh], env: {PATH: /nowhere}", `tools[0].run: exec: "sh": not found in PATH (/nowhere)`},
		"MCP, no program":     {`mcp: a, command: [no-such-program], only: ["*"]`, `tools[0].command: exec: "no-such-program": not found in PATH`},
		"MCP, not executable": {`mcp: a, command: [./plain.sh], only: ["*"]`, "tools[0].command: exec: plain.sh is not executable"},
		"MCP, no folder":      {`mcp: a, command: [sh], dir: gone, only: ["*"]`, "tools[0].dir: exec: the working folder gone does not exist"},
		"good":                {"command: a, description: x, run: [./good.sh]", ""},
		"good, braces":        {`command: a, description: x, run: ["{{x}}.sh"], env: {PATH: "FOLDER"}`, ""},
		"good, in PATH":       {"command: a, description: x, run: [sh], dir: /", ""},
		"good, MCP":           {`mcp: a, command: [sh, -c, "exit 1"], only: ["*"]`, ""},
		"good, remote":        {`mcp: a, url: "https://mcp.example.com", only: ["*"]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withFile(t, "")
			text := "tools:\n  - {" + strings.ReplaceAll(tc.entry, "FOLDER", c.folder) + "}\n"
			for file, content := range map[string]struct {
				text string
				mode os.FileMode
			}{"a2a-server.yaml": {text, 0o600}, "plain.sh": {"#!/bin/sh\n", 0o600}, "good.sh": {"#!/bin/sh\n", 0o700}, "{x}.sh": {"#!/bin/sh\n", 0o700}} {
				if err := os.WriteFile(filepath.Join(c.folder, file), []byte(content.text), content.mode); err != nil {
					t.Fatal(err)
				}
			}
			code, _, stderr := c.run(nil, "config", "check")
			if want := tc.want == ""; want != (code == 0) || !want && (code != 2 || !strings.Contains(stderr, "a2a-server.yaml:2:") || !strings.Contains(stderr, tc.want)) {
				t.Errorf("config check exits with %d and says %s\nwant: %s", code, stderr, tc.want)
			}
			_, why, _ := strings.Cut(tc.want, ": ")
			if code, _, stderr := c.run(nil, "tools", "list"); tc.want != "" && (code != 0 || strings.Count(stderr, why) != 1) {
				t.Errorf("tools list exits with %d and says %s\nwant: %s", code, stderr, why)
			}
		})
	}
}

// What an MCP server wrote before it died is shown to the operator, who can do something
// about it, in a form in which it cannot imitate a line of the command.
func TestLastWordsOfAServer(t *testing.T) {
	t.Parallel()
	c := withFile(t, `tools:
  - mcp: a
    command: [sh, -c, 'for i in $(seq 50); do echo "line $i" >&2; done; printf "no \033[31mlicense\n2 problems: none\n" >&2; exit 3']
    only: ["*"]
`)
	code, _, stderr := c.run(nil, "tools", "list")
	if code != 0 || !strings.HasPrefix(stderr, fromFile+"1 problem: mcp a (line 2): its process exited with code 3; it wrote to stderr, at last:\n") {
		t.Errorf("tools list exits with %d and says\n%s", code, stderr)
	}
	if !strings.HasSuffix(stderr, "  | line 50\n  | no \\u001b[31mlicense\n  | 2 problems: none\n") || strings.Contains(stderr, "line 10\n") {
		t.Errorf("tools list says\n%s", stderr)
	}
	if code, _, stderr := c.run(nil, "tools", "call", "a_x"); code == 0 || !strings.Contains(stderr, "exited with code 3") || !strings.Contains(stderr, "\n  | no \\u001b[31mlicense\n") {
		t.Errorf("tools call exits with %d and says\n%s", code, stderr)
	}
	if _, stdout, _ := c.run(nil, "tools", "list", "-o", "json"); !strings.Contains(stdout, `\\u001b[31mlicense"`) {
		t.Errorf("tools list, as JSON:\n%s", stdout)
	}
}
