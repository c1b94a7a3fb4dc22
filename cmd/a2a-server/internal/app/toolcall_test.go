package app_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// calling is a configuration with tools that are called.
const calling = `tools:
  - command: note
    description: Writes a file
    run: [/bin/sh, -c, 'printf "%s" "$2" >>noted; echo "noted $2"', sh, --, "{text}"]
    args: {text: {type: string}}
  - command: count
    description: Prints lines
    run: [/bin/sh, -c, "echo one; echo two >&2; echo three"]
    approve: false
  - command: fail
    description: Fails
    run: [/bin/sh, -c, "echo it broke >&2; exit 4"]
    approve: false
  - command: sleep
    description: Takes long
    run: [/bin/sh, -c, "echo $$; exec sleep 600"]
    approve: false
  - command: say
    description: Prints its arguments
    run: [/usr/bin/printf, "%s|%s", "{a}", "{b}"]
    args: {a: {type: string}, b: {type: integer}}
    approve: false
  - command: die
    description: Dies of a signal
    run: [/bin/sh, -c, "echo ran; kill -KILL $$"]
    approve: false
  - command: draw
    description: Prints what would change a terminal
    run: [/usr/bin/printf, '\033[2J\033[H%s\377', "{text}"]
    args: {text: {type: string}}
    approve: false
  - command: wait
    description: Dies of a signal, when it may
    run: [/bin/sh, -c, "echo ran; until [ -e go ]; do sleep 0.01; done; kill -KILL $$"]
    approve: false
  - {builtin: ask_user}
  - {builtin: request_approval}
  - {builtin: demo}
gates:
  - {name: never, tool: transfer_money, action: deny}
  - {name: broken, tool: "fail*", action: allow}
`

// A call that only others may decide about is refused, with who may.
func TestToolsCallForOthers(t *testing.T) {
	t.Parallel()
	for gate, want := range map[string]string{
		"four_eyes: true":              "another person",
		"approvers: {roles: [bosses]}": "for its approvers",
	} {
		c := withFile(t, "auth: {tenant: acme, proxy: {header: X-User, from: [127.0.0.1], roles: [approver, requester]}}\ngates: [{tool: transfer_money, "+gate+"}]\n")
		code, _, stderr := c.run(strings.NewReader("y\nn\n"), "tools", "call", "transfer_money", "amount=1", "to=bob")
		if code != 3 || !strings.Contains(stderr, "no person can decide") || !strings.Contains(stderr, want) {
			t.Errorf("%s: code %d: %s", gate, code, stderr)
		}
	}
}

// noted returns what the tool note has written; "": it has not run.
func (c *console) noted() string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.folder, "noted"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.t.Fatal(err)
	}
	return string(text)
}

// What does not have to be approved runs, and its output is that of the command.
func TestToolsCall(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		args   []string
		stdin  string
		code   int
		stdout string
		stderr string // is part of it; "": there is none
	}{
		"chunks":          {args: []string{"count"}, stdout: "one\nthree\n", stderr: "two\n"},
		"failure":         {args: []string{"fail"}, code: 1, stderr: "it broke"},
		"pairs":           {args: []string{"say", `a=two  "words"`, "b=7"}, stdout: "two  \"words\"|7\n"},
		"odd values":      {args: []string{"say", `a="<[&`, "b=7"}, stdout: "\"<[&|7\n"},
		"line break":      {args: []string{"say", "a=x\ny", "b=7"}, stdout: "x\ny|7\n"},
		"empty":           {args: []string{"say", "a=", "b=7"}, stdout: "|7\n"},
		"a number's text": {args: []string{"say", "a=007", "b=7"}, stdout: "007|7\n"},
		"object":          {args: []string{"say", "--json", `{"a":"x y","b":1}`}, stdout: "x y|1\n"},
		"object of stdin": {args: []string{"say", "--json", "-"}, stdin: "{\"a\":\"é\",\n\"b\":2}\n", stdout: "é|2\n"},
		"one text":        {args: []string{"echo", "a", "b  c"}, stdout: "a b  c\n"},
		"wrong type":      {args: []string{"say", "a=x", "b=y"}, code: 1, stderr: "/b"},
		"missing":         {args: []string{"say", "a=x"}, code: 1, stderr: "b"},
		"twice":           {args: []string{"say", "a=x", "a=y"}, code: 2, stderr: `/say: "a" is given twice`},
		"no pairs":        {args: []string{"say", "x"}, code: 2, stderr: "/say: expected key=value"},
		"unknown":         {args: []string{"sya", "a=x"}, code: 2, stderr: "unknown tool \"sya\"; did you mean say?\n'a2a-server tools list --config a2a-server.yaml --data "},
		"two tools":       {args: []string{"say a=x"}, code: 2, stderr: "takes the name of a tool"},
		"no tool":         {code: 2, stderr: "takes the name of a tool"},
		"both forms":      {args: []string{"say", "a=x", "--json", "{}"}, code: 2, stderr: "not both"},
		"not an object":   {args: []string{"say", "--json", "[1]"}, code: 2, stderr: "not a JSON object"},
		"empty object":    {args: []string{"say", "--json", ""}, code: 2, stderr: "not a JSON object"},
		"unknown outcome": {args: []string{"die"}, code: 1, stdout: "ran\n", stderr: "die may have run or not: It is not known whether die has run: the tool reports: the command was ended by a signal: killed"},
		"no UTF-8":        {args: []string{"say", "a=x\xff y", "b=7"}, code: 2, stderr: `"a=x� y" is not valid UTF-8`},
		"no UTF-8, JSON":  {args: []string{"say", "--json", "-"}, stdin: "{\"a\":\"\xff\",\"b\":7}", code: 2, stderr: "not valid UTF-8"},
		"escapes":         {args: []string{"say", "\x1b[2J\u202e=1", "b=7"}, code: 1, stderr: `\u001b[2J\u202e`},
		"hidden":          {args: []string{"say", "--\x1b[2J\u202e"}, code: 2, stderr: `\u001b[2J\u202e`},
		"denied":          {args: []string{"transfer_money", "amount=1", "to=bob"}, code: 3, stderr: `the gate "never"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := withFile(t, calling).run(strings.NewReader(one.stdin), append([]string{"tools", "call"}, one.args...)...)
			if code != one.code || stdout != one.stdout || !strings.Contains(stderr, one.stderr) || one.stderr == "" && stderr != "" {
				t.Errorf("it exits with %d, prints %q and says %q; want %d, %q and %q", code, stdout, stderr, one.code, one.stdout, one.stderr)
			}
		})
	}
}

// Data is printed once, whatever it has that HTML needs escaped.
func TestToolsCallPrintsDataOnce(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"to": "<b> & \\u003c"}`)) // a backslash, then u003c
	}))
	t.Cleanup(server.Close)
	c := withFile(t, "tools: [{http: get, description: Gets it, request: GET "+server.URL+"/x, networks: [127.0.0.1/32]}]\n")
	code, stdout, stderr := c.run(nil, "tools", "call", "get")
	if code != 0 || stdout != `{"to":"<b> & \\u003c"}`+"\n" {
		t.Errorf("it exits with %d, prints %q and says %q", code, stdout, stderr)
	}
}

// Without a terminal nothing is approved: not by an answer on standard input, be it a pipe
// or a file, and not by a keyword in the arguments.
func TestToolsCallRefused(t *testing.T) {
	t.Parallel()
	pipe := func(t *testing.T) io.Reader {
		read, write, err := os.Pipe()
		if err == nil {
			_, err = write.WriteString("y\ny\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = read.Close(), write.Close() })
		return read
	}
	for name, one := range map[string]struct {
		args  []string
		stdin func(*testing.T) io.Reader
	}{
		"call":     {[]string{"note", "text=approve"}, func(*testing.T) io.Reader { return strings.NewReader("y\ny\n") }},
		"question": {[]string{"ask_user", "question=Really?"}, func(*testing.T) io.Reader { return strings.NewReader("y\ny\n") }},
		"a pipe":   {[]string{"note", "text=yes"}, pipe},
		"nothing":  {[]string{"note", "text=yes"}, func(*testing.T) io.Reader { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withFile(t, calling)
			code, stdout, stderr := c.run(one.stdin(t), append([]string{"tools", "call"}, one.args...)...)
			if code != 3 || stdout != "" || !strings.Contains(stderr, "no terminal") {
				t.Errorf("it exits with %d, prints %q and says %q", code, stdout, stderr)
			}
			if got := c.noted(); got != "" {
				t.Errorf("it has run: %s", got)
			}
		})
	}
}

// A call of an MCP server's tool goes to a server of its own.
func TestToolsCallMCP(t *testing.T) {
	t.Parallel()
	c := documented(t)
	code, stdout, stderr := c.run(nil, "tools", "call", "files_read_file", "path=a b")
	if code != 0 || stdout != `read_file {"path":"a b"}`+"\n" {
		t.Errorf("it exits with %d, prints %q and says %q", code, stdout, stderr)
	}
	if code, stdout, _ := c.run(nil, "tools", "call", "files_write_file", "path=a"); code != 3 || stdout != "" {
		t.Errorf("what has to be approved exits with %d and prints %q", code, stdout)
	}
}

// A call starts the MCP server that it needs, and no other: not even one whose tool a gate
// is about.
func TestToolsCallStarts(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text := "tools:\n  - {builtin: demo}\n"
	for _, name := range []string{"files", "files_read", "other"} {
		text += fmt.Sprintf("  - mcp: %s\n    command: [/bin/sh, -c, 'touch started-%[1]s; exec \"$0\"', %q]\n    env: {%s: \"1\"}\n    only: [read_file]\n    approve: none\n", name, self, asServer)
	}
	text += "  - mcp: down\n    command: [/bin/false]\n    only: [read_file]\n"
	text += "gates:\n  - {tool: other_read_file}\n  - {tool: \"other_*\"}\n"
	for name, one := range map[string]struct {
		code    int
		stdout  string
		stderr  string // is part of it
		started string
	}{
		"echo":                 {stdout: "path=a\n"},
		"files_read_file":      {stdout: `read_file {"path":"a"}` + "\n", started: "started-files started-files_read"},
		"files_read_read_file": {stdout: `read_file {"path":"a"}` + "\n", started: "started-files started-files_read"},
		"other_read_file":      {code: 3, started: "started-other"},
		"othe":                 {code: 2},
		"down_read_file":       {code: 1, stderr: "mcp down (a2a-server.yaml:18): MCP server mcp down is down: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withFile(t, text)
			code, stdout, stderr := c.run(nil, "tools", "call", name, "path=a")
			var started []string
			found, err := filepath.Glob(filepath.Join(c.folder, "started-*"))
			for _, path := range found {
				started = append(started, filepath.Base(path))
			}
			if got := strings.Join(started, " "); err != nil || got != one.started || code != one.code || code == 0 && stdout != one.stdout || !strings.Contains(stderr, one.stderr) {
				t.Errorf("it starts %q, exits with %d, prints %q and says %q; want %+v", got, code, stdout, stderr, one)
			}
		})
	}
}
