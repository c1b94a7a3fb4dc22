package deptest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Package comments are where a newcomer begins: what they link to has to be there,
// exported or not.
func TestPackageCommentLinks(t *testing.T) {
	t.Parallel()
	packages := declared(t, "../..")
	links := 0
	for dir, p := range packages {
		for _, link := range linksIn(p.comment) {
			links++
			if !p.has(link, packages) {
				t.Errorf("%s: the package comment links to [%s], which is not declared there\n\tnext: name what is there now", dir, link)
			}
		}
	}
	if links < 30 {
		t.Errorf("only %d links were found in package comments", links)
	}
}

// source is what a package declares: its names, and Type.Method and Type.Field.
type source struct {
	comment string
	names   map[string]bool
	imports map[string]string // of ours: name → folder
}

// link is a link in a doc comment: a name, perhaps of another package, in brackets.
var link = regexp.MustCompile(`(?:^|[^\w\]])\[\*?([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*){0,2})\](?:[^(:\[]|$)`)

func linksIn(comment string) (links []string) {
	for line := range strings.Lines(comment) {
		if strings.HasPrefix(line, "\t") {
			continue // a picture, or code
		}
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			links = append(links, m[1])
		}
	}
	return links
}

// has reports whether a link leads somewhere. One to a package that is not ours is
// believed.
func (s *source) has(link string, packages map[string]*source) bool {
	if s.names[link] {
		return true
	}
	head, rest, qualified := strings.Cut(link, ".")
	if dir, ours := s.imports[head]; ours {
		return !qualified || packages[dir] != nil && packages[dir].names[rest]
	}
	return qualified && !s.names[head] && head == strings.ToLower(head) && !slices.ContainsFunc(mapKeys(packages), func(dir string) bool { return path.Base(dir) == head })
}

func mapKeys(m map[string]*source) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

// declared parses every package below root, tests apart.
func declared(t *testing.T, root string) map[string]*source {
	t.Helper()
	packages, module := map[string]*source{}, moduleName(t, os.DirFS(root))
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != root && foreign(d.Name()) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		if packages[dir] == nil {
			packages[dir] = &source{names: map[string]bool{}, imports: map[string]string{}}
		}
		packages[dir].read(f, module)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

func (s *source) read(f *ast.File, module string) {
	if f.Doc != nil {
		s.comment += f.Doc.Text()
	}
	for _, i := range f.Imports {
		if dir, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module+"/"); ours {
			s.imports[path.Base(dir)] = dir
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				s.names[d.Name.Name] = true
				continue
			}
			s.names[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				s.spec(spec)
			}
		}
	}
}

func (s *source) spec(spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, n := range spec.Names {
			s.names[n.Name] = true
		}
	case *ast.TypeSpec:
		s.names[spec.Name.Name] = true
		var fields *ast.FieldList
		switch of := spec.Type.(type) {
		case *ast.StructType:
			fields = of.Fields
		case *ast.InterfaceType:
			fields = of.Methods
		default:
			return
		}
		for _, f := range fields.List {
			for _, n := range f.Names {
				s.names[spec.Name.Name+"."+n.Name] = true
			}
		}
	}
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
