package commandtool

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Pattern matches commands, element by element: the program, then its arguments. In an
// element, * stands for any text, also with slashes, and ? for a single character; a backslash
// makes the next character literal. A program whose path has the element .. is allowed only by
// a pattern whose program has .. too. "..." as the last element stands for any further
// arguments, or none.
type Pattern []string

// rest is the element that stands for any further arguments.
const rest = "..."

func (p Pattern) check() error {
	switch at := slices.Index(p, rest); {
	case len(p) == 0:
		return errors.New("a pattern without elements")
	case at >= 0 && at < len(p)-1:
		return fmt.Errorf("%q: only the last element can be %q", []string(p), rest)
	}
	if p[0] == "" {
		return fmt.Errorf("%q: the program is empty", []string(p))
	}
	return nil
}

// arguments reports whether the elements after the program match. If open, more arguments
// than the pattern has are fine.
func (p Pattern) arguments(args []string, open bool) bool {
	elements := p[1:]
	if n := len(elements); n > 0 && elements[n-1] == rest {
		elements, open = elements[:n-1], true
	}
	if len(args) < len(elements) || len(args) > len(elements) && !open {
		return false
	}
	for i, element := range elements {
		if !glob(element, args[i]) {
			return false
		}
	}
	return true
}

// allows reports whether a command may run. A program's name matches only itself: an
// element without a slash does not match a path.
func (p Pattern) allows(argv []string) bool {
	if p[0] == rest {
		return true
	}
	// A * may be any path below a folder, but not a path that leaves it.
	if strings.Contains(argv[0], "/") && !strings.Contains(p[0], "/") || goesUp(argv[0]) && !goesUp(p[0]) {
		return false
	}
	return glob(p[0], argv[0]) && p.arguments(argv[1:], false /* open */)
}

// goesUp reports whether an element of a path is "..".
func goesUp(path string) bool { return slices.Contains(strings.Split(path, "/"), "..") }

// denies reports whether a command must not run. programs are all names by which its
// program is known. Further arguments never help.
func (p Pattern) denies(programs, args []string) bool {
	if p[0] == rest {
		return true
	}
	return slices.ContainsFunc(programs, func(name string) bool { return glob(p[0], name) }) && p.arguments(args, true /* open */)
}

// knownAs returns the names by which a program is known: its name in the call, the path found
// of the file that would run, that path without symbolic links, and the last element of each.
func knownAs(name, found string) []string {
	names := []string{name, filepath.Clean(name)}
	if found != "" {
		names = append(names, found)
		if file, err := filepath.EvalSymlinks(found); err == nil {
			names = append(names, file)
		}
	}
	for _, n := range slices.Clone(names) {
		names = append(names, filepath.Base(n))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// glob reports whether s matches a pattern. The time that it takes is proportional to the product
// of their lengths.
func glob(pattern, s string) bool {
	var expression strings.Builder
	literal := false
	for _, r := range pattern {
		switch {
		case literal:
			expression.WriteString(regexp.QuoteMeta(string(r)))
			literal = false
		case r == '\\':
			literal = true
		case r == '*':
			expression.WriteString(".*")
		case r == '?':
			expression.WriteString(".")
		default:
			expression.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	if literal { // a backslash at the end
		expression.WriteString(`\\`)
	}
	return regexp.MustCompile(`(?s)^` + expression.String() + `$`).MatchString(s)
}
