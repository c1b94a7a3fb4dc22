package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/internal/golden"
)

// problems returns what Load says of s, which must be wrong.
func problems(t *testing.T, s config.Source) *config.Error {
	t.Helper()
	c, err := config.Load(s)
	var all *config.Error
	if !errors.As(err, &all) || len(all.Problems) == 0 {
		t.Fatalf("Load() = %v, %v, want an *Error with problems", c, err)
	}
	if c != nil {
		t.Errorf("Load() = %v beside an error, want nil", c)
	}
	return all
}

// write puts text into a file of its own and returns its path.
func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a2a-server.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWrongFiles reads each file of testdata/wrong and compares everything that is
// said about it.
func TestWrongFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "wrong", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			all := problems(t, config.Source{File: file})
			for _, p := range all.Problems {
				if p.Source != config.File || p.File != file {
					t.Errorf("problem %q is said to come from %s %s", p, p.Source, p.File)
				}
			}
			got := strings.ReplaceAll(all.Error(), file, filepath.Base(file))
			got = strings.ReplaceAll(got, here+string(filepath.Separator), "")
			golden.File(t, strings.TrimSuffix(file, ".yaml")+".txt", got+"\n")
			for _, leak := range []string{"approval.", "yaml.Node", "go-yaml", "struct {", "config.", "%!", "sk-LIVE"} {
				if strings.Contains(got, leak) {
					t.Errorf("the problems say %q, which is none of the author's business", leak)
				}
			}
		})
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	huge := filepath.Join(t.TempDir(), "huge.yaml")
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// No byte of it is on the disk.
	if err := os.Truncate(huge, 1<<30); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(folder, "missing.yaml")

	tests := []struct{ name, path, want string }{
		{"missing", missing, missing + ": there is no such file; correct its name, or leave it out to use the defaults"},
		{"folder", folder, folder + ": is a folder; name the file in it"},
		{"huge", huge, huge + ": is larger than 1 MiB; make it smaller, or name another file"},
		{"in a file", huge + "/a.yaml", huge + "/a.yaml: cannot be read: not a directory; make it readable for the user who runs the server"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := problems(t, config.Source{File: tt.path}).Error(); got != tt.want {
				t.Errorf("Load() = %q, want %q", got, tt.want)
			}
		})
	}
}

// TestAllLayersAtOnce shows that problems of one layer do not hide those of another.
func TestAllLayersAtOnce(t *testing.T) {
	t.Parallel()
	path := write(t, "log:\n  level: loud\n  format: text\n")
	all := problems(t, config.Source{
		File: path,
		Environment: []string{
			"A2A_SERVER_LOG_LEVL=info", "A2A_SERVER_STORE=redis", "HOME=/", "A2A_SERVER_ALLOWED_HOSTS=a,b c",
			"A2A_SERVER_GATES=x", "A2A_SERVER_WHATEVER=x", "A2A_SERVER_LISTEN=",
		},
		Flags: map[string]string{"limits.per_caller": "0", "log.lvel": "info", "gates": "x"},
	})
	want := []config.Problem{
		{Source: config.File, File: path, Line: 2, Column: 10, Key: "log.level", Problem: `"loud" is not a level; use debug, info, warn or error`},
		{Source: config.File, File: path, Line: 3, Column: 11, Key: "log.format", Problem: `"text" is not a format; use auto, json or console`},
		{Source: config.Environment, Key: "A2A_SERVER_ALLOWED_HOSTS", Problem: `"b c" is not a host; write a name or an address, without scheme, port or *`},
		{Source: config.Environment, Key: "A2A_SERVER_GATES", Problem: "gates can only be set in the file"},
		{Source: config.Environment, Key: "A2A_SERVER_LISTEN", Problem: "is empty; write host:port"},
		{Source: config.Environment, Key: "A2A_SERVER_LOG_LEVL", Problem: "there is no such setting; did you mean A2A_SERVER_LOG_LEVEL?"},
		{Source: config.Environment, Key: "A2A_SERVER_STORE", Problem: `"redis" is not a store; use bolt, bolt:PATH or memory`},
		{Source: config.Environment, Key: "A2A_SERVER_WHATEVER", Problem: "there is no such setting"},
		{Source: config.Flag, Key: "--gates", Problem: "gates can only be set in the file"},
		{Source: config.Flag, Key: "--limits-per-caller", Problem: "0 is too small; at least 1 is required"},
		{Source: config.Flag, Key: "--log-lvel", Problem: "there is no such flag; did you mean --log-level?"},
	}
	if diff := cmp.Diff(want, all.Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	lines := strings.Split(all.Error(), "\n")
	for i, line := range []string{path + ":2:10: log.level: ", path + ":3:11: log.format: ", "environment: A2A_SERVER_ALLOWED_HOSTS: "} {
		if !strings.HasPrefix(lines[i], line) {
			t.Errorf("line %d = %q, want it to begin %q", i, lines[i], line)
		}
	}
	if last := lines[len(lines)-1]; last != "flag: --log-lvel: there is no such flag; did you mean --log-level?" {
		t.Errorf("last line = %q", last)
	}
}

func TestManyProblems(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for range 1000 {
		text.WriteString("? [listn]\n: 1\n")
	}
	all := problems(t, config.Source{File: write(t, text.String())})
	if len(all.Problems) != 1000 {
		t.Errorf("%d problems, want all 1000", len(all.Problems))
	}
	lines := strings.Split(all.Error(), "\n")
	if len(lines) != 101 || lines[100] != "and 900 more problems" {
		t.Errorf("%d lines, the last %q, want 101 and a count", len(lines), lines[len(lines)-1])
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"lisen: a", "listen"},
		{"lsiten: a", "listen"},
		{"publicURL: a", "public_url"},
		{"public-url: a", "public_url"},
		{"limit: {turns: 1}", "limits"},
		{"limits: {running_task: 1}", "limits.running_tasks"},
		{"running_tasks: 1", "limits.running_tasks"},
		{"gate: []", "gates"},
		{"gates: [{tool: a, onreject: cancel}]", "on_reject"},
		{"database: a", ""},
		{strings.Repeat("listen", 20) + ": a", ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			all := problems(t, config.Source{File: write(t, tt.text)}).Problems
			found := slices.ContainsFunc(all, func(p config.Problem) bool {
				want := "there is no such key"
				if tt.want != "" {
					want += "; did you mean " + tt.want + "?"
				}
				return p.Problem == want
			})
			if !found {
				t.Errorf("problems = %v, want a suggestion of %q", all, tt.want)
			}
		})
	}
}
