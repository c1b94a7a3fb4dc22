package app

import (
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/internal/app/config"
)

// NewLogger returns the logger of c, which writes to w. Lines are written as they
// come, also from many goroutines; w need not be safe for that.
func NewLogger(c config.Log, w io.Writer) zerolog.Logger {
	if c.Format == "console" {
		w = zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: true}
	}
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		level = zerolog.InfoLevel // config.Load lets no other through
	}
	return zerolog.New(zerolog.SyncWriter(w)).Level(level).With().Timestamp().Logger()
}

// Process sets what belongs to the whole process and not to an [App]: the collector
// of garbage, and where the log of libraries goes.
func Process(l config.Limits, log zerolog.Logger) {
	slog.SetDefault(slog.New(zerolog.NewSlogHandler(log)))
	if l.GC > 0 {
		debug.SetGCPercent(l.GC)
	}
	if l.Memory > 0 {
		debug.SetMemoryLimit(l.Memory)
	}
}
