package strictyaml_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"a2a-server/internal/strictyaml"
)

// read reads text as any value and returns it with its problems, one a line.
func read(t testing.TB, text string) (any, string) {
	t.Helper()
	r := &strictyaml.Report{File: "f"}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	root, ok := r.Open(path)
	var value any
	if ok && !root.Missing() {
		value = root.JSON()
	}
	var problems []string
	for _, p := range r.Problems() {
		problems = append(problems, p.String())
	}
	if !ok && len(problems) == 0 {
		t.Fatalf("Open(%q) is not ok and says nothing", text)
	}
	return value, strings.Join(problems, "\n")
}

func TestProblems(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 66) + strings.Repeat("]", 66)
	tests := []struct{ name, text, want string }{
		{"alias", "a: &x 1\nb: *x", "f:2:4: b: aliases are not supported; write the value out"},
		{"merge key", "a: &x {b: 1}\n<<: *x", "f:2:1: <<: merge keys are not supported; write the members out"},
		{"tag of a text", "a: !!str 1", "f:1:4: a: the tag !!str is not supported; remove it"},
		{"tag of a mapping", "a: !x {b: 1}", "f:1:4: a: the tag !x is not supported; remove it"},
		{"tag of a list", "a: !!set [1]", "f:1:4: a: the tag !!set is not supported; remove it"},
		{"tag of a key", "!!str a: 1", "f:1:1: a: the tag !!str is not supported; remove it"},
		{"list as a key", "[a]: 1", "f:1:1: a key must be a word, found a list"},
		{"key twice", "a: {b: 1,\n c: 2, b: 3}", "f:2:8: a.b: is given twice, first on line 1; remove one"},
		{"octal or not", "a: [010]", "f:1:5: a[0]: 010 can be read in two ways; remove the zero, or put quotes around it if a string is meant"},
		{"too large", "a: 99999999999999999999", "f:1:4: a: the number is too large; put quotes around it if a string is meant"},
		{"no number", "a: .nan", "f:1:4: a: .nan is not a number that JSON has; put quotes around it if a string is meant"},
		{"deep", deep, "f:1:66: " + strings.Repeat("[0]", 65) + ": nested deeper than 64"},
		{"two documents", "a: 1\n---\nb: 1", "f:2:1: a second document begins here; put everything into one document, without ---"},
		{"NUL", "a: \x00", "f:1:4: the control character U+0000 is not allowed; remove it"},
		{"DEL in a later line", "ä: 1\nb: \x7f", "f:2:4: the control character U+007F is not allowed; remove it"},
		{"CSI", "a: \"\u009b31m\"", "f:1:5: the control character U+009B is not allowed; remove it"},
		{"what only YAML 1.1 takes for a new line", "a: x\u0085b: y", "f:1:5: the control character U+0085 is not allowed; remove it"},
		{"line separator", "a: x\u2028b: y", "f:1:5: the control character U+2028 is not allowed; remove it"},
		{"paragraph separator", "a: x # \u2029b: y", "f:1:8: the control character U+2029 is not allowed; remove it"},
		{"not UTF-8", "a: \xff", "f:1:4: a byte here is not UTF-8; save the file in that encoding"},
		{"UTF-16", "\xff\xfea\x00", "f:1:1: a byte here is not UTF-8; save the file in that encoding"},
		{"tab", "a:\n \tb: 1", "f:2:2: the line begins with a tab; use spaces, YAML has no tabs there"},
		{"syntax", "a: [1\nb: 2", "f:2:2: is not YAML: did not find expected ',' or ']', in the value that begins on line 1"},
		{"10 MB line", "a: " + strings.Repeat("x", 10<<20), "f: is larger than 1 MiB; make it smaller, or name another file"},
		{"unknown anchor", "a: *x", "f:1:4: is not YAML: a value begins with *, which is an alias; put the value in quotes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, got := read(t, tt.text); got != tt.want {
				t.Errorf("Open() reports %q, want %q", got, tt.want)
			}
		})
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want any
	}{
		{"", nil},
		{"# nothing", nil},
		{"\ufeff---\n...\n", nil},
		{"\ufeffa: 1\r\nb: x\r\n", map[string]any{"a": int64(1), "b": "x"}},
		{"[yes, no, on, true, False]", []any{"yes", "no", "on", true, false}},
		{"[1, -1, 0, 1.5, 1e3, 0x10, 1_000, 1:30, 2001-01-01, ~, \"1\"]", []any{int64(1), int64(-1), int64(0), 1.5, 1000.0, int64(16), int64(1000), "1:30", "2001-01-01", nil, "1"}},
		{"a: \ufffd", map[string]any{"a": "\ufffd"}},
		{"a: &unused x", map[string]any{"a": "x"}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			got, problems := read(t, tt.text)
			if problems != "" {
				t.Fatalf("Open() reports %q", problems)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("JSON() (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecode shows what a reader of known keys says.
func TestDecode(t *testing.T) {
	t.Parallel()
	r := &strictyaml.Report{File: "f"}
	root, ok := r.Parse([]byte("name: 7\nStepz: 1\nother: 2\n? x\nsteps: {x: [1]}\n"))
	if !ok {
		t.Fatalf("Parse() reports %v", r.Problems())
	}
	var f struct{ Name, Steps, Limit strictyaml.Node }
	root.Decode(&f)
	f.Name.Text()
	f.Limit.Expected("a number", ", such as 5")
	var only struct{ Y strictyaml.Node }
	f.Steps.Decode(&only)
	only.Y.Below("z").Add("is not there")
	f.Name.Texts()
	var got []string
	for _, p := range r.Problems() {
		got = append(got, p.String())
	}
	want := []string{
		"f:1:1: limit: is missing; write a number, such as 5",
		"f:1:7: name: expected a string, found 7; put quotes around it",
		"f:1:7: name: expected a list, found 7; write it as [one, two]",
		"f:2:1: Stepz: there is no such key; did you mean steps?",
		"f:3:1: other: there is no such key; known are name, steps and limit",
		"f:4:3: x: there is no such key; known are name, steps and limit",
		"f:5:8: steps.y.z: is not there",
		"f:5:9: steps.x: there is no such key; the only one is y",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(file, []byte("a: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if root, ok := (&strictyaml.Report{}).Open(file); !ok || !root.IsMapping() {
		t.Errorf("Open() = %+v, %v, want a mapping", root, ok)
	}
	if root, ok := (&strictyaml.Report{}).Open(os.DevNull); !ok || !root.Null() {
		t.Errorf("Open(%s) = %+v, %v, want nothing", os.DevNull, root, ok)
	}
	const broken = "/proc/self/mem" // it can be opened, and its first byte cannot be read
	if _, err := os.Stat(broken); err == nil {
		r := &strictyaml.Report{}
		if _, ok := r.Open(broken); ok || len(r.Problems()) != 1 || !strings.Contains(r.Problems()[0].Problem, "cannot be read: input/output error") {
			t.Errorf("Open(%s) = %v, %v, want the error of the disk", broken, ok, r.Problems())
		}
	}
}

// FuzzRead reads any bytes: there is a value, or all that is wrong with them has a text
// and a place in them.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"../../cmd/a2a-server/internal/config/testdata/wrong/*.yaml", "../../docs/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := &strictyaml.Report{File: "f"}
		if root, ok := r.Parse(text); ok {
			root.JSON()
			var f struct {
				A string
				B []string
			}
			root.Decode(&f)
			root.Items("a list", "")
			root.Text()
			root.Bool()
		}
		lines := strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + strings.Count(string(text), "\u0085") + strings.Count(string(text), "\u2028") + strings.Count(string(text), "\u2029") + 2
		for _, p := range r.Problems() {
			if p.Problem == "" || p.Line < 0 || p.Line > lines || (p.Line == 0) != (p.Column == 0) || !utf8.ValidString(p.String()) || strings.Contains(p.String(), "\n") {
				t.Errorf("problem without its text or place: %s", fmt.Sprintf("%+v", p))
			}
		}
	})
}
