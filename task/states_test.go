package task

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/golden"
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

// Each state has a name in A2A, and is found by it.
func TestStateNames(t *testing.T) {
	t.Parallel()
	for s := StateUnspecified; s <= StateAuthRequired; s++ {
		if back, err := StateOf(StateName(s)); err != nil || back != s {
			t.Errorf("StateOf(%s) = %d, %v, want %d", StateName(s), back, err, s)
		}
	}
}
