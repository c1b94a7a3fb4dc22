package display

import (
	"fmt"
	"strings"

	"a2a-server/internal/terminal"
	"a2a-server/internal/visible"
)

// Facts are names and values, a fact per line, for a screen with so many columns.
type Facts struct {
	strings.Builder
	Columns int
}

// Add adds a fact that has a value. A value that takes several lines, or would on the screen,
// is indented, so that none of its lines looks like a fact.
func (f *Facts) Add(name, value string) {
	value = strings.TrimRight(visible.Text(value), " \n\t")
	if value == "" {
		return
	}
	const indent = 12 // after the name
	if lines := terminal.Wrap(value, f.Columns-indent-len(terminal.Bar)-1); len(lines) > 1 {
		value = terminal.Bar + strings.Join(lines, "\n"+strings.Repeat(" ", indent)+terminal.Bar)
	}
	fmt.Fprintf(&f.Builder, "%-11s %s\n", name, value)
}
