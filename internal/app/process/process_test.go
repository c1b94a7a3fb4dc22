package process

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"a2a-server/internal/app/config"
	"a2a-server/internal/heap"
	"a2a-server/internal/visible"
)

// A line of the log hides nothing, whoever wrote it, and means what was meant.
func TestLogHidesNothing(t *testing.T) {
	t.Parallel()
	hidden := "a\u009b\u202e\u00a0\u2028\ufe0f\U000e0100\x00b"
	for _, format := range []string{"json", "console"} {
		var out bytes.Buffer
		log := NewLogger(config.Log{Level: "info", Format: format}, &out)
		log.Debug().Msg("below the level")
		log.Info().Str("path", hidden).Err(errors.New(hidden)).Msg("hello " + hidden)
		if i := strings.IndexFunc(strings.TrimSuffix(out.String(), "\n"), visible.Invisible); i >= 0 {
			t.Errorf("%s: the log is %q, with something hidden at %d", format, out.String(), i)
		}
		var line struct{ Path, Message string }
		if err := json.Unmarshal(out.Bytes(), &line); format == "json" && (err != nil || line.Path != hidden || line.Message != "hello "+hidden) {
			t.Errorf("the line says %+v, %v", line, err)
		}
	}
}

// A process keeps what GOMEMLIMIT says, collects garbage, and its heap may grow by a tenth of
// the least limit first.
func TestProcess(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	const variable = 256 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(variable))
	defer heap.Spare(1)
	heap.Spare(1)
	before := live()
	var log bytes.Buffer
	Configure(config.Limits{Memory: 1 << 30}, zerolog.New(&log))
	limit := debug.SetMemoryLimit(-1)
	if limit > variable || !strings.Contains(log.String(), `"by":"`) {
		t.Errorf("the memory limit is %d bytes, want at most %d; the log is %s", limit, variable, log.String())
	}
	if percent := debug.SetGCPercent(400); percent != 400 {
		t.Errorf("the garbage collector has %d percent, want 400", percent)
	}
	if spare := live() - before; spare < limit/40-limit/400 || spare > limit/40+limit/400 {
		t.Errorf("with a limit of %d bytes, %d are spared", limit, spare)
	}
}

// live returns how much memory the garbage collector finds in use, in bytes.
func live() int64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// The service manager gets one datagram, at a path or an abstract address; without a manager none
// is sent.
func TestTellReady(t *testing.T) {
	t.Parallel()
	for _, socket := range []string{filepath.Join(t.TempDir(), "notify"), "@a2a-server-test-" + rand.Text()} {
		l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
		if err != nil {
			t.Skip(err) // abstract addresses are Linux's
		}
		got, n := make([]byte, 64), 0
		if err = TellReady(socket); err == nil {
			n, err = l.Read(got)
		}
		if err := errors.Join(err, l.Close()); err != nil || string(got[:n]) != "READY=1" {
			t.Errorf("the manager got %q, %v", got[:n], err)
		}
	}
	if err := TellReady(""); err != nil {
		t.Errorf("without a manager: %v", err)
	}
	if err := TellReady(filepath.Join(t.TempDir(), "nobody")); err == nil {
		t.Error("a manager that is not there got the news")
	}
}
