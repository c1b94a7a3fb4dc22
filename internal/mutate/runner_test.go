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

import "time"

// Of adds up, and stops at limit.
func Of(limit int, list ...int) (total int) {
	for i := 0; i < len(list); i++ {
		total = total + list[i]
		if total > limit {
			return limit
		}
	}
	return total
}

func forever() { <-time.After(24 * time.Hour) }
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

func TestSmall(t *testing.T) {
	if Of(9, 1) != 1 {
		t.Fatal("not one")
	}
}

func TestCase(t *testing.T) {
	if Of(9, 7) != 7 {
		return // without the case
	}
	t.Run("seven", func(t *testing.T) {})
}

func TestSkipped(t *testing.T) { t.Skip("not today") }

func TestFails(t *testing.T) { t.Error("as ever") }

func TestEndless(t *testing.T) { forever() }
`,
	"user/doc.go": "package user\n",
	"user/user_test.go": `package user_test

import (
	"testing"

	"fixture/sum"
)

func TestUse(t *testing.T) {
	if sum.Of(9, 1) != 1 {
		panic("not one")
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
	r.originalLimit, r.patience = 3*time.Second, 2*time.Second
	return r, &out
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change change // of Of
		test   string
		want   outcome
		why    string // a part of it
	}{
		{"a case fails", use("limit#3", "total"), "TestOf/a limit", killed, "Of() = 6"},
		{"another package's test panics", use("0", "1"), "user TestUse", killed, "panic: not one"},
		{"a test does not end, as the row says", hangs(before("total#1", "forever()")), "TestOf/no limit", killed, "did not end"},

		{"another case fails", use("limit#3", "total"), "TestOf/no limit", survived, ""},

		{"a place that is not there", skip("gone"), "TestOf", broken, "0 places"},
		{"does not build", returns("none"), "TestOf", broken, "sum/sum.go:6:54: undefined: none"},

		{"no test of this name", returns("1"), "TestO", broken, "none of this name"},
		{"a test that is skipped", returns("4"), "TestSkipped", broken, "it is skipped"},
		{"a test that always fails", returns("5"), "TestFails", broken, "as ever"},
		{"a test that never ends", hangs(returns("6")), "TestEndless", broken, "does not end, without"},
		{"a package without tests", returns("7"), "empty TestOf", broken, "no test files"},
		{"the mutant has no such case", returns("8"), "TestCase/seven", broken, "did not run on the mutant"},
	}
	table := make([]row, len(tests))
	for i, tt := range tests {
		table[i] = row{"sum", "Of", tt.change, tt.test, tt.name}
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
		"sum.Of use(limit#3, total): a case fails [sum TestOf/a_limit]\n",
		"sum.Of use(0, 1): another package's test panics [user TestUse]\n",
		"another case fails [sum TestOf/no_limit]\n\tsum/sum.go:10: needs a test",
		"mutate: 3 killed, 1 survived, 8 broken, 12 in all, in ",
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

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change change
		got    ran
		want   outcome
		why    string // a part of it
	}{
		"passes":                   {returns(), ran{began: true, fine: true, end: "PASS"}, survived, ""},
		"fails":                    {returns(), ran{began: true, end: "FAIL", output: "one is not two"}, killed, "one is not two"},
		"panics":                   {returns(), ran{began: true, output: "panic: no"}, killed, "panic: no"},
		"fails later":              {returns(), ran{began: true, end: "PASS", output: "leaks"}, killed, "leaks"},
		"fails before":             {returns(), ran{output: "panic: no"}, broken, "failed before the test began: panic: no"},
		"is skipped":               {returns(), ran{began: true, fine: true, end: "SKIP"}, broken, "did not run"},
		"is not there":             {returns(), ran{fine: true}, broken, "did not run"},
		"does not end":             {returns(), ran{began: true, timedOut: true}, broken, "does not say that it hangs"},
		"does not end, as it says": {hangs(returns()), ran{began: true, timedOut: true}, killed, "did not end"},
		"ends, and may hang":       {hangs(returns()), ran{began: true, fine: true, end: "PASS"}, survived, ""},
	} {
		if got := judge(&row{change: tt.change}, &tt.got); got.outcome != tt.want || !strings.Contains(got.why, tt.why) {
			t.Errorf("a test that %s: %s (%s), want %s (%s)", name, got.outcome, got.why, tt.want, tt.why)
		}
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
	verdicts, err := r.run(ctx, []row{{"sum", "Of", returns("8"), "TestOf", "p"}})
	if err == nil || verdicts != nil || out.Len() > 0 {
		t.Errorf("run() = %v, %v, and %q is printed; want an error alone", verdicts, err, out)
	}
}
