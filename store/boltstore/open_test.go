package boltstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// sample makes a closed file with some tasks and returns its path.
func sample(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := boltstore.Options{Ahead: -1}.Open(path) // it is read whole
	if err != nil {
		t.Fatal(err)
	}
	h, err := db.Handle()
	if err != nil {
		t.Fatal(err)
	}
	fill(t, h, store.Owner("", "anonymous"), 300)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every refusal names the file, says what is wrong with it and what to do.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	overwrite := func(at int64, with []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt(with, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	cut := func(size int64) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tc := range []struct {
		name   string
		damage func(t *testing.T, path string)
		next   string
	}{
		{"garbage", func(t *testing.T, path string) {
			if err := os.WriteFile(path, bytes.Repeat([]byte("garbage "), 4096), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "restore a backup"},
		{"both meta pages", overwrite(0, make([]byte, 2*4096)), "restore a backup"},
		{"short", cut(100), "restore a backup"},
		{"cut after the meta pages", cut(2 * 4096), "restore a backup"},
		{"cut in the middle", cut(64 << 10), "restore a backup"},
		{"newer", setFormat(99), "a newer program; run that one"},
		{"older", setFormat(3), "keep using the program that wrote it"},
		{"of an older beginning", func(t *testing.T, path string) {
			update(t, path, func(tx *bolt.Tx) error {
				log := tx.Bucket([]byte("log"))
				key, value := log.Cursor().First()
				return errors.Join(log.Put(key, append([]byte{2}, value[1:]...)), tx.Bucket([]byte("meta")).Put([]byte("format"), binary.BigEndian.AppendUint64(nil, 4)))
			})
		}, "before format 4"},
	} {
		ofAnother := strings.Contains(tc.name, "older") || tc.name == "newer" // it is whole
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := sample(t)
			tc.damage(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
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
	db, err := bolt.Open(path, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(change), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestOpenLocked(t *testing.T) {
	t.Parallel()
	path := sample(t)
	open(t, path)
	_, err := boltstore.Options{LockTimeout: 10 * time.Millisecond}.Open(path)
	if err == nil || !strings.Contains(err.Error(), "in use") || !strings.Contains(err.Error(), path) {
		t.Errorf("Open() = %v, want that the file is in use", err)
	}
}

// A page in the middle that has rotted must not take the process down.
func TestReadDamaged(t *testing.T) {
	t.Parallel()
	path := sample(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Spoil early leaf pages of the log. The newest stay: the writer needs them.
	spoiled := 0
	for at := 2 * 4096; at+4096 <= len(data) && spoiled < 3; at += 4096 {
		if bytes.Contains(data[at:at+4096], []byte("message.received.v1")) {
			copy(data[at+16:at+4096], bytes.Repeat([]byte{0xfe}, 4096-16))
			spoiled++
		}
	}
	if spoiled == 0 {
		t.Fatal("found no page to spoil")
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	h := open(t, path)
	page, err := h.Tasks(context.Background(), store.Owner("", "anonymous"), store.Query{Limit: 1000})
	if err != nil {
		t.Fatalf("Tasks() = %v: headers are not in the spoiled pages", err)
	}
	failed := 0
	for _, header := range page.Tasks {
		if _, err := h.Read(context.Background(), store.System(), header.Task, store.After(0), store.Limit{}); errors.Is(err, store.ErrDataLoss) {
			failed++
		} else if err != nil {
			t.Errorf("Read() = %v, want ErrDataLoss", err)
		}
	}
	if failed == 0 {
		t.Error("no Read failed, want ErrDataLoss")
	}
}

// What is derived is equal, to the byte, when it is made again.
func TestRebuildBytes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := boltstore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := db.Handle()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		create, end := turn(store.Owner("t", fmt.Sprintf("user%d", i%7)))
		create.Change.Context = fmt.Sprintf("context %d", i%11)
		create.Rows = []store.RowChange{{Kind: "approval", Key: []byte{byte(i)}, Value: []byte("v"), Index: []store.IndexKey{{Index: "state", Key: []byte{0, byte(i % 3)}}}}}
		c := h.Append(context.Background(), create)
		if i%4 < 2 { // else both come in one commit
			if _, err := c.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		switch i % 3 {
		case 0: // stays live
		case 1:
			end.Change.Phase, end.Change.Status.State = store.Parked, 6
			fallthrough
		default:
			end.Rows = []store.RowChange{{Kind: "approval", Key: []byte{byte(i)}, IfRev: 1, Delete: i%2 == 0, Value: []byte("w"), Index: []store.IndexKey{{Index: "state", Key: []byte{9}}}}}
			if _, err := h.Append(context.Background(), end).Wait(); err != nil {
				t.Fatal(err)
			}
		}
	}
	dump := func() map[string]string {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		file, err := bolt.Open(path, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		all := map[string]string{}
		if err := file.View(func(tx *bolt.Tx) error {
			return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
				return b.ForEach(func(k, v []byte) error {
					if string(name) != "meta" && string(name) != "dropped" {
						all[fmt.Sprintf("%s %x", name, k)] = fmt.Sprintf("%x", v)
					}
					return nil
				})
			})
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	before := dump()
	if db, err = boltstore.Open(path); err != nil {
		t.Fatal(err)
	}
	if err := db.Rebuild(context.Background()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, dump()); diff != "" {
		t.Errorf("rebuilt file differs (-want +got):\n%s", diff)
	}
}

// When a round cannot be carried out, nobody is told that it was, everybody is told
// something, and the store takes no more. What it has is served.
func TestRoundPanics(t *testing.T) {
	t.Parallel()
	t.Run("before its commit", func(t *testing.T) {
		t.Parallel()
		roundPanics(t, boltstore.PointApplied, store.ErrReadOnly, func(db *boltstore.DB) {
			if err := db.Err(); err != nil {
				t.Errorf("Err() = %v, want nil: nothing of it is unknown", err)
			}
			if err := db.Trouble(); !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "restore a backup") {
				t.Errorf("Trouble() = %v, want ErrReadOnly, with what to do", err)
			}
		})
	})
	t.Run("after its commit", func(t *testing.T) {
		t.Parallel()
		roundPanics(t, boltstore.PointCommitted, store.ErrDamaged, func(db *boltstore.DB) {
			if err := db.Err(); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("Err() = %v, want ErrDamaged: the outcome is unknown to whoever waited", err)
			}
		})
	})
}

func roundPanics(t *testing.T, at string, want error, check func(*boltstore.DB)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	broken := false
	db, err := boltstore.Options{Hook: func(point string) {
		if broken && point == at {
			panic("disk is gone")
		}
	}}.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := db.Handle()
	if err != nil {
		t.Fatal(err)
	}
	good, _ := turn(store.Owner("", "anonymous"))
	if _, err := h.Append(context.Background(), good).Wait(); err != nil {
		t.Fatal(err)
	}
	broken = true
	var commits []*store.Commit
	for range 50 {
		create, _ := turn(store.Owner("", "anonymous"))
		chunk := &store.Batch{Scope: store.System(), Task: good.Task, Fence: ptr(uint64(1)), Events: create.Events}
		commits = append(commits, h.Append(context.Background(), create), h.Append(context.Background(), chunk))
	}
	for _, c := range commits {
		if _, err := c.Wait(); !errors.Is(err, want) {
			t.Errorf("Wait() = %v, want %v", err, want)
		}
	}
	check(db)
	if _, err := h.Read(context.Background(), store.System(), good.Task, store.AtSnapshot(), store.Limit{}); err != nil {
		t.Errorf("Read() = %v, want what was committed before", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path)
	if _, err := again.Read(context.Background(), store.System(), good.Task, store.AtSnapshot(), store.Limit{}); err != nil {
		t.Errorf("after reopening: Read() = %v, want the acknowledged task", err)
	}
	create, _ := turn(store.Owner("", "anonymous"))
	if _, err := again.Append(context.Background(), create).Wait(); err != nil {
		t.Errorf("after reopening: Append() = %v, want success", err)
	}
}

// No append returns before its own commit has: at the time it is answered, the
// writer has passed the point after the commit.
func TestAnsweredAfterCommit(t *testing.T) {
	t.Parallel()
	committed := make(chan struct{}, 1)
	release := make(chan struct{})
	applied := 0 // the handle's epoch, then the append
	db, err := boltstore.Options{Hook: func(point string) {
		if point != boltstore.PointApplied {
			return
		}
		if applied++; applied == 2 {
			committed <- struct{}{}
			<-release
		}
	}}.Open(filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h, err := db.Handle()
	if err != nil {
		t.Fatal(err)
	}
	create, _ := turn(store.Owner("", "anonymous"))
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
	if _, err := h.Read(context.Background(), store.System(), create.Task, store.After(0), store.Limit{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Read() = %v before the commit, want ErrNotFound", err)
	}
	close(release)
	if _, err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	<-wake
}
