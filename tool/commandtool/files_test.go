//go:build linux || darwin

package commandtool_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"a2a-server/tool"
	"a2a-server/tool/commandtool"
)

// folder makes the folder of a tool, next to what it must not reach.
func folder(t *testing.T) string {
	t.Helper()
	outer := t.TempDir()
	dir := filepath.Join(outer, "folder")
	err := errors.Join(
		os.MkdirAll(filepath.Join(dir, "sub"), 0o700),
		os.Mkdir(dir+"2", 0o700),
		os.WriteFile(filepath.Join(outer, "secret"), []byte("secret"), 0o600),
		os.WriteFile(filepath.Join(dir+"2", "secret"), []byte("secret"), 0o600),
		os.WriteFile(filepath.Join(dir, "file"), []byte("contents"), 0o600),
		os.WriteFile(filepath.Join(dir, "-rf"), []byte("dash"), 0o600),
		os.WriteFile(filepath.Join(dir, "sub", "file"), []byte("below"), 0o600),
		os.Symlink("file", filepath.Join(dir, "link")),
		os.Symlink("sub", filepath.Join(dir, "sublink")),
		os.Symlink("../secret", filepath.Join(dir, "out")),
		os.Symlink(filepath.Join(outer, "secret"), filepath.Join(dir, "absolute")),
		os.Symlink("..", filepath.Join(dir, "up")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
		os.Symlink("missing", filepath.Join(dir, "inner")),
		os.Symlink("../new", filepath.Join(dir, "dangling")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for _, tt := range []struct {
		path       string
		plain, new string // what the command reads; "": it is refused; "-": it is not there
		open       string
	}{
		{"file", "contents", "contents", "contents"},
		{"./file", "contents", "contents", "contents"},
		{"sub/file", "below", "below", "below"},
		{"sub/../file", "contents", "contents", "contents"},
		{"sublink/file", "below", "below", "below"},
		{"link", "contents", "contents", "contents"},
		{"-rf", "dash", "dash", "dash"},
		{filepath.Join(dir, "file"), "contents", "contents", "contents"},
		{"new", "", "-", ""},
		{"sub/new", "", "-", ""},
		{"nowhere/new", "", "", ""},
		{"file/new", "", "", ""},
		{"../secret", "", "", ""},
		{"sub/../../secret", "", "", ""},
		{"out", "", "", ""},
		{"absolute", "", "", ""},
		{"up/secret", "", "", ""},
		{"up/folder/file", "", "", ""}, // through the outside
		{"sublink/../../secret", "", "", ""},
		{"loop", "", "", ""},
		{"dangling", "", "", ""},
		{"inner", "", "-", ""}, // what it leads to is in the folder
		{"pipe", "", "", ""},
		{"/etc/passwd", "", "", ""},
		{dir + "2/secret", "", "", ""},
		{filepath.Join(dir, "..", "secret"), "", "", ""},
		{dir + "/../secret", "", "", ""},
		{"/", "", "", ""},
		{"a\x00b", "", "", ""},
		{"", "", "", ""},
		{"file\n", "", "-", ""},
	} {
		for _, how := range []struct {
			arg  commandtool.Arg
			want string
		}{
			{commandtool.Arg{Type: "file"}, tt.plain},
			{commandtool.Arg{Type: "file", MayBeMissing: true}, tt.new},
			{commandtool.Arg{Type: "file", Open: true}, tt.open},
		} {
			c := script(`[ -e "$1" ] || { printf %s -; exit; }; exec cat "$1"`, "{file}")
			c.Dir, c.Args = dir, map[string]commandtool.Arg{"file": how.arg}
			got := run(t.Context(), build(t, c), map[string]any{"file": tt.path})
			_, refused := errors.AsType[*tool.InvalidError](got.failed)
			if refused != (how.want == "") || got.out != how.want || got.failed != nil && !refused {
				t.Errorf("%q (%+v): %q, %v, want %q", tt.path, how.arg, got.out, got.failed, how.want)
			}
		}
	}
}

// The approver of a call with a file is shown the command as it runs.
func TestHintOfFiles(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for path, want := range map[string]string{
		"-rf":                   "Runs cat ./-rf in ",
		"sub/file":              "Runs cat sub/file in ",
		dir + "/sub/../file":    "Runs cat file in ",
		"../secret":             "This call will fail: ",
		dir + "2/secret":        "This call will fail: ",
		"a\x00b":                "This call will fail: ",
		"file\u202etxt":         `Runs cat "file\u202etxt" in `,
		dir + "/up/../-rf/../x": "Runs cat x in ",
	} {
		c := commandtool.Config{Name: "it", Run: []string{"cat", "{file}"}, Dir: dir, Args: map[string]commandtool.Arg{"file": {Type: "file"}}}
		hint, err := tool.Hint(nil, build(t, c), map[string]any{"file": path})
		if err != nil || !strings.HasPrefix(hint, want) {
			t.Errorf("%q: %v, %s, want %s", path, err, hint, want)
		}
	}
}

func TestFolderAsFile(t *testing.T) {
	t.Parallel()
	c := script(`ls "$1"`, "{file}")
	c.Dir, c.Args = folder(t), map[string]commandtool.Arg{"file": {Type: "file"}}
	if got := run(t.Context(), build(t, c), map[string]any{"file": "sub"}); got.out != "file\n" {
		t.Errorf("%q, %v", got.out, got.failed)
	}
	c.Args["file"] = commandtool.Arg{Type: "file", Open: true}
	if got := run(t.Context(), build(t, c), map[string]any{"file": "sub"}); got.failed == nil {
		t.Errorf("a folder is handed over open: %q", got.out)
	}
}

func TestSeveralOpenFiles(t *testing.T) {
	t.Parallel()
	c := script(`cat "$1" "$2" "$3"`, "{a}", "{b}", "{c}")
	file := commandtool.Arg{Type: "file", Open: true}
	c.Dir, c.Args = folder(t), map[string]commandtool.Arg{"a": file, "b": {Type: "file"}, "c": file}
	if got := run(t.Context(), build(t, c), map[string]any{"a": "file", "b": "sub/file", "c": "-rf"}); got.out != "contentsbelowdash" {
		t.Errorf("%q, %v", got.out, got.failed)
	}
}

// A link that is swapped after the check leads a command with an open file nowhere else.
func TestSwap(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	swap := `rm file && ln -s ../secret file && cat "$1"`
	c := script(swap, "{file}")
	c.Dir, c.Args = dir, map[string]commandtool.Arg{"file": {Type: "file", Open: true}}
	got := run(t.Context(), build(t, c), map[string]any{"file": "file"})
	if runtime.GOOS == "linux" && got.out != "contents" {
		t.Errorf("%q, %v", got.out, got.failed)
	}
	// Now the name leads out of the folder.
	if got = run(t.Context(), build(t, c), map[string]any{"file": "file"}); got.failed == nil {
		t.Errorf("%q", got.out)
	}
}

func TestFileErrors(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	c := script("exit 0", "{file}")
	c.Dir, c.Args = dir, map[string]commandtool.Arg{"file": {Type: "file"}}
	for path, want := range map[string]string{
		"../secret":   "invalid: at /file: ../secret is outside of the tool's folder",
		"out":         "invalid: at /file: out: path escapes from parent",
		"no":          "invalid: at /file: no: no such file or directory",
		"pipe":        "invalid: at /file: pipe: is neither a file nor a folder",
		"a\u202eb":    `invalid: at /file: a\u202eb: no such file or directory`,
		"/etc/passwd": "invalid: at /file: /etc/passwd is outside of the tool's folder",
	} {
		got := run(t.Context(), build(t, c), map[string]any{"file": path})
		if got.failed == nil || got.failed.Error() != want {
			t.Errorf("%q: %v, want %s", path, got.failed, want)
		}
	}
	c.Dir = filepath.Join(dir, "gone")
	if got := run(t.Context(), build(t, c), map[string]any{"file": "file"}); got.failed == nil || !strings.HasPrefix(got.failed.Error(), "the folder of the tool: ") {
		t.Errorf("without a folder: %v", got.failed)
	}
}
