package condition_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"a2a-server/approval/condition"
	"a2a-server/auth"
)

// A comparison of other types that must fail.
func TestStrangerOtherTypesFail(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2]string{
		{`args.a && true`, `{"a": "true"}`},
		{`args.a || false`, `{"a": "true"}`},
		{`args.a || args.b`, `{"a": "true", "b": false}`},
		{`!args.a`, `{"a": "true"}`},
		{`args.a ? true : false`, `{"a": "true"}`},
		{`args.l.exists(x, x)`, `{"l": ["true"]}`},
		{`args.l.all(x, x)`, `{"l": ["true"]}`},
		{`args.l.exists(x, x.ok)`, `{"l": [{"ok": "true"}]}`},
		{`args.l.exists(x, !x.ok)`, `{"l": [{"ok": "true"}]}`},
		{`args.l.exists(x, x == 10000)`, `{"l": ["10000", 5]}`},
		{`args.l.exists(tool, tool == 10000)`, `{"l": ["10000", 5]}`},
		{`-args.a == -10000`, `{"a": "10000"}`},
		{`-args.a == -10000`, `{"a": null}`},
		{`int(args.a) == 10000`, `{"a": "10000"}`},
		{`int(args.a) == 1`, `{"a": true}`},
		{`double(args.a) == 1.0`, `{"a": true}`},
		{`int(args.a) == 1`, `{"a": null}`},
		{`args.a > 9999`, `{"a": "10000"}`},
		{`9999 < args.a`, `{"a": "10000"}`},
		{`args.a > "9999"`, `{"a": 10000}`},
		{`args.a > false`, `{"a": 1}`},
		{`args.a > 0`, `{"a": true}`},
		{`args.a > 0`, `{"a": [1]}`},
		{`args.a > 0`, `{"a": {"a": 1}}`},
		{`args.a == 1u`, `{"a": "1"}`},
		{`args.a == b"eve"`, `{"a": "eve"}`},
		{`args.a == string`, `{"a": "eve"}`},
		{`args.a in ["eve"]`, `{"a": {"x": "eve"}}`},
		{`args.l[args.i] == 1`, `{"l": [1], "i": "0"}`},
		{`args.l[args.i] == 1`, `{"l": [1], "i": false}`},
		{`args.l[args.i] == 1`, `{"l": [1], "i": null}`},
		{`args.l[args.i] == 1`, `{"l": [1], "i": -1}`},
		{`args.l[args.i] == 1`, `{"l": [1], "i": 0.5}`},
		{`args.l[args.i] == 1`, `{"l": [1], "i": 1e300}`},
		{`args.o[args.i] == 1`, `{"o": {"1": 1}, "i": 1}`},
		{`args.o[args.i] == 1`, `{"o": {"true": 1}, "i": true}`},
		{`{1: true, 2: false}[args.i]== true`, `{"i": "1"}`},
		{`{"1": true}[args.i]`, `{"i": 1}`},
		{`{"a": 1, "b": "x"}["a"] == args.a`, `{"a": "1"}`},
		{`{"a": args.a}.a == 1`, `{"a": "1"}`},
		{`{args.a: 1}[10000] == 1`, `{"a": "10000"}`},
		{`{args.a: 1}["x"] == 1`, `{"a": ["x"]}`},
		{`{args.a: 1}["x"] == 1`, `{"a": {"x": 1}}`},
		{`{args.a: 1}["x"] == 1`, `{"a": null}`},
		{`[args.a][0] == 10000`, `{"a": "10000"}`},
		{`[args.a].exists(x, x == 10000)`, `{"a": "10000"}`},
		{`(args.a == 1 ? args.b : args.c) == 10000`, `{"a": 1, "b": "10000", "c": 1}`},
		{`(args.a == 10000) == true`, `{"a": "10000"}`},
		{`(args.a == 10000) in [true]`, `{"a": "10000"}`},
		{`[args.a == 10000][0]`, `{"a": "10000"}`},
		{`{"k": args.a == 10000}.k`, `{"a": "10000"}`},
		{`has({"k": args.a == 10000}.k) && args.a == 1`, `{"a": "10000"}`},
		{`args.a.startsWith("e")`, `{"a": ["e"]}`},
		{`args.a.startsWith(args.b)`, `{"a": "e", "b": ["e"]}`},
		{`args.a.startsWith(args.b)`, `{"a": "e", "b": null}`},
		{`args.a.contains("e")`, `{"a": ["e"]}`},
		{`has(args.a.b)`, `{"a": null}`},
		{`has(args.a.b)`, `{"a": ["b"]}`},
		{`has(args.a[0].b)`, `{"a": [["b"]]}`},
		{`args.n < null`, `{"n": 5}`},
		{`args.a.all(x, x > 0)`, `{"a": "10000"}`},
		{`args.a.all(x, x > 0)`, `{"a": null}`},
		{`size(args.a) > 100`, `{"a": 5}`},
		{`args.a + 1 == 10001`, `{"a": "10000"}`},
		{`args.a * 1 == 10000`, `{"a": true}`},
		{`args.a / args.b == 1`, `{"a": 0, "b": -0.0}`},
		{`1 / int(args.a) == 1`, `{"a": -0.0}`},
		{`args.a * args.a > 0.0`, `{"a": 1e308}`},
		{`int(args.a) > 0`, `{"a": 9.3e18}`},
		{`int(args.a) * 4096 > 0`, `{"a": 9007199254740991}`},
		{`int(args.a) / -1 > 0`, `{"a": -9.223372036854775808e18}`},
		{`int(args.a) % -1 == 0 && -9223372036854775808 / int(args.a) == 1`, `{"a": -1}`},
	} {
		c, err := condition.Compile(tt[0])
		if err != nil {
			t.Logf("refused: %s: %v", tt[0], err)
			continue
		}
		f := facts(t, tt[1])
		is, err := c.Match(f)
		if err == nil {
			t.Errorf("%s about %s = %v, want a failure", tt[0], tt[1], is)
			continue
		}
		for _, secret := range []string{"eve", "10000", "true"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error %q names a value", tt[0], err)
			}
		}
	}
}

// docs/policy.md: a condition fails if an argument has another type, wherever it is compared; only null and the
// elements within lists are excepted. Members of objects are not.
func TestStrangerMembersOfObjects(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2]string{
		{`args.card == {"limit": 10000}`, `{"card": {"limit": "10000"}}`},
		{`args.card != {"limit": 10000}`, `{"card": {"limit": "10000"}}`},
		{`{"limit": args.limit} == {"limit": 10000}`, `{"limit": "10000"}`},
		{`{args.id: true} == {10000: true}`, `{"id": "10000"}`},
		{`args.card in [{"limit": 10000}]`, `{"card": {"limit": "10000"}}`},
	} {
		c, err := condition.Compile(tt[0])
		if err != nil {
			t.Logf("refused: %s: %v", tt[0], err)
			continue
		}
		if is, err := c.Match(facts(t, tt[1])); err == nil {
			t.Errorf("%s about %s = %v, want a failure", tt[0], tt[1], is)
		}
	}
}

// A null in a literal list must not turn off the check of the other elements.
func TestStrangerNullInLiteralList(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2]string{
		{`args.amount in [null, 10000]`, `{"amount": "10000"}`},
		{`args.amount in [10000, "none"]`, `{"amount": "10000"}`},
	} {
		if is, err := condition.MustCompile(tt[0]).Match(facts(t, tt[1])); err == nil {
			t.Errorf("%s about %s = %v, want a failure", tt[0], tt[1], is)
		}
	}
}

// Whatever is refused or not at load, nothing panics.
func TestStrangerOddTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`1/0 == 1`, `1/0 == 1 || args.a == 1`, `1%0 == 1 || args.a == 1`, `int(1e308) == 1 || args.a == 1`, `0.0/0.0 == 1.0`, `0.0/0.0 == 1.0 || true`,
		`args.a < 1e400`, `args.a < -1e400`, `args.a == 1e-400`, `args.a == 9223372036854775808`, `args.a == -9223372036854775808`,
		`[1,2][5] == 1`, `{"a":1,"a":2}.a == args.a`, `{"a":1,"b":"x"}["a"] == "1"`, `"a".matches("[")`, `"a".matches(args.a)`, `true`, `false`, `[true][0]`,
		`[true].all(x, x)`, `[].all(x, x)`, `[].exists(x, x == 1)`, `has(args)`, `has(caller.subject)`, `has(args.a.b.c)`, `has(tool)`, `args.l.exists(args, args.a == 1)`,
		`args.l.exists(caller, caller.subject == "eve")`, `args.l.exists(@clock, true)`, `args.l.exists(x, args.l.exists(y, x == y))`, `args.l.exists_one(x, x == 1)`,
		`args.l.map(x, x) == [1]`, `args.l.filter(x, x == 1) == [1]`, `args.m.exists(k, v, k == v)`, `args.?a == 1`, `args[?"a"] == 1`, `[?args.a] == 1`,
		`type(args.a) == int`, `dyn(args.a) == 1`, `string(args.a) == "1"`, `timestamp("2020-01-01T00:00:00Z") < timestamp("2020-01-01T00:00:00Z")`, `args.a.b()`,
		`@clock == null`, `@in(1, [1])`, `_==_(1, 1)`, `google.protobuf.Value{} == null`, `google.protobuf.Int64Value{value: 1} == args.a`, `args == args`, `args == {}`,
		`int == int`, `int == string`, `null == null`, `null != args.a`, `"\u0000" == args.a`, `"\U0010FFFF" == args.a`, `"\ud800" == args.a`, `b"\xff" == args.a`,
		`{null: 1} == {null: 1}`, `{1: 1, 1u: 2} == {1.0: 1}`, `{1.0: 1}[1] == 1`, `{[1]: 1} == args.a`, `{args.l: 1} == args.a`, `{{"a":1}: 1} == args.a`, `[[1]] == [[1]] && args.a == 1`,
		`args.a == 1 ? true : args.b`, strings.Repeat("!", 400) + "true", strings.Repeat("(", 400) + "true" + strings.Repeat(")", 400), strings.Repeat("[", 200) + strings.Repeat("]", 200) + " == args.a",
		`args.l.exists(x, x == 1) && .args.a == 1`, `args.a == args.l.size()`, `"a" in args`, `size(args) == 1`, `tool in args.l`, `args.é == 1`, "args.`a-b` == 1",
	} {
		c, err := condition.Compile(text)
		if err != nil {
			t.Logf("refused: %.60s: %v", text, err)
			continue
		}
		c.Reads()
		for _, a := range []string{`{}`, `{"a": 1, "l": [1, "x", null, {"a": 1}, [1]], "m": {"a": 1}}`, `{"a": "x", "l": ["x"], "m": null}`, `{"a": null, "l": null}`, `{"a": [1], "l": [{"subject": "eve"}]}`, `{"a": {"b": {"c": 1}}, "l": {"a": 1}}`} {
			is, err := c.Match(facts(t, a))
			t.Logf("%.60s about %s = %v, %v", text, a, is, err)
		}
	}
}

// timed returns facts whose time is over after 100 ms.
func timed(args map[string]any) *condition.Facts {
	began := time.Now()
	return condition.NewFacts(args, "pay", "desk", auth.Principal{}, func() bool { return time.Since(began) > 100*time.Millisecond })
}

// A condition about a large call ends soon after its 100 ms.
func TestStrangerTimeIsBounded(t *testing.T) {
	list := make([]any, 400_000)
	for i := range list {
		list[i] = float64(i % 10)
	}
	deep := any("x")
	for range 100 {
		deep = []any{deep}
	}
	same := make([]any, len(list))
	copy(same, list)
	texts := make([]any, 5000)
	for i := range texts {
		texts[i] = strings.Repeat("a", 200)
	}
	args := map[string]any{"l": list, "m": same, "s": strings.Repeat("a", 1<<20), "p": strings.Repeat("a", 1<<19) + "b", "d": deep, "t": texts, "short": strings.Repeat("a", 2000), "twice": strings.Repeat("a", 2<<20/1000)}
	many := func(n int, part, with string) string { return strings.TrimSuffix(strings.Repeat(part+with, n), with) }
	for name, text := range map[string]string{
		"lists of lists":    "[" + many(100, "args.l", ",") + "] == [" + many(100, "args.m", ",") + "]",
		"in lists of lists": "args.l in [" + many(200, "args.m", ",") + "] || args.l != args.m",
		"one list":          "args.l == args.m",
		"lists":             many(80, "args.l == args.m", "&&"),
		"contains":          many(70, "!args.s.contains(args.p)", "&&"),
		"starts":            many(60, "args.s.startsWith(args.s)", "&&"),
		"size":              many(80, "size(args.s) > 5", "&&"),
		"member":            many(80, "!(50 in args.l)", "&&"),
		"member of texts":   `args.t.all(x, !(50 in args.l))`,
		"all, lists":        `args.t.all(x, args.l == args.m)`,
		"all, starts":       `args.t.all(x, ` + many(50, "args.s.startsWith(args.s)", "&&") + `)`,
		"pattern":           `args.t.all(x, !x.matches("^(a|a?)+(a|aa)*(a|a?)+b$"))`,
		"large pattern":     `!args.twice.matches("(?:a?){490}b")`,
		"larger pattern":    `!args.twice.matches("^(?:a|a|a){190}c|(?:(?:a?a?a?){80})+b")`,
	} {
		c, err := condition.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		began := time.Now()
		is, err := c.Match(timed(args))
		took := time.Since(began)
		t.Logf("%-20s %v: %v, %v", name, took.Round(time.Millisecond), is, err)
		if took > time.Second {
			t.Errorf("%s: it took %v, and the conditions of a call have 100 ms", name, took)
		}
	}
}

// Ten thousand conditions are loaded.
func TestStrangerLoad(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	var all []*condition.Condition
	for i := range 10_000 {
		all = append(all, condition.MustCompile(fmt.Sprintf(`args.amount > %d && args.to in ["a", "b%d"] && args.l.exists(x, x.n == %d)`, i, i, i)))
	}
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("10,000: %v, %d KiB each", took, (after.HeapAlloc-before.HeapAlloc)/10_000/1024)
	runtime.KeepAlive(all)
	for _, pattern := range []string{`\\pL{900}`, strings.Repeat(`\\pL`, 480), strings.Repeat(`[\\pL\\pN]`, 200), `(?i:\\pL{450})`, `(?:\\PL|\\pN){300}`, strings.Repeat(`\\w?`, 480), `((a{10}){10}){10}`, `(((a{30}){30}){30}){30}`} {
		began := time.Now()
		_, err := condition.Compile(`args.s.matches("` + pattern + `")`)
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("pattern %.20s: %v, %v", pattern, took, err)
		} else {
			t.Logf("pattern %.20s: %v, %v", pattern, took, err)
		}
	}
}

// One condition is evaluated by many at once.
func TestStrangerAtOnce(t *testing.T) {
	c := condition.MustCompile(`args.l.exists(x, x.n == args.n) && args.s.matches("^a+$") && args.l.all(x, x.n < 100)`)
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 2000 {
				n := (i + g) % 20
				is, err := c.Match(facts(t, fmt.Sprintf(`{"n": %d, "s": "aaa", "l": [{"n": %d}, {"n": 3}]}`, n, g)))
				if want := n == g || n == 3; err != nil || is != want {
					t.Errorf("%d of %d = %v, %v, want %v", n, g, is, err, want)
				}
			}
		})
	}
	all.Wait()
}
