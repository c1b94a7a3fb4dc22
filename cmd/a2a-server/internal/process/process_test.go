package process

import (
	"bytes"
	"crypto/rand"
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

	a2aserver "a2a-server"
	"a2a-server/internal/heap"
)

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
	Configure(a2aserver.Limits{Memory: 1 << 30}, zerolog.New(&log))
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
