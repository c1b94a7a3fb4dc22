package boltstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// sample makes a closed file with some tasks and returns its path.
func sample(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	db := must(boltstore.Options{Ahead: -1}.Open(path)) // it is read whole
	h := must(db.Handle())
	fill(t, h, anonymous, 300)
	need(db.Close())
	return path
}

// Every refusal names the file, says what is wrong with it and what to do.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	cut := func(size int64) func(*testing.T, string) {
		return func(_ *testing.T, path string) { need(os.Truncate(path, size)) }
	}
	for _, tc := range []struct {
		name   string
		damage func(t *testing.T, path string)
		next   string
	}{
		{"garbage", func(t *testing.T, path string) { put(t, path, bytes.Repeat([]byte("garbage "), 4096), 0) }, "restore a backup"},
		{"both meta pages", func(t *testing.T, path string) { put(t, path, make([]byte, 2*4096), 0) }, "restore a backup"},
		{"short", cut(100), "restore a backup"},
		{"cut in a meta page", cut(5000), "restore a backup"},
		{"cut after the meta pages", cut(2 * 4096), "restore a backup"},
		{"cut in the middle", cut(64 << 10), "restore a backup"},
		{"format 7", setFormat(7), "has format 7, and this program reads format 6: a newer program wrote it"},
		{"format 5", setFormat(5), "has format 5, and this program reads format 6: finish its work with the program that wrote it, or start with an empty data folder"},
		{"format 1", setFormat(1), "has format 1, and this program reads format 6"},
	} {
		ofAnother := strings.HasPrefix(tc.name, "format") // it is whole
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := sample(t)
			tc.damage(t, path)
			before := must(os.ReadFile(path))
			for range 2 { // the second time shows that the first left no lock behind
				db, err := boltstore.Open(path)
				if err == nil {
					_ = db.Close()
					t.Fatal("Open() = nil, want an error")
				}
				if damaged := !ofAnother; errors.Is(err, store.ErrDamaged) != damaged || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), tc.next) {
					t.Errorf("Open() = %v, want the path and %q, and that it is damaged: %t", err, tc.next, damaged)
				}
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("Open changed a file that it refused")
			}
		})
	}
}

// setFormat makes a file one of another format.
func setFormat(n uint64) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		update(t, path, func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("meta")).Put([]byte("format"), binary.BigEndian.AppendUint64(nil, n))
		})
	}
}

func update(t *testing.T, path string, change func(tx *bolt.Tx) error) {
	t.Helper()
	db := must(bolt.Open(path, 0, nil))
	need(errors.Join(db.Update(change), db.Close()))
}

func TestOpenLocked(t *testing.T) {
	t.Parallel()
	path := sample(t)
	open(t, path)
	_, err := boltstore.Open(path)
	if err == nil || !strings.Contains(err.Error(), "in use") || !strings.Contains(err.Error(), path) {
		t.Errorf("Open() = %v, want that the file is in use", err)
	}
}

// When a round cannot be carried out, nobody is told that it was, everybody is told the same error,
// and the store does nothing more. The next process finds a sound file, and that this program has a bug.
func TestRoundPanics(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]string{"before its commit": boltstore.PointApplied, "after its commit": boltstore.PointCommitted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store.db")
			broken := false
			db, h := handled(boltstore.Options{Ahead: -1, Hook: func(point string) {
				if broken && point == at {
					panic("a planted bug")
				}
			}}.Open(path))
			good, _ := turn(anonymous)
			commit(h, good)
			broken = true
			var commits []*store.Commit
			for range 50 {
				create, _ := turn(anonymous)
				chunk := &store.Batch{Scope: store.System(), Task: good.Task, Fence: new(uint64(1)), Events: create.Events}
				commits = append(commits, h.Append(context.Background(), create), h.Append(context.Background(), chunk))
			}
			for _, c := range commits {
				if _, err := c.Wait(); !errors.Is(err, store.ErrDamaged) {
					t.Errorf("Wait() = %v, want ErrDamaged", err)
				}
			}
			hasFailed(t, db, h, path, "a planted bug")
			path = afterEnd(t, path)
			for n := range 2 {
				db, h := handled(boltstore.Open(path))
				text, panicked := db.Failed()
				if first := n == 0; strings.Contains(text, "a bug of this program") != first || strings.Contains(panicked, "a planted bug") != first || !first && text != "" {
					t.Errorf("Failed() at opening %d = %q, %q", n, text, panicked)
				}
				if isMarked(path) {
					t.Error("the mark is there")
				}
				if _, err := h.Read(context.Background(), store.System(), good.Task, store.AtSnapshot(), store.Limit{}); err != nil {
					t.Errorf("Read() = %v, want the acknowledged task", err)
				}
				create, _ := turn(anonymous)
				commit(h, create)
				need(db.Close())
			}
		})
	}
}

// hasFailed checks that a store has failed: all calls return its error, which says why and what to do,
// and it can be closed.
func hasFailed(t *testing.T, db *boltstore.DB, h store.Handle, path string, says ...string) {
	t.Helper()
	err := db.Err()
	if _, is := errors.AsType[*boltstore.DamageError](err); !is || !errors.Is(err, store.ErrDamaged) {
		t.Fatalf("Err() = %v, want a DamageError", err)
	}
	for _, part := range append(says, path, "a2a-server store restore BACKUP --data "+filepath.Dir(path)) {
		if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Err() = %q, want a line with %q", err, part)
		}
	}
	create, _ := turn(anonymous)
	for what, call := range map[string]func() error{
		"Trouble": db.Trouble,
		"Append":  func() error { _, err := h.Append(t.Context(), create).Wait(); return err },
		"Read": func() error {
			_, err := h.Read(t.Context(), store.System(), create.Task, store.After(0), store.Limit{})
			return err
		},
		"Tasks":  func() error { _, err := h.Tasks(t.Context(), anonymous, store.Query{}); return err },
		"Rows":   func() error { _, err := h.Rows(t.Context(), store.System(), store.RowQuery{Kind: "k"}); return err },
		"Due":    func() error { _, _, err := h.Due(t.Context(), 1, "", 1); return err },
		"Claim":  func() error { _, err := h.Claim(t.Context(), 1); return err },
		"Delete": func() error { return h.Delete(t.Context(), store.System(), create.Task, nil) },
		"Handle": func() error { _, err := db.Handle(); return err },
		"Backup": func() error { _, err := db.Backup(t.Context(), io.Discard); return err },
	} {
		soon(t, what, func() {
			if got := call(); !errors.Is(got, err) {
				t.Errorf("%s() = %v, want the error of Err()", what, got)
			}
		})
	}
	soon(t, "Close()", func() { need(db.Close()) })
	if !isMarked(path) {
		t.Error("there is no mark beside the file")
	}
}

// No append returns before its own commit has: at the time it is answered, the
// writer has passed the point after the commit.
func TestAnsweredAfterCommit(t *testing.T) {
	t.Parallel()
	committed := make(chan struct{}, 1)
	release := make(chan struct{})
	applied := 0 // the handle's epoch, then the append
	db, h := handled(boltstore.Options{Hook: func(point string) {
		if point != boltstore.PointApplied {
			return
		}
		if applied++; applied == 2 {
			committed <- struct{}{}
			<-release
		}
	}}.Open(filepath.Join(t.TempDir(), "store.db")))
	defer db.Close()
	create, _ := turn(anonymous)
	wake, stop := h.Watch(store.System(), create.Task)
	defer stop()
	c := h.Append(context.Background(), create)
	<-committed
	if c.Answered() {
		t.Error("answered before the commit")
	}
	select {
	case <-wake:
		t.Error("readers were woken before the commit")
	default:
	}
	unreadable(t, h, store.System(), create.Task, store.ErrNotFound)
	close(release)
	must(c.Wait())
	<-wake
}
