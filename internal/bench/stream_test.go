package bench

import (
	"fmt"
	"testing"
)

// stream sends a message whose task streams n chunks, and checks every frame.
func stream(c *conn, k kind, i, n int) error {
	if err := c.open(request("SendStreamingMessage", i, "stream", fmt.Sprintf(`{"n":%d}`, n), "")); err != nil {
		return err
	}
	f := follower{want: n, numbers: k != peer, whole: i%fullCheck == 0}
	if err := c.frames(f.frame); err != nil {
		return err
	}
	return f.end()
}

// BenchmarkStreams has 16 clients that each stream one task after the other. An
// operation is one chunk that has arrived.
func BenchmarkStreams(b *testing.B) {
	const conns = 16
	for _, n := range []int{100, 10} {
		takeTurns(b, []kind{ours, peer, echoed}, func(k kind) {
			b.Run(fmt.Sprintf("conns=%d/chunks=%d/%s", conns, n, k), func(b *testing.B) {
				s := start(b, k)
				b.ResetTimer()
				l := drive(b, s, conns, b.N, func(c *conn, i int) error { return stream(c, k, i, n) })
				l.figure(b, fmt.Sprintf("%d streams × %d chunks", conns, n), k, n, "event")
			})
		})
	}
}

// BenchmarkOneTask streams one task of many chunks to one client: the cost of a
// chunk must not depend on how many came before it. The peer is asked for 1,000 only,
// because its cost does: it copies the whole task for every chunk, so that 10,000
// would take some minutes.
func BenchmarkOneTask(b *testing.B) {
	for _, n := range []int{1000, 5000, 10_000} {
		servers := []kind{ours, echoed}
		if n == 1000 {
			servers = append(servers, peer)
		}
		takeTurns(b, servers, func(k kind) {
			b.Run(fmt.Sprintf("chunks=%d/%s", n, k), func(b *testing.B) {
				s := start(b, k)
				b.ResetTimer()
				l := drive(b, s, 1, b.N, func(c *conn, i int) error { return stream(c, k, i, n) })
				l.latencies = nil // of whole streams: says nothing beside the rate
				b.ReportMetric(l.elapsed.Seconds()*1e6/float64(l.n*n), "µs/chunk")
				l.figure(b, fmt.Sprintf("one task of %d chunks", n), k, n, "chunk")
			})
		})
	}
}
