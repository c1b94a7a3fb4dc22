// Package crashpoint finds the points at which tests may kill the process: the
// constants Point… of a package, read from its source, so that none is forgotten.
package crashpoint

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

// In returns the points of the package in a folder: a map from the value that the hook is
// called with to the name of its constant. It reads files of every build tag, but no tests. It
// returns an error without points, for a point that is not a string literal, and for two
// points with the same value.
func In(dir string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("find points in %s: %w", dir, err)
	}
	points := map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return nil, fmt.Errorf("find points: %w", err)
		}
		for n := range ast.Preorder(file) {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for i, id := range spec.Names {
				if !strings.HasPrefix(id.Name, "Point") {
					continue
				}
				value, err := literal(spec, i)
				if err != nil {
					return nil, fmt.Errorf("%s: %s %w", name, id.Name, err)
				}
				if other, twice := points[value]; twice {
					return nil, fmt.Errorf("%s: %s and %s are both %q", name, other, id.Name, value)
				}
				points[value] = id.Name
			}
		}
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("%s has no points", dir)
	}
	return points, nil
}

func literal(spec *ast.ValueSpec, i int) (string, error) {
	if i < len(spec.Values) {
		if lit, ok := spec.Values[i].(*ast.BasicLit); ok {
			if value, err := strconv.Unquote(lit.Value); err == nil {
				return value, nil
			}
		}
	}
	return "", errors.New("is not a string literal of its own")
}
