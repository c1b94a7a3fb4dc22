package app

import (
	"io"
	"strings"
)

const (
	usualColumns = 80 // of what is no terminal, or does not say
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

// broken returns the lines of a text, none of which takes more than room columns. A long one
// is broken after a space, if it has one in the second half.
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

// bar begins what does not fit on one line, so that no row of the screen looks like one of
// ours: what agents and tools write could be made to begin one.
const bar = "| "
