package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// lacks are the ways that a client does not have, with the reasons.
var lacks = []struct{ client, ways, because string }{
	{"ADK for Python; Gemini CLI", "blocking, poll", "it follows a stream in any case"},
	{"BeeAI; Strands", "poll", "it does not ask for the task again"},
	{"Agent Framework", "poll", "with `background=True` the program gets a token and asks by itself; not played"},
	{"those with – under restart", "way back", "its turn ends with an error when the connection breaks; the transfer goes on, and its result is with the task"},
	{"tools of frameworks", "blocking, poll, webhook", "`pay` may use any of them, as in the samples above"},
}

// testMatrix plays every mode in every column and writes the table of docs/clients.md with -update,
// or compares it. Columns go in two rows: all at once would take 20 GB.
func testMatrix(t *testing.T, p programs) {
	modes := modes(p)
	cells := make([][]ending, len(columns))
	var rows sync.WaitGroup
	for _, row := range [][]int{{2, 0, 4}, {1, 3, 5}} {
		rows.Go(func() {
			for _, i := range row {
				t.Run(columns[i].title, func(t *testing.T) { cells[i] = playColumn(t, p, columns[i], modes) })
			}
		})
	}
	rows.Wait()
	var b strings.Builder
	b.WriteString("| client | asks | directly or by an agent |")
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c.title)
	}
	b.WriteString("\n" + strings.Repeat("|---", 3+len(columns)) + "|\n")
	for i, m := range modes {
		through := "directly"
		if m.agent {
			through = "agent"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |", m.client, m.way, through)
		for c := range columns {
			if cells[c] == nil {
				b.WriteString(" not played |") // -run has chosen other columns
				continue
			}
			seen := cells[c][i]
			fmt.Fprintf(&b, " %s |", seen.cell)
			if seen.cell != "result" {
				t.Logf("%s, %s: %s:\n%.1500s", m, columns[c].title, seen.cell, seen.output)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\n| client | has no | because |\n|---|---|---|\n")
	for _, l := range lacks {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", l.client, l.ways, l.because)
	}
	file := filepath.Join(root, "docs", "clients.md")
	document, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	place := regexp.MustCompile(`(?s)(<!-- matrix: [^\n]*-->\n).*?(<!-- end -->)`)
	written := place.ReplaceAll(slices.Clone(document), []byte("${1}"+b.String()+"${2}"))
	switch {
	case slices.ContainsFunc(cells, func(c []ending) bool { return c == nil }):
		t.Logf("of the columns chosen:\n%s", b.String())
	case *update:
		if err := os.WriteFile(file, written, 0o600); err != nil {
			t.Fatal(err)
		}
	case string(written) != string(document):
		t.Errorf("docs/clients.md has another matrix; seen:\n%s", b.String())
	}
}
