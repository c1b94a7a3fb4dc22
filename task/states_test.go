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
// state table. A row of the table has all states that change in the same way.
func TestStatesDocument(t *testing.T) {
	t.Parallel()
	short := func(s a2a.TaskState) string { return strings.ToLower(strings.TrimPrefix(string(s), "TASK_STATE_")) }
	type change struct {
		to a2a.TaskState
		by string
	}
	var chart, table strings.Builder
	var changes []change
	from := map[change][]string{}
	chart.WriteString("```mermaid\nstateDiagram-v2\n")
	table.WriteString("| from | to | cause |\n|---|---|---|\n")
	for _, m := range Moves() {
		name, begin := "`"+string(m.From)+"`", short(m.From)
		if m.From == "" {
			name, begin = "–", "[*]"
		}
		fmt.Fprintf(&chart, "    %s --> %s\n", begin, short(m.To))
		c := change{m.To, m.By}
		if from[c] == nil {
			changes = append(changes, c)
		}
		from[c] = append(from[c], name)
	}
	for _, c := range changes {
		fmt.Fprintf(&table, "| %s | `%s` | %s |\n", strings.Join(from[c], ", "), c.to, c.by)
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
