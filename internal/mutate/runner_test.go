package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fixture is a module with a package, another that has nothing but a test of the first,
// and one without tests.
var fixture = map[string]string{
	"go.mod": "module fixture\n\ngo 1.26.0\n",
	"sum/sum.go": `package sum

import "os"

// Of adds up, and stops at limit.
func Of(limit int, list ...int) int {
	total := 0
	for i := 0; i < len(list); i++ {
		if total += list[i]; total > limit {
			return limit
		}
	}
	return total
}

func seven() int { return 7 }

func leave() { os.Exit(0) }
`,
	"sum/sum_test.go": `package sum

import "testing"

func TestOf(t *testing.T) {
	for name, limit := range map[string]int{"no limit": 99, "a limit": 5} {
		t.Run(name, func(t *testing.T) {
			if got := Of(limit, 1, 2, 3); got != min(limit, 6) {
				t.Errorf("Of() = %d", got)
			}
		})
	}
}

func TestSeven(t *testing.T) {
	if seven() < 7 {
		t.Fatal("less than seven")
	}
}

func TestCase(t *testing.T) {
	println("--- PASS: TestCase/seven_again (0.00s)")
	if seven() != 7 {
		return // without the case
	}
	t.Run("seven", func(t *testing.T) {})
}

func TestSkipped(t *testing.T) { t.Skip("not today") }

func TestFails(t *testing.T) { t.Error("as ever") }

func TestEndless(t *testing.T) { for { } }
`,
	"user/doc.go": "package user\n",
	"user/user_test.go": `package user_test

import (
	"testing"

	"fixture/sum"
)

func TestUse(t *testing.T) {
	if sum.Of(9, 1) != 1 {
		t.Fatal("not one")
	}
}
`,
	"empty/empty.go": "package empty\n",
}

// fixtureRunner returns a runner of a fresh fixture, and what it prints.
func fixtureRunner(t *testing.T) (*runner, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range fixture {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	r := newRunner(dir, &out)
	r.workers = 2
	r.originalLimit, r.patience = 10*time.Second, 5*time.Second
	return r, &out
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	const add, start = "total += list[i]", "total := 0\n"
	tests := []struct {
		name string
		row  Row // Defaults of File and Promise are below
		want outcome
		why  string // a part of it
	}{
		{"a test fails", Row{What: add, Into: "total -= list[i]", Test: "TestOf"}, killed, "Of() = "},
		{"a case fails", Row{What: "return limit", Into: "return total", Test: "TestOf/a limit"}, killed, "Of() = 6"},
		{"another package's test fails", Row{What: start, Into: "total := 1\n", Package: "user", Test: "TestUse"}, killed, "not one"},
		{"a test panics", Row{What: start, Into: "total := list[len(list)]\n", Test: "TestOf"}, killed, "index out of range"},
		{"a test leaves", Row{What: "return 7", Into: "leave(); return 7", Test: "TestSeven"}, killed, "os.Exit(0)"},
		{"a test does not end, as the row says", Row{What: "return total", Into: "for {\n}", Test: "TestOf/no limit", Hangs: true}, killed, "did not end"},

		{"a test passes", Row{What: "return 7", Into: "return 8", Test: "TestSeven"}, survived, ""},
		{"another case fails", Row{What: "return limit", Into: "return total", Test: "TestOf/no limit"}, survived, ""},

		{"text that is not there", Row{What: "total = 0", Into: "total = 1", Test: "TestOf"}, broken, "does not occur"},
		{"text that occurs twice", Row{What: "os", Into: "fmt", Test: "TestOf"}, broken, "occurs 2 times"},
		{"no change", Row{What: start, Into: start, Test: "TestOf"}, broken, "the same"},
		{"no file", Row{File: "sum/gone.go", What: start, Into: "", Test: "TestOf"}, broken, "no such file"},
		{"no test said", Row{What: start, Into: "total := 1\n"}, broken, "Test is empty"},
		{"does not build", Row{What: start, Into: "total := none\n", Test: "TestOf"}, broken, "sum/sum.go:7:11: undefined: none"},
		{"does not end, and the row does not say so", Row{What: "return total", Into: "for {\n}", Test: "TestOf/no limit"}, broken, "does not say Hangs"},

		{"no test of this name", Row{What: add, Into: "", Test: "TestO"}, broken, "none of this name"},
		{"no case of this name", Row{What: add, Into: "", Test: "TestOf/limit"}, broken, "none of this name"},
		{"a test that only prints that it passed", Row{What: add, Into: "", Test: "TestCase/seven again"}, broken, "none of this name"},
		{"a test that is skipped", Row{What: add, Into: "", Test: "TestSkipped"}, broken, "it is skipped"},
		{"a test that always fails", Row{What: add, Into: "", Test: "TestFails"}, broken, "as ever"},
		{"a test that never ends", Row{What: add, Into: "", Test: "TestEndless", Hangs: true}, broken, "does not end, without"},
		{"a package without tests", Row{What: add, Into: "", Package: "empty", Test: "TestOf"}, broken, "no test files"},
		{"the mutant has no such case", Row{What: "return 7", Into: "return 8", Test: "TestCase/seven"}, broken, "did not run on the mutant"},
		{"the mutant does not start", Row{What: "func leave", Into: "var _ = []int{}[seven()]\n\nfunc leave", Test: "TestOf"}, broken, "before the test began"},
	}
	table := make([]Row, len(tests))
	for i, tt := range tests {
		table[i] = tt.row
		table[i].Promise = tt.name
		if tt.row.File == "" {
			table[i].File = "sum/sum.go"
		}
	}
	r, out := fixtureRunner(t)
	verdicts, err := r.run(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range tests {
		if got := verdicts[i]; got.outcome != tt.want || !strings.Contains(got.why, tt.why) {
			t.Errorf("%s: %s (%s), want %s (%s)", tt.name, got.outcome, got.why, tt.want, tt.why)
		}
	}
	if code := exitCode(verdicts); code != exitBroken {
		t.Errorf("exitCode() = %d, want %d", code, exitBroken)
	}
	for _, want := range []string{
		"sum/sum.go: a case fails [TestOf/a_limit]\n",
		"sum/sum.go: another package's test fails [user TestUse]\n",
		"survived: a test passes\nsum/sum.go:16\n\t- return 7\n\t+ return 8\n",
		"mutate: 6 killed, 2 survived, 16 broken, 24 in all, in ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
	left, err := os.ReadDir(r.root + "/sum")
	if err != nil || len(left) != 2 {
		t.Errorf("the package has the files %v (%v), want those of before", left, err)
	}
	if _, err := os.Stat(r.work); !os.IsNotExist(err) {
		t.Errorf("the folder for what was built is still there (%v)", err)
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		outcomes []outcome
		want     int
	}{
		{[]outcome{killed, killed}, 0},
		{[]outcome{killed, survived}, exitSurvived},
		{[]outcome{broken, survived, killed}, exitBroken},
	} {
		verdicts := make([]verdict, len(tt.outcomes))
		for i, o := range tt.outcomes {
			verdicts[i].outcome = o
		}
		if got := exitCode(verdicts); got != tt.want {
			t.Errorf("exitCode(%v) = %d, want %d", tt.outcomes, got, tt.want)
		}
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	r, out := fixtureRunner(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	verdicts, err := r.run(ctx, []Row{{File: "sum/sum.go", What: "return 7", Into: "return 8", Promise: "p", Test: "TestSeven"}})
	if err == nil || verdicts != nil || out.Len() > 0 {
		t.Errorf("run() = %v, %v, and %q is printed; want an error alone", verdicts, err, out)
	}
}
