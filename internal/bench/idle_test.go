package bench

import "testing"

// BenchmarkIdle has 1,000 readers subscribe to a task that waits, each on a connection of its
// own, and measures the memory of the server for each of them. One may take 1.2 times what it
// takes in the bare server. Each server is measured once: what the streams of a run leave
// free, those of the next would use.
func BenchmarkIdle(b *testing.B) {
	w := crowd{subscribers: 1000, chunks: 1}
	each := map[kind][]float64{}
	takeTurns(b, []kind{ours, echoed}, func(k kind) {
		b.Run(string(k), func(b *testing.B) {
			var grown float64
			for range b.N {
				s := start(b, k)
				grown = w.idle(b, s)
				s.stop()
				each[k] = append(each[k], grown)
			}
			b.ReportMetric(grown, "KiB/stream")
		})
	})
	if len(each[ours]) > 0 && len(each[echoed]) > 0 { // unless -bench left one out
		figures.note("idle streams", "%.1f KiB each beside %.1f (%.2f)", middle(each[ours]), middle(each[echoed]), middle(each[ours])/middle(each[echoed]))
	}
}

// idle returns by how many KiB a subscriber makes the memory of a server grow.
func (w crowd) idle(b *testing.B, s *server) float64 {
	b.Helper()
	var f *followers
	grown := s.grown(func() {
		var err error
		if f, err = w.gather(s); err != nil {
			b.Fatal(err)
		}
	})
	defer f.close()
	s.tell("release")
	if err := f.follow(); err != nil {
		b.Fatal(err)
	}
	return grown / float64(w.subscribers)
}
