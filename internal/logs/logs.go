// Package logs makes the log of a program.
package logs

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/terminal"
	"a2a-server/internal/visible"
)

// A Log is a logger whose least level can change while it, and what was made from it, is used.
type Log struct {
	zerolog.Logger
	least *least
}

type least struct{ atomic.Int32 }

// Sample implements [zerolog.Sampler].
func (l *least) Sample(level zerolog.Level) bool { return int32(level) >= l.Load() }

// New returns a log that writes lines of a level, such as info, and above to w. format is json, console, or auto:
// console on a terminal. The log is safe for concurrent use, even if w is not. Invisible characters are escaped as in
// JSON, so that a line of JSON keeps its meaning.
func New(level, format string, w io.Writer) *Log {
	shown := terminal.Is(w)
	w = escaping{w}
	if format == "console" || format == "auto" && shown {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: true, FieldsOrder: []string{"url"}}
	}
	l := &Log{least: &least{}}
	l.Logger = zerolog.New(zerolog.SyncWriter(w)).With().Timestamp().Logger().Level(zerolog.DebugLevel).Sample(l.least)
	l.SetLevel(level)
	return l
}

// SetLevel sets the least level that is logged.
func (l *Log) SetLevel(level string) {
	n, _ := zerolog.ParseLevel(level) // the configuration lets no other text through
	l.least.Store(int32(n))
}

// escaping escapes invisible characters in the lines that it writes.
type escaping struct{ to io.Writer }

// Write writes p, which holds whole lines.
func (e escaping) Write(p []byte) (int, error) {
	if _, err := io.WriteString(e.to, visible.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
