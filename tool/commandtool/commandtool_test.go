//go:build linux || darwin

package commandtool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/tool"
	"a2a-server/tool/commandtool"
)

func TestCommand(t *testing.T) {
	t.Parallel()
	got := run(t.Context(), build(t, script("echo out; echo warning >&2")), nil)
	if diff := cmp.Diff(map[string]any{"exit_code": 0, "output": "out\n", "stderr": "warning\n"}, got.final); got.failed != nil || diff != "" {
		t.Errorf("failed %v (-want +got):\n%s", got.failed, diff)
	}
	if got.out != "out\n" || got.err != "warning\n" {
		t.Errorf("published %q and %q", got.out, got.err)
	}
	// Without output there are no pieces.
	got = run(t.Context(), build(t, script("exit 0")), nil)
	if diff := cmp.Diff(map[string]any{"exit_code": 0, "output": ""}, got.final); got.failed != nil || got.pieces != 0 || diff != "" {
		t.Errorf("%d pieces, failed %v (-want +got):\n%s", got.pieces, got.failed, diff)
	}
}

func TestDeclared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		approve *bool
		asks    bool
	}{{nil, true}, {new(true), true}, {new(false), false}} {
		c := script("exit 0")
		c.Description, c.Approve, c.Annotations = "Does nothing", tt.approve, tool.Annotations{ReadOnly: true}
		it := build(t, c)
		if asks, err := tool.NeedsApproval(nil, it, nil); asks != tt.asks || err != nil {
			t.Errorf("NeedsApproval() = %v, %v, want %v", asks, err, tt.asks)
		}
		if it.Name() != "it" || it.Description() != "Does nothing" || it.IsLongRunning() || tool.AnnotationsOf(it) != c.Annotations {
			t.Errorf("it declares %q, %q, long-running %v, %+v", it.Name(), it.Description(), it.IsLongRunning(), tool.AnnotationsOf(it))
		}
	}
	timed, ok := tool.As[tool.Timed](build(t, script("exit 0")))
	if !ok || timed.Timeout() != 0 {
		t.Error("without a timeout, the limit is not the server's")
	}
	c := script("exit 0")
	c.Timeout = time.Minute
	if timed, _ = tool.As[tool.Timed](build(t, c)); timed.Timeout() <= time.Minute {
		t.Errorf("Timeout() = %v, which leaves no time to end the command", timed.Timeout())
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	c := script("exit 0", "{env}", "{count}", "{verbose}", "{ratio}", "{file}", "{service}")
	c.Dir = t.TempDir()
	c.Args = map[string]commandtool.Arg{
		"env":     {Enum: []any{"staging", "prod"}, Description: "Where to"},
		"service": {Pattern: "^[a-z][a-z-]*$", Keywords: map[string]any{"maxLength": 10.0}},
		"count":   {Type: "integer", Keywords: map[string]any{"minimum": 1.0}, Default: 3},
		"ratio":   {Type: "number", Keywords: map[string]any{"maximum": 1.0}, Optional: true},
		"verbose": {Type: "boolean", Optional: true},
		"file":    {Type: "file", Optional: true},
	}
	schema := build(t, c).Schema()
	comment, _ := schema["$comment"].(string)
	want := map[string]any{
		"type": "object", "additionalProperties": false, "$comment": comment,
		"required": []any{"env", "service"},
		"properties": map[string]any{
			"env":     map[string]any{"type": "string", "enum": []any{"staging", "prod"}, "description": "Where to"},
			"service": map[string]any{"type": "string", "pattern": "^[a-z][a-z-]*$", "maxLength": 10.0},
			"count":   map[string]any{"type": "integer", "minimum": 1.0, "default": 3},
			"ratio":   map[string]any{"type": "number", "maximum": 1.0},
			"verbose": map[string]any{"type": "boolean"},
			"file":    map[string]any{"type": "string", "minLength": 1},
		},
	}
	if diff := cmp.Diff(want, schema); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	compiled, err := tool.CompileSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args map[string]any
		fits bool
	}{
		{map[string]any{"env": "prod", "service": "web"}, true},
		{map[string]any{"env": "prod"}, false},
		{map[string]any{"env": "dev", "service": "web"}, false},
		{map[string]any{"env": "prod", "service": "-rf"}, false},
		{map[string]any{"env": "prod", "service": "web", "count": 0.0}, false},
		{map[string]any{"env": "prod", "service": "web", "count": 1.5}, false},
		{map[string]any{"env": "prod", "service": "web", "other": 1.0}, false},
	} {
		if err := compiled.Validate(tt.args); (err == nil) != tt.fits {
			t.Errorf("Validate(%v) = %v", tt.args, err)
		}
		// The tool checks them itself, too, when nobody has.
		if got := run(t.Context(), build(t, c), tt.args); (got.failed == nil) != tt.fits {
			t.Errorf("a call with %v: %v", tt.args, got.failed)
		}
	}
}

func TestArgFrom(t *testing.T) {
	t.Parallel()
	for _, schema := range []map[string]any{
		{"type": "string", "description": "d", "pattern": "^a", "enum": []any{"a"}, "default": "a", "minLength": 1.0},
		{"type": "integer", "minimum": 1.0, "multipleOf": 2.0},
		{"type": "string", "format": "email", "maxLength": 5.0},
	} {
		arg, err := commandtool.ArgFrom(schema)
		if err != nil {
			t.Fatal(err)
		}
		c := script("exit 0", "{a}")
		c.Args = map[string]commandtool.Arg{"a": arg}
		properties, _ := build(t, c).Schema()["properties"].(map[string]any)
		if diff := cmp.Diff(schema, properties["a"]); diff != "" {
			t.Errorf("the schema (-want +got):\n%s", diff)
		}
	}
	if arg, err := commandtool.ArgFrom(map[string]any{"type": "file", "open": true}); err != nil || arg.Type != "file" || !arg.Open {
		t.Errorf("a file: %+v, %v", arg, err)
	}
	for want, schema := range map[string]map[string]any{
		`"array" is not a type: use string, integer, number, boolean or file`: {"type": "array"},
		"the keyword type cannot be [string null]":                            {"type": []any{"string", "null"}},
		"the keyword open cannot be yes":                                      {"type": "file", "open": "yes"},
		"only a file can be handed over open, or be missing":                  {"mayBeMissing": true},
	} {
		if _, err := commandtool.ArgFrom(schema); err == nil || err.Error() != want {
			t.Errorf("ArgFrom(%v) = %v, want %s", schema, err, want)
		}
	}
	if _, err := commandtool.ArgFrom(map[string]any{"minLength": "x"}); err == nil {
		t.Error("a schema that is none is accepted")
	}
}

// An approval of a tool is not one of a tool that runs something else.
func TestSchemaIdentifiesTheCommand(t *testing.T) {
	t.Parallel()
	comment := func(change func(*commandtool.Config)) string {
		c := script("exit 0")
		change(&c)
		s, _ := build(t, c).Schema()["$comment"].(string)
		return s
	}
	same := comment(func(*commandtool.Config) {})
	if same == "" || comment(func(c *commandtool.Config) { c.Env["PATH"] = "/bin" }) != same {
		t.Error("the comment depends on the value of a variable, which may be secret")
	}
	for name, change := range map[string]func(*commandtool.Config){
		"run":     func(c *commandtool.Config) { c.Run = append(c.Run, "more") },
		"dir":     func(c *commandtool.Config) { c.Dir = "/" },
		"env":     func(c *commandtool.Config) { c.Env["LANG"] = "C" },
		"secrets": func(c *commandtool.Config) { c.Secrets = secret("TOKEN", "x") },
		"stdin":   func(c *commandtool.Config) { c.Stdin = "x" },
		"more":    func(c *commandtool.Config) { c.Identity = "the secret other" },
		"free": func(c *commandtool.Config) {
			c.Run, c.Free = nil, &commandtool.Free{Allow: []commandtool.Pattern{{"..."}}}
		},
	} {
		if comment(change) == same {
			t.Errorf("%s: another command has the same schema", name)
		}
	}
}

func secret(name, value string) map[string]func(context.Context) (string, error) {
	return map[string]func(context.Context) (string, error){name: func(context.Context) (string, error) { return value, nil }}
}

// What a caller sends is one argument, or is refused.
func TestHostileArguments(t *testing.T) {
	t.Parallel()
	c := role(t, "arguments", "--env={value}", "--", "{value}", "a{value}b{value}c")
	c.Args = map[string]commandtool.Arg{"value": {}}
	for _, value := range []string{
		"plain", "", " ", "a b", "-rf", "--", "--config=/etc/passwd", "$(id)", "`id`", "${HOME}", "; rm -rf /", "a\nb", "a\r\nb", "'", `"`, `\`, "\t", "*", "?", "~", "{value}", "{{value}}", "%s", "é漢👍", "\u202e", "|", "&", ">", "<", "#", "!", strings.Repeat("x", 50_000),
	} {
		want := fmt.Sprintf("%q", []string{"--env=" + value, "--", value, "a" + value + "b" + value + "c"})
		if got := run(t.Context(), build(t, c), map[string]any{"value": value}); got.failed != nil || got.out != want {
			t.Errorf("%.50q: the arguments are %.200s (failed: %v), want %.200s", value, got.out, got.failed, want)
		}
	}
	for value, want := range map[string]string{
		"a\x00b":                     `invalid: at /value: contains a NUL character, which a command cannot get`,
		strings.Repeat("x", 200_000): "argument list too long",
	} {
		got := run(t.Context(), build(t, c), map[string]any{"value": value})
		if got.failed == nil || !strings.HasSuffix(got.failed.Error(), want) || errors.Is(got.failed, tool.ErrOutcomeUnknown) {
			t.Errorf("%.10q: %v, want %s", value, got.failed, want)
		}
	}
}

func TestLeadingDash(t *testing.T) {
	t.Parallel()
	arguments := func(value any, arg commandtool.Arg, run_ ...string) ran {
		c := role(t, "arguments", run_...)
		c.Args = map[string]commandtool.Arg{"value": arg, "none": {Default: ""}}
		c.Stdin = "{value}{none}"
		return run(t.Context(), build(t, c), map[string]any{"value": value})
	}
	for _, tt := range []struct {
		value any
		arg   commandtool.Arg
		run   []string
		want  string // "": refused
	}{
		{"-rf", commandtool.Arg{}, []string{"{value}"}, ""},
		{"-", commandtool.Arg{}, []string{"{value}"}, ""},
		{"--", commandtool.Arg{}, []string{"{value}"}, ""},
		{"-rf", commandtool.Arg{}, []string{"{value}/x"}, ""},
		{"-rf", commandtool.Arg{}, []string{"{none}{value}"}, ""}, // it begins the argument after all
		{-5.0, commandtool.Arg{Type: "integer"}, []string{"{value}"}, ""},
		{-0.5, commandtool.Arg{Type: "number"}, []string{"{value}"}, ""},
		{"-rf", commandtool.Arg{}, []string{"{value}", "--"}, ""}, // too late
		{"-rf", commandtool.Arg{}, []string{"--", "{value}"}, `["--" "-rf"]`},
		{"-rf", commandtool.Arg{}, []string{"--x={value}"}, `["--x=-rf"]`},
		{"-rf", commandtool.Arg{}, []string{"./{value}"}, `["./-rf"]`},
		{-5.0, commandtool.Arg{Type: "integer"}, []string{"--n={value}"}, `["--n=-5"]`},
		{"-v", commandtool.Arg{Enum: []any{"-v", "-q"}}, []string{"{value}"}, `["-v"]`}, // the operator's own word
	} {
		got := arguments(tt.value, tt.arg, tt.run...)
		_, refused := errors.AsType[*tool.InvalidError](got.failed)
		if refused != (tt.want == "") || got.out != tt.want {
			t.Errorf("%v in %q: %s, %v, want %s", tt.value, tt.run, got.out, got.failed, tt.want)
		}
	}
	// What stands before the dash may be empty.
	between := role(t, "arguments", "{first}-{second}", "{first}--{third}")
	between.Args = map[string]commandtool.Arg{"first": {}, "second": {}, "third": {Optional: true}}
	if got := run(t.Context(), build(t, between), map[string]any{"first": "", "second": "rf"}); got.failed == nil {
		t.Errorf("an empty value makes the rest an option: %s", got.out)
	}
	if got := run(t.Context(), build(t, between), map[string]any{"first": "a", "second": "-"}); got.out != `["a--"]` {
		t.Errorf("the arguments are %s, %v", got.out, got.failed)
	}
	own := role(t, "arguments", "{first}-{second}")
	own.Args = map[string]commandtool.Arg{"first": {Enum: []any{"", "no"}}, "second": {}}
	if got := run(t.Context(), build(t, own), map[string]any{"first": "", "second": "v"}); got.out != `["-v"]` {
		t.Errorf("the operator's own dash: %s, %v", got.out, got.failed)
	}
	// A value that is "--" does not end the options.
	c := role(t, "arguments", "{first}", "{second}")
	c.Args = map[string]commandtool.Arg{"first": {Enum: []any{"--"}}, "second": {}}
	if got := run(t.Context(), build(t, c), map[string]any{"first": "--", "second": "-rf"}); got.failed == nil {
		t.Errorf("the arguments are %s", got.out)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	c := role(t, "arguments", "{int}", "{number}", "{bool}", "--left-out={text}", "{text}", "{with}", "awk", "{print $1}", "{}", "{{with}}", "}{")
	c.Args = map[string]commandtool.Arg{
		"int": {Type: "integer"}, "number": {Type: "number"}, "bool": {Type: "boolean"},
		"text": {Optional: true}, "with": {Default: "default"},
	}
	for _, tt := range []struct {
		args map[string]any
		want []string
	}{
		{map[string]any{"int": 5.0, "number": 0.25, "bool": true}, []string{"5", "0.25", "true", "default"}},
		{map[string]any{"int": 9007199254740991.0, "number": 1e300, "bool": false, "with": ""}, []string{"9007199254740991", "1e+300", "false", ""}},
		{map[string]any{"int": 0.0, "number": 3.0, "bool": false, "text": "t"}, []string{"0", "3", "false", "--left-out=t", "t", "default"}},
	} {
		want := fmt.Sprintf("%q", append(tt.want, "awk", "{print $1}", "{}", "{with}", "}{"))
		if got := run(t.Context(), build(t, c), tt.args); got.failed != nil || got.out != want {
			t.Errorf("%v: the arguments are %s (%v), want %s", tt.args, got.out, got.failed, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("COMMANDTOOL_TEST_SECRET", "do not tell")
	reads := 0
	c := commandtool.Config{
		Name: "it", Run: []string{"/usr/bin/env"}, Env: map[string]string{"LANG": "C", "EMPTY": ""},
		Secrets: map[string]func(context.Context) (string, error){"TOKEN": func(context.Context) (string, error) {
			reads++
			return fmt.Sprintf("s3cret%d", reads), nil
		}},
	}
	it := build(t, c)
	if reads != 0 {
		t.Error("the secret was read before it was used")
	}
	for i := range 2 {
		if got, want := run(t.Context(), it, nil), fmt.Sprintf("EMPTY=\nLANG=C\nTOKEN=s3cret%d\n", i+1); got.out != want {
			t.Errorf("the environment is %q, want %q", got.out, want)
		}
	}
	c.Secrets["TOKEN"] = func(context.Context) (string, error) { return "", errors.New("no such file") }
	if got := run(t.Context(), build(t, c), nil); got.failed == nil || got.failed.Error() != "read the secret for the environment variable TOKEN: no such file" {
		t.Errorf("without its secret: %v", got.failed)
	}
	c.Secrets = secret("TOKEN", "s3cret\x00")
	if got := run(t.Context(), build(t, c), nil); got.failed == nil || strings.Contains(got.failed.Error(), "s3cret") {
		t.Errorf("with a secret that no variable can have: %v", got.failed)
	}
}

func TestInput(t *testing.T) {
	t.Parallel()
	c := script("cat")
	c.Args = map[string]commandtool.Arg{"who": {}, "count": {Type: "integer", Optional: true}}
	c.Stdin = "Hello {who}!\n{{who}} {count}"
	for want, args := range map[string]map[string]any{
		"Hello -n!\n{who} 3": {"who": "-n", "count": 3.0},
		"":                   {"who": "you"}, // an argument of the template is left out
	} {
		if got := run(t.Context(), build(t, c), args); got.out != want || got.failed != nil {
			t.Errorf("the input is %q (%v), want %q", got.out, got.failed, want)
		}
	}
	// Commands that do not read their input: they exit, or close it.
	big := script("exit 0")
	big.Stdin = strings.Repeat("x", 4<<20)
	if got := run(t.Context(), build(t, big), nil); got.failed != nil {
		t.Errorf("a command that exits before it reads: %v", got.failed)
	}
	big = script("exec <&-; echo closed")
	big.Stdin = strings.Repeat("x", 4<<20)
	if got := run(t.Context(), build(t, big), nil); got.failed != nil || got.out != "closed\n" {
		t.Errorf("a command that closes its input: %q, %v", got.out, got.failed)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		script, want string
		unknown      bool
	}{
		{"echo why >&2; exit 3", "exit code 3: why", false},
		{"echo why; exit 3", "exit code 3: why", false}, // some say it on standard output
		{"exit 255", "exit code 255, without a message", false},
		{`printf 'a\033[31mb\n\n' >&2; exit 1`, `exit code 1: a\u001b[31mb`, false},
		{"head -c 5000 /dev/zero | tr '\\0' x >&2; exit 1", "exit code 1: … (after 904 bytes) " + strings.Repeat("x", 4096), false},
		{"kill -9 $$", "it is unknown whether the call had its effect: the command was ended by a signal: killed", true},
		{"kill -SEGV $$", "it is unknown whether the call had its effect: the command was ended by a signal: segmentation fault", true},
		{"kill -TERM $$", "it is unknown whether the call had its effect: the command was ended by a signal: terminated", true},
	} {
		got := run(t.Context(), build(t, script(tt.script)), nil)
		if got.failed == nil || got.failed.Error() != tt.want || got.final != nil || errors.Is(got.failed, tool.ErrOutcomeUnknown) != tt.unknown {
			t.Errorf("%s: %v (unknown: %v), want %s", tt.script, got.failed, errors.Is(got.failed, tool.ErrOutcomeUnknown), tt.want)
		}
		if e, ok := errors.AsType[*commandtool.ExitError](got.failed); ok == tt.unknown || ok && e.Code == 0 {
			t.Errorf("%s: the error is a %T", tt.script, got.failed)
		}
	}
}

// A command that was not started has failed: nothing is unknown about it.
func TestNotStarted(t *testing.T) {
	t.Parallel()
	missing := script("exit 0")
	missing.Run = []string{"no-such-command"}
	removed := script("exit 0")
	removed.Dir = filepath.Join(t.TempDir(), "removed")
	if err := os.Mkdir(removed.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	there := build(t, removed)
	if got := run(t.Context(), there, nil); got.failed != nil {
		t.Fatal(got.failed)
	}
	if err := os.Remove(removed.Dir); err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("too late"))
	for _, tt := range []struct {
		name string
		ctx  context.Context //nolint:containedctx // of one call
		it   tool.StreamingTool
		want string
	}{
		{"a missing program", t.Context(), build(t, missing), `exec: "no-such-command": not found in PATH (` + path + "); install it, or name it by its absolute path"},
		{"a folder that was removed", t.Context(), there, "exec: the working folder " + removed.Dir + " does not exist; create it, or name another one"},
		{"a call that was canceled before", canceled, build(t, script("exit 0")), "nothing was run: the call had no effect: too late"},
	} {
		got := run(tt.ctx, tt.it, nil)
		if got.failed == nil || got.failed.Error() != tt.want || errors.Is(got.failed, tool.ErrOutcomeUnknown) || errors.Is(got.failed, tool.ErrNoEffect) != (tt.ctx == canceled) {
			t.Errorf("%s: %v, want %s", tt.name, got.failed, tt.want)
		}
	}
}

// However a command is ended by us, all of its processes are gone and its outcome is
// unknown.
func TestEnded(t *testing.T) {
	t.Parallel()
	why := errors.New("no longer wanted")
	for _, tt := range []struct {
		name string
		c    commandtool.Config
		want string
		end  func(cancel context.CancelCauseFunc) // nil: its time is up
	}{
		{"timeout", script("trap 'echo bye; exit 0' TERM; echo $$; sleep 1000 & echo $!; wait"), "it took longer than 3s", nil},
		{"canceled", script("sleep 1000 & echo $!; sleep 1000"), why.Error(), func(cancel context.CancelCauseFunc) { cancel(why) }},
		{"ignores SIGTERM", role(t, "stubborn"), why.Error(), func(cancel context.CancelCauseFunc) { cancel(why) }},
		{"fork", script("for i in 1 2 3 4 5; do (trap '' TERM; sleep 1000 & echo $!; wait) & done; wait"), why.Error(), func(cancel context.CancelCauseFunc) { cancel(why) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.c
			c.Grace = 300 * time.Millisecond
			if tt.end == nil {
				c.Timeout, c.Grace = 3*time.Second, time.Minute // it ends when it is told to
			}
			it := build(t, c)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			once := false
			got := run(ctx, it, nil, func(*tool.Result) {
				if tt.end != nil && !once {
					once = true
					tt.end(cancel)
				}
			})
			want := "it is unknown whether the call had its effect: the command was ended because " + tt.want
			if got.failed == nil || got.failed.Error() != want || !errors.Is(got.failed, tool.ErrOutcomeUnknown) {
				t.Errorf("it failed with %v, want %s", got.failed, want)
			}
			for _, said := range strings.Fields(got.out) {
				if pid, err := strconv.Atoi(said); err == nil {
					gone(t, pid)
				}
			}
			if tt.name == "timeout" && !strings.HasSuffix(got.out, "bye\n") {
				t.Errorf("what it said while it ended is missing: %q", got.out)
			}
		})
	}
}

// A daemon that keeps the output open does not hold up the call.
func TestDaemon(t *testing.T) {
	t.Parallel()
	got := run(t.Context(), build(t, role(t, "daemon")), nil)
	if got.failed != nil {
		t.Fatal(got.failed)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(got.out))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := os.FindProcess(pid); err != nil || p.Kill() != nil {
		t.Errorf("it is no daemon: %v", err)
	}
}

// A caller that stops reading ends the command; so does one that panics.
func TestReaderStops(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"break", "panic"} {
		c := script("echo $$; sleep 1000")
		c.Grace = 200 * time.Millisecond
		pid := 0
		func() {
			defer func() { _ = recover() }()
			for r, err := range build(t, c).CallStreaming(call{Context: t.Context(), id: "call"}, nil) {
				if err != nil {
					t.Fatal(err)
				}
				text, _ := r.Content.(string)
				pid, _ = strconv.Atoi(strings.TrimSpace(text))
				if how == "panic" {
					panic("reader")
				}
				break
			}
		}()
		if pid == 0 {
			t.Fatal("it said nothing")
		}
		if alive(pid) {
			t.Errorf("%s: the command still runs", how)
		}
	}
}

func TestInvalidConfigs(t *testing.T) {
	t.Parallel()
	with := func(change func(*commandtool.Config)) commandtool.Config {
		c := script("exit 0", "{a}")
		c.Args = map[string]commandtool.Arg{"a": {}}
		change(&c)
		return c
	}
	arg := func(a commandtool.Arg) commandtool.Config {
		return with(func(c *commandtool.Config) { c.Args["a"], c.Dir = a, "/" })
	}
	free := func(allow, deny []commandtool.Pattern) commandtool.Config {
		return commandtool.Config{Name: "it", Free: &commandtool.Free{Allow: allow, Deny: deny}}
	}
	for want, c := range map[string]commandtool.Config{
		"it needs a name": {},
		"it needs either a command to run, or a list of commands that calls may name, and not both":   {Name: "it"},
		"element 5 of the command: unknown argument \"b\": declare it, or write {{b}} for {b} itself": with(func(c *commandtool.Config) { c.Run[4] = "{b}" }),
		"the input: unknown argument \"b\": declare it, or write {{b}} for {b} itself":                with(func(c *commandtool.Config) { c.Stdin = "{b}" }),
		"the argument b is not used: write {b} in the command or its input, or remove it":             with(func(c *commandtool.Config) { c.Args["b"] = commandtool.Arg{} }),
		`"a b" is not a name for an argument: use at most 64 letters, digits, _, - and dots`:          with(func(c *commandtool.Config) { c.Args["a b"] = commandtool.Arg{} }),
		"the first element of the command is the program, which cannot depend on the call":            with(func(c *commandtool.Config) { c.Run[0] = "{a}" }),
		"the name of the program is empty":                                                            with(func(c *commandtool.Config) { c.Run[0] = "" }),
		"element 2 of the command contains a NUL character":                                           with(func(c *commandtool.Config) { c.Run[1] = "\x00" }),
		"the timeout, the grace period and the maximum of the output cannot be negative":              with(func(c *commandtool.Config) { c.Timeout = -1 }),
		`"A=B" is not the name of an environment variable`:                                            with(func(c *commandtool.Config) { c.Env["A=B"] = "" }),
		"the environment variable A contains a NUL character":                                         with(func(c *commandtool.Config) { c.Env["A"] = "\x00" }),
		"the environment variable PATH has both a value and a secret":                                 with(func(c *commandtool.Config) { c.Secrets = secret("PATH", "") }),
		"the secret of the environment variable A cannot be read: there is no function":               with(func(c *commandtool.Config) { c.Secrets = map[string]func(context.Context) (string, error){"A": nil} }),
		"the argument a is a file, so the tool needs a folder in which files must be":                 with(func(c *commandtool.Config) { c.Args["a"] = commandtool.Arg{Type: "file"} }),
		`the argument a: "text" is not a type: use string, integer, number, boolean or file`:          arg(commandtool.Arg{Type: "text"}),
		"the argument a: only a string has a pattern":                                                 arg(commandtool.Arg{Type: "integer", Pattern: "x"}),
		"the argument a: only a file can be handed over open, or be missing":                          arg(commandtool.Arg{Open: true}),
		"the argument a: a file that may be missing cannot be handed over open":                       arg(commandtool.Arg{Type: "file", Open: true, MayBeMissing: true}),
		"the argument a: the value 1 does not fit it: invalid: at /value: got number, want string":    arg(commandtool.Arg{Default: 1}),
		"no command is allowed: list patterns, or the pattern \"...\" for every command":              free(nil, nil),
		`the allowed and denied commands: ["..." "x"]: only the last element can be "..."`:            free([]commandtool.Pattern{{"...", "x"}}, nil),
		"the allowed and denied commands: a pattern without elements":                                 free([]commandtool.Pattern{{"..."}}, []commandtool.Pattern{{}}),
		`the allowed and denied commands: ["" "x"]: the program is empty`:                             free([]commandtool.Pattern{{"", "x"}}, nil),
		"a tool whose calls name the command has no other arguments, and no input":                    {Name: "it", Free: &commandtool.Free{}, Stdin: "x"},
	} {
		_, err := commandtool.New(c)
		if want := fmt.Sprintf("make command tool %q: %s", c.Name, want); err == nil || err.Error() != want {
			t.Errorf("New() = %v, want %s", err, want)
		}
	}
	if _, err := commandtool.New(arg(commandtool.Arg{Pattern: "("})); err == nil {
		t.Error("a pattern that is none is accepted")
	}
}
