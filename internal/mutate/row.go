package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// row is a mutation: a change of a function that breaks a promise, and the test that
// has to notice.
type row struct {
	folder   string // of the package
	function string // "Name" or "Type.Name", also of a variable or constant
	change   change
	test     string // as -test.run takes it, after the folder of its package if that is another
	promise  string // that the change breaks
}

// name is the function as docs/design/promises.md names it: package.Type.Name.
func (r *row) name() string {
	if r.folder == "." {
		return "a2aserver." + r.function
	}
	return path.Base(r.folder) + "." + r.function
}

// String describes the row in one line, which -row matches.
func (r *row) String() string {
	folder, test := r.tested()
	return fmt.Sprintf("%s %s: %s [%s %s]", r.name(), r.change, r.promise, folder, test)
}

// tested returns the folder of the test's package, and the test as package testing writes it.
func (r *row) tested() (folder, name string) {
	if folder, test, other := strings.Cut(r.test, " Test"); other {
		return folder, "Test" + strings.ReplaceAll(test, " ", "_")
	}
	return r.folder, strings.ReplaceAll(r.test, " ", "_")
}

// mutant returns the file that the row changes, its new text, and the line of the change.
// The error is the mistake in the row.
func (r *row) mutant(root string) (file string, text []byte, line int, err error) {
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(r.folder), "*.go"))
	if err != nil {
		return "", nil, 0, err
	}
	name := r.function[strings.LastIndexByte(r.function, '.')+1:]
	for _, path := range names {
		if text, err = os.ReadFile(path); err != nil {
			return "", nil, 0, err
		}
		if strings.HasSuffix(path, "_test.go") || !bytes.Contains(text, []byte(name)) {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		if err != nil {
			return "", nil, 0, err
		}
		decl := declaration(parsed, r.function)
		if built, err := build.Default.MatchFile(filepath.Split(path)); decl == nil || err != nil || !built {
			continue
		}
		text, line, err = r.change.apply(source{text: text, file: set.File(parsed.Pos()), decl: decl})
		return r.folder + "/" + filepath.Base(path), text, line, err
	}
	return "", nil, 0, errors.New("its package has no such function")
}

// declaration returns the function, method, variable or constant of the name, or nil.
func declaration(file *ast.File, name string) ast.Node {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if receiver(decl)+decl.Name.Name == name {
				return decl
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && slices.ContainsFunc(v.Names, func(n *ast.Ident) bool { return n.Name == name }) {
					return v
				}
			}
		}
	}
	return nil
}

// receiver returns the type of a method and a point, and nothing for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	switch generic := of.(type) {
	case *ast.IndexExpr:
		of = generic.X
	case *ast.IndexListExpr:
		of = generic.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}

// selected returns the rows whose line matches expr.
func selected(table []row, expr string) ([]row, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("-row: %w", err)
	}
	table = slices.DeleteFunc(table, func(r row) bool { return !re.MatchString(r.String()) })
	if len(table) == 0 {
		return nil, fmt.Errorf("-row: no row matches %q; -list prints them", expr)
	}
	return table, nil
}
