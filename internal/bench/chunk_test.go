package bench

import (
	"fmt"
	"strings"
)

// chunkSize is the bytes of text in a chunk.
const chunkSize = 100

// digits is how many of them are its number, at the beginning.
const digits = 6

var padding = strings.Repeat("x", chunkSize-digits)

// chunkText returns the text of chunk i, which begins with its number.
func chunkText(i int) string { return fmt.Sprintf("%0*d", digits, i) + padding }
