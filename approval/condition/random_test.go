package condition_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"a2a-server/approval/condition"
	"a2a-server/auth"
)

var randomCases = flag.Int("condition.cases", 20_000, "how many conditions TestRandomConditions compares about random calls")

// Random conditions about random arguments have the results that docs/policy.md gives them. Each value of any type
// may stand wherever the language has a value.
func TestRandomConditions(t *testing.T) {
	t.Parallel()
	const callsEach = 20
	seed := rand.Uint64()
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	outcomes, refused := map[string]int{}, 0
	for n := 0; n < *randomCases; {
		g.within = false
		e := g.condition(3)
		c, err := condition.Compile(e.text)
		if err != nil {
			if refused++; refused > 10**randomCases {
				t.Fatalf("%d conditions are refused, the last is %s: %v", refused, e.text, err)
			}
			continue
		}
		for range callsEach {
			n++
			args := g.object(2)
			want := "a failure"
			if v, ok := e.value(&scope{args: args}); ok {
				want = fmt.Sprint(v)
			}
			is, err := c.Match(condition.NewFacts(args, "pay", "desk", auth.Principal{Roles: []string{"eve", "a"}}, func() bool { return false }))
			got := fmt.Sprint(is)
			if err != nil {
				got = "a failure"
			}
			outcomes[want]++
			if got != want {
				t.Fatalf("seed %d: %s\nabout %#v\n= %s, %v, want %s", seed, e.text, args, got, err, want)
			}
		}
	}
	t.Logf("%v, refused %d", outcomes, refused)
	for _, outcome := range []string{"true", "false", "a failure"} {
		if outcomes[outcome] < *randomCases/20 {
			t.Errorf("%s is the outcome of %d of %d cases: too few to show anything", outcome, outcomes[outcome], *randomCases)
		}
	}
}

// expression is a part of a condition, with its meaning; false is a failure.
type expression struct {
	text  string
	value func(s *scope) (any, bool)
}

// scope has the variables of an evaluation: nil, bool, int64, float64, string, []any and map[string]any.
type scope struct {
	args    map[string]any
	element any
}

// generator makes conditions and arguments.
type generator struct {
	*rand.Rand

	within bool // all or exists
}

var (
	members = []string{"a", "b", "c", "p"}
	texts   = []string{"", "a", "20000", "eve", "true"}
	numbers = []float64{0, 1, 2, 5.5, 20000}
)

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// object returns arguments, or a member of them.
func (g *generator) object(depth int) map[string]any {
	o := map[string]any{}
	for _, name := range members {
		switch g.IntN(12) {
		case 0, 1, 2:
			o[name] = g.argument(depth)
		case 3: // is missing
		default: // what most calls have there
			o[name] = map[string]any{"a": pick(g, numbers), "b": pick(g, texts), "c": []any{pick(g, texts), pick(g, texts)}, "p": map[string]any{"a": 1.0, "p": pick(g, texts)}}[name]
		}
	}
	return o
}

func (g *generator) argument(depth int) any {
	kind := g.IntN(10)
	switch {
	case kind == 0:
		return nil
	case kind == 1:
		return g.IntN(2) == 0
	case kind < 5:
		return pick(g, numbers)
	case kind < 7 || depth == 0:
		return pick(g, texts)
	case kind == 7:
		return g.object(depth - 1)
	}
	list := make([]any, g.IntN(4))
	first := g.argument(depth - 1)
	for i := range list {
		list[i] = first
		if g.IntN(2) == 0 {
			list[i] = g.argument(depth - 1)
		}
	}
	return list
}

// strict returns an expression that fails with its parts.
func strict(text func(texts []any) string, f func(v []any) (any, bool), parts ...expression) expression {
	var operands []any
	for _, p := range parts {
		operands = append(operands, p.text)
	}
	return expression{text: text(operands), value: func(s *scope) (any, bool) {
		var values []any
		for _, p := range parts {
			v, ok := p.value(s)
			if !ok {
				return nil, false
			}
			values = append(values, v)
		}
		return f(values)
	}}
}

func format(f string) func(texts []any) string {
	return func(texts []any) string { return fmt.Sprintf(f, texts...) }
}

// condition returns an expression whose type is bool, or fails.
func (g *generator) condition(depth int) expression {
	if depth == 0 {
		return g.comparison(0)
	}
	switch g.IntN(8) {
	case 0:
		return g.logical("&&", false, depth)
	case 1:
		return g.logical("||", true, depth)
	case 2:
		return strict(format("(!%s)"), func(v []any) (any, bool) { is, ok := v[0].(bool); return !is, ok }, g.condition(depth-1))
	case 3:
		return g.choice(g.condition(depth-1), g.condition(depth-1), g.condition(depth-1))
	case 4:
		return g.loop(depth)
	case 5:
		return g.ofText(depth)
	}
	return g.comparison(depth)
}

// logical returns a && or ||: decided by a single operand, whatever the other.
func (g *generator) logical(operator string, decides bool, depth int) expression {
	a, b := g.condition(depth-1), g.condition(depth-1)
	return expression{text: fmt.Sprintf("(%s %s %s)", a.text, operator, b.text), value: func(s *scope) (any, bool) {
		return joined(decides, func(yield func(any, bool) bool) { _ = yield(a.value(s)) && yield(b.value(s)) })
	}}
}

func joined(decides bool, parts func(yield func(any, bool) bool)) (any, bool) {
	fails := false
	for v, ok := range parts {
		is, isBool := v.(bool)
		if ok && isBool && is == decides {
			return decides, true
		}
		fails = fails || !ok || !isBool
	}
	return !decides, !fails
}

func (*generator) choice(c, a, b expression) expression {
	return expression{text: fmt.Sprintf("(%s ? %s : %s)", c.text, a.text, b.text), value: func(s *scope) (any, bool) {
		v, ok := c.value(s)
		is, isBool := v.(bool)
		switch {
		case !ok || !isBool:
			return nil, false
		case is:
			return a.value(s)
		}
		return b.value(s)
	}}
}

// loop returns an all or exists.
func (g *generator) loop(depth int) expression {
	list := g.operand(depth - 1)
	if g.within {
		return g.comparison(depth)
	}
	g.within = true
	each := g.condition(depth - 1)
	g.within = false
	decides := g.IntN(2) == 0
	return expression{text: fmt.Sprintf("%s.%s(x, %s)", list.text, map[bool]string{true: "exists", false: "all"}[decides], each.text), value: func(s *scope) (any, bool) {
		v, ok := list.value(s)
		elements, isList := v.([]any)
		if !ok || !isList {
			return nil, false
		}
		return joined(decides, func(yield func(any, bool) bool) {
			for _, e := range elements {
				if !yield(each.value(&scope{args: s.args, element: e})) {
					return
				}
			}
		})
	}}
}

// ofText returns a function of texts, or has.
func (g *generator) ofText(depth int) expression {
	a, b := g.operand(depth-1), g.operand(depth-1)
	binary := func(name string, f func(a, b string) bool) expression {
		return strict(format("%s."+name+"(%s)"), func(v []any) (any, bool) {
			a, isA := v[0].(string)
			b, isB := v[1].(string)
			return f(a, b), isA && isB
		}, a, b)
	}
	switch g.IntN(5) {
	case 0:
		return binary("startsWith", strings.HasPrefix)
	case 1:
		return binary("endsWith", strings.HasSuffix)
	case 2:
		return binary("contains", strings.Contains)
	case 3:
		pattern := pick(g, []string{"^a?$", "e", "0+$"})
		return strict(format("%s.matches('"+pattern+"')"), func(v []any) (any, bool) {
			text, is := v[0].(string)
			return regexp.MustCompile(pattern).MatchString(text), is
		}, a)
	}
	name := pick(g, members)
	return strict(format("has(%s."+name+")"), func(v []any) (any, bool) {
		o, is := v[0].(map[string]any)
		_, found := o[name]
		return found, is
	}, a)
}

// comparison returns a comparison of two values of any types.
func (g *generator) comparison(depth int) expression {
	a, b := g.operand(depth-1), g.operand(depth-1)
	if g.IntN(3) > 0 { // of the type that most calls have there
		a, b = argument("a"), constant(pick(g, numbers))
		if g.IntN(2) == 0 {
			a, b = argument("b"), constant(pick(g, texts))
		}
	}
	binary := func(operator string, f func(a, b any) (any, bool)) expression {
		return strict(format("(%s "+operator+" %s)"), func(v []any) (any, bool) { return f(v[0], v[1]) }, a, b)
	}
	switch g.IntN(5) {
	case 0:
		return binary("==", func(a, b any) (any, bool) { same, can := compared(a, b); return same, can })
	case 1:
		return binary("!=", func(a, b any) (any, bool) { same, can := compared(a, b); return !same, can })
	case 2:
		o := pick(g, []string{"<", "<=", ">", ">="})
		return binary(o, func(a, b any) (any, bool) {
			n, ok := order(a, b)
			return map[string]bool{"<": n < 0, "<=": n <= 0, ">": n > 0, ">=": n >= 0}[o], ok
		})
	case 3:
		var elements []any
		var literals []string
		for range g.IntN(4) {
			e, text := g.literal()
			elements, literals = append(elements, e), append(literals, text)
		}
		return strict(format("(%s in ["+strings.ReplaceAll(strings.Join(literals, ", "), "%", "%%")+"])"), func(v []any) (any, bool) { return contained(v[0], elements) }, a)
	}
	return binary("in", func(a, b any) (any, bool) {
		list, is := b.([]any)
		if !is {
			return nil, false
		}
		return contained(a, list)
	})
}

func (g *generator) literal() (any, string) {
	switch g.IntN(6) {
	case 0:
		return nil, "null"
	case 1:
		is := g.IntN(2) == 0
		return is, strconv.FormatBool(is)
	case 2:
		n := pick(g, numbers)
		return n, strconv.FormatFloat(n, 'f', 1, 64)
	case 3:
		n := int64(pick(g, numbers))
		return n, strconv.FormatInt(n, 10)
	}
	text := pick(g, texts)
	return text, strconv.Quote(text)
}

// operand returns an expression of any type.
func (g *generator) operand(depth int) expression {
	kind := g.IntN(16)
	if depth <= 0 {
		kind = g.IntN(9)
	}
	switch kind {
	case 0, 1:
		v, text := g.literal()
		return expression{text: text, value: func(*scope) (any, bool) { return v, true }}
	case 2:
		return expression{text: "caller.roles", value: func(*scope) (any, bool) { return []any{"eve", "a"}, true }}
	case 3, 4, 5:
		if g.within {
			return expression{text: "x", value: func(s *scope) (any, bool) { return s.element, true }}
		}
	case 9:
		return g.arithmetic(depth)
	case 10:
		return strict(format("size(%s)"), func(v []any) (any, bool) {
			switch v := v[0].(type) {
			case string:
				return int64(len(v)), true
			case []any:
				return int64(len(v)), true
			}
			return nil, false
		}, g.operand(depth-1))
	case 11:
		return g.choice(g.condition(depth-1), g.operand(depth-1), g.operand(depth-1))
	case 12:
		a, b := g.operand(depth-1), g.operand(depth-1)
		return strict(format("[%s, %s]"), func(v []any) (any, bool) { return v, true }, a, b)
	case 13:
		return strict(format(`{"a": %s, "p": %s}`), func(v []any) (any, bool) { return map[string]any{"a": v[0], "p": v[1]}, true }, g.operand(depth-1), g.operand(depth-1))
	case 14:
		return g.condition(depth - 1)
	case 15:
		return g.index(depth)
	}
	return argument(pick(g, members))
}

func argument(name string) expression {
	return expression{text: "args." + name, value: func(s *scope) (any, bool) { v, ok := s.args[name]; return v, ok }}
}

func constant(v any) expression {
	return expression{text: fmt.Sprintf("%#v", v), value: func(*scope) (any, bool) { return v, true }}
}

// index returns a member of an object, or an element of a list.
func (g *generator) index(depth int) expression {
	name, n := pick(g, members), g.IntN(3)
	key := expression{text: strconv.Quote(name), value: func(*scope) (any, bool) { return name, true }}
	if g.IntN(2) == 0 {
		key = expression{text: strconv.Itoa(n), value: func(*scope) (any, bool) { return int64(n), true }}
	}
	if g.IntN(2) == 0 {
		key = g.choice(g.condition(depth-1), key, key)
	}
	return strict(format("%s[%s]"), func(v []any) (any, bool) {
		switch container := v[0].(type) {
		case map[string]any:
			name, is := v[1].(string)
			member, found := container[name]
			return member, is && found
		case []any:
			if n, is := v[1].(int64); is && n < int64(len(container)) {
				return container[n], true
			}
		}
		return nil, false
	}, g.operand(depth-1), key)
}

// arithmetic returns a calculation.
func (g *generator) arithmetic(depth int) expression {
	a, b := g.operand(depth-1), g.operand(depth-1)
	switch g.IntN(8) {
	case 0:
		return strict(format("int(%s)"), func(v []any) (any, bool) { f, ok := double(v[0]); return int64(f), ok && math.Abs(f) < 1<<62 }, a)
	case 1:
		return strict(format("double(%s)"), func(v []any) (any, bool) { return double(v[0]) }, a)
	case 2:
		return strict(format("(int(%s) %% int(%s))"), func(v []any) (any, bool) {
			f, isF := double(v[0])
			h, isH := double(v[1])
			if !isF || !isH || math.Abs(f) >= 1<<62 || math.Abs(h) >= 1<<62 || int64(h) == 0 {
				return nil, false
			}
			return int64(f) % int64(h), true
		}, a, b)
	}
	operator := pick(g, []string{"+", "-", "*", "/"})
	return strict(format("(%s "+operator+" %s)"), func(v []any) (any, bool) { return calculate(operator, v[0], v[1]) }, a, b)
}
