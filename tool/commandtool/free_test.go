//go:build linux || darwin

package commandtool_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/tool"
	"a2a-server/tool/commandtool"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line string
		want []string
		err  string
	}{
		{"ls -l /tmp", []string{"ls", "-l", "/tmp"}, ""},
		{"  a\t b\n\rc ", []string{"a", "b", "c"}, ""},
		{`a "b c" 'd "e"' f"g"h''`, []string{"a", "b c", `d "e"`, "fgh"}, ""},
		{`a "" ''`, []string{"a", "", ""}, ""},
		{`"a\"b\\c\d" 'a\b' a\ b\"`, []string{`a"b\c\d`, `a\b`, `a b"`}, ""},
		{`echo "$HOME" '$(id)' "a;b|c" \$x`, []string{"echo", "$HOME", "$(id)", "a;b|c", "$x"}, ""},
		{"find . -name *.go", []string{"find", ".", "-name", "*.go"}, ""},
		{"é 漢", []string{"é", "漢"}, ""},
		{"ls | wc", nil, "| needs a shell, and there is none: quote it to make it part of an argument"},
		{"a && b", nil, "& needs a shell, and there is none: quote it to make it part of an argument"},
		{"a; b", nil, "; needs a shell, and there is none: quote it to make it part of an argument"},
		{"a > b", nil, "> needs a shell, and there is none: quote it to make it part of an argument"},
		{"a < b", nil, "< needs a shell, and there is none: quote it to make it part of an argument"},
		{"echo $HOME", nil, "$ needs a shell, and there is none: quote it to make it part of an argument"},
		{"echo `id`", nil, "` needs a shell, and there is none: quote it to make it part of an argument"},
		{"(a)", nil, "( needs a shell, and there is none: quote it to make it part of an argument"},
		{`a "b`, nil, `a " is not closed`},
		{`a 'b`, nil, `a ' is not closed`},
		{`a "b\"`, nil, `a " is not closed`},
		{`a \`, nil, "the command ends with a backslash"},
		{" ", nil, "the command is empty"},
	} {
		got, err := commandtool.Split(tt.line)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("Split(%q): %v, want %s (-want +got):\n%s", tt.line, err, tt.err, diff)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(`a "b c" 'd' e\ f`)
	f.Fuzz(func(t *testing.T, line string) {
		argv, err := commandtool.Split(line)
		if err != nil {
			return
		}
		// What is quoted is split into the same arguments again.
		var again []string
		for _, arg := range argv {
			again = append(again, "'"+strings.ReplaceAll(arg, "'", `'\''`)+"'")
		}
		back, err := commandtool.Split(strings.Join(again, " "))
		if diff := cmp.Diff(argv, back); err != nil || diff != "" {
			t.Errorf("%q: %v (-first +second):\n%s", line, err, diff)
		}
	})
}

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"", "a", false}, {"a", "a", true}, {"a", "ab", false}, {"a", "A", false},
		{"*", "", true}, {"*", "a/b\nc", true}, {"a*", "a", true}, {"*a", "bca", true}, {"*a*", "bcd", false}, {"a*b*c", "aXbXbXc", true}, {"a*b*c", "aXbXbX", false},
		{"?", "é", true}, {"?", "", false}, {"??", "a", false},
		{`\*`, "*", true}, {`\*`, "a", false}, {`\?`, "a", false}, {`a\`, `a\`, true}, {`\\`, `\`, true},
		{"[a]", "[a]", true}, {"[a]", "a", false},
	} {
		if got := commandtool.Glob(tt.pattern, tt.s); got != tt.want {
			t.Errorf("glob(%q, %q) = %v", tt.pattern, tt.s, got)
		}
	}
	if commandtool.Glob(strings.Repeat("*a", 50)+"b", strings.Repeat("a", 2000)) { // not in 2000^50 steps
		t.Error("many stars match a text without the end of the pattern")
	}
}

func TestFree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	err := errors.Join(
		os.Mkdir(bin, 0o700),
		os.WriteFile(filepath.Join(bin, "show"), []byte("#!/bin/sh\nprintf '[%s]' show \"$@\"\n"), 0o700),
		os.Symlink("show", filepath.Join(bin, "other")),
		os.Symlink("bin/show", filepath.Join(dir, "local")),
	)
	if err != nil {
		t.Fatal(err)
	}
	show := filepath.Join(bin, "show")
	for _, tt := range []struct {
		name        string
		allow, deny []commandtool.Pattern
		args        map[string]any
		want        string // "": it is not allowed
	}{
		{"argv", ps("show ..."), nil, argv("show", "a b", "$x", "-rf", "*"), "[show][a b][$x][-rf][*]"},
		{"command", ps("show ..."), nil, line(`show "a b" '$x'`), "[show][a b][$x]"},
		{"no argument", ps("show ..."), nil, argv("show"), "[show]"},
		{"exactly", ps("show a"), nil, argv("show", "a"), "[show][a]"},
		{"one more", ps("show a"), nil, argv("show", "a", "b"), ""},
		{"one less", ps("show a"), nil, argv("show"), ""},
		{"a glob", ps("show --x=*"), nil, argv("show", "--x=1/2"), "[show][--x=1/2]"},
		{"no glob", ps("show --x=*"), nil, argv("show", "--y=1"), ""},
		{"the second pattern", ps("other", "show ..."), nil, argv("show"), "[show]"},
		{"everything", ps("..."), nil, argv(show, "a"), "[show][a]"},
		{"any name", ps("* ..."), nil, argv("show"), "[show]"},
		{"any name is no path", ps("* ..."), nil, argv(show), ""},
		{"a name is no path", ps("show ..."), nil, argv(show), ""},
		{"a name is no path of the folder", ps("local ..."), nil, argv("./local"), ""},
		{"a path", ps(show + " ..."), nil, argv(show), "[show]"},
		{"a path is no name", ps(show + " ..."), nil, argv("show"), ""},
		{"a pattern of paths", ps(bin + "/* ..."), nil, argv(show), "[show]"},
		{"a pattern of paths is left", ps(bin + "/* ..."), nil, argv(bin + "/../local"), ""},
		{"a pattern of paths is left and entered", ps("./bin/* ..."), nil, argv("./bin/../bin/show"), ""},
		{"a pattern that goes up", ps("./bin/../* ..."), nil, argv("./bin/../local"), "[show]"},
		{"a path of the folder", ps("./local"), nil, argv("./local"), "[show]"},
		{"deny wins", ps("..."), ps("show"), argv("show"), ""},
		{"deny, with more arguments", ps("..."), ps("show"), argv("show", "a", "b"), ""},
		{"deny some", ps("..."), ps("show -r* ..."), argv("show", "-rf", "x"), ""},
		{"deny others", ps("..."), ps("show -r* ..."), argv("show", "x", "-rf"), "[show][x][-rf]"},
		{"deny by path", ps("..."), ps("show"), argv(show), ""},
		{"deny a path by name", ps("..."), ps(show), argv("show"), ""},
		{"deny a link", ps("..."), ps("show"), argv("other"), ""},
		{"deny a link by its own name", ps("..."), ps("other"), argv("other"), ""},
		{"deny a roundabout path", ps("..."), ps("show"), argv(bin + "/../bin//show"), ""},
		{"deny a relative path", ps("..."), ps("show"), argv("./local"), ""},
		{"deny everything", ps("..."), ps("..."), argv("show"), ""},
		{"deny nothing of it", ps("..."), ps("sho", "show?"), argv("show"), "[show]"},
	} {
		c := commandtool.Config{Name: "it", Free: &commandtool.Free{Allow: tt.allow, Deny: tt.deny}, Dir: dir, Env: map[string]string{"PATH": bin + ":" + path}}
		got := run(t.Context(), build(t, c), tt.args)
		if (got.failed == nil) != (tt.want != "") || got.out != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got.out, got.failed, tt.want)
		}
		if got.failed != nil && !strings.Contains(got.failed.Error(), "this tool may not run it: ") {
			t.Errorf("%s: %v", tt.name, got.failed)
		}
	}
}

// ps makes patterns of texts.
func ps(texts ...string) []commandtool.Pattern {
	var all []commandtool.Pattern
	for _, text := range texts {
		all = append(all, strings.Fields(text))
	}
	return all
}

func argv(elements ...any) map[string]any { return map[string]any{"argv": elements} }

func line(text string) map[string]any { return map[string]any{"command": text} }

func TestFreeArguments(t *testing.T) {
	t.Parallel()
	it := build(t, commandtool.Config{Name: "it", Free: &commandtool.Free{Allow: ps("...")}, Env: map[string]string{"PATH": path}})
	for _, tt := range []struct {
		args map[string]any
		want string
	}{
		{nil, "give either argv, a list of strings, or command, one string"},
		{map[string]any{"argv": []any{"true"}, "command": "true"}, "give either argv, a list of strings, or command, one string"},
		{argv(), "at /argv"},
		{argv(""), "at /argv: the program is empty"},
		{argv("true", 5.0), "at /argv/1"},
		{line(""), "at /command"},
		{line("true | false"), "at /command: | needs a shell"},
		{line("'' x"), "the name of the program is empty"},
		{argv("true", "a\x00b"), "contains a NUL character"},
		{argv("no-such-command"), `exec: "no-such-command": not found`},
		{map[string]any{"command": "true", "env": "x"}, "at /env"},
	} {
		got := run(t.Context(), it, tt.args)
		if got.failed == nil || !strings.Contains(got.failed.Error(), tt.want) || errors.Is(got.failed, tool.ErrOutcomeUnknown) {
			t.Errorf("%v: %v, want %s", tt.args, got.failed, tt.want)
		}
	}
}

// An approver is shown what would run, and what could not.
func TestHint(t *testing.T) {
	t.Parallel()
	c := commandtool.Config{Name: "it", Run: []string{"./deploy.sh", "--env", "{env}", "--", "{service}"}, Dir: "/srv", Args: map[string]commandtool.Arg{"env": {}, "service": {}}}
	free := commandtool.Config{Name: "it", Free: &commandtool.Free{Allow: ps("git ...")}}
	stdin := commandtool.Config{Name: "it", Run: []string{"psql"}, Stdin: "DELETE FROM {table};\n-- {why}", Args: map[string]commandtool.Arg{"table": {Default: "all"}, "why": {}}}
	for _, tt := range []struct {
		c    commandtool.Config
		args map[string]any
		want string
	}{
		{c, map[string]any{"env": "prod", "service": "-web"}, "Runs ./deploy.sh --env prod -- -web in /srv"},
		{c, map[string]any{"env": "", "service": "a b\n\u202e\"c\" ' -- x"}, `Runs ./deploy.sh --env "" -- "a b\n\u202e\"c\" ' -- x" in /srv`},
		{c, map[string]any{"env": "-x", "service": "web"}, `This call will fail: invalid: at /env: begins with "-", so the command would take it for an option`},
		{c, map[string]any{"env": "prod", "service": "a > <b> && c"}, `Runs ./deploy.sh --env prod -- "a > <b> && c" in /srv`},
		{stdin, map[string]any{"why": "<&>"}, `Runs psql with the input "DELETE FROM all;\n-- <&>"`},
		{stdin, map[string]any{"why": "\u202ex"}, `Runs psql with the input "DELETE FROM all;\n-- \u202ex"`},
		{free, line("git  push 'origin main'"), `Runs git push "origin main"`},
		{free, argv("rm", "-rf"), `This call will fail: "rm": this tool may not run it: with these arguments, it is not among the allowed commands`},
	} {
		hint, err := tool.Hint(nil, build(t, tt.c), tt.args)
		if err != nil || hint != tt.want {
			t.Errorf("%v: %v, %s, want %s", tt.args, err, hint, tt.want)
		}
	}
	if hint, _ := tool.Hint(nil, build(t, c), map[string]any{"env": strings.Repeat("x", 1<<20), "service": "web"}); len(hint) > 3000 {
		t.Errorf("the hint has %d bytes", len(hint))
	}
}
