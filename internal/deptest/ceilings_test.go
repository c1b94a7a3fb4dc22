package deptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// ceilings are the figures of a package that may not exceed a size.
var ceilings = []struct {
	name string
	most int
	what string
	next string
}{
	{
		"knot", 2000, "lines in the largest knot (types with their methods, and functions, that reach each other)",
		"give the parts a small interface or function value instead of the type that they all reach, then move them below",
	},
	{
		"recursion", 150, "lines of functions that call each other in a circle",
		"return a value that the caller acts on, instead of a call back up",
	},
	{
		"methods", 60, "methods on a type",
		"move fields that few methods use, with these methods, to a type of their own",
	},
	{
		"spread", 8, "files with methods of a type",
		"join files of one concept, or move methods to a type of their own",
	},
	{
		"files", 30, "Go files beside tests",
		"move a concept to a package of its own, or join small files of one concept",
	},
}

// overCeilings returns the figures of a package that exceed their ceilings.
func overCeilings(pkg string, got map[string]figure) []string {
	var problems []string
	for _, c := range ceilings {
		size, causes := got[c.name].size, got[c.name].causes
		if size <= c.most {
			continue
		}
		by := ""
		if shown := causes[:min(8, len(causes))]; len(shown) > 0 {
			by = fmt.Sprintf(" (%s: %d in all)", strings.Join(shown, ", "), len(causes))
		}
		problems = append(problems, fmt.Sprintf("%s: %d %s%s, want at most %d\n\tnext: %s", pkg, size, c.what, by, c.most, c.next))
	}
	return problems
}

// TestCeilings compares the figures of each package with their ceilings.
func TestCeilings(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the figures are those of the files that are built on Linux")
	}
	packages, exports := listed(t)
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	module := moduleName(t, os.DirFS("../.."))
	for _, p := range packages {
		m := p.measure(t, fset, imports)
		name := "."
		if p.ImportPath != module {
			name = strings.TrimPrefix(p.ImportPath, module+"/")
		}
		for _, problem := range overCeilings(name, m) {
			t.Error(problem)
		}
	}
}

// listedPackage is a package as `go list` describes it.
type listedPackage struct {
	ImportPath, Export, Dir           string
	GoFiles, CgoFiles, IgnoredGoFiles []string
	DepOnly                           bool
}

// listed returns the packages of this module, and the file with the export data of each package
// that they import.
func listed(t *testing.T) (packages []*listedPackage, exports map[string]string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles,CgoFiles,IgnoredGoFiles,DepOnly", "./...")
	cmd.Dir = filepath.Join("..", "..")
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, &problems)
	}
	exports = map[string]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages, exports
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			packages = append(packages, &p)
		}
	}
}

// measure returns the figures of a package.
func (p *listedPackage) measure(t *testing.T, fset *token.FileSet, imports types.Importer) map[string]figure {
	t.Helper()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	m := measure(fset, files, checked(t, p.ImportPath, fset, files, imports))
	all := slices.DeleteFunc(slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles), func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	m["files"] = figure{size: len(all)}
	return m
}

// checked returns the types of a package.
func checked(t *testing.T, path string, fset *token.FileSet, files []*ast.File, imports types.Importer) *types.Info {
	t.Helper()
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: imports}
	if _, err := conf.Check(path, fset, files, info); err != nil {
		t.Fatal(err)
	}
	return info
}
