package deptest

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const exampleDoc = "" +
	"# Example\n\n" +
	"| package | imports of ours | does not know |\n" +
	"|---|---|---|\n" +
	"| `cmd/x` | `internal/app` | anything else |\n" +
	"| `internal/app` | everything | |\n" +
	"| `wire` | `engine` | disks |\n" +
	"| `engine`, `engine/part` | `store` | the wire |\n" +
	"| `store` | – | |\n" +
	"| `store/internal/...` | `store` | |\n" +
	"| `store/suite` (tests only) | `store` | |\n" +
	"| `later` (planned) | – | |\n"

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		files map[string]string
		want  []string // the beginning of each violation
	}{
		{
			name: "everything allowed",
			files: map[string]string{
				"cmd/x/main.go":            `package main; import ("os"; "m/internal/app"); func main() { os.Exit(app.Run()) }`,
				"internal/app/app.go":      `package app; import ("os"; _ "embed"; "m/wire"; "m/store"); var _ = os.Getenv("A")`,
				"wire/wire.go":             `package wire; import ("example.com/web/v2"; "example.com/id"; "m/engine")`,
				"engine/engine.go":         `package engine; import ("example.com/web/core/sub"; "m/store")`,
				"engine/part/part.go":      `package part; import "os/exec"`,
				"store/store.go":           `package store; import "context"`,
				"store/internal/rows/r.go": `package rows; import "m/store"`,
			},
		},
		{
			name:  "arrow that is not in the table",
			files: map[string]string{"store/s.go": "package store\n\nimport \"m/engine\"\n"},
			want:  []string{"store/s.go:3: store imports engine; its row in docs/design/imports.md allows nothing of ours"},
		},
		{
			name:  "arrow to a folder below an allowed one",
			files: map[string]string{"wire/w.go": `package wire; import "m/engine/part"`},
			want:  []string{"wire/w.go:1: wire imports engine/part; its row in docs/design/imports.md allows engine; it does not know: disks"},
		},
		{
			name:  "arrow to the root",
			files: map[string]string{"store/s.go": `package store; import "m"`},
			want:  []string{"store/s.go:1: store imports .;"},
		},
		{
			name:  "package missing from the table",
			files: map[string]string{"util/u.go": `package util; import "m/store"`, "util/v.go": `package util`},
			want:  []string{"util: this package has no row"},
		},
		{
			name:  "package of tests alone missing from the table",
			files: map[string]string{"e2e/e_test.go": `package e2e`},
			want:  []string{"e2e: this package has no row"},
		},
		{
			name:  "root package missing from the table",
			files: map[string]string{"tools.go": `package tools`},
			want:  []string{".: this package has no row"},
		},
		{
			name:  "planned package that exists",
			files: map[string]string{"later/l.go": `package later`},
			want:  []string{"later: this package exists, but its row in docs/design/imports.md is marked (planned)"},
		},
		{
			name: "test files import what they like",
			files: map[string]string{
				"store/s_test.go": `package store_test; import ("os/exec"; _ "m/wire"; "m/store/suite"; "example.com/web"; "example.com/unheard")`,
			},
		},
		{
			name: "package for tests",
			files: map[string]string{
				"store/suite/s.go":    `package suite; import ("m/store"; "example.com/diff"; "os/exec")`,
				"store/suite/wire.go": `package suite; import "m/wire"`,
				"engine/e.go":         `package engine; import "m/store/suite"`,
				"internal/app/a.go":   `package app; import "m/store/suite"`,
			},
			want: []string{
				"engine/e.go:1: engine imports store/suite, which is for tests only",
				"internal/app/a.go:1: internal/app imports store/suite, which is for tests only",
				"store/suite/wire.go:1: store/suite imports wire; its row in docs/design/imports.md allows store",
			},
		},
		{
			name: "imports for their effects",
			files: map[string]string{
				"store/s.go":  `package store; import _ "image/png"`,
				"engine/e.go": `package engine; import . "os"`,
			},
			want: []string{"engine/e.go:1: dot import of os", "store/s.go:1: blank import of image/png"},
		},
		{
			name: "what is not ours is not looked at",
			files: map[string]string{
				"store/testdata/a.go":     `package a; import "m/wire"`,
				"nested/go.mod":           "module nested",
				"nested/n.go":             `package nested; import "m/wire"`,
				"node_modules/p/p.go":     `package p`,
				".cache/c.go":             `package c`,
				"_old/o.go":               `package o`,
				"store/_draft.go":         `not Go`,
				"docs/example.go.txt":     `not Go`,
				"store/internal/s/doc.go": `package s`,
			},
		},
	}
	r, err := parseRules(exampleDoc)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fsys := fstest.MapFS{}
			for name, src := range tt.files {
				fsys[name] = &fstest.MapFile{Data: []byte(src)}
			}
			got, err := check(fsys, "m", r)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(tt.want) {
				t.Fatalf("check() = %d violations, want %d:\n%s", len(got), len(tt.want), strings.Join(got, "\n"))
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("violation %d = %q, want it to begin %q", i, got[i], want)
				}
				if !strings.Contains(got[i], "\n\tnext: ") {
					t.Errorf("violation %d = %q, want a next step", i, got[i])
				}
			}
		})
	}
}

func TestCheckUnreadable(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{"store/s.go": &fstest.MapFile{Data: []byte("no Go at all")}}
	if _, err := check(fsys, "m", &rules{}); err == nil {
		t.Error("check() of a file that is not Go = nil, want an error")
	}
}

func TestParseRules(t *testing.T) {
	t.Parallel()
	r, err := parseRules(exampleDoc)
	if err != nil {
		t.Fatal(err)
	}
	want := packageRow{path: "engine/part", imports: []string{"store"}, unaware: "the wire"}
	got, _ := r.row("engine/part")
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(packageRow{})); diff != "" {
		t.Errorf("row of engine/part (-want +got)\n%s", diff)
	}

	tests := []struct {
		name     string
		old, new string // what is changed in exampleDoc
		want     string
	}{
		{"lost the import table", "| package |", "| packages |", "0 tables with the columns | package"},
		{"has a table twice", "# Example", "| package | imports of ours | does not know |\n", "2 tables"},
		{"has a short row", "| `store` | – | |", "| `store` | – |", "row \"`store`\" has 2 cells, want 3"},
		{"forgot the backticks", "| `store` | –", "| store | –", `"store" is not a mark`},
		{"has an unknown mark", "(planned)", "(soon)", `"(soon)" is not a mark`},
		{"has words among the imports", "| `wire` | `engine` |", "| `wire` | `engine` and more |", "cannot read"},
		{"has no imports and no dash", "| `store` | – |", "| `store` | |", "cannot read"},
		{"has a package twice", "| `later` (planned)", "| `store`", "store has two rows"},
		{"imports what has no row", "| `wire` | `engine` |", "| `wire` | `motor` |", "imports motor, which has no row"},
		{"imports what is for tests", "| `wire` | `engine` |", "| `wire` | `store/suite` |", "store/suite, which is for tests only"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			doc := strings.Replace(exampleDoc, tt.old, tt.new, 1)
			if doc == exampleDoc {
				t.Fatalf("%q is not in the example", tt.old)
			}
			_, err := parseRules(doc)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("parseRules() = %v, want an error with %q", err, tt.want)
			}
		})
	}
}
