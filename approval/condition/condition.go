package condition

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/interpreter"

	"a2a-server/auth"
)

// Limits of a condition.
const (
	maxText     = 2000 // characters
	maxParts    = 500  // nodes of the expression
	maxDepth    = 50
	maxElements = 5000 // that all and exists look at, all together
)

// A Condition is compiled. It is immutable and safe for concurrent use.
type Condition struct {
	text    string
	program cel.Program
	checked *ast.AST
}

// environment returns the part of CEL that conditions may use.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	functions := []*env.Function{}
	for _, name := range []string{
		operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.NotStrictlyFalse,
		operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
		operators.Index, overloads.StartsWith, overloads.EndsWith, overloads.Contains, overloads.Matches,
	} {
		functions = append(functions, env.NewFunction(name))
	}
	for name, ids := range map[string][]string{ // of numbers alone: the text NaN is no number; in lists, not in objects
		operators.In:                {overloads.InList},
		overloads.Size:              {overloads.SizeString, overloads.SizeStringInst, overloads.SizeList, overloads.SizeListInst},
		operators.Modulo:            {overloads.ModuloInt64},
		operators.Negate:            {overloads.NegateDouble, overloads.NegateInt64},
		overloads.TypeConvertInt:    {overloads.IntToInt, overloads.DoubleToInt},
		overloads.TypeConvertDouble: {overloads.DoubleToDouble, overloads.IntToDouble},
	} {
		f := env.NewFunction(name)
		for _, id := range ids {
			f.Overloads = append(f.Overloads, &env.Overload{ID: id})
		}
		functions = append(functions, f)
	}
	options := append(slices.Concat(calculations(), declarations(), macros()), []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(&env.LibrarySubset{IncludeFunctions: functions, DisableMacros: true})),
		cel.CrossTypeNumericComparisons(true), cel.CustomTypeProvider(noTypes{types.NewEmptyRegistry()}),
		cel.ParserRecursionLimit(maxDepth), cel.ParserExpressionSizeLimit(maxText), cel.ExpressionNodeLimit(maxParts),
		cel.ASTValidators(cel.ValidateComprehensionNestingLimit(1)),
		cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("tool", cel.StringType), cel.Variable("agent", cel.StringType),
		cel.Variable("caller.subject", cel.StringType), cel.Variable("caller.tenant", cel.StringType),
		cel.Variable("caller.roles", cel.ListType(cel.StringType)), cel.Variable("caller.chain", cel.ListType(cel.StringType)),
	}...)
	e, err := cel.NewCustomEnv(options...)
	if err != nil {
		return nil, err
	}
	_, _ = e.Compile("unknown") // at the first unknown name the library makes a list of all names, which other compilations read without a lock
	return e, nil
})

// Compile compiles a condition on a call. The error is an [*Error].
func Compile(text string) (*Condition, error) { return compile(text, environment, names) }

func compile(text string, language func() (*cel.Env, error), names string) (*Condition, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, &Error{Message: "is empty; write a condition such as args.amount > 100"}
	case !utf8.ValidString(text):
		return nil, &Error{Message: "is not UTF-8"}
	}
	e, err := language()
	if err != nil {
		return nil, fmt.Errorf("the language of conditions: %w", err)
	}
	tree, issues := e.Compile(text)
	if issues.Err() != nil {
		return nil, problemOf(issues.Errors()[0], text, names)
	}
	c := &Condition{text: text, checked: tree.NativeRep()}
	if t := tree.OutputType(); !t.IsExactType(cel.BoolType) {
		return nil, &Error{Line: 1, Message: fmt.Sprintf("is %s, not true or false; compare it with something, such as args.amount > 100 or args.force == true", typeWords(t))}
	}
	if err := c.refused(); err != nil {
		return nil, err
	}
	program, err := c.rewrite()
	if err != nil {
		return nil, err
	}
	if c.program, err = e.PlanProgram(program, cel.EvalOptions(cel.OptOptimize)); err != nil {
		return nil, &Error{Line: 1, Message: err.Error()}
	}
	return c, nil
}

// MustCompile is [Compile] for conditions in Go. It panics if text is wrong.
func MustCompile(text string) *Condition {
	c, err := Compile(text)
	if err != nil {
		panic(err)
	}
	return c
}

// String returns the text of c; "" for nil.
func (c *Condition) String() string {
	if c == nil {
		return ""
	}
	return c.text
}

// MarshalText returns the text of c.
func (c *Condition) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Equal reports whether both have the same text.
func (c *Condition) Equal(other *Condition) bool { return c.String() == other.String() }

// Never reports whether c is false about every call, because it looks at nothing, as in "1 > 2".
func (c *Condition) Never() bool {
	looks := false
	ast.PostOrderVisit(c.checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) { looks = looks || e.Kind() == ast.IdentKind }))
	if looks {
		return false
	}
	is, err := c.Match(NewFacts(nil, "", "", auth.Principal{}, func() bool { return false }))
	return err == nil && !is
}

// Match reports whether c is true about a call. Its error names no value of the call.
func (c *Condition) Match(f *Facts) (bool, error) {
	if f.clock.over() {
		return false, errSlow
	}
	f.clock.elements = 0
	out, _, err := c.program.Eval(f.variables)
	if f.clock.over() {
		return false, errSlow // also if it has a result, too late
	}
	if is, ok := out.(types.Bool); ok && err == nil {
		return bool(is), nil
	}
	return false, c.failure(err)
}

// at returns an error at a part of c.
func (c *Condition) at(part ast.Expr, message string) *Error {
	at := c.checked.SourceInfo().GetStartLocation(part.ID())
	return &Error{Line: at.Line(), Column: at.Column() + 1, Message: message}
}

// failure returns the error of an evaluation, in words that contain no value of the call.
func (c *Condition) failure(err error) error {
	var canceled interpreter.EvalCancelledError
	var failed *types.Err
	switch {
	case errors.As(err, &canceled) && canceled.Cause == interpreter.CostLimitExceeded:
		return errors.New("it looks at too many elements of the arguments")
	case errors.As(err, &canceled):
		return errSlow
	case !errors.As(err, &failed):
		return errors.New("it cannot be evaluated")
	}
	why := "it cannot be evaluated"
	for prefix, words := range map[string]string{
		"no such key": "an argument is missing", otherType: "a value is of another type", "index out of bounds": "a list is too short",
		"no such attribute": "an argument is missing", "division by zero": "it divides by zero", "modulus by zero": "it divides by zero",
		"integer overflow": "a number is too large", "range error": "a number is too large", unusable: unusable, longText: longText,
		"unsupported index type": "a value is of another type", "invalid_argument": "a value is of another type",
	} {
		if strings.HasPrefix(failed.Error(), prefix) {
			why = words
		}
	}
	if at := c.checked.SourceInfo().GetStartLocation(failed.NodeID()); failed.NodeID() != 0 && at.Line() > 0 {
		return fmt.Errorf("%s, at %d:%d", why, at.Line(), at.Column()+1)
	}
	return errors.New(why)
}
