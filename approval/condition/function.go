package condition

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/decls"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// prefix is the beginning of the names of our functions. No condition can name them: [Condition.rewrite] puts
// them in place of functions of CEL once the types are checked, because CEL looks at no deadline, and because
// its comparisons of different types are false, so that the text "10000" would evade a gate about 10000.
// CEL runs the steps of a program through several methods; all of them call the binding of a function.
const prefix = "@condition "

// otherType is the text of the error for a value of another type.
const otherType = "no such overload"

// replacements returns our functions by the names of those that they replace. The arguments are values, never
// errors.
func replacements() map[string]func(c *clock, args []ref.Val) ref.Val {
	order := func(holds func(n types.Int) bool) func(c *clock, args []ref.Val) ref.Val {
		return func(_ *clock, args []ref.Val) ref.Val { return ordered(args[0], args[1], holds) }
	}
	return map[string]func(c *clock, args []ref.Val) ref.Val{
		operators.Equals:        func(c *clock, args []ref.Val) ref.Val { return c.equal(args[0], args[1], true) },
		operators.NotEquals:     func(c *clock, args []ref.Val) ref.Val { return c.equal(args[0], args[1], false) },
		operators.Less:          order(func(n types.Int) bool { return n < 0 }),
		operators.LessEquals:    order(func(n types.Int) bool { return n <= 0 }),
		operators.Greater:       order(func(n types.Int) bool { return n > 0 }),
		operators.GreaterEquals: order(func(n types.Int) bool { return n >= 0 }),
		operators.In:            func(c *clock, args []ref.Val) ref.Val { return c.member(args[0], args[1]) },
		overloads.Size:          func(_ *clock, args []ref.Val) ref.Val { return size(args[0]) },
		overloads.Contains:      func(_ *clock, args []ref.Val) ref.Val { return contains(args[0], args[1]) },
		overloads.Matches:       func(_ *clock, args []ref.Val) ref.Val { return matches(args[0], args[1]) },
	}
}

// declarations returns our functions for the environment. Their first argument is the clock of the evaluation.
func declarations() []cel.EnvOption {
	declare := func(name string, arguments int, f func(args ...ref.Val) ref.Val, options ...cel.OverloadOpt) cel.EnvOption {
		parameters := make([]*cel.Type, arguments+1)
		for i := range parameters {
			parameters[i] = cel.DynType
		}
		return cel.Function(prefix+name, decls.DisableTypeGuards(true), cel.Overload(prefix+name, parameters, cel.DynType, append(options, cel.FunctionBinding(f))...))
	}
	list := []cel.EnvOption{declare(operators.NotStrictlyFalse, 1, element, cel.OverloadIsNonStrict())}
	for name, run := range replacements() {
		arguments := 2
		if name == overloads.Size {
			arguments = 1
		}
		list = append(list, declare(name, arguments, func(args ...ref.Val) ref.Val {
			c := args[0].(*clock) //nolint:errcheck // the rewriting puts it there
			c.check()
			return run(c, args[1:])
		}))
	}
	return list
}

// rewrite returns the expression of c as it is planned: with our functions in place of those of CEL, and
// with compiled patterns. It refuses patterns that could be slow.
func (c *Condition) rewrite() (*ast.AST, error) {
	program, factory, functions := ast.Copy(c.checked), ast.NewExprFactory(), replacements()
	timer := factory.NewIdent(ast.MaxID(program), clockName)
	program.SetReference(timer.ID(), ast.NewIdentReference(clockName, nil))
	var wrong error
	ast.PostOrderVisit(program.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || wrong != nil {
			return
		}
		name, args := e.AsCall().FunctionName(), e.AsCall().Args()
		if e.AsCall().IsMemberFunction() {
			args = append([]ast.Expr{e.AsCall().Target()}, args...)
		}
		if name == overloads.Matches {
			pattern, err := newMatcher(args[1])
			if err != nil {
				wrong = c.at(args[1], err.Error())
				return
			}
			args = []ast.Expr{args[0], factory.NewLiteral(args[1].ID(), pattern)}
		}
		if functions[name] == nil && name != operators.NotStrictlyFalse {
			// The values choose the overload: for args.a["b"] the checker takes the first that fits.
			program.SetReference(e.ID(), ast.NewFunctionReference())
			return
		}
		e.SetKindCase(factory.NewCall(e.ID(), prefix+name, append([]ast.Expr{timer}, args...)...))
		program.SetReference(e.ID(), ast.NewFunctionReference(prefix+name))
	}))
	return program, wrong
}

// clockName is a name that no condition can have. It resolves to the clock of the [Facts].
const clockName = "@clock"

// clock is the time of a call, and the count of an evaluation. It is null to CEL.
type clock struct {
	types.Null

	over     func() bool
	elements int // that all and exists of the condition have looked at
	looks    int // at values, by comparisons, all and exists
}

// check ends the evaluation if the time of its call is over.
func (c *clock) check() {
	if c.over() {
		panic(interpreter.EvalCancelledError{Cause: interpreter.ContextCancelled})
	}
}

// look is called for each value that is looked at: a value may repeat a large argument many times.
func (c *clock) look() {
	if c.looks++; c.looks%16 == 0 {
		c.check()
	}
}

// element is asked before each element of all and exists, with the clock and the condition to go on. An
// error goes on.
func element(args ...ref.Val) ref.Val {
	c := args[0].(*clock) //nolint:errcheck // the rewriting puts it there
	if c.elements++; c.elements > maxElements {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded})
	}
	c.look()
	return types.Bool(args[1] != types.False)
}

// equal reports whether a == b is want. It fails if they cannot be compared.
func (c *clock) equal(a, b ref.Val, want bool) ref.Val {
	same, can := c.compare(a, b)
	if !can {
		return types.NewErr(otherType)
	}
	return types.Bool(same == want)
}

// compare reports whether a and b are equal, and whether they can be compared: values of different types cannot,
// nor can lists of the same length, or objects of the same size, with such values at the same place.
func (c *clock) compare(a, b ref.Val) (same, can bool) {
	c.look()
	if !alike(a, b) {
		return false, false
	}
	same, can = true, true
	switch x := a.(type) {
	case traits.Lister:
		y, is := b.(traits.Lister)
		if !is || x.Size() != y.Size() {
			return false, true
		}
		for i, j := x.Iterator(), y.Iterator(); i.HasNext() == types.True; {
			equal, ok := c.compare(i.Next(), j.Next())
			same, can = same && equal, can && ok
		}
	case traits.Mapper:
		y, is := b.(traits.Mapper)
		if !is || x.Size() != y.Size() {
			return false, true
		}
		for i := x.Iterator(); i.HasNext() == types.True; {
			name := i.Next()
			equal, ok := false, true
			if member, found := y.Find(name); found {
				equal, ok = c.compare(x.Get(name), member)
			}
			same, can = same && equal, can && ok
		}
	default:
		same = types.Equal(a, b) == types.True
	}
	return same && can, can
}

// ordered reports whether the order of a and b holds.
func ordered(a, b ref.Val, holds func(n types.Int) bool) ref.Val {
	comparer, is := a.(traits.Comparer)
	if !is {
		return types.NewErr(otherType)
	}
	order := comparer.Compare(b)
	if n, is := order.(types.Int); is {
		return types.Bool(holds(n))
	}
	return order
}

// member reports whether a list has a. If it does not, and a cannot be compared with one of its elements, it fails.
func (c *clock) member(a, list ref.Val) ref.Val {
	l, is := list.(traits.Lister)
	if !is {
		return types.NewErr(otherType)
	}
	all := true
	for i := l.Iterator(); i.HasNext() == types.True; {
		same, can := c.compare(a, i.Next())
		if same {
			return types.True
		}
		all = all && can
	}
	if !all {
		return types.NewErr(otherType)
	}
	return types.False
}

// alike reports whether values have the same type. All numbers have the same, and null has any.
func alike(a, b ref.Val) bool {
	x, y := a.Type(), b.Type()
	return x == y || x == types.NullType || y == types.NullType || x.HasTrait(traits.DividerType) && y.HasTrait(traits.DividerType)
}

// size returns the number of characters of a text, or elements of a list.
func size(v ref.Val) ref.Val {
	switch v := v.(type) {
	case types.String:
		return v.Size()
	case traits.Lister:
		return v.Size()
	}
	return types.NewErr(otherType)
}

// contains reports whether a text has a part.
func contains(text, part ref.Val) ref.Val {
	s, isText := text.(types.String)
	p, isPart := part.(types.String)
	if !isText || !isPart {
		return types.NewErr(otherType)
	}
	return types.Bool(strings.Contains(string(s), string(p)))
}
