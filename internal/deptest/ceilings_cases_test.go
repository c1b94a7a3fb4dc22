package deptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// measuredFiles are a package with a knot of a type, its methods, a function and a type that names
// the first, and with functions that call each other.
var measuredFiles = map[string]string{
	"room.go": `package p

// room has walls.
type room struct{ walls []*wall }

func (r *room) paint() { paintAll(r) }

func (*room) light() {}
`,
	"wall.go": `package p

type wall struct{ of *room }

func paintAll(r *room) { r.paint() }

func (r *room) air() {}

var colors = []string{
	"white",
}

func alone() { alone(); _ = colors }
`,
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	var files []*ast.File
	for name, source := range measuredFiles {
		f, err := parser.ParseFile(fset, name, source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	got := measure(fset, files, checked(t, "p", fset, files, nil))
	want := map[string]figure{
		"knot":      {9, []string{"room", "wall", "paintAll"}},
		"recursion": {2, []string{"paintAll", "room.paint"}},
		"methods":   {3, []string{"room"}},
		"spread":    {2, []string{"room"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(figure{})); diff != "" {
		t.Errorf("measure() (-want +got)\n%s", diff)
	}
}

func TestOverCeilings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		size map[string]int
		want string // the beginning of the only problem
	}{
		{"at every ceiling", map[string]int{"knot": 2000, "recursion": 150, "methods": 60, "spread": 8, "files": 30}, ""},
		{"a large knot", map[string]int{"knot": 2001}, "p: 2001 lines in the largest knot"},
		{"recursion", map[string]int{"recursion": 151}, "p: 151 lines of functions that call each other in a circle (f: 1 in all), want at most 150"},
		{"methods", map[string]int{"methods": 61}, "p: 61 methods on a type"},
		{"files of a type", map[string]int{"spread": 9}, "p: 9 files with methods of a type"},
		{"files", map[string]int{"files": 31}, "p: 31 Go files beside tests (f: 1 in all), want at most 30"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			figures := map[string]figure{}
			for name, size := range tt.size {
				figures[name] = figure{size, []string{"f"}}
			}
			got := overCeilings("p", figures)
			if tt.want == "" && len(got) == 0 {
				return
			}
			if len(got) != 1 || tt.want == "" || !strings.HasPrefix(got[0], tt.want) || !strings.Contains(got[0], "\n\tnext: ") {
				t.Errorf("overCeilings() = %q, want one problem that begins %q", got, tt.want)
			}
		})
	}
}
