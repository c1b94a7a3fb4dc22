package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/internal/visible"
)

// Form is the value of the flag --output.
type Form string

// AsJSON is the form for programs.
const AsJSON Form = "json"

// OutputFlag gives c the flag that chooses between text and JSON.
func OutputFlag(c *cobra.Command) *Form {
	var f Form
	c.Flags().VarP(&f, "output", "o", "How to print it: text, or json for programs. Default text.")
	return &f
}

// String returns the form.
func (f *Form) String() string { return string(*f) }

// Set returns an error for an unknown form. A table is text.
func (f *Form) Set(text string) error {
	if text == "table" {
		text = "text"
	}
	if text != "text" && text != "json" {
		return fmt.Errorf("is %q, which is no form of output; write text or json", text)
	}
	*f = Form(text)
	return nil
}

// Type returns the form of the value, for the help.
func (f *Form) Type() string { return "text or json" }

// PrintJSON prints v as JSON. Invisible characters are escaped, as JSON allows.
func (p *Program) PrintJSON(v any) error {
	text, err := display.JSON(v)
	if err == nil {
		_, err = io.WriteString(p.Stdout, text)
	}
	return err
}

// List prints v as JSON, or else lines, which begin with their heading, as a table; none if there
// are no others. more: the list goes on. reach, if not nil, has which rows the caller may see.
func (p *Program) List(as Form, v any, lines []string, none string, more bool, reach *client.Reach) error {
	var err error
	switch {
	case as == AsJSON:
		return p.PrintJSON(v)
	case len(lines) > 1:
		err = display.Table(p.Stdout, lines)
	case none != "":
		err = p.Printf("%s\n", none)
	}
	if err == nil && more {
		_, err = fmt.Fprintln(p.Stderr, "There are more: raise --limit to list them.")
	}
	if err == nil {
		p.NoteReach(reach, len(lines)-1)
	}
	return err
}

// NoteReach prints which rows a list with so many has, if that could mislead.
func (p *Program) NoteReach(reach *client.Reach, rows int) {
	if note := reach.NoteFor(rows); note != "" {
		p.Note(visible.Text(note))
	}
}

// Show prints v as JSON, or else a text.
func (p *Program) Show(as Form, v any, text string) error {
	if as == AsJSON {
		return p.PrintJSON(v)
	}
	return p.Printf("%s", text)
}

const (
	// MaxListed is how many entries a list has unless the person asks for more.
	MaxListed = 1000
	// maxPage is the maximum number of entries in a page of the server.
	maxPage = 200
)

// LimitFlag gives c the flag that bounds a list.
func LimitFlag(c *cobra.Command) *int {
	return c.Flags().Int("limit", MaxListed, "How many to list at most. Default 1000.")
}

// Listed are the entries of a list: the output of its command with -o json.
type Listed[T any] struct {
	Items   []T           `json:"items"`
	Damaged int           `json:"damaged,omitempty"` // how many cannot be read
	More    bool          `json:"more,omitempty"`    // not all are listed
	Reach   *client.Reach `json:"reach,omitempty"`   // which the caller may see
}

// Collect reads pages until they end or have limit entries. read adds a page of at most so many entries at a cursor,
// and returns the cursor of the next page.
func Collect[T any](limit int, read func(all *Listed[T], limit int, cursor string) (next string, err error)) (*Listed[T], error) {
	if limit < 1 {
		return nil, Usage("--limit is %d: write a number from 1", limit)
	}
	all := &Listed[T]{Items: []T{}} // in JSON, too
	for cursor := ""; ; {
		next, err := read(all, min(limit-len(all.Items), maxPage), cursor)
		if err != nil {
			return nil, err
		}
		if all.More = next != ""; !all.More || len(all.Items) >= limit {
			return all, nil
		}
		cursor = next
	}
}
