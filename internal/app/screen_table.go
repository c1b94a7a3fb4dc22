package app

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"a2a-server/internal/visible"
)

// list prints v as JSON, or else lines, which begin with their heading, as a table; none if there
// are no others. more: the list goes on.
func (p *program) list(as form, v any, lines []string, none string, more bool) error {
	var err error
	switch {
	case as == asJSON:
		return p.printJSON(v)
	case len(lines) > 1:
		err = table(p.stdout, lines)
	case none != "":
		_, err = fmt.Fprintln(p.stdout, none)
	}
	if err == nil && more {
		_, err = fmt.Fprintln(p.stderr, "There are more: raise --limit to list them.")
	}
	return err
}

// show prints v as JSON, or else a text.
func (p *program) show(as form, v any, text string) error {
	if as == asJSON {
		return p.printJSON(v)
	}
	_, err := io.WriteString(p.stdout, text)
	return err
}

// table prints lines of columns, which are separated by tabs.
func table(to io.Writer, lines []string) error {
	w := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	if _, err := io.WriteString(w, strings.Join(lines, "\n")+"\n"); err != nil {
		return err
	}
	return w.Flush()
}

// columns returns a line for table. It escapes invisible characters and marks empty values.
func columns(all ...string) string {
	for i, text := range all {
		if text = visible.Line(text); text == "" {
			text = none
		}
		all[i] = text
	}
	return strings.Join(all, "\t")
}

// moment returns the exact time; "" for none.
func moment(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01-02 15:04:05 -07:00")
}

// exactly returns the exact time, and how far from now it is.
func exactly(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return moment(at) + " (" + ago(at, now) + ")"
}

// ago returns a time as its distance from now; "" for none.
func ago(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	d := now.Sub(at)
	future := d < 0
	if future {
		d = -d
	}
	of := func(unit time.Duration) int { return int(math.Round(float64(d) / float64(unit))) }
	var text string
	switch {
	case d < time.Second:
		return "now"
	case d < 100*time.Second:
		text = fmt.Sprintf("%d s", of(time.Second))
	case d < 100*time.Minute:
		text = fmt.Sprintf("%d min", of(time.Minute))
	case d < 48*time.Hour:
		text = fmt.Sprintf("%d h", of(time.Hour))
	default:
		text = fmt.Sprintf("%d days", of(24*time.Hour))
	}
	if future {
		return "in " + text
	}
	return text + " ago"
}

// facts are names and values, a fact per line, for a screen with so many columns.
type facts struct {
	strings.Builder
	columns int
}

// add adds a fact that has a value. A value that takes several lines, or would on the screen,
// is indented, so that none of its lines looks like a fact.
func (f *facts) add(name, value string) {
	value = strings.TrimRight(visible.Text(value), " \n\t")
	if value == "" {
		return
	}
	const indent = 12 // after the name
	if lines := broken(value, f.columns-indent-len(bar)-1); len(lines) > 1 {
		value = bar + strings.Join(lines, "\n"+strings.Repeat(" ", indent)+bar)
	}
	fmt.Fprintf(&f.Builder, "%-11s %s\n", name, value)
}

const (
	// maxListed is how many entries a list has unless the person asks for more.
	maxListed = 1000
	// maxPage is the maximum number of entries in a page of the server.
	maxPage = 200
)

// limitFlag gives c the flag that bounds a list.
func limitFlag(c *cobra.Command) *int {
	return c.Flags().Int("limit", maxListed, "How many to list at most. Default 1000.")
}

// collect reads pages until they end or have limit entries. read reads a page of at most so many
// entries at a cursor, and returns the cursor of the next page. more reports whether further
// pages exist.
func collect[T any](limit int, read func(limit int, cursor string) ([]T, string, error)) (all []T, more bool, err error) {
	if limit < 1 {
		return nil, false, usage("--limit is %d: write a number from 1", limit)
	}
	all = []T{} // in JSON, too
	for cursor := ""; ; {
		page, next, err := read(min(limit-len(all), maxPage), cursor)
		if err != nil {
			return nil, false, err
		}
		if all = append(all, page...); next == "" || len(all) >= limit {
			return all, next != "", nil
		}
		cursor = next
	}
}
