package deptest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// check returns what in the Go files of fsys, the root of module, breaks the
// rules. Each violation says where, what, and what to do next.
func check(fsys fs.FS, module string, r *rules) ([]string, error) {
	c := checker{fsys: fsys, module: module, rules: r, packages: map[string]bool{}}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return c.enter(name)
		case strings.HasSuffix(name, ".go") && !foreign(path.Base(name)):
			return c.file(name)
		}
		return nil
	})
	return c.violations, err
}

type checker struct {
	fsys       fs.FS
	module     string
	rules      *rules
	packages   map[string]bool // seen
	violations []string
}

// foreign reports whether a folder has nothing that was written for this module.
func foreign(base string) bool {
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || slices.Contains([]string{"testdata", "node_modules", "bin"}, base)
}

// enter skips what is not a package of this module.
func (c *checker) enter(dir string) error {
	if dir == "." {
		return nil
	}
	if foreign(path.Base(dir)) {
		return fs.SkipDir
	}
	if _, err := fs.Stat(c.fsys, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (c *checker) report(where, what, next string) {
	c.violations = append(c.violations, fmt.Sprintf("%s: %s\n\tnext: %s", where, what, next))
}

func (c *checker) file(name string) error {
	pkg := path.Dir(name)
	row, known := c.rules.row(pkg)
	if !c.packages[pkg] {
		c.packages[pkg] = true
		switch {
		case !known:
			c.report(pkg, "this package has no row in the import table of docs/design/imports.md",
				"add a row that says what it may import, what it owns and what it does not know")
		case row.planned && row.path == pkg:
			c.report(pkg, "this package exists, but its row in docs/design/imports.md is marked (planned)",
				"remove the mark, and describe the package as it is")
		}
	}

	src, err := fs.ReadFile(c.fsys, name)
	if err != nil {
		return err
	}
	testFile := strings.HasSuffix(name, "_test.go")
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ImportsOnly)
	if err != nil {
		return err
	}
	at := func(n ast.Node) string { return fmt.Sprintf("%s:%d", name, fset.Position(n.Pos()).Line) }
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: import path %s: %w", at(spec), spec.Path.Value, err)
		}
		if testFile {
			continue
		}
		if ours, ok := c.ours(imported); ok && known {
			c.arrow(at(spec), row, pkg, ours)
		}
		c.importName(at(spec), spec, imported)
	}
	return nil
}

// ours returns the path of a package of this module from its root.
func (c *checker) ours(imported string) (string, bool) {
	if imported == c.module {
		return ".", true
	}
	return strings.CutPrefix(imported, c.module+"/")
}

func (c *checker) arrow(where string, row packageRow, pkg, to string) {
	if c.rules.allows(row, to) {
		return
	}
	if target, ok := c.rules.row(to); ok && target.testsOnly {
		c.report(where, fmt.Sprintf("%s imports %s, which is for tests only", pkg, to), "import it from a _test.go file")
		return
	}
	allowed := "nothing of ours"
	if len(row.imports) > 0 {
		allowed = strings.Join(row.imports, ", ")
	}
	what := fmt.Sprintf("%s imports %s; its row in docs/design/imports.md allows %s", pkg, to, allowed)
	if row.unaware != "" {
		what += "; it does not know: " + row.unaware
	}
	c.report(where, what, fmt.Sprintf("declare in %s what it needs and pass it in from the root; "+
		"where the design itself is to change, change the row in the same commit and say why", pkg))
}

// importName refuses imports for their side effects, and those that hide where a name comes from.
func (c *checker) importName(where string, spec *ast.ImportSpec, imported string) {
	switch {
	case spec.Name == nil:
	case spec.Name.Name == "_" && imported != "embed": // embed registers nothing
		c.report(where, "blank import of "+imported, "call what it registers, from the program")
	case spec.Name.Name == ".":
		c.report(where, "dot import of "+imported, "import it under its name")
	}
}
