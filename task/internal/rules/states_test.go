package rules

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/golden"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/fold"
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
	for id := range store.MaxState + 1 {
		if s := task.StateName(id); s.Terminal() {
			fmt.Fprintf(&chart, "    %s --> [*]\n", short(s))
		}
	}
	chart.WriteString("```\n")
	document := filepath.Join("..", "..", "..", "docs", "task-states.md")
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
		for to := task.StateSubmitted; to <= store.MaxState; to++ {
			d := newDraft(&Rules{}, At{}, fold.New(store.TaskID{1}, "c"), 0)
			d.basis.Header.State = from
			d.added = move(d.added, d.basis, task.StateName(to))
			err := d.added.err
			if want := from != task.StateUnspecified && listed[[2]a2a.TaskState{task.StateName(from), task.StateName(to)}] && from <= store.MaxState; (err == nil) != want {
				t.Errorf("from %d to %s: %v, want it allowed: %v", from, task.StateName(to), err, want)
			}
			if err == nil && d.basis.Header.State != to || err != nil && d.basis.Header.State != from {
				t.Errorf("from %d to %s: %v, and the state is %d", from, task.StateName(to), err, d.basis.Header.State)
			}
		}
	}
}
