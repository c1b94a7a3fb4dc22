// Package terminal asks questions on a terminal, and fits text to its width. It does not know which
// questions there are.
package terminal

import (
	"io"
	"strings"

	"github.com/mattn/go-isatty"
)

const (
	usualColumns = 80 // if the output is not a terminal, or its width is unknown
	fewColumns   = 40
)

// Columns returns how many columns the screen behind w has.
func Columns(w io.Writer) int {
	file, ok := w.(interface{ Fd() uintptr })
	if !ok {
		return usualColumns
	}
	n := terminalColumns(file.Fd())
	if n == 0 {
		return usualColumns
	}
	return max(n, fewColumns)
}

// Wrap returns the lines of a text, each at most width columns wide. A longer line is broken
// after a space, if it has one in its second half.
func Wrap(text string, width int) []string {
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		for {
			end := Fit(line, width)
			if end == len(line) {
				break
			}
			if space := strings.LastIndexByte(line[:end], ' ') + 1; space > end/2 {
				end = space
			}
			all, line = append(all, line[:end]), line[end:]
		}
		all = append(all, line)
	}
	return all
}

// Fit returns how many bytes of a line take at most width columns.
func Fit(line string, width int) int {
	for i, r := range line {
		if width -= columnsFor(r); width < 0 {
			return i
		}
	}
	return len(line)
}

// columnsFor returns how many columns a character takes at most.
func columnsFor(r rune) int {
	switch {
	case r == '\t':
		return 8
	case r < 0x80:
		return 1
	}
	return 2 // terminals differ
}

// Bar begins each row of a text that needs several, so that text from agents and tools cannot
// imitate a row of the program.
const Bar = "| "

// Is reports whether a file is a terminal.
func Is(file any) bool {
	f, ok := file.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(f.Fd())
}
