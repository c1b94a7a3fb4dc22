package deptest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The header cells by which the table is found.
var packageColumns = []string{"package", "imports of ours", "does not know"}

// rules is the table in docs/design/imports.md.
type rules struct{ packages []packageRow }

// packageRow is one package of the import table.
type packageRow struct {
	path       string // from the module's root; may end in "/..."
	imports    []string
	everything bool // every package that is not for tests or a program
	testsOnly  bool
	planned    bool
	unaware    string // the "does not know" cell, for messages
}

var backticks = regexp.MustCompile("`([^`]+)`")

// parseRules reads the table. Every problem is in the error, joined.
func parseRules(doc string) (*rules, error) {
	var (
		r    rules
		errs []error
	)
	rows, err := table(doc, packageColumns)
	if err != nil {
		return nil, err
	}
	for _, cells := range rows {
		parsed, err := parsePackage(cells)
		if err != nil {
			errs = append(errs, fmt.Errorf("row %q: %w", cells[0], err))
		}
		r.packages = append(r.packages, parsed...)
	}
	errs = append(errs, r.inconsistencies()...)
	return &r, errors.Join(errs...)
}

func parsePackage(cells []string) ([]packageRow, error) {
	paths, rest := names(cells[0])
	row := packageRow{unaware: cells[2]}
	for _, word := range strings.Split(rest, ";") {
		switch strings.Trim(word, " ()") {
		case "planned":
			row.planned = true
		case "tests only":
			row.testsOnly = true
		case "":
		default:
			return nil, fmt.Errorf("%q is not a mark; use (planned) or (tests only)", word)
		}
	}
	if len(paths) == 0 {
		return nil, errors.New("no package in backticks")
	}
	imports, rest := names(cells[1])
	switch {
	case rest == "everything" && len(imports) == 0:
		row.everything = true
	case rest == "–" && len(imports) == 0:
	case rest != "" || len(imports) == 0:
		return nil, fmt.Errorf("cannot read %q; write packages in backticks, everything, or –", cells[1])
	}
	row.imports = imports
	var out []packageRow
	for _, path := range paths {
		row.path = path
		out = append(out, row)
	}
	return out, nil
}

// inconsistencies finds names without a row, rows that are there twice, and
// packages for tests that others are told to import.
func (r *rules) inconsistencies() []error {
	var errs []error
	seen := map[string]bool{}
	once := func(name string) {
		if seen[name] {
			errs = append(errs, fmt.Errorf("%s has two rows", name))
		}
		seen[name] = true
	}
	for _, p := range r.packages {
		once(p.path)
		for _, imported := range p.imports {
			switch row, ok := r.row(imported); {
			case !ok:
				errs = append(errs, fmt.Errorf("row of %s: imports %s, which has no row", p.path, imported))
			case row.testsOnly && !p.testsOnly:
				errs = append(errs, fmt.Errorf("row of %s: imports %s, which is for tests only", p.path, imported))
			}
		}
	}
	return errs
}

// row returns the row of a package: its own, or the longest "/..." above it.
func (r *rules) row(path string) (packageRow, bool) {
	var best packageRow
	for _, p := range r.packages {
		if p.path == path {
			return p, true
		}
		if matches(p.path, path) && len(p.path) > len(best.path) {
			best = p
		}
	}
	return best, best.path != ""
}

// allows reports whether a package of the table may import another one of ours.
func (r *rules) allows(from packageRow, to string) bool {
	if from.everything {
		row, ok := r.row(to)
		return ok && !row.testsOnly
	}
	return slices.ContainsFunc(from.imports, func(p string) bool { return matches(p, to) })
}

// matches reports whether path is pattern, or below a pattern "x/...".
func matches(pattern, path string) bool {
	parent, wild := strings.CutSuffix(pattern, "/...")
	return path == pattern || wild && (path == parent || strings.HasPrefix(path, parent+"/"))
}

// names returns what is in backticks in a cell, and the rest without commas.
func names(cell string) (found []string, rest string) {
	for _, m := range backticks.FindAllStringSubmatch(cell, -1) {
		found = append(found, m[1])
	}
	rest = strings.ReplaceAll(backticks.ReplaceAllString(cell, ""), ",", "")
	return found, strings.TrimSpace(rest)
}

// table returns the rows of the one Markdown table with these columns.
func table(doc string, columns []string) ([][]string, error) {
	var rows [][]string
	found, inside := 0, false
	for line := range strings.Lines(doc) {
		cells, ok := split(line)
		switch {
		case !ok:
			inside = false
		case slices.Equal(cells, columns):
			found++
			inside = true
		case inside && !strings.HasPrefix(strings.TrimLeft(cells[0], ":"), "---"):
			if len(cells) != len(columns) {
				return nil, fmt.Errorf("row %q has %d cells, want %d", cells[0], len(cells), len(columns))
			}
			rows = append(rows, cells)
		}
	}
	if found != 1 || len(rows) == 0 {
		return nil, fmt.Errorf("%d tables with the columns | %s | and %d rows, want one table with rows", found, strings.Join(columns, " | "), len(rows))
	}
	return rows, nil
}

func split(line string) (cells []string, ok bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") || !strings.HasSuffix(line, "|") || len(line) < 2 {
		return nil, false
	}
	for _, cell := range strings.Split(line[1:len(line)-1], "|") {
		cells = append(cells, strings.TrimSpace(cell))
	}
	return cells, true
}
