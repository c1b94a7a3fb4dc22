package condition

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/parser"
)

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
