package writer

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/boltfile"
	"a2a-server/store/boltstore/internal/counts"
	"a2a-server/store/boltstore/internal/layout"
	"a2a-server/store/boltstore/internal/read"
	"a2a-server/store/boltstore/internal/tail"
)

// A round that deletes the only task there is, and takes a new one, continues: the log, which
// had many pages, is empty then until the new task is in it.
func TestDeleteOfAllInARound(t *testing.T) {
	t.Parallel()
	file := must(boltfile.Open(filepath.Join(t.TempDir(), "store.db"), boltfile.Options{Create: empty, Prepare: func(*boltfile.File) error { return nil }}))
	w := must(New(Config{
		File: file, Counts: counts.New(), Tails: tail.New(0), Rows: new(store.Watchers[string]),
		Synced: func(uint64, uint64) {},
	}))
	w.Start()
	const epoch = 1
	batch := func(id store.TaskID, rev uint64, phase store.Phase) *store.Batch {
		b := &store.Batch{
			Scope: store.Owner("t", "alice"), Task: id, Rev: &rev,
			Change: store.Change{Status: &store.Status{State: 2, Time: 1000}, Phase: phase},
			Events: []store.Event{{Public: true, Kind: "task", Time: 1000, Data: make([]byte, 3000)}},
		}
		if rev == 0 {
			b.Change.Context = "context"
		}
		return b
	}
	old, young := store.NewTaskID(), store.NewTaskID()
	const values = 20
	for rev := range uint64(values) {
		phase := store.Parked
		if rev == values-1 {
			phase = store.Final
		}
		must(w.Append(t.Context(), batch(old, rev, phase), epoch, nil).Wait())
	}
	ctx := context.Background()
	need(w.do(ctx, func(r *round) error { return r.markDeleting(store.System(), old, nil) }))
	answered, before := make(chan error, 3), make(chan struct{})
	go func() {
		answered <- w.do(ctx, func(*round) error {
			close(before)
			for w.queue.len() < 2 { // they are in the round after this one
				runtime.Gosched()
			}
			return nil
		})
	}()
	<-before
	go func() {
		answered <- w.do(ctx, func(r *round) error { _, err := r.deleteSome(old); return err })
	}()
	go func() {
		_, err := w.Append(ctx, batch(young, 0, store.Parked), epoch, nil).Wait()
		answered <- err
	}()
	for range cap(answered) {
		select {
		case err := <-answered:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("the round does not end")
		}
	}
	need(file.View(ctx, func(tx *bolt.Tx) error {
		h, err := read.Task(tx.Bucket(layout.BucketTask), store.System(), young)
		if err != nil || h.Seq != 1 {
			t.Errorf("the new task has %d events, %v, want 1", h.Seq, err)
		}
		return nil
	}))
	w.Close()
	need(file.Close())
}

// empty makes the buckets of a new file.
func empty(tx *bolt.Tx) error {
	for _, name := range layout.Buckets {
		must(tx.CreateBucket(name))
	}
	return nil
}

func must[T any](v T, err error) T {
	need(err)
	return v
}

func need(err error) {
	if err != nil {
		panic(err)
	}
}
