package a2aserver

import (
	"math"
	"testing"

	"a2a-server/internal/app/config"
)

func TestFit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		connections, requests, streams, files int
		want                                  room
	}{
		{16384, 16384, 10000, 1 << 20, room{1 << 20, 16384, 10000}},
		{16384, 16384, 10000, 0, room{0, 16384, 10000}},
		{16384, 16384, 10000, 1024, room{1024, 960, 720}},
		{16384, 16384, 10000, 64, room{64, 16, 12}},
		{16384, 16384, 10000, 1, room{1, 1, 1}},
		{100, 16384, 10000, 1 << 20, room{1 << 20, 100, 75}},
		{16384, 8, 10000, 1 << 20, room{1 << 20, 16384, 6}},
		{1, 1, 1, 1 << 20, room{1 << 20, 1, 1}},
	} {
		if got := fit(config.Limits{Connections: tc.connections, Requests: tc.requests, Streams: tc.streams}, tc.files); got != tc.want {
			t.Errorf("fit(%d, %d, %d; %d files) = %+v, want %+v", tc.connections, tc.requests, tc.streams, tc.files, got, tc.want)
		}
	}
	if openFiles() < 0 {
		t.Errorf("openFiles() = %d", openFiles())
	}
}

func TestAnswersWithin(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]int64{{256 << 20, 1 << 30, 256 << 20}, {256 << 20, 200 << 20, 50 << 20}, {1 << 20, math.MaxInt64, 1 << 20}, {256 << 20, 1 << 20, 1 << 20}} {
		if got := within(c[0], c[1]); got != c[2] {
			t.Errorf("within(%d, %d) = %d, want %d", c[0], c[1], got, c[2])
		}
	}
}
