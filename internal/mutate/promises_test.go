package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const (
	moduleFolder = "../.."
	promisesFile = "docs/design/promises.md"
)

// TestPromises holds docs/design/promises.md to the code: every function, test, rule of
// the simulation and mutation that it names exists, and every promise and finding names
// what it has to.
func TestPromises(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(filepath.Join(moduleFolder, promisesFile))
	if err != nil {
		t.Fatal(err)
	}
	functions, rules := codeNames(t)
	mutations := map[string]bool{}
	for _, row := range rows() {
		mutations[row.Promise] = true
	}
	promises, findings := 0, 0
	for _, line := range tableLines(string(doc)) {
		switch len(line) {
		case 5:
			promises++
			kept, shown := spans(line[1]), testsIn(t, line)
			for _, name := range kept {
				if !functions[name] {
					t.Errorf("%.60s: there is no function %s", line[0], name)
				}
			}
			for _, rule := range phrases(line[3]) {
				if !rules[rule] {
					t.Errorf("%.60s: no rule of the simulation says %q", line[0], rule)
				}
			}
			broken := phrases(line[4])
			for _, promise := range broken {
				if !mutations[promise] {
					t.Errorf("%.60s: no row of the table promises %q", line[0], promise)
				}
			}
			if len(shown) == 0 || len(kept) == 0 && line[1] != "–" || len(broken) == 0 && line[4] != "–" {
				t.Errorf("%.60s: the line says not who keeps it, or what shows it", line[0])
			}
		case 2:
			findings++
			if len(testsIn(t, line)) == 0 {
				t.Errorf("%.60s: no test is named", line[0])
			}
		default:
			t.Errorf("a line has %d cells: %.60s", len(line), strings.Join(line, " | "))
		}
	}
	if findings < 50 {
		t.Errorf("%d findings were read, want more: is the table still one?", findings)
	}
	if promises < 30 {
		t.Errorf("%d promises were read, want more: is the table still one?", promises)
	}
}

// TestPromisesOfTheREADME finds each promise that the README makes in bold in the table.
func TestPromisesOfTheREADME(t *testing.T) {
	t.Parallel()
	var texts [2]string
	for i, name := range []string{"README.md", promisesFile} {
		raw, err := os.ReadFile(filepath.Join(moduleFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(raw)
	}
	_, list, _ := strings.Cut(texts[0], "## What it promises")
	list, _, _ = strings.Cut(list, "\n## ")
	bold := regexp.MustCompile(`\*\*(.+?)[.:]?\*\*`).FindAllStringSubmatch(list, -1)
	if len(bold) == 0 {
		t.Fatal("the README promises nothing")
	}
	for _, m := range bold {
		if !strings.Contains(texts[1], "| **"+m[1]) {
			t.Errorf("%s has no line for %q", promisesFile, m[1])
		}
	}
}

// testsIn returns the tests in the third cell of a line, as package and function, and
// fails for those that do not exist.
func testsIn(t *testing.T, line []string) []string {
	t.Helper()
	names := spans(line[min(2, len(line)-1)]) // a finding has no cell for functions
	for _, name := range names {
		folder, test, ok := strings.Cut(name, " ")
		if !ok || !declared(t, filepath.Join(moduleFolder, filepath.FromSlash(folder)), test) {
			t.Errorf("%.60s: no test file declares %q", line[0], name)
		}
	}
	return names
}

// tableLines returns the cells of the lines of all tables, without their heads.
func tableLines(doc string) (lines [][]string) {
	body := false
	for line := range strings.Lines(doc) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			body = false
		case strings.HasPrefix(line, "|--"):
			body = true
		case body:
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			lines = append(lines, cells)
		}
	}
	return lines
}

var (
	span   = regexp.MustCompile("`([^`]+)`")
	phrase = regexp.MustCompile(`\*([^*]+)\*`)
)

// spans returns what stands in a cell as code.
func spans(cell string) []string { return captured(span, cell) }

// phrases returns what stands in a cell in italics.
func phrases(cell string) []string { return captured(phrase, cell) }

func captured(re *regexp.Regexp, cell string) (all []string) {
	for _, m := range re.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// codeNames returns the functions of the module, as package.Type.Method or
// package.Function, and the rules that the simulation reports.
func codeNames(t *testing.T) (functions, rules map[string]bool) {
	t.Helper()
	functions, rules = map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(moduleFolder, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != moduleFolder && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				functions[file.Name.Name+"."+receiver(f)+f.Name.Name] = true
			}
		}
		if strings.HasSuffix(filepath.ToSlash(filepath.Dir(name)), "task/engine/sim") {
			ast.Inspect(file, func(n ast.Node) bool { return reports(n, rules) })
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return functions, rules
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
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "."
	}
	return "?." // a generic one, which no promise names
}

// reports adds the rule that a call of Fail or fail reports.
func reports(n ast.Node, rules map[string]bool) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return true
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Fail" && f.Sel.Name != "fail" {
		return true
	}
	for _, arg := range call.Args {
		if text, ok := arg.(*ast.BasicLit); ok && text.Kind == token.STRING {
			if rule, err := strconv.Unquote(text.Value); err == nil {
				rules[rule] = true
			}
			break // what follows is how
		}
	}
	return true
}
