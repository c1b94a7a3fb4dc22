package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// All that the engine starts, waits for and times goes by its Host: the simulation sees
// nothing else. Only host.go does it by itself.
func TestEngineWaitsByItsHost(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	forbidden := map[string][]string{
		"context": {"AfterFunc", "WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
		"time":    {"After", "AfterFunc", "NewTimer", "NewTicker", "Sleep", "Tick", "Now", "Since", "Until"},
		"sync":    {"WaitGroup", "Cond", "NewCond"},
	}
	files := 0
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || name == "host.go" {
			continue
		}
		files++
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		wrong := func(n ast.Node, what string) { t.Errorf("%s: %s: use the engine's host", set.Position(n.Pos()), what) }
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				wrong(n, "go statement")
			case *ast.SelectStmt:
				wrong(n, "select")
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					wrong(n, "receive")
				}
			case *ast.SelectorExpr:
				p, ok := n.X.(*ast.Ident)
				clock := name == "engine.go" && n.Sel.Name == "Now" // the default of Config.Now
				if ok && slices.Contains(forbidden[p.Name], n.Sel.Name) && !clock {
					wrong(n, p.Name+"."+n.Sel.Name)
				}
			}
			return true
		})
	}
	if files < 10 {
		t.Errorf("only %d files were looked at", files)
	}
}
