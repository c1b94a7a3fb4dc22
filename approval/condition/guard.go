package condition

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
	"cel.dev/cel-go/parser"
)

// Limits of patterns.
const (
	maxProgram = 1000    // instructions of a pattern
	maxMatch   = 2 << 20 // instructions times bytes of the text: at most some ten milliseconds
)

// longText is the text of the error for a text that a pattern takes too long for.
const longText = "a text is too long for its pattern"

// guards makes the steps of a program that may be slow look at the deadline.
type guards struct {
	matchers map[int64]matcher // by the id of their call
}

// decorate returns the step to use in place of another.
func (g *guards) decorate(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, is := i.(interpreter.InterpretableCall)
	if !is {
		return i, nil
	}
	switch call.Function() {
	case overloads.Matches:
		m, known := g.matchers[call.ID()]
		if !known {
			return nil, errors.New("a pattern is not compiled")
		}
		m.InterpretableV2, m.text = call, call.Args()[0]
		return &m, nil
	case operators.In, operators.Equals, operators.NotEquals:
		return &compared{call, call.Function(), call.Args()[0], call.Args()[1]}, nil
	case overloads.Contains, overloads.Size:
		return &timed{call}, nil
	case operators.NotStrictlyFalse: // asked before each element
		return &counted{call}, nil
	}
	return i, nil
}

// factsOf returns the facts of an evaluation.
func factsOf(frame *interpreter.ExecutionFrame) *Facts {
	v, _ := frame.ResolveName(itself)
	f, is := v.(*Facts)
	if !is {
		panic("an evaluation without facts")
	}
	return f
}

// stop ends the evaluation if the time of its call is over.
func stop(f *Facts) {
	if f.over() {
		panic(interpreter.EvalCancelledError{Cause: interpreter.ContextCancelled})
	}
}

// counted is the step before each element of all and exists.
type counted struct{ interpreter.InterpretableCall }

// Exec implements [interpreter.InterpretableV2].
func (c *counted) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	f := factsOf(frame)
	if f.elements++; f.elements > maxElements {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded})
	}
	if f.elements%16 == 0 {
		stop(f)
	}
	return c.InterpretableCall.Exec(frame)
}

// timed is a call that looks at the deadline first.
type timed struct{ interpreter.InterpretableCall }

// Exec implements [interpreter.InterpretableV2].
func (t *timed) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	stop(factsOf(frame))
	return t.InterpretableCall.Exec(frame)
}

// otherType is the text of the error for a value of another type.
const otherType = "no such overload"

// compared is a call of ==, != or in. It looks at the deadline first, and fails if the types of the values
// differ: in CEL it would be false, so that the text "10000" would evade a gate about 10000.
type compared struct {
	interpreter.InterpretableV2 // the call
	function                    string
	a, b                        interpreter.InterpretableV2
}

// Exec implements [interpreter.InterpretableV2].
func (c *compared) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	stop(factsOf(frame))
	a, b := c.a.Exec(frame), c.b.Exec(frame)
	switch {
	case types.IsUnknownOrError(a) || types.IsUnknownOrError(b):
		return c.InterpretableV2.Exec(frame)
	case c.function == operators.In:
		return c.in(a, b)
	case alike(a, b):
		return types.Bool((types.Equal(a, b) == types.True) == (c.function == operators.Equals))
	}
	return types.NewErrWithNodeID(c.ID(), otherType)
}

// in reports whether b has a. All elements must have the type of a; in a literal list, one is enough.
func (c *compared) in(a, b ref.Val) ref.Val {
	if m, is := b.(traits.Mapper); is && a.Type() == types.StringType {
		return m.Contains(a)
	}
	if l, is := b.(traits.Lister); is {
		some, all := false, true
		for i := l.Iterator(); i.HasNext() == types.True; {
			e := i.Next()
			if types.Equal(a, e) == types.True {
				return types.True
			}
			some, all = some || alike(a, e), all && alike(a, e)
		}
		if _, literal := c.b.(interpreter.InterpretableConst); all || literal && some {
			return types.False
		}
	}
	return types.NewErrWithNodeID(c.ID(), otherType)
}

// alike reports whether values have the same type. All numbers have the same, and null has any.
func alike(a, b ref.Val) bool {
	x, y := a.Type(), b.Type()
	return x == y || x == types.NullType || y == types.NullType || x.HasTrait(traits.DividerType) && y.HasTrait(traits.DividerType)
}

// object and list are functions that no condition can name. They return their argument, and fail unless it
// is an object or a list.
const object, list = "@object", "@list"

// macros returns has for objects, and all and exists for lists. Those of CEL are false about a text, and look
// at the names in an object.
func macros() (all []cel.EnvOption) {
	itself := cel.UnaryBinding(func(v ref.Val) ref.Val { return v })
	for name, t := range map[string]*cel.Type{object: cel.MapType(cel.StringType, cel.DynType), list: cel.ListType(cel.DynType)} {
		all = append(all, cel.Function(name, cel.Overload(name, []*cel.Type{t}, t, itself)))
	}
	checked := func(expand cel.MacroFactory) cel.MacroFactory {
		return func(f cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
			if target != nil {
				target = f.NewCall(list, target)
			} else if args[0].Kind() == ast.SelectKind {
				s := args[0].AsSelect()
				args[0] = f.NewSelect(f.NewCall(object, s.Operand()), s.FieldName())
			}
			return expand(f, target, args)
		}
	}
	return append(all, cel.Macros(cel.GlobalMacro(operators.Has, 1, checked(parser.MakeHas)),
		cel.ReceiverMacro(operators.All, 2, checked(parser.MakeAll)), cel.ReceiverMacro(operators.Exists, 2, checked(parser.MakeExists))))
}

// matcher is a call of matches with its pattern.
type matcher struct {
	interpreter.InterpretableV2 // the call
	text                        interpreter.InterpretableV2
	pattern                     *regexp.Regexp
	size                        int // instructions
}

// newMatcher compiles a pattern, which has to be a literal.
func newMatcher(e ast.Expr) (m matcher, _ error) {
	if e.Kind() != ast.LiteralKind {
		return m, errors.New("the pattern of matches is not a literal; write it in quotes, because a pattern of a call could be slow")
	}
	text, is := e.AsLiteral().(types.String)
	if !is {
		return m, errors.New("the pattern of matches is not a text")
	}
	parsed, err := syntax.Parse(string(text), syntax.Perl)
	if err != nil {
		return m, fmt.Errorf("the pattern is not valid: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return m, fmt.Errorf("the pattern is not valid: %w", err)
	}
	if m.size = len(program.Inst); m.size > maxProgram {
		return m, errors.New("the pattern is too large; repeat less in it")
	}
	m.pattern, err = regexp.Compile(string(text))
	return m, err
}

// Exec implements [interpreter.InterpretableV2].
func (m *matcher) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	stop(factsOf(frame))
	v := m.text.Exec(frame)
	switch text := v.(type) {
	case types.String:
		if len(text)*m.size > maxMatch {
			return types.NewErrWithNodeID(m.ID(), longText)
		}
		return types.Bool(m.pattern.MatchString(string(text)))
	case *types.Err, *types.Unknown:
		return v
	}
	return types.NewErrWithNodeID(m.ID(), otherType)
}
