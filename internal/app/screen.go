package app

import (
	"io"
	"strings"
)

const (
	usualColumns = 80 // if the output is not a terminal, or its width is unknown
	fewColumns   = 40
)

// columnsOf returns how many columns the screen behind w has.
func columnsOf(w io.Writer) int {
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

// broken returns the lines of a text, each at most room columns wide. A longer line is broken
// after a space, if it has one in its second half.
func broken(text string, room int) []string {
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		for {
			end := fits(line, room)
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

// fits returns how many bytes of a line take at most room columns.
func fits(line string, room int) int {
	for i, r := range line {
		if room -= columnsFor(r); room < 0 {
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

// bar begins each row of a text that needs several, so that text from agents and tools cannot
// imitate a row of the program.
const bar = "| "
