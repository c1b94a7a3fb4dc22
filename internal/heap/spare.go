// Package heap sizes the heap that the garbage collector works for, and returns the unused
// memory of a process at rest.
package heap

import (
	"math"
	"runtime/metrics"
	"strings"
	"sync/atomic"
)

// normal is the memory that a process without a limit is taken to have, in bytes.
const normal = 1 << 30

// spare has memory that is never touched, so it takes no RAM. The collector counts it as used.
// A slice would be cleared if its addresses had been in use before; a Builder is not.
var spare atomic.Pointer[strings.Builder]

// usual is the percentage of GOGC from which the heap may grow by all that is spared.
const usual = 400

// Spare lets the heap grow by a tenth of limit more before it is collected again; if GOGC is
// less than 400 percent, by as much less. Otherwise a heap of a few megabytes, the usual size
// of a server that holds little, would be collected a dozen times a second under load.
//
// limit is the memory of the process in bytes; 0 and math.MaxInt64: no limit. More than 1 GiB
// counts as 1 GiB. Spare is for the process with its current GOGC, and the newest call counts.
func Spare(limit int64) {
	if limit == 0 {
		limit = normal
	}
	gogc := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(gogc)
	percent := int64(min(gogc[0].Value.Uint64(), math.MaxInt64)) // of which "off" is the most
	b := new(strings.Builder)
	b.Grow(int(min(limit, normal) * 10 / max(percent, usual)))
	spare.Store(b)
}
