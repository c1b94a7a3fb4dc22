// Package process sets what the whole process has, and not a server: the garbage collector, the memory limit and
// the logger of libraries.
package process

import (
	"log/slog"
	"runtime/debug"

	"github.com/rs/zerolog"

	a2aserver "a2a-server"
	"a2a-server/internal/heap"
)

// garbage is how much the heap may grow between two collections, in percent: more memory, up
// to limits.memory, for less work.
const garbage = 400

// Configure sets what belongs to the whole process and not to a server: the garbage
// collector, and the default logger of libraries.
func Configure(l a2aserver.Limits, log zerolog.Logger) {
	slog.SetDefault(slog.New(zerolog.NewSlogHandler(log)))
	debug.SetGCPercent(garbage)
	b := boundMemory(l)
	heap.Spare(b.bytes)
	if b.bytes < l.Memory {
		log.Warn().Int64("bytes", b.bytes).Str("by", b.by).Msg("the process has less memory than limits.memory: the garbage collector stays below that, and answers get at most a quarter of it")
	}
}
