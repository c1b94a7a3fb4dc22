package strictjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// plainLength returns how many bytes at the start of b stand for themselves in a string: ASCII
// without quotes, backslashes and control characters. It looks at eight bytes at a time,
// because most of the input is strings.
func plainLength(b []byte) int {
	const (
		each = 0x0101010101010101
		high = 0x80 * each
	)
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		quote, backslash := w^'"'*each, w^'\\'*each // 0 in the bytes that match
		// A subtraction sets the high bit of a byte below the subtrahend. It borrows from the
		// next byte, but then the first byte that is not plain has been found.
		if found := ((w - ' '*each) | (quote - each) | (backslash - each) | w) & high; found != 0 {
			return n + bits.TrailingZeros64(found)/8
		}
	}
	for n < len(b) && isPlain(b[n]) {
		n++
	}
	return n
}

func isPlain(c byte) bool { return ' ' <= c && c < utf8.RuneSelf && c != '"' && c != '\\' }
