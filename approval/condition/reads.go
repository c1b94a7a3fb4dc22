package condition

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// A Read is an argument, or a member in one, that a condition reads. Without it the condition
// fails, unless it looks first.
type Read struct {
	Path    []string // names below args
	Checked bool     // the condition has has(args.PATH)
}

// String returns the path as a condition has it.
func (r Read) String() string { return "args." + strings.Join(r.Path, ".") }

// Reads returns what c reads, each once and sorted, with the objects around it.
func (c *Condition) Reads() []Read {
	read, checked := map[string]bool{}, map[string]bool{}
	note := func(to map[string]bool, path []string) {
		if len(path) > 0 {
			to[strings.Join(path, "\x00")] = true
		}
	}
	ast.PostOrderVisit(c.checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		path, ok := pathOf(e)
		switch {
		case !ok:
		case e.Kind() == ast.SelectKind && e.AsSelect().IsTestOnly():
			note(checked, path)
			note(read, path[:len(path)-1])
		default:
			note(read, path)
		}
	}))
	var all []Read
	for path := range read {
		all = append(all, Read{Path: strings.Split(path, "\x00"), Checked: checked[path]})
	}
	slices.SortFunc(all, func(a, b Read) int { return slices.Compare(a.Path, b.Path) })
	return all
}

// pathOf returns the names below args that lead to a part of an expression.
func pathOf(e ast.Expr) (path []string, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return nil, e.AsIdent() == "args"
	case ast.SelectKind:
		path, ok = pathOf(e.AsSelect().Operand())
		return append(path, e.AsSelect().FieldName()), ok
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() == object {
			return pathOf(call.Args()[0])
		}
		if call.FunctionName() != operators.Index || call.Args()[1].Kind() != ast.LiteralKind {
			return nil, false
		}
		name, is := call.Args()[1].AsLiteral().(types.String)
		path, ok = pathOf(call.Args()[0])
		return append(path, string(name)), ok && is
	case ast.UnspecifiedExprKind, ast.ComprehensionKind, ast.ListKind, ast.LiteralKind, ast.MapKind, ast.StructKind:
	}
	return nil, false
}
