package condition

import (
	"math"
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// noTypes is a provider without types, because arguments are JSON: a condition cannot name int or
// google.protobuf.Value.
type noTypes struct{ types.Provider }

// EnumValue finds nothing.
func (noTypes) EnumValue(string) ref.Val { return types.NewErr("there are no types") }

// FindIdent finds nothing.
func (noTypes) FindIdent(string) (ref.Val, bool) { return nil, false }

// FindStructType finds nothing.
func (noTypes) FindStructType(string) (*types.Type, bool) { return nil, false }

// refused returns an error if CEL would evaluate a part of c as something other than its author means, or never.
func (c *Condition) refused() (wrong error) {
	ast.PostOrderVisit(c.checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case wrong != nil:
		case e.Kind() == ast.LiteralKind && !exact(e.AsLiteral()):
			wrong = c.at(e, "numbers beyond ±9007199254740991 are rounded, so that others would be equal to them; compare with a smaller number")
		case e.Kind() == ast.MapKind && !named(e.AsMap()):
			wrong = c.at(e, `the names in an object are texts; write them in quotes, as in {"limit": 100}`)
		case e.Kind() != ast.CallKind:
		case e.AsCall().FunctionName() == operators.In && mixed(e.AsCall().Args()[1]):
			wrong = c.at(e.AsCall().Args()[1], "the list has values of different types, and no argument can be compared with all of them; write values of one type")
		case e.AsCall().FunctionName() == operators.Modulo:
			if i := slices.IndexFunc(e.AsCall().Args(), func(n ast.Expr) bool { return !whole(n) }); i >= 0 {
				wrong = c.at(e.AsCall().Args()[i], "numbers of arguments are doubles, which % does not take; write it as in int(args.n) % 2")
			}
		}
	}))
	return wrong
}

// exact reports whether a literal is no number that others are rounded to. Arguments have no such integers either:
// see package strictjson.
func exact(literal ref.Val) bool {
	const most = 1<<53 - 1
	if !literal.Type().HasTrait(traits.DividerType) {
		return true
	}
	n, is := literal.ConvertToType(types.DoubleType).(types.Double)
	return is && math.Abs(float64(n)) <= most
}

// named reports whether all names in an object are literal texts.
func named(object ast.MapExpr) bool {
	return !slices.ContainsFunc(object.Entries(), func(entry ast.EntryExpr) bool {
		name := entry.AsMapEntry().Key()
		return name.Kind() != ast.LiteralKind || name.AsLiteral().Type() != types.StringType
	})
}

// mixed reports whether a literal list has literals of different types. Null has any.
func mixed(list ast.Expr) bool {
	if list.Kind() != ast.ListKind {
		return false
	}
	var first ref.Val
	for _, e := range list.AsList().Elements() {
		switch {
		case e.Kind() != ast.LiteralKind || e.AsLiteral() == types.NullValue:
		case first == nil:
			first = e.AsLiteral()
		case !alike(first, e.AsLiteral()):
			return true
		}
	}
	return false
}

// whole reports whether a part is a whole number in each call. The type that the checker gives a part of an
// argument is only the first that fits.
func whole(e ast.Expr) bool {
	if e.Kind() != ast.CallKind {
		return e.Kind() == ast.LiteralKind
	}
	switch e.AsCall().FunctionName() {
	case overloads.TypeConvertInt, overloads.Size:
		return true
	case operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate:
		return !slices.ContainsFunc(e.AsCall().Args(), func(n ast.Expr) bool { return !whole(n) })
	}
	return false
}
