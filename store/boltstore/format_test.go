package boltstore_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"a2a-server/internal/golden"
	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// The file and the backup of testdata are read as they were written, and written on. They have compressed
// values.
func TestFormat(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(path, content string){
		"store.db.gz": func(path, content string) { need(os.WriteFile(path, []byte(content), 0o600)) },
		"backup.gz": func(path, content string) {
			must(boltstore.Options{}.Restore(t.Context(), strings.NewReader(content), path, func(context.Context, store.Handle, boltstore.Backup) error { return nil }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packed := golden.Made(t, filepath.Join("testdata", name), func() string { return sampleOfFormat(t, name == "backup.gz") })
			path := filepath.Join(t.TempDir(), "store.db")
			open(path, string(must(io.ReadAll(must(gzip.NewReader(strings.NewReader(packed)))))))
			examineFormat(t, path)
		})
	}
}

func examineFormat(t *testing.T, path string) {
	t.Helper()
	need(boltCheck(path))
	h := open(t, path)
	got := ""
	for _, q := range []store.RowQuery{{Kind: "approval"}, {Kind: "approval", Index: "pending"}, {Kind: "own"}, {Kind: "state", Context: "context"}} {
		rows := must(h.Rows(t.Context(), alice, q))
		for _, row := range rows.Rows {
			got += fmt.Sprintf("%s %s%s %s %d %s %t\n", q.Kind, q.Index, q.Context, row.Key, row.Rev, row.Value, row.Damaged)
		}
	}
	due, _, err := h.Due(t.Context(), 4000, "", 0)
	need(err)
	for _, row := range due {
		got += fmt.Sprintf("due %s %s %s %t\n", row.Kind, row.Key, row.Payload, row.Damaged)
	}
	for _, e := range must(h.Audit(t.Context(), 0, 0)) {
		got += fmt.Sprintf("audit %d %s %t\n", e.N, e.Data, e.Damaged)
	}
	if diff := cmp.Diff(`approval  first 1 first asks false
approval  second 1 second asks false
approval pending first 1 first asks false
approval pending second 1 second asks false
own  key 1 `+strings.Repeat("of alice ", 100)+` false
state context k 2 by second false
due expiry first first expires false
due expiry second second expires false
audit 1 first was asked false
audit 2 second was asked false
`, got); diff != "" {
		t.Errorf("the file differs (-want +got):\n%s", diff)
	}
	page, err := h.Tasks(t.Context(), alice, store.Query{Context: "context"})
	if err != nil || len(page.Tasks) != 2 || page.Total != 2 {
		t.Fatalf("Tasks() = %d tasks, %v; want 2", len(page.Tasks), err)
	}
	for i, name := range []string{"second", "first"} {
		id := page.Tasks[i].Task
		v, err := h.Read(t.Context(), alice, id, store.AtSnapshot(), store.Limit{})
		if err != nil || string(v.Snapshot) != name+" plain" || string(v.Bulk) != name+" bulk" || len(v.Events) != 3 {
			t.Fatalf("Read(%s) = %q, %q, %d events, %v", name, v.Snapshot, v.Bulk, len(v.Events), err)
		}
		for k, want := range []string{name + " 2", strings.Repeat(name+" 3 ", 2000), name + " 4"} {
			if got := string(v.Events[k].Data); got != want {
				t.Errorf("event %d of %s = %.30q, want %.30q", v.Events[k].Seq, name, got, want)
			}
		}
		must(h.Append(t.Context(), &store.Batch{
			Scope: alice, Task: id, Rev: new(page.Tasks[i].Rev), Change: store.Change{Phase: store.Parked},
			Events: []store.Event{{Kind: "note", Time: 5000, Data: []byte(strings.Repeat("written on ", 500))}},
		}).Wait())
	}
	fill(t, h, store.Owner("t", "bob"), 10)
}

// sampleOfFormat returns a compressed store that has values of each kind, or a compressed backup of it.
func sampleOfFormat(t *testing.T, isBackup bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	db, h := handled(boltstore.Options{Ahead: -1}.Open(path))
	commit(h, &store.Batch{Scope: alice, Rows: []store.RowChange{{Kind: "own", Key: []byte("key"), Value: []byte(strings.Repeat("of alice ", 100))}}})
	for i, name := range []string{"first", "second"} {
		id := store.NewTaskID()
		note := func(text string, bulk bool) store.Event {
			return store.Event{Kind: "note", Time: 1000, Public: true, Bulk: bulk, Data: []byte(text)}
		}
		commit(h, &store.Batch{
			Scope: alice, Task: id, Rev: new(uint64(0)),
			Change: store.Change{Context: "context", Status: &store.Status{State: 2, Time: store.Millis(1000 + i)}, Phase: store.Parked, Pending: new(uint32(1))},
			Events: []store.Event{note(name+" 1", false)},
			Rows:   []store.RowChange{{Kind: "approval", Key: []byte(name), Value: []byte(name + " asks"), Index: []store.IndexKey{{Index: "pending", Key: []byte(name)}}}},
			Due:    []store.DueChange{{Time: 3000, Kind: "expiry", Key: []byte(name), Payload: []byte(name + " expires")}},
			Audit:  [][]byte{[]byte(name + " was asked")},
		})
		commit(h, &store.Batch{
			Scope: alice, Task: id, Rev: new(uint64(1)), Change: store.Change{Phase: store.Parked},
			Events:   []store.Event{note(name+" 2", false), note(strings.Repeat(name+" 3 ", 2000), true), note(name+" 4", false)},
			Rows:     []store.RowChange{{Kind: "state", Key: []byte("k"), IfRev: store.Any, Value: []byte("by " + name), OfContext: true}},
			Snapshot: &store.Snapshot{After: 1, Rev: 1, Bytes: []byte(name + " plain"), Bulk: []byte(name + " bulk")},
		})
	}
	need(db.Close())
	update(t, path, func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Delete([]byte("file")) }) // it is no copy
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if isBackup {
		must(boltstore.BackupPlain(t.Context(), path, z, false /* copied */))
	} else {
		must(z.Write(must(os.ReadFile(path))))
	}
	need(z.Close())
	return packed.String()
}

// A backup and a plain copy of another format are refused, and name it.
func TestBackupOfAnotherFormat(t *testing.T) {
	t.Parallel()
	path := sample(t)
	var whole bytes.Buffer
	must(boltstore.BackupPlain(t.Context(), path, &whole, false /* copied */))
	for _, tc := range []struct{ line, says string }{
		{"a2a-server backup 1\n", "the backup has format 1, and this program reads format 6: finish its work"},
		{"a2a-server backup 7\n", "the backup has format 7, and this program reads format 6: a newer program"},
		{"a2a-server backup \n", boltstore.ErrNotBackup.Error()},
	} {
		_, after, _ := strings.Cut(whole.String(), "\n")
		if _, err := boltstore.VerifyBackup(strings.NewReader(tc.line + after)); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("VerifyBackup() after %q = %v, want %q", tc.line, err, tc.says)
		}
	}
	other := filepath.Join(t.TempDir(), "other.db")
	need(must(bolt.Open(other, 0o600, nil)).Close())
	if _, err := boltstore.BackupPlain(t.Context(), other, io.Discard, true /* copied */); err == nil || !strings.Contains(err.Error(), "is not a store of this program") {
		t.Errorf("BackupPlain() of a file of bbolt = %v, want that it is no store", err)
	}
	setFormat(5)(t, path)
	if _, err := boltstore.BackupPlain(t.Context(), path, io.Discard, true /* copied */); err == nil || !strings.Contains(err.Error(), path+" has format 5") {
		t.Errorf("BackupPlain() = %v, want its format", err)
	}
}
