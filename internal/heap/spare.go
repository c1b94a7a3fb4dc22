// Package heap sizes the heap that the garbage collector works for.
package heap

import (
	"strings"
	"sync/atomic"
)

// normal is the memory that a process without a limit is taken to have, in bytes.
const normal = 1 << 30

// spare has memory that nobody touches, so that it takes none. The collector counts it as
// used. A slice would be cleared if its addresses had been in use before; a Builder is not.
var spare atomic.Pointer[strings.Builder]

// Spare lets the heap grow, before it is collected again, as far as limit/40 more of live
// memory would let it grow: with 400 percent that is a tenth of the limit. Otherwise a heap of
// a few megabytes, which is what a server has that holds little, would be collected a dozen
// times a second under load.
//
// limit is the memory of the process in bytes; 0 and math.MaxInt64: none. More than 1 GiB
// counts as that. It is for the process, and the newest call counts.
func Spare(limit int64) {
	if limit == 0 {
		limit = normal
	}
	b := new(strings.Builder)
	b.Grow(int(min(limit, normal) / 40))
	spare.Store(b)
}
