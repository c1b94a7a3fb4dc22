package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task/engine"
)

// All that the engine and its parts start, wait for and time goes by the Host: the simulation sees
// nothing else. Only env/host.go does it by itself.
func TestEngineWaitsByItsHost(t *testing.T) {
	t.Parallel()
	var names []string
	for _, pattern := range []string{"*.go", "internal/*/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	forbidden := map[string][]string{
		"context": {"AfterFunc", "WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
		"time":    {"After", "AfterFunc", "NewTimer", "NewTicker", "Sleep", "Tick", "Now", "Since", "Until"},
		"sync":    {"WaitGroup", "Cond", "NewCond"},
	}
	files := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || name == "internal/env/host.go" || strings.HasPrefix(name, "internal/sim/") { // which are hosts
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
				clock := name == "config.go" && n.Sel.Name == "Now" // the default of Config.Now
				if ok && slices.Contains(forbidden[p.Name], n.Sel.Name) && !clock {
					wrong(n, p.Name+"."+n.Sel.Name)
				}
			}
			return true
		})
	}
	if files < 40 {
		t.Errorf("only %d files were looked at", files)
	}
}

// leapingHost is a host whose clock stands still, but leaps once between the moments at
// which the scheduler reads it and sets its alarm by it.
type leapingHost struct {
	base  time.Time
	moved atomic.Int64
	leap  atomic.Bool // at the next alarm, which is set for a minute at most
}

func (h *leapingHost) now() time.Time { return h.base.Add(time.Duration(h.moved.Load())) }

func (*leapingHost) Go(f func()) { go f() }

func (*leapingHost) Wait(channels ...<-chan struct{}) int {
	cases := make([]reflect.SelectCase, len(channels))
	for i, c := range channels {
		cases[i] = reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)}
	}
	place, _, _ := reflect.Select(cases)
	return place
}

func (h *leapingHost) After(d time.Duration, _ func()) (stop func() bool) {
	if d == time.Minute && h.leap.CompareAndSwap(true, false) {
		h.moved.Add(int64(2 * time.Hour))
	}
	return func() bool { return true } // it never rings: the clock stands still
}

// A deadline comes also when the clock leaps over it just as the alarm is set.
func TestClockLeapsOverDeadline(t *testing.T) {
	t.Parallel()
	h := &leapingHost{base: time.Now()}
	p := policy(t, approval.Gate{Tool: "deadline", Terms: approval.Terms{Expires: time.Hour, OnExpiry: approval.ExpiryCancels}})
	w := newMemory(t)
	w.cfg = engine.Config{Policy: p, Host: h, Now: h.now}
	w.start()
	id := w.send(w.calls("deadline", args{})).ID
	h.leap.Store(true)
	w.send(w.calls("deadline", args{})) // so that the alarm is set again
	w.wantState(w.ended(id), a2a.TaskStateCanceled)
}
