package boltstore

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"a2a-server/store"
	"a2a-server/store/boltstore/internal/boltfile"
)

// A meta page that vanishes after it was checked, and before bbolt reads it, keeps nobody
// waiting: readers and writers are told, and the store can be closed.
func TestMetaPageVanishes(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"read", "write"} {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			path, copied := filepath.Join(folder, "store.db"), filepath.Join(folder, "copy.db")
			db := must(Open(path))
			h := must(db.Handle())
			id := store.NewTaskID()
			create := func(id store.TaskID) *store.Batch {
				rev := uint64(0)
				return &store.Batch{
					Scope: store.Owner("t", "alice"), Task: id, Rev: &rev, Dedup: store.Hash(id), // waits for the window, so that nobody reads
					Change: store.Change{Context: "context", Status: &store.Status{State: 2, Time: 1000}, Phase: store.Parked},
				}
			}
			must(h.Append(t.Context(), create(id)).Wait())
			data := must(os.ReadFile(path))
			need(os.WriteFile(copied, data, 0o600))
			file := must(os.Open(copied))
			defer file.Close()
			db.file.Metas = must(boltfile.MapMetas(file, os.Getpagesize())) // as they were when they were checked
			need(os.Truncate(path, int64(os.Getpagesize())))
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				read := func() {
					if _, err := h.Read(t.Context(), store.System(), id, store.After(0), store.Limit{}); !errors.Is(err, store.ErrDataLoss) {
						t.Errorf("Read() = %v, want ErrDataLoss", err)
					}
				}
				write := func() {
					if _, err := h.Append(t.Context(), create(store.NewTaskID())).Wait(); !errors.Is(err, store.ErrReadOnly) {
						t.Errorf("Append() = %v, want ErrReadOnly", err)
					}
				}
				if first == "read" {
					read()
				}
				write()
				read()
				write()
				if err := db.Close(); !errors.Is(err, store.ErrReadOnly) {
					t.Errorf("Close() = %v, want that the file stays open, because it cannot be closed", err)
				}
			}()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("somebody waits forever")
			}
		})
	}
}
