package task

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/golden"
	"a2a-server/store"
)

//go:generate go test -count=1 -run ^TestStatesDocument$ . -update

// TestStatesDocument compares the chart and the table of docs/task-states.md with the
// state table.
func TestStatesDocument(t *testing.T) {
	t.Parallel()
	short := func(s a2a.TaskState) string { return strings.ToLower(strings.TrimPrefix(string(s), "TASK_STATE_")) }
	var chart, table strings.Builder
	chart.WriteString("```mermaid\nstateDiagram-v2\n")
	table.WriteString("| from | to | cause |\n|---|---|---|\n")
	for _, m := range Moves() {
		from, begin := "`"+string(m.From)+"`", short(m.From)
		if m.From == "" {
			from, begin = "–", "[*]"
		}
		fmt.Fprintf(&chart, "    %s --> %s\n", begin, short(m.To))
		fmt.Fprintf(&table, "| %s | `%s` | %s |\n", from, m.To, m.By)
	}
	for _, s := range stateNames {
		if s.Terminal() {
			fmt.Fprintf(&chart, "    %s --> [*]\n", short(s))
		}
	}
	chart.WriteString("```\n")
	document := filepath.Join("..", "docs", "task-states.md")
	golden.Section(t, document, "chart", chart.String())
	golden.Section(t, document, "moves", table.String())
}

// A draft refuses every change of state that is not in the table.
func TestStates(t *testing.T) {
	t.Parallel()
	listed := map[[2]a2a.TaskState]bool{}
	for _, m := range Moves() {
		listed[[2]a2a.TaskState{m.From, m.To}] = true
		if m.From.Terminal() {
			t.Errorf("a task may leave %s", m.From)
		}
		if m.To == a2a.TaskStateSubmitted && m.From != "" && m.From != a2a.TaskStateSubmitted {
			t.Errorf("a task may go back from %s to %s", m.From, m.To)
		}
	}
	for from := range store.MaxState + 2 {
		for to := stateSubmitted; to <= store.MaxState; to++ {
			d := &Draft{f: NewFold(store.TaskID{1}, "c")}
			d.f.Header.State = from
			err := d.enter(stateNames[to])
			if want := from != stateUnspecified && listed[[2]a2a.TaskState{StateName(from), stateNames[to]}] && from <= store.MaxState; (err == nil) != want {
				t.Errorf("from %d to %s: %v, want it allowed: %v", from, stateNames[to], err, want)
			}
			if err == nil && d.f.Header.State != to || err != nil && d.f.Header.State != from {
				t.Errorf("from %d to %s: %v, and the state is %d", from, stateNames[to], err, d.f.Header.State)
			}
		}
	}
	for s := stateUnspecified; s <= StateAuthRequired; s++ {
		if back, err := StateOf(StateName(s)); err != nil || back != s {
			t.Errorf("StateOf(%s) = %d, %v, want %d", StateName(s), back, err, s)
		}
	}
}
