package limits

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/task"
)

// roomy is a process whose limits are far away.
var roomy = Process{files: 1 << 20, memory: math.MaxInt64}

// configured returns the limits of docs/configuration.md.
func configured() *Configured {
	return &Configured{
		Memory: 1 << 30, Body: 4 << 20, Task: 64 << 20, Connections: 16_384, Streams: 10_000, Turns: 2048, Queue: 10_000, PerCaller: 25, AuthFailures: 60,
		ReadTimeout: 30 * time.Second, ToolTimeout: 5 * time.Minute, PlanTimeout: 2 * time.Minute, Grace: 8 * time.Second,
	}
}

// Without a configuration the server has these bounds.
func TestDerivedDefaults(t *testing.T) {
	t.Parallel()
	want := Limits{
		Engine: task.Limits{
			Turns: 2048, TurnsPerCaller: 512, Queue: 10_000, QueuePerCaller: 2500, Held: 256, HeldPerCaller: 64, HeldTime: time.Hour,
			Abandoned: 8, ToolTimeout: 5 * time.Minute, ToolGrace: 5 * time.Second, PlanTimeout: 2 * time.Minute,
			Window: 256 << 10, Event: 1 << 20, Task: 64 << 20, Pending: 64, Args: 128 << 10,
			Steps: 1000, Calls: 64, Parked: 1000, Webhooks: 10, Output: 16 << 20,
		},
		Header: 64 << 10, HeaderTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, Beat: 3 * time.Second, Heartbeat: 15 * time.Second, ReadRate: 64 << 10,
		Files: 1 << 20, Connections: 16_384, Requests: 16_384, Streams: 10_000, StreamsPerCaller: 2500, Waiting: 10_000, WaitingPerCaller: 2500,
		Answers: 256 << 20, Bodies: 256 << 20, Page: 16 << 20,
	}
	got := Derive(configured(), true, roomy)
	got.Engine = got.Engine.WithDefaults()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with authentication (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(task.Limits{}.WithDefaults(), got.Engine); diff != "" {
		t.Errorf("the engine's own defaults are others (-engine's +configuration's):\n%s", diff)
	}
	want.Engine.TurnsPerCaller, want.Engine.QueuePerCaller, want.Engine.HeldPerCaller = 2048, 10_000, 256
	want.StreamsPerCaller, want.WaitingPerCaller = 10_000, 10_000
	got = Derive(configured(), false, roomy)
	got.Engine = got.Engine.WithDefaults()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("without authentication (-want +got):\n%s", diff)
	}
}

// Connections and streams fit the open files of the process.
func TestDerivedConnections(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ connections, streams, files, wantConnections, wantStreams int }{
		{16384, 10000, 1 << 20, 16384, 10000},
		{16384, 10000, 0, 16384, 10000},
		{16384, 10000, 1024, 960, 720},
		{16384, 10000, 64, 16, 12},
		{16384, 10000, 1, 1, 1},
		{100, 10000, 1 << 20, 100, 75},
		{8, 10000, 1 << 20, 8, 6},
		{1, 1, 1 << 20, 1, 1},
	} {
		l := configured()
		l.Connections, l.Streams = tc.connections, tc.streams
		got := Derive(l, true, Process{tc.files, math.MaxInt64})
		if got.Connections != tc.wantConnections || got.Streams != tc.wantStreams {
			t.Errorf("%+v: %d connections and %d streams", tc, got.Connections, got.Streams)
		}
	}
	if openFiles() < 0 {
		t.Errorf("openFiles() = %d", openFiles())
	}
}

// Answers and large requests fit the memory of the process.
func TestDerivedMemory(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		memory, process, bytes, page int64
	}{
		{1 << 30, 1 << 30, 256 << 20, 16 << 20},
		{1 << 30, 200 << 20, 50 << 20, 16 << 20},
		{1 << 30, 1 << 20, 1 << 20, 16 << 20},
		{32 << 20, math.MaxInt64, 8 << 20, 512 << 10},
		{4 << 30, math.MaxInt64, 1 << 30, 16 << 20},
		{0, math.MaxInt64, 256 << 20, 16 << 20},
	} {
		l := configured()
		l.Memory = tc.memory
		got := Derive(l, true, Process{0, tc.process})
		if got.Answers != tc.bytes || got.Bodies != tc.bytes || got.Page != tc.page {
			t.Errorf("%+v: answers %d, bodies %d, page %d", tc, got.Answers, got.Bodies, got.Page)
		}
	}
}

// Every combination of sizes leaves room for an event in a task, and for arguments in an event.
func TestDerivedSizes(t *testing.T) {
	t.Parallel()
	for _, body := range []int64{1 << 10, 600 << 10, 4 << 20, 64 << 20} {
		for _, size := range []int64{128 << 10, 1 << 20, 64 << 20} {
			l := configured()
			l.Body, l.Task = body, size
			e := Derive(l, true, roomy).Engine
			if e.Event < 128<<10 || e.Event > 8<<20 || e.Event > e.Task || e.Args < 16<<10 || e.Args > e.Event || e.Content() <= 0 || e.Output <= 0 || e.Window <= 0 {
				t.Errorf("body %d, task %d: %+v", body, size, e)
			}
		}
	}
	l := configured()
	l.Turns, l.PerCaller, l.ToolTimeout, l.ReadTimeout = 1, 1, 20*time.Millisecond, 3*time.Second
	small := Derive(l, true, roomy)
	if e := small.Engine; e.TurnsPerCaller != 1 || e.Held != 1 || e.HeldPerCaller != 1 || e.ToolGrace != 20*time.Millisecond || small.HeaderTimeout != 3*time.Second {
		t.Errorf("the least limits: %+v", small)
	}
}
