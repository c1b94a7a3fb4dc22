package deptest

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
)

// figure is a size of a package, with the definitions that cause it, the largest first.
type figure struct {
	size   int
	causes []string
}

// definition is a function, a method, a type or a value at the top level of a package.
type definition struct {
	name     string // T, T.m or f
	unit     string // what no package boundary can divide: T for T.m too
	file     string
	lines    int // the comment included
	receiver bool
	function bool // or a method
	node     ast.Node
}

// measure returns the figures of a package by the names in ceilings, but for its files, from its
// checked product files.
func measure(fset *token.FileSet, files []*ast.File, info *types.Info) map[string]figure {
	defs, owner := definitions(fset, files, info)
	alone := map[string]map[string]bool{} // which definition uses which
	units := map[string]map[string]bool{} // likewise, methods with their type
	unitLines, defLines := map[string]int{}, map[string]int{}
	functions := map[string]bool{}
	methods, places := map[string]int{}, map[string]map[string]bool{}
	for _, d := range defs {
		defLines[d.name] += d.lines
		unitLines[d.unit] += d.lines
		functions[d.name] = d.function
		for target := range uses(d, owner, info) {
			arrow(alone, d.name, target.name)
			arrow(units, d.unit, target.unit)
		}
		if d.receiver {
			methods[d.unit]++
			arrow(places, d.unit, d.file)
		}
	}
	largest := map[string]figure{}
	raise := func(name string, causes []string, sizes map[string]int) {
		size := 0
		for _, cause := range causes {
			size += sizes[cause]
		}
		if size > largest[name].size {
			slices.SortStableFunc(causes, func(a, b string) int { return sizes[b] - sizes[a] })
			largest[name] = figure{size, causes}
		}
	}
	for _, knot := range circles(slices.Sorted(maps.Keys(unitLines)), units) {
		raise("knot", knot, unitLines)
	}
	for _, circle := range circles(slices.Sorted(maps.Keys(defLines)), alone) {
		if len(circle) > 1 && slices.ContainsFunc(circle, func(name string) bool { return functions[name] }) {
			raise("recursion", circle, defLines)
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(methods)) {
		raise("methods", []string{unit}, methods)
		raise("spread", []string{unit}, map[string]int{unit: len(places[unit])})
	}
	return largest
}

func arrow(graph map[string]map[string]bool, from, to string) {
	if graph[from] == nil {
		graph[from] = map[string]bool{}
	}
	graph[from][to] = true
}

// definitions returns the definitions of files, and the definition of each declared object.
func definitions(fset *token.FileSet, files []*ast.File, info *types.Info) ([]*definition, map[types.Object]*definition) {
	var defs []*definition
	owner := map[types.Object]*definition{}
	lines := func(n ast.Node) int { return fset.Position(n.End()).Line - fset.Position(n.Pos()).Line + 1 }
	for _, f := range files {
		file := filepath.Base(fset.Position(f.Pos()).Filename)
		add := func(id *ast.Ident, n ast.Node, comment *ast.CommentGroup) *definition {
			d := &definition{name: id.Name, unit: id.Name, file: file, lines: lines(n), node: n}
			if comment != nil {
				d.lines += lines(comment)
			}
			if id.Name == "_" {
				d.name = fset.Position(id.Pos()).String()
				d.unit = d.name
			}
			owner[info.Defs[id]] = d
			defs = append(defs, d)
			return d
		}
		for _, decl := range f.Decls {
			switch x := decl.(type) {
			case *ast.FuncDecl:
				d := add(x.Name, x, x.Doc)
				d.function = true
				if x.Recv != nil {
					d.receiver, d.unit = true, receiver(x.Recv.List[0].Type)
					d.name = d.unit + "." + x.Name.Name
				}
			case *ast.GenDecl:
				for _, spec := range x.Specs {
					switch y := spec.(type) {
					case *ast.TypeSpec:
						d := add(y.Name, y, nil)
						d.lines++ // the keyword or a bracket
						if x.Doc != nil && len(x.Specs) == 1 {
							d.lines += lines(x.Doc)
						}
						ast.Inspect(y, func(n ast.Node) bool { // fields, and methods of interfaces
							if id, ok := n.(*ast.Ident); ok && info.Defs[id] != nil {
								owner[info.Defs[id]] = d
							}
							return true
						})
					case *ast.ValueSpec:
						d := add(y.Names[0], y, nil)
						for _, id := range y.Names {
							owner[info.Defs[id]] = d
						}
					}
				}
			}
		}
	}
	return defs, owner
}

// uses returns the other definitions of the package that d names. A method's mention of the type
// of its receiver is none.
func uses(d *definition, owner map[types.Object]*definition, info *types.Info) map[*definition]bool {
	found := map[*definition]bool{}
	ast.Inspect(d.node, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || info.Uses[id] == nil {
			return true
		}
		object := info.Uses[id]
		switch x := object.(type) {
		case *types.Func:
			object = x.Origin()
		case *types.Var:
			object = x.Origin()
		}
		target := owner[object]
		_, isType := object.(*types.TypeName)
		if target != nil && target != d && (!d.receiver || !isType || target.name != d.unit) {
			found[target] = true
		}
		return true
	})
	return found
}

// circles returns the strongly connected components of a graph (Tarjan's algorithm).
func circles(nodes []string, arrows map[string]map[string]bool) [][]string {
	var (
		all   [][]string
		stack []string
	)
	index, low, open := map[string]int{}, map[string]int{}, map[string]bool{}
	var visit func(v string)
	visit = func(v string) {
		index[v] = len(index) + 1
		low[v] = index[v]
		stack = append(stack, v)
		open[v] = true
		for w := range arrows[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if open[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] == index[v] {
			at := slices.Index(stack, v)
			circle := slices.Clone(stack[at:])
			stack = stack[:at]
			for _, w := range circle {
				open[w] = false
			}
			slices.Sort(circle)
			all = append(all, circle)
		}
	}
	for _, v := range nodes {
		if index[v] == 0 {
			visit(v)
		}
	}
	return all
}
