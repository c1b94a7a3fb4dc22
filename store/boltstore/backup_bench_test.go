package boltstore_test

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// BenchmarkBackup takes a backup beside 1,000 appends a second, a tenth of them to old tasks. It
// reports the median time of a commit while the backup was made, in proportion to the median before
// and after it.
func BenchmarkBackup(b *testing.B) {
	db := must(boltstore.Open(filepath.Join(b.TempDir(), "store.db")))
	defer db.Close()
	h := must(db.Handle())
	var old []store.TaskID
	for range 500 {
		var creates, ends []*store.Commit
		var later []*store.Batch
		for range 2000 {
			create, end := noisy()
			creates, later = append(creates, h.Append(b.Context(), create)), append(later, end)
			old = append(old, create.Task)
		}
		waitAll(creates)
		for _, end := range later {
			ends = append(ends, h.Append(b.Context(), end))
		}
		waitAll(ends)
	}
	b.ResetTimer()
	for range b.N {
		idle := commits(h, old, pause(10*time.Second))
		var made boltstore.Backup
		took := time.Now()
		beside := commits(h, old, func() { made = must(db.Backup(b.Context(), io.Discard)) })
		rate := float64(made.Bytes) / (1 << 20) / time.Since(took).Seconds()
		idle = append(idle, commits(h, old, pause(10*time.Second))...)
		b.ReportMetric(float64(median(beside))/float64(median(idle)), "p50/idle")
		b.ReportMetric(float64(median(idle).Microseconds()), "idle-us")
		b.ReportMetric(float64(made.Longest.Microseconds())/1000, "longest-read-ms")
		b.ReportMetric(rate, "MiB/s")
		b.ReportMetric(float64(made.Bytes)/(1<<20), "MiB")
	}
}

// noisy is turn with data that cannot be compressed.
func noisy() (create, end *store.Batch) {
	create, end = turn(anonymous)
	for _, batch := range []*store.Batch{create, end} {
		for i := range batch.Events {
			batch.Events[i].Data = noise(len(batch.Events[i].Data))
		}
	}
	return create, end
}

func pause(d time.Duration) func() { return func() { <-time.After(d) } }

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// commits appends 1,000 batches a second until do returns, and returns how long each took.
func commits(h store.Handle, old []store.TaskID, do func()) (took []time.Duration) {
	var mu sync.Mutex
	var all sync.WaitGroup
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-done:
			all.Wait()
			return took
		case <-tick.C:
		}
		create, _ := noisy()
		if n%10 == 0 {
			create = &store.Batch{Scope: store.System(), Task: old[n*7919%len(old)], Audit: [][]byte{noise(100)}, Rows: []store.RowChange{{Kind: "kind", Key: noise(8), IfRev: store.Any, Value: noise(200)}}}
		}
		all.Go(func() {
			began := time.Now()
			must(h.Append(context.Background(), create).Wait())
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(began))
		})
	}
}
