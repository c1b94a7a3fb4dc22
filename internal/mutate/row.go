package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Row is one mutation: a change of the code that breaks a promise, and the test that
// has to notice.
type Row struct {
	File    string // from the root of the module, with slashes
	What    string // occurs in File exactly once
	Into    string // replaces What
	Promise string // what the mutation breaks, as a short sentence
	Package string // folder of the package that has Test. Defaults to that of File
	Test    string // as -test.v prints it, or with spaces: "TestCheck/no verb"
	Hangs   bool   // a test that does not end has noticed it too
}

// String describes the row in one line, which -row matches.
func (r *Row) String() string {
	test := r.test()
	if r.Package != "" {
		test = r.Package + " " + test
	}
	return fmt.Sprintf("%s: %s [%s]", r.File, r.Promise, test)
}

// folder is where the package of the test is.
func (r *Row) folder() string {
	if r.Package != "" {
		return r.Package
	}
	return path.Dir(r.File)
}

// test is Test as package testing writes it.
func (r *Row) test() string {
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return '_'
		}
		return c
	}, r.Test)
}

// mutant returns the text of File with the mutation, and the line where it begins. The
// error says what is wrong with the row.
func (r *Row) mutant(root string) (text []byte, line int, err error) {
	for _, field := range []struct{ name, value string }{
		{"File", r.File}, {"What", r.What}, {"Promise", r.Promise}, {"Test", r.Test},
	} {
		if field.value == "" {
			return nil, 0, fmt.Errorf("%s is empty", field.name)
		}
	}
	if r.What == r.Into {
		return nil, 0, errors.New("the fields What and Into are the same")
	}
	raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(r.File)))
	if err != nil {
		return nil, 0, err
	}
	before, after, found := strings.Cut(string(raw), r.What)
	switch n := strings.Count(string(raw), r.What); {
	case !found:
		return nil, 0, fmt.Errorf("its text does not occur in the file; find what keeps the promise now, and name that")
	case n > 1:
		return nil, 0, fmt.Errorf("its text occurs %d times; take more of what is around it", n)
	}
	return []byte(before + r.Into + after), 1 + strings.Count(before, "\n"), nil
}

// selected returns the rows whose line matches expr.
func selected(table []Row, expr string) ([]Row, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("-row: %w", err)
	}
	table = slices.DeleteFunc(table, func(r Row) bool { return !re.MatchString(r.String()) })
	if len(table) == 0 {
		return nil, fmt.Errorf("-row: no row matches %q; -list prints them", expr)
	}
	return table, nil
}
