package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// change is an edit of a declaration: an operator, and the place where it applies.
//
// A place is the smallest piece of code the operator can change that mentions all of some
// names, with blanks between them: identifiers, selectors ("store.ErrFull"), calls
// ("min()"), elements ("list[]") or whole literals. It is the only such piece, or has the
// number after "#", counted from 1 in the order of the source.
type change struct {
	op    string
	place string
	text  string // that is inserted, if the operator takes any
	hangs bool   // a test that does not end has noticed it
}

// never makes a boolean expression false: a condition, a case, a comparison or an operand
// of a logical operator. The expression is still evaluated.
func never(place string) change { return change{op: "never", place: place} }

// always makes a boolean expression true, as never makes it false.
func always(place string) change { return change{op: "always", place: place} }

// skip leaves a simple statement out; a definition cannot be skipped.
func skip(place string) change { return change{op: "skip", place: place} }

// zero takes the zero value for a call, a variable, a field or a key's value, whose name
// is the first of the place. A call is still made.
func zero(place string) change { return change{op: "zero", place: place} }

// use replaces a name or a literal, which is the first of the place, by text.
func use(place, text string) change { return change{op: "use", place: place, text: text} }

// swap gives a binary expression another operator.
func swap(place, operator string) change { return change{op: "swap", place: place, text: operator} }

// omit leaves an element of a composite literal or an argument of a call out.
func omit(place string) change { return change{op: "omit", place: place} }

// before inserts a statement before another.
func before(place, statement string) change {
	return change{op: "before", place: place, text: statement}
}

// returns makes a function return at once: the values, or the zero values of its results.
func returns(values ...string) change {
	return change{op: "returns", text: strings.Join(values, ", ")}
}

// hangs marks a change after which the test does not have to end.
func hangs(c change) change { c.hangs = true; return c }

func (c change) String() string {
	args := slices.DeleteFunc([]string{c.place, c.text}, func(arg string) bool { return arg == "" })
	return c.op + "(" + strings.Join(args, ", ") + ")"
}

// helpers are the functions that zero calls, for a value and for two results of a call.
const helpers = `
func mutated1[A any](A) (a A)            { return a }
func mutated2[A, B any](A, B) (a A, b B) { return a, b }
`

// source is a file and a declaration in it that is changed.
type source struct {
	text []byte
	file *token.File
	decl ast.Node
}

// apply returns the text of the file with the change, and the line where that begins.
func (c change) apply(s source) (text []byte, line int, err error) {
	if c.op == "returns" {
		return c.atTop(s)
	}
	target, err := c.find(s)
	if err != nil {
		return nil, 0, err
	}
	from, to := target.node.Pos(), target.node.End()
	of := string(s.text[s.file.Offset(from):s.file.Offset(to)])
	switch c.op {
	case "never":
		of = "((" + of + ") && false)"
	case "always":
		of = "((" + of + ") || true)"
	case "skip":
		of = "if false { " + of + " }"
	case "zero":
		if of = fmt.Sprintf("mutated%d(%s)", target.results, of); target.results > 2 {
			return nil, 0, fmt.Errorf("the call has %d results, and more than 2 cannot be made zero", target.results)
		}
	case "use":
		of = c.text
	case "swap":
		operation, _ := target.node.(*ast.BinaryExpr)
		from, of = operation.OpPos, c.text
		to = from + token.Pos(len(operation.Op.String()))
	case "omit":
		rest := s.text[s.file.Offset(to):]
		if after := strings.TrimLeft(string(rest), " \t\n"); strings.HasPrefix(after, ",") {
			to += token.Pos(len(rest) - len(after) + 1)
		}
		of = ""
	case "before":
		of = c.text + "; " + of
	}
	text = slices.Concat(s.text[:s.file.Offset(from)], []byte(of), s.text[s.file.Offset(to):])
	if c.op == "zero" {
		text = append(text, helpers...)
	}
	return text, s.file.Line(from), nil
}

// atTop inserts a return at the beginning of a function.
func (c change) atTop(s source) (text []byte, line int, err error) {
	f, ok := s.decl.(*ast.FuncDecl)
	if !ok || f.Body == nil {
		return nil, 0, errors.New("it is no function with a body")
	}
	values := c.text
	if values == "" && f.Type.Results != nil {
		var zeros []string
		for _, result := range f.Type.Results.List {
			of := s.text[s.file.Offset(result.Type.Pos()):s.file.Offset(result.Type.End())]
			zeros = append(zeros, slices.Repeat([]string{"*new(" + string(of) + ")"}, max(1, len(result.Names)))...)
		}
		values = strings.Join(zeros, ", ")
	}
	at := s.file.Offset(f.Body.Lbrace) + 1
	return slices.Concat(s.text[:at], []byte(" return "+values+"; "), s.text[at:]), s.file.Line(f.Body.Lbrace), nil
}

// target is a piece of code that an operator can change.
type target struct {
	node    ast.Node
	scope   []ast.Node // where the names are looked for. Defaults to node
	results int        // of a call
}

// find returns the place of the change. The error says why there is no single place.
func (c change) find(s source) (target, error) {
	place, number, numbered := strings.Cut(c.place, "#")
	names := strings.Fields(place)
	if len(names) == 0 {
		return target{}, errors.New("the place is empty")
	}
	var list []target
	for _, t := range c.targets(s.decl, names) {
		if t.mentions(names) {
			list = append(list, t)
		}
	}
	// Only the smallest remain: those that contain no other.
	list = slices.DeleteFunc(slices.Clone(list), func(t target) bool {
		return slices.ContainsFunc(list, func(in target) bool {
			return in.node != t.node && t.node.Pos() <= in.node.Pos() && in.node.End() <= t.node.End()
		})
	})
	slices.SortStableFunc(list, func(a, b target) int { return cmp.Compare(a.node.Pos(), b.node.Pos()) })
	list = slices.CompactFunc(list, func(a, b target) bool { return a.node == b.node })
	n := 1
	if numbered {
		n, _ = strconv.Atoi(number)
	}
	switch {
	case n < 1 || n > len(list):
		return target{}, fmt.Errorf("%s applies at %d places", c, len(list))
	case !numbered && len(list) > 1:
		return target{}, fmt.Errorf("%s applies at %d places; name more of it, or say which", c, len(list))
	case numbered && len(list) == 1:
		return target{}, fmt.Errorf("%s applies at 1 place, and needs no number", c)
	}
	return list[n-1], nil
}

// targets returns all pieces of a declaration that the operator can change.
func (c change) targets(decl ast.Node, names []string) (list []target) {
	var above []ast.Node // from decl down to the parent of n
	ast.Inspect(decl, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		switch c.op {
		case "never", "always":
			list = append(list, conditions(n, names)...)
		case "skip", "before":
			if statement(n, c.op == "before") && inList(above) {
				list = append(list, target{node: n})
			}
		case "zero":
			list = append(list, values(n, above, names)...)
		case "use":
			if is(n, names[0]) {
				list = append(list, target{node: n, scope: []ast.Node{nearest(above, n)}})
			}
		case "swap":
			if _, ok := n.(*ast.BinaryExpr); ok {
				list = append(list, target{node: n})
			}
		case "omit":
			list = append(list, elements(n)...)
		}
		above = append(above, n)
		return true
	})
	return list
}

// comparing and logical are the operators whose result is a boolean.
var (
	comparing = []token.Token{token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ}
	logical   = []token.Token{token.LAND, token.LOR}
)

// conditions returns the boolean expressions directly in n, as far as syntax shows them.
func conditions(n ast.Node, names []string) (list []target) {
	var all []ast.Expr
	switch n := n.(type) {
	case *ast.IfStmt:
		if n.Init != nil {
			return []target{{node: n.Cond, scope: []ast.Node{n.Init, n.Cond}}}
		}
		all = []ast.Expr{n.Cond}
	case *ast.ForStmt:
		if n.Cond != nil {
			all = []ast.Expr{n.Cond}
		}
	case *ast.SwitchStmt:
		for _, clause := range n.Body.List {
			if c, ok := clause.(*ast.CaseClause); ok && n.Tag == nil {
				all = append(all, c.List...)
			}
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			all = []ast.Expr{n.X}
		}
	case *ast.BinaryExpr:
		if slices.Contains(logical, n.Op) {
			all = []ast.Expr{n, n.X, n.Y}
		} else if slices.Contains(comparing, n.Op) {
			all = []ast.Expr{n}
		}
	case *ast.ReturnStmt: // a call may be one
		for _, x := range n.Results {
			if call, ok := x.(*ast.CallExpr); ok && called(call, names[0]) {
				all = append(all, x)
			}
		}
	}
	for _, x := range all {
		list = append(list, target{node: x})
	}
	return list
}

// statement reports whether n is a statement that may be left out, or any at all.
func statement(n ast.Node, anyKind bool) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return anyKind || n.Tok != token.DEFINE
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.SelectStmt:
		return anyKind
	}
	return false
}

// inList reports whether a node with these above it is in a list of statements.
func inList(above []ast.Node) bool {
	if len(above) == 0 {
		return false
	}
	switch above[len(above)-1].(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

// values returns the calls, the values of keys, and the variables and fields in n that
// have the first of the names.
func values(n ast.Node, above []ast.Node, names []string) []target {
	if len(above) == 0 {
		return nil
	}
	results := 1
	switch parent := above[len(above)-1].(type) {
	case *ast.CallExpr:
		if parent.Fun == n {
			return nil
		}
	case *ast.SelectorExpr, *ast.Field:
		return nil
	case *ast.KeyValueExpr:
		if parent.Key == n {
			return nil
		}
	case *ast.AssignStmt:
		if x, ok := n.(ast.Expr); ok && slices.Contains(parent.Lhs, x) {
			return nil
		}
		if len(parent.Rhs) == 1 {
			results = len(parent.Lhs)
		}
	case *ast.ReturnStmt:
		if f, ok := above[0].(*ast.FuncDecl); ok && len(parent.Results) == 1 {
			results = f.Type.Results.NumFields()
		}
	}
	switch x := n.(type) {
	case *ast.CallExpr:
		if called(x, names[0]) {
			return []target{{node: n, results: results}}
		}
	case *ast.KeyValueExpr:
		if is(x.Key, names[0]) {
			return []target{{node: x.Value, scope: []ast.Node{x}, results: 1}}
		}
	case *ast.Ident, *ast.SelectorExpr:
		if is(n, names[0]) {
			return []target{{node: n, scope: []ast.Node{nearest(above, n)}, results: 1}}
		}
	}
	return nil
}

// elements returns the elements of a composite literal, and the arguments of a call.
func elements(n ast.Node) (list []target) {
	var of []ast.Expr
	switch n := n.(type) {
	case *ast.CompositeLit:
		of = n.Elts
	case *ast.CallExpr:
		of = n.Args
	}
	for _, x := range of {
		list = append(list, target{node: x})
	}
	return list
}

// nearest returns the innermost statement, condition or declaration of above and n.
func nearest(above []ast.Node, n ast.Node) ast.Node {
	for _, up := range slices.Backward(above) {
		switch up.(type) {
		case *ast.IfStmt, *ast.CaseClause, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt:
			return n
		case ast.Stmt, ast.Spec:
			return up
		}
		n = up
	}
	return n
}

// mentions reports whether each of the names is in the scope of t.
func (t target) mentions(names []string) bool {
	scope := t.scope
	if scope == nil {
		scope = []ast.Node{t.node}
	}
	for _, name := range names {
		found := false
		for _, s := range scope {
			ast.Inspect(s, func(n ast.Node) bool {
				found = found || n != nil && is(n, name)
				return !found
			})
		}
		if !found {
			return false
		}
	}
	return true
}

// is reports whether n is the identifier, the selector or the literal of this name.
func is(n ast.Node, name string) bool {
	switch n := n.(type) {
	case *ast.Ident:
		return n.Name == name
	case *ast.SelectorExpr:
		of, field, dotted := cutLast(name)
		if !dotted {
			return n.Sel.Name == name
		}
		return n.Sel.Name == field && is(n.X, of)
	case *ast.CallExpr:
		name, ok := strings.CutSuffix(name, "()")
		return ok && called(n, name)
	case *ast.IndexExpr:
		name, ok := strings.CutSuffix(name, "[]")
		return ok && is(n.X, name)
	case *ast.BranchStmt:
		return n.Tok.String() == name
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		return n.Value == name || err == nil && text == name
	}
	return false
}

// called reports whether n calls the function of this name.
func called(n *ast.CallExpr, name string) bool {
	if instance, ok := n.Fun.(*ast.IndexExpr); ok { // of a generic function
		return is(instance.X, name)
	}
	return is(n.Fun, name)
}

// cutLast cuts a name at its last point.
func cutLast(name string) (before, after string, found bool) {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}
