// Package display writes tables, facts, times and JSON for people. Text from elsewhere cannot imitate
// a row of the program.
package display

import (
	"io"
	"strings"
	"text/tabwriter"

	"a2a-server/internal/visible"
)

// Table prints lines of columns, which are separated by tabs.
func Table(to io.Writer, lines []string) error {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return err
	}
	return w.Flush()
}

// Row returns a line for [Table]. It escapes invisible characters and marks empty values.
func Row(all ...string) string {
	for i, text := range all {
		if text = visible.Line(text); text == "" {
			text = None
		}
		all[i] = text
	}
	return strings.Join(all, "\t")
}

// None stands for a missing value.
const None = "–"
