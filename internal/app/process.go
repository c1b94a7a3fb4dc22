package app

import (
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"

	"a2a-server/internal/app/config"
	"a2a-server/internal/heap"
	"a2a-server/internal/visible"
)

// newLogger returns a logger that writes to w as c configures it. The logger is safe for
// concurrent use, even if w is not. Invisible characters are escaped as in JSON, so that a
// line of JSON keeps its meaning.
func newLogger(c config.Log, w io.Writer) zerolog.Logger {
	shown := terminal(w)
	w = escaping{w}
	if c.Format == "console" || c.Format == "auto" && shown {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: true, FieldsOrder: []string{"url"}}
	}
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		level = zerolog.InfoLevel // config.Load lets no other through
	}
	return zerolog.New(zerolog.SyncWriter(w)).Level(level).With().Timestamp().Logger()
}

// terminal reports whether a person reads what is written to w.
func terminal(w io.Writer) bool {
	file, ok := w.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(file.Fd())
}

// escaping escapes invisible characters in the lines that it writes.
type escaping struct{ to io.Writer }

// Write writes p, which is one or more whole lines.
func (e escaping) Write(p []byte) (int, error) {
	line := string(p)
	if shown := visible.Text(line); shown != line {
		if _, err := io.WriteString(e.to, shown); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return e.to.Write(p)
}

// process sets what belongs to the whole process and not to a server: the garbage
// collector, and the default logger of libraries.
func process(l config.Limits, log zerolog.Logger) {
	slog.SetDefault(slog.New(zerolog.NewSlogHandler(log)))
	if l.GC > 0 {
		debug.SetGCPercent(l.GC)
	}
	b := boundMemory(l)
	heap.Spare(b.bytes)
	if b.bytes < l.Memory {
		log.Warn().Int64("bytes", b.bytes).Str("by", b.by).Msg("the process has less memory than limits.memory: the garbage collector stays below that, and answers get at most a quarter of it")
	}
}
