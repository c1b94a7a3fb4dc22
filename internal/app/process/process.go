// Package process sets what the whole process has, and not a server: the log, the garbage collector
// and the memory limit.
package process

import (
	"io"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/app/config"
	"a2a-server/internal/heap"
	"a2a-server/internal/terminal"
	"a2a-server/internal/visible"
)

// NewLogger returns a logger that writes to w as c configures it. The logger is safe for
// concurrent use, even if w is not. Invisible characters are escaped as in JSON, so that a
// line of JSON keeps its meaning.
func NewLogger(c config.Log, w io.Writer) zerolog.Logger {
	return WriteLog(c, w).Level(levelOf(c))
}

// WriteLog returns the logger of [NewLogger] without a least level.
func WriteLog(c config.Log, w io.Writer) zerolog.Logger {
	shown := terminal.Is(w)
	w = escaping{w}
	if c.Format == "console" || c.Format == "auto" && shown {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: true, FieldsOrder: []string{"url"}}
	}
	return zerolog.New(zerolog.SyncWriter(w)).With().Timestamp().Logger()
}

func levelOf(c config.Log) zerolog.Level {
	level, _ := zerolog.ParseLevel(c.Level) // config.Load lets no other text through
	return level
}

// LeastLevel is the least level of a logger and of all that were made from it. It can
// change while they are used.
type LeastLevel struct{ atomic.Int32 }

// Set sets the level of a configuration.
func (l *LeastLevel) Set(c config.Log) { l.Store(int32(levelOf(c))) }

// Sample reports whether a line of the level is logged.
func (l *LeastLevel) Sample(level zerolog.Level) bool { return int32(level) >= l.Load() }

// escaping escapes invisible characters in the lines that it writes.
type escaping struct{ to io.Writer }

// Write writes p, which holds whole lines.
func (e escaping) Write(p []byte) (int, error) {
	if _, err := io.WriteString(e.to, visible.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// garbage is how much the heap may grow between two collections, in percent: more memory, up
// to limits.memory, for less work.
const garbage = 400

// Configure sets what belongs to the whole process and not to a server: the garbage
// collector, and the default logger of libraries.
func Configure(l config.Limits, log zerolog.Logger) {
	slog.SetDefault(slog.New(zerolog.NewSlogHandler(log)))
	debug.SetGCPercent(garbage)
	b := boundMemory(l)
	heap.Spare(b.bytes)
	if b.bytes < l.Memory {
		log.Warn().Int64("bytes", b.bytes).Str("by", b.by).Msg("the process has less memory than limits.memory: the garbage collector stays below that, and answers get at most a quarter of it")
	}
}
