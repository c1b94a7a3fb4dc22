package main

import (
	"go/format"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

const changed = `package p

func (b *Box[T]) Put(x, y int) (n int, err error) {
	if err := b.check(x); err != nil {
		return 0, err
	}
	switch {
	case x > y, b.full && !b.open:
		b.count += x
	default:
		defer b.close(x, y)
	}
	n, err = b.write(max(x, 1), Options{Sync: true, Size: 7})
	return n, err
}

var limits = []int{small, large}
`

func TestChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		of     string
		change change
		want   string // a line of the mutant, or a part of the error
	}{
		{"Box.Put", never("check"), "if err := b.check(x); ((err != nil) && false) {"},
		{"Box.Put", never("x y"), "case ((x > y) && false), b.full && !b.open:"},
		{"Box.Put", always("open"), "case x > y, b.full && !((b.open) || true):"},
		{"Box.Put", always("full open"), "case x > y, ((b.full && !b.open) || true):"},
		{"Box.Put", skip("count"), "if false { b.count += x }"},
		{"Box.Put", skip("close"), "if false { defer b.close(x, y) }"},
		{"Box.Put", skip("err#1"), "if false { return 0, err }"},
		{"Box.Put", zero("b.write"), "n, err = mutated2(b.write(max(x, 1), Options{Sync: true, Size: 7}))"},
		{"Box.Put", zero("Sync"), "n, err = b.write(max(x, 1), Options{Sync: mutated1(true), Size: 7})"},
		{"Box.Put", zero("x count"), "b.count += mutated1(x)"},
		{"Box.Put", use("7", "8"), "n, err = b.write(max(x, 1), Options{Sync: true, Size: 8})"},
		{"Box.Put", use("max()", "x"), "n, err = b.write(x, Options{Sync: true, Size: 7})"},
		{"Box.Put", swap("x y", ">="), "case x >= y, b.full && !b.open:"},
		{"Box.Put", omit("y"), "defer b.close(x, )"},
		{"Box.Put", before("write", "n++"), "n++; n, err = b.write(max(x, 1), Options{Sync: true, Size: 7})"},
		{"Box.Put", returns(), "func (b *Box[T]) Put(x, y int) (n int, err error) { return *new(int), *new(error); "},
		{"Box.Put", returns("1", "nil"), "func (b *Box[T]) Put(x, y int) (n int, err error) { return 1, nil; "},
		{"limits", omit("small"), "var limits = []int{ large}"},

		{"Box.Put", never("gone"), "applies at 0 places"},
		{"Box.Put", never("b"), "applies at 3 places"},
		{"Box.Put", never("b#4"), "applies at 3 places"},
		{"Box.Put", never("check#1"), "needs no number"},
		{"Box.Put", skip(""), "the place is empty"},
		{"limits", returns(), "no function"},
	} {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, "p.go", changed, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		text, line, err := tt.change.apply(source{text: []byte(changed), file: set.File(file.Pos()), decl: declaration(file, tt.of)})
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %s", tt.change, err, tt.want)
			}
			continue
		}
		if got := strings.TrimSpace(strings.Split(string(text), "\n")[line-1]); got != strings.TrimSpace(tt.want) {
			t.Errorf("%s:\n\t%s, want\n\t%s", tt.change, got, tt.want)
		}
		if _, err := format.Source(text); err != nil {
			t.Errorf("%s: %v", tt.change, err)
		}
	}
}

func TestSelected(t *testing.T) {
	t.Parallel()
	table := []row{
		{"a", "One", never("x"), "TestA/some case", "one"},
		{".", "T.Two", skip("y"), "c TestB", "two"},
	}
	for expr, want := range map[string]string{"": "one two", "^a.One": "one", "some_case": "one", "c TestB": "two", `a2aserver\.T\.Two skip`: "two"} {
		got, err := selected(append([]row{}, table...), expr)
		var promises []string
		for _, r := range got {
			promises = append(promises, r.promise)
		}
		if text := strings.Join(promises, " "); err != nil || text != want {
			t.Errorf("selected(%q) = %q, %v, want %q", expr, text, err, want)
		}
	}
	for _, expr := range []string{"nothing", "("} {
		if got, err := selected(append([]row{}, table...), expr); err == nil {
			t.Errorf("selected(%q) = %v, want an error", expr, got)
		}
	}
}
