package condition_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"a2a-server/approval/condition"
	"a2a-server/auth"
	"a2a-server/tool"
)

// facts returns the facts of a call with these arguments, in JSON.
func facts(t testing.TB, args string) *condition.Facts {
	t.Helper()
	decoded, err := tool.DecodeArgs([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	by := auth.Principal{Tenant: "acme", Subject: "corp:alice", Roles: []string{"requester"}, Chain: []string{"key:bot"}}
	return condition.NewFacts(decoded, "pay", "desk", by, func() bool { return false })
}

const call = `{"amount": 100, "to": "bob", "force": true, "note": null, "tags": ["a", "b"], "card": {"number": "4111"}, "lines": [{"n": 1}, {"n": 20}], "zero": 0, "big": 1e300, "text": "NaN", "half": 5.5}`

func TestMatch(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"args.amount > 99":                                  true,
		"args.amount > 100":                                 false,
		"args.amount > 99.5":                                true,
		"args.amount == 100":                                true,
		"args.amount in [1, 100]":                           true,
		"args.amount >= 100 && args.to == 'bob'":            true,
		"args.force == true":                                true,
		"!(args.force == true)":                             false,
		"args.note == null":                                 true,
		"'a' in args.tags":                                  true,
		"'c' in args.tags":                                  false,
		"'number' in args.card":                             "a value is of another type, at 1:10",
		"size(args.card) == 1":                              "a value is of another type, at 1:5",
		"args.to < 'c' && args.to >= 'bob'":                 true,
		"int(args.lines[1]['n']) == 20":                     true,
		"-args.lines[1]['n'] < 0.0":                         true,
		"double(args.lines[1]['n']) == 20.0":                true,
		"args.note < 5":                                     "a value is of another type, at 1:11",
		"args.card.number.startsWith('4')":                  true,
		"args['card']['number'].endsWith('1')":              true,
		"args.to.matches('^b.b$')":                          true,
		"args.to.matches('^x')":                             false,
		"args.to.contains('o')":                             true,
		"size(args.to) == 3 && args.tags.size() == 2":       true,
		"has(args.amount) && !has(args.other)":              true,
		"has(args.card.number)":                             true,
		"args.lines.exists(l, l.n > 10)":                    true,
		"args.lines.all(l, l.n > 10)":                       false,
		"args.amount * 2 - 1 == 199":                        true,
		"int(args.amount) % 3 == 1":                         true,
		"(int(args.amount) + size(args.tags)) % 3 == 0":     true,
		"args.amount < 9007199254740991":                    true,
		"1 + args.amount / 2 - 3 * args.half == 34.5":       true,
		"-args.amount == -100":                              true,
		"double(int(args.half)) == 5.0":                     true,
		"args.amount > 10 ? args.to == 'bob' : false":       true,
		"tool == 'pay' && agent == 'desk'":                  true,
		"caller.subject == 'corp:alice'":                    true,
		"caller.tenant == 'acme'":                           true,
		"'requester' in caller.roles":                       true,
		"'key:bot' in caller.chain":                         true,
		"args.to != caller.subject":                         true,
		"args.other == 1 || args.amount == 100":             true,
		"args.missing > 1":                                  "an argument is missing, at 1:5",
		"args.card.cvc == '1'":                              "an argument is missing, at 1:10",
		"args.to > 1":                                       "a value is of another type, at 1:9",
		"args.text > 1.0":                                   "a value is of another type, at 1:11",
		"double(args.text) > 1.0":                           "a value is of another type, at 1:7",
		"args.amount.startsWith('1')":                       "a value is of another type, at 1:23",
		"args.amount.matches('1')":                          "a value is of another type, at 1:20",
		"args.zero / args.zero > 1.0":                       "a calculation has no finite result, at 1:11",
		"args.big * args.big > 1.0":                         "a calculation has no finite result, at 1:10",
		"args.amount / args.zero < 1.0":                     "a calculation has no finite result, at 1:13",
		"int(args.amount) / int(args.zero) == 1":            "it divides by zero, at 1:18",
		"int(args.big) > 1":                                 "a number is too large, at 1:4",
		"args.tags[7] == 'a'":                               "a list is too short, at 1:10",
		"args.to.size > 1":                                  "an argument is missing, at 1:8",
		"args.missing == 1 && args.amount == 1":             false,
		"args.tags.exists(x, x == 'a' || x.missing == 'b')": true,
	} {
		c, err := condition.Compile(text)
		if err != nil {
			t.Errorf("Compile(%s) = %v", text, err)
			continue
		}
		got, err := c.Match(facts(t, call))
		words, fails := want.(string)
		switch {
		case fails && (err == nil || err.Error() != words), !fails && (err != nil || got != want):
			t.Errorf("%s = %v, %v, want %v", text, got, err, want)
		}
	}
}

// A condition fails if an argument has another type: "true" for true, "10000" for 10000, a list around a text,
// an object for a list, or a text for an object must not evade a gate that denies.
func TestValuesOfOtherTypesFail(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		when, args string
		want       any // an error, or the result
	}{
		{`args.force == true`, `{"force": "true"}`, "a value is of another type, at 1:12"},
		{`args.force != true`, `{"force": "true"}`, "a value is of another type, at 1:12"},
		{`args.amount == 10000`, `{"amount": "10000"}`, "a value is of another type, at 1:13"},
		{`args.amount in [10000, 20000]`, `{"amount": "10000"}`, "a value is of another type, at 1:13"},
		{`args.to == "eve"`, `{"to": ["eve"]}`, "a value is of another type, at 1:9"},
		{`args.to in ["eve", "mallory"]`, `{"to": ["eve"]}`, "a value is of another type, at 1:9"},
		{`"eve" in args.to`, `{"to": [["eve"], "bob"]}`, "a value is of another type, at 1:7"},
		{`args.to in args.people`, `{"to": 1, "people": {"1": true}}`, "a value is of another type, at 1:9"},
		{`args.to in args.people`, `{"to": "eve", "people": {"eve": true}}`, "a value is of another type, at 1:9"},
		{`size(args.to) < 3`, `{"to": {"0": "eve"}}`, "a value is of another type, at 1:5"},
		{`args.to == ["eve", null]`, `{"to": ["eve", 1]}`, false},
		{`args.to == ["eve"]`, `{"to": [["eve"]]}`, "a value is of another type, at 1:9"},
		{`args.to != [{"id": [10000]}]`, `{"to": [{"id": ["10000"]}]}`, "a value is of another type, at 1:9"},
		{`args.to == ["bob", 10000]`, `{"to": ["eve", "10000"]}`, "a value is of another type, at 1:9"},
		{`args.to == ["eve"]`, `{"to": ["eve", 1]}`, false},
		{`args.card == {"limit": 10000}`, `{"card": {"limit": "10000"}}`, "a value is of another type, at 1:11"},
		{`args.card != {"limit": 10000}`, `{"card": {"limit": "10000"}}`, "a value is of another type, at 1:11"},
		{`args.card == {"limit": 10000, "a": 1}`, `{"card": {"limit": "10000", "b": 1}}`, "a value is of another type, at 1:11"},
		{`{"limit": 10000} == args.card`, `{"card": {"limit": "10000"}}`, "a value is of another type, at 1:18"},
		{`args.card in [{"limit": 10000}]`, `{"card": {"limit": "10000"}}`, "a value is of another type, at 1:11"},
		{`args.card == {"limit": 10000}`, `{"card": {"limit": 10000}}`, true},
		{`args.card == {"limit": 10000}`, `{"card": {"limit": null}}`, false},
		{`args.card == {"limit": 10000}`, `{"card": {"other": "10000"}}`, false},
		{`args.amount in [null, 10000]`, `{"amount": "10000"}`, "a value is of another type, at 1:13"},
		{`args.amount in [null, 10000]`, `{"amount": 10000}`, true},
		{`args.amount in [null, 10000]`, `{"amount": null}`, true},
		{`args.amount in [null, 10000]`, `{"amount": 5}`, false},
		{`args.to.exists(x, x == "eve")`, `{"to": {"0": "eve"}}`, "a value is of another type, at 1:15"},
		{`args.to.all(x, x != "eve")`, `{"to": {"0": "eve"}}`, "a value is of another type, at 1:12"},
		{`has(args.to.iban) && args.to.iban.startsWith("DE")`, `{"to": "DE02"}`, "a value is of another type, at 1:4"},
		{`"eve" in args.to`, `{"to": [["bob"], "eve"]}`, true},
		{`args.to in ["eve"]`, `{"to": null}`, false},
		{`args.to == null`, `{"to": "eve"}`, false},
		{`args.to != null`, `{"to": "eve"}`, true},
		{`int(args.n) == args.m`, `{"n": 1, "m": 1}`, true},
		{`has(args.to.iban)`, `{"to": {}}`, false},
		{`"x" in args.to`, `{"to": []}`, false},
	} {
		is, err := condition.MustCompile(tt.when).Match(facts(t, tt.args))
		got := any(is)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s about %s = %v, want %v", tt.when, tt.args, got, tt.want)
		}
	}
}

// A comparison fails wherever it stands: as the condition of ?:, within a calculation, and as an index.
func TestComparisonsFailEverywhere(t *testing.T) {
	t.Parallel()
	for comparison, column := range map[string]int{
		`args.n == 20000`: 7, `args.n != 20000`: 7, `args.n < 20000`: 7, `args.n <= 20000`: 7, `args.n > 20000`: 7, `args.n >= 20000`: 7,
		`args.n in [20000]`: 7, `20000 in args.n`: 6, `size(args.size) == 1`: 4, `args.size.size() == 1`: 14, `args.size.matches("x")`: 17, `args.size.contains("x")`: 18,
	} {
		for place, shift := range map[string]int{
			"COMPARED": 0, "COMPARED ? true : false": 0, "COMPARED ? false : true": 0, "!(COMPARED)": 2, "(COMPARED ? args.one : 0) == 1": 1, `{"p": true, "q": false}[COMPARED ? "p" : "q"]`: 24,
			"(true ? COMPARED : true) == true": 8, "[1].all(x, COMPARED)": 11, "[1].exists(x, COMPARED ? true : true)": 14, "(COMPARED ? {'a': true} : {'a': false}).a": 1, "[true][COMPARED ? 0 : 0]": 7,
			"args.one == 1 ? (COMPARED ? true : false) : true": 17, "false || COMPARED": 9, "true && (COMPARED)": 9,
		} {
			text := strings.ReplaceAll(place, "COMPARED", comparison)
			want := fmt.Sprintf("a value is of another type, at 1:%d", column+shift+1)
			c, err := condition.Compile(text)
			if err != nil {
				t.Errorf("Compile(%s) = %v", text, err)
				continue
			}
			if got, err := c.Match(facts(t, `{"n": "20000", "one": 1, "size": {"x": 1}}`)); err == nil || err.Error() != want {
				t.Errorf("%s = %v, %v, want that %s", text, got, err, want)
			}
		}
	}
}

// A failure names nothing of the call: it goes into logs.
func TestFailureLeaksNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"args[args.to] == 1", "args.card[args.to] == 1", "int(args.to) == 1", "double(args.to) == 1.0", "args.to - 1 == 0", "args.tags[args.to] == 1", "args.lines.exists(l, l[args.to] == 1)", "args.to[0] == 'x'"} {
		_, err := condition.MustCompile(text).Match(facts(t, strings.Replace(call, "bob", "s3cret", 1)))
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s fails with %v", text, err)
		}
	}
}

// Conditions, right and wrong, are compiled at once.
func TestCompileAtOnce(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			if _, err := condition.Compile("args.l.all(x, x > 1)"); err != nil {
				t.Error(err)
			}
			if _, err := condition.Compile(fmt.Sprintf("arg%d.amount > 1", n)); err == nil {
				t.Errorf("arg%d is compiled", n)
			}
		})
	}
	all.Wait()
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                               "is empty; write a condition such as args.amount > 100",
		"args.force":                                     "is an argument of any type, not true or false; compare it with something, such as args.amount > 100 or args.force == true",
		"1":                                              "is an int, not true or false; compare it with something, such as args.amount > 100 or args.force == true",
		"arg.amount > 1":                                 `there is no "arg" here; known are args, tool, agent, caller.subject, caller.tenant, caller.roles and caller.chain`,
		"caller.rolls == 1":                              `there is no "caller.rolls" here; known are args, tool, agent, caller.subject, caller.tenant, caller.roles and caller.chain`,
		"decider.subject == 'a'":                         `there is no "decider.subject" here; known are args, tool, agent, caller.subject, caller.tenant, caller.roles and caller.chain`,
		"args.to.matches(args.pattern)":                  "the pattern of matches is not a literal; write it in quotes, because a pattern of a call could be slow",
		"args.to.matches('(')":                           "the pattern is not valid: error parsing regexp: missing closing ): `(`",
		"args.to.matches('((a{10}){20}){5}')":            "the pattern is too large; repeat less in it",
		"args.a + 'x' == 'y'":                            `"+" does not take (dyn, string)`,
		"args.amount % 2 == 0":                           `numbers of arguments are doubles, which % does not take; write it as in int(args.n) % 2`,
		"args.amount % 2.0 == 0":                         `"%" does not take (dyn, double); write it as in int(args.n) % 2`,
		"args.p['b'] % 2 == 0":                           `numbers of arguments are doubles, which % does not take; write it as in int(args.n) % 2`,
		"(args.p['b'] + 1) % 2 == 0":                     `numbers of arguments are doubles, which % does not take; write it as in int(args.n) % 2`,
		"args.p['l'].all(x, 7 % x == 0)":                 `numbers of arguments are doubles, which % does not take; write it as in int(args.n) % 2`,
		"args.id in [null, 10, '10']":                    "the list has values of different types, and no argument can be compared with all of them; write values of one type",
		"args.n == {10000: true}":                        `the names in an object are texts; write them in quotes, as in {"limit": 100}`,
		"{args.id: true} == {'a': true}":                 `the names in an object are texts; write them in quotes, as in {"limit": 100}`,
		"args.n == 9007199254740993":                     "numbers beyond ±9007199254740991 are rounded, so that others would be equal to them; compare with a smaller number",
		"args.n in [-9007199254740992]":                  "numbers beyond ±9007199254740991 are rounded, so that others would be equal to them; compare with a smaller number",
		"args.n > 9007199254740993.0":                    "numbers beyond ±9007199254740991 are rounded, so that others would be equal to them; compare with a smaller number",
		"google.protobuf.Value{} == null":                `there is no "google.protobuf.Value" here; known are args, tool, agent, caller.subject, caller.tenant, caller.roles and caller.chain`,
		"google.protobuf.Int64Value{value: args.a} == 1": `there is no "google.protobuf.Int64Value" here; known are args, tool, agent, caller.subject, caller.tenant, caller.roles and caller.chain`,
		"args.n == google.protobuf.NullValue.NULL_VALUE": `there is no "google.protobuf.NullValue.NULL_VALUE" here; known are args, tool, agent, caller.subject, caller.tenant, caller.roles and caller.chain`,
		"args.n == string":                               `there is no "string" here; known are args, tool, agent, caller.subject, caller.tenant, caller.roles and caller.chain`,
		"args.a.map(x, x) == []":                         `there is no function "map"; known are size, startsWith, endsWith, contains, matches, int, double, has, all and exists`,
		"timestamp(args.a) == timestamp('x')":            `there is no function "timestamp"; known are size, startsWith, endsWith, contains, matches, int, double, has, all and exists`,
		"args.a.all(x, x.all(y, y == 1))":                "all and exists cannot be within another; write a gate for each",
		"tool > 1":                                       `">" does not take (string, int)`,
		"'to' in args":                                   `"in" does not take (string, map(string, dyn)); of an object write has(args.name)`,
		"size(args) > 1":                                 `"size" does not take (map(string, dyn))`,
	} {
		_, err := condition.Compile(text)
		var wrong *condition.Error
		if !errors.As(err, &wrong) || wrong.Error() != want {
			t.Errorf("Compile(%q) = %v, want %s", text, err, want)
		}
	}
	for name, text := range map[string]string{
		"long": "args.amount > " + strings.Repeat("1", 2000), "deep": strings.Repeat("(", 100) + "true" + strings.Repeat(")", 100),
		"large": strings.TrimSuffix(strings.Repeat("args.a==1||", 180), "||"), "a control character": "tool == '\x00\x1b'", "not UTF-8": "tool == '\xff'",
	} {
		if c, err := condition.Compile(text); err == nil && name != "a control character" || err != nil && len(err.Error()) > 400 {
			t.Errorf("%s: Compile() = %v, %v", name, c, err)
		}
	}
	var wrong *condition.Error
	if _, err := condition.Compile("args.amount > 1 &&\n  arg.to == 'a'"); !errors.As(err, &wrong) || wrong.Line != 2 || wrong.Column != 3 {
		t.Errorf("the error of a second line is %+v, want line 2, column 3", wrong)
	}
}

// A syntax error says what was found, and after what, for an author who does not know the parser.
func TestSyntaxErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]condition.Error{
		"args.amount >":                        {1, 14, `ends too early, after "args.amount >"`},
		"args.amount > 1 && ":                  {1, 20, `ends too early, after "args.amount > 1 &&"`},
		"args.amount > > 1":                    {1, 15, `unexpected ">" after "args.amount >"`},
		"args.amount > 100 and args.to == 'x'": {1, 19, `unexpected "and" after "args.amount > 100"`},
		"args.amount = 100":                    {1, 13, `unexpected "=" after "args.amount"`},
		"args.amount => 1":                     {1, 13, `unexpected "=>" after "args.amount"`},
		"args.amount > 100)":                   {1, 18, `unexpected ")" after "args.amount > 100"`},
		"(args.amount > 100":                   {1, 19, `has no ) after "(args.amount > 100"`},
		"args[0":                               {1, 7, `has no ] after "args[0"`},
		"args.to == 'bob":                      {1, 12, `unexpected "'bob" after "args.to =="`},
		"args.to == 'é' && args. > 1":          {1, 25, `unexpected ">" after "args.to == 'é' && args."`},
		"&& true":                              {1, 1, `unexpected "&&" at its start`},
		"args.amount\n > \n && true":           {3, 2, `unexpected "&&" after "args.amount >"`},
		"args.to ==\u00a0'x'":                  {1, 11, `unexpected "\u00a0" after "args.to =="`},
		strings.Repeat("args.a > 1 && ", 9):    {1, 127, `ends too early, after "…rgs.a > 1 && args.a > 1 && args.a > 1 &&"`},
	} {
		want.Message += "; write a condition such as args.amount > 100"
		_, err := condition.Compile(text)
		var wrong *condition.Error
		if !errors.As(err, &wrong) || *wrong != want {
			t.Errorf("Compile(%q) = %+v, want %+v", text, wrong, want)
		}
	}
}

// After the deadline nothing is true or false.
func TestDeadline(t *testing.T) {
	t.Parallel()
	list := make([]any, 40)
	for i := range list {
		list[i] = float64(i)
	}
	args := map[string]any{"list": list, "other": slices.Clone(list), "text": "abc"}
	for text, looks := range map[string]int{ // before the time is over
		"true": 0, "args.list == [1.0]": 1, "args.list != [1.0]": 1, "7 in args.list": 1, "args.text.contains('b')": 1, "size(args.list) == 40": 1,
		"args.text.matches('b')": 1, "args.text.matches('b') ? true : true": 1, "args.list.all(x, x == 0 ? true : true)": 1, "(args.text == 'abc' ? 1 : 2) > 0": 1, "args.text < 'b'": 1, "args.list.all(x, x >= 0)": 1, "args.text == 'abc' && args.text == 'abc'": 2,
		"[args.list, args.list] == [args.other, args.other]": 5, "{'a': args.list, 'b': args.list} == {'a': args.other, 'b': args.other}": 5, "args.list in [args.text, args.other]": 4, // while it compares
		"!false": 1, "args.text == 'abc' ? true : false": 2, // the result comes too late
	} {
		over := func() bool { looks--; return looks < 0 }
		if got, err := condition.MustCompile(text).Match(condition.NewFacts(args, "", "", auth.Principal{}, over)); got || err == nil || err.Error() != "it takes too long" {
			t.Errorf("%s = %v, %v, want that it takes too long", text, got, err)
		}
	}
}

// A condition looks at so many elements at most, whatever it does with them.
func TestElements(t *testing.T) {
	t.Parallel()
	for n, fails := range map[int]bool{4000: false, 6000: true} {
		list := make([]any, n)
		for i := range list {
			list[i] = 1.0
		}
		for _, text := range []string{"args.list.all(x, x > 0)", "!args.list.exists(x, x > 1)", "args.list.all(x, x > 0) ? true : false", "(args.list.all(x, x > 0 ? true : false) ? 1 : 0) == 1"} {
			got, err := condition.MustCompile(text).Match(condition.NewFacts(map[string]any{"list": list}, "", "", auth.Principal{}, func() bool { return false }))
			if got == fails || (err != nil) != fails {
				t.Errorf("%s of %d elements = %v, %v", text, n, got, err)
			}
		}
	}
}

// hostile are conditions that would be slow about large arguments.
func hostile() map[string]string {
	many := func(part, join string, n int) string { return strings.TrimSuffix(strings.Repeat(part+join, n), join) }
	return map[string]string{
		"in":       many("'x' in args.list", "||", 90),
		"in all":   "args.list.all(x, !(x in args.list))",
		"equal":    many("args.list == args.other", "&&", 80),
		"equals":   "args.list.all(x, args.list == args.other)",
		"lists":    "[" + many("args.list", ",", 90) + "] == [" + many("args.other", ",", 90) + "]",
		"loop":     "args.list.all(x, " + many("x != 'y'", "&&", 100) + ")",
		"choice":   many("(args.text.matches('(a|aa)+(b|bb)+(x?){9}$') ? false : false)", "||", 30),
		"pattern":  many("args.text.matches('(a|aa)+(b|bb)+(x?){9}$')", "||", 40),
		"patterns": "args.list.all(x, !args.text.matches('(x?x?){90}y'))",
		"contains": many("args.text.contains(args.part)", "||", 60),
		"size":     many("size(args.text) == 1", "||", 80),
		"sizes":    "args.list.all(x, size(args.text) != 1)",
		"exists":   "args.list.exists(x, args.text.contains(args.part))",
	}
}

// largeCall has a list, its copy, a text and a part of a text, together as large as arguments may be.
func largeCall() map[string]any {
	list, other := make([]any, 16<<10), make([]any, 16<<10)
	for i := range list {
		list[i], other[i] = "z", "z"
	}
	return map[string]any{"list": list, "other": other, "text": strings.Repeat("a", 64<<10), "part": strings.Repeat("a", 32<<10) + "b"}
}

// Every hostile condition ends, with an answer or a failure, and none is a panic.
func TestHostileConditions(t *testing.T) {
	t.Parallel()
	args := largeCall()
	for name, text := range hostile() {
		c, err := condition.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		began := time.Now()
		got, err := c.Match(condition.NewFacts(args, "t", "a", auth.Principal{}, func() bool { return time.Since(began) > 100*time.Millisecond }))
		t.Logf("%-9s %v %v in %v", name, got, err, time.Since(began).Round(100*time.Microsecond))
		if time.Since(began) > 10*time.Second {
			t.Errorf("%s does not end in time", name)
		}
	}
}
