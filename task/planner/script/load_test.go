package script_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"a2a-server/internal/golden"
	"a2a-server/task/planner/script"
)

// TestWrongFiles reads each file of testdata/wrong and compares everything that is
// said about it.
func TestWrongFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "wrong", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = script.Load(strings.NewReader(string(text)), "script.yaml")
			if err == nil {
				t.Fatal("Load() = nil, want problems")
			}
			var problem *script.ProblemError
			if !errors.As(err, &problem) {
				t.Errorf("Load() = %T, want one that joins ProblemErrors", err)
			}
			got := err.Error() + "\n"
			golden.File(t, strings.TrimSuffix(file, ".yaml")+".txt", got)
			for _, leak := range []string{"script.", "yaml.Node", "go-yaml", "struct {", "interface {"} {
				if strings.Contains(strings.ReplaceAll(got, "script.yaml", ""), leak) {
					t.Errorf("the problems name %q, which is none of the author's business", leak)
				}
			}
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	head := "scenarios:\n  - name: a\n    steps:\n"
	tests := []struct{ name, text, want string }{
		{"file", head + strings.Repeat("#", script.MaxFile), "x.yaml: is larger than 1 MiB; make it smaller, or name another file"},
		{"chunks", head + "      - chunks: {id: a, texts: [" + strings.Repeat("a, ", script.MaxChunks+1) + "]}\n", "x.yaml:4:32: scenarios[0].steps[0].chunks.texts: has 10001 entries, at most 10000 are allowed"},
		{"calls", head + "      - calls: [" + strings.Repeat("{tool: a}, ", script.MaxCalls+1) + "]\n", "x.yaml:4:16: scenarios[0].steps[0].calls: has 65 calls, at most 64 are allowed in one step; use several steps"},
		{"nesting", head + "      - call: {tool: a, args: {a: " + strings.Repeat("[", 65) + strings.Repeat("]", 65) + "}}\n", "nested deeper than 64"},
		{"problems", head + strings.Repeat("      - nope: 1\n", 130), "x.yaml: and 30 more problems"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := script.Load(strings.NewReader(tt.text), "x.yaml")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Load() = %v, want %s", err, tt.want)
			}
		})
	}
}

func TestLoadReadError(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	_, err := script.Load(iotest.ErrReader(broken), "x.yaml")
	if !errors.Is(err, broken) || !strings.HasPrefix(fmt.Sprint(err), "read script x.yaml: ") {
		t.Errorf("Load() = %v, want that x.yaml cannot be read: %v", err, broken)
	}
}

// FuzzLoad looks for files that break the reader, or that are read and then break
// the planner.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "testdata/wrong/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text), "kit-artifacts-1", "hello")
		}
	}
	f.Fuzz(func(t *testing.T, text, id, said string) {
		p, err := script.Load(strings.NewReader(text), "script.yaml")
		if err != nil {
			if err.Error() == "" {
				t.Error("Load() has an error that says nothing")
			}
			return
		}
		r := newRun(t, p, message(id, said))
		if r.accept() {
			for r.next() && len(r.progress.Steps) < 20 {
				if r.last().Ask != nil {
					r.answer(message(id, said))
				}
			}
		}
	})
}
