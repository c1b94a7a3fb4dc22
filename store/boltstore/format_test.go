package boltstore_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/store"
	"a2a-server/store/boltstore"
)

// unpack writes a golden file of an earlier program to a folder of the test. The file does not say
// which file it was, so that it is no copy.
func unpack(t *testing.T, name string) string {
	t.Helper()
	packed := must(os.Open(filepath.Join("testdata", name+".gz")))
	t.Cleanup(func() { _ = packed.Close() })
	z := must(gzip.NewReader(packed))
	raw := must(io.ReadAll(z))
	path := filepath.Join(t.TempDir(), name)
	need(os.WriteFile(path, raw, 0o600))
	return path
}

// A file of each format is opened, read as it was written, and written on. Format 5 has a compressed log value and a compressed row.
func TestFormats(t *testing.T) {
	t.Parallel()
	for format, own := range map[int]string{4: "of alice", 5: strings.Repeat("of alice ", 100)} {
		t.Run(fmt.Sprint(format), func(t *testing.T) {
			t.Parallel()
			examineFormat(t, unpack(t, fmt.Sprintf("format%d.db", format)), own)
		})
	}
}

func examineFormat(t *testing.T, path, own string) {
	t.Helper()
	for n := range 3 {
		need(boltCheck(path))
		h, closeStore := openOnce(t, path)
		got := ""
		for _, q := range []store.RowQuery{{Kind: "approval"}, {Kind: "approval", Index: "pending"}, {Kind: "own"}, {Kind: "state", Context: "context"}} {
			rows := must(h.Rows(t.Context(), alice, q))
			for _, row := range rows.Rows {
				got += fmt.Sprintf("%s %s%s %s %d %s %t\n", q.Kind, q.Index, q.Context, row.Key, row.Rev, row.Value, row.Damaged)
			}
		}
		due, _, err := h.Due(t.Context(), 4000, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range due {
			got += fmt.Sprintf("due %s %s %s %t\n", row.Kind, row.Key, row.Payload, row.Damaged)
		}
		audit := must(h.Audit(t.Context(), 0, 0))
		for _, e := range audit {
			got += fmt.Sprintf("audit %d %s %t\n", e.N, e.Data, e.Damaged)
		}
		if diff := cmp.Diff(`approval  first 1 first asks false
approval  second 1 second asks false
approval  third 1 third asks false
approval pending first 1 first asks false
approval pending second 1 second asks false
approval pending third 1 third asks false
own  key 1 `+own+` false
state context k 3 by third false
due expiry first first expires false
due expiry second second expires false
due expiry third third expires false
audit 1 first was asked false
audit 2 second was asked false
audit 3 third was asked false
`, got); diff != "" {
			t.Fatalf("opened %d times, the file differs (-want +got):\n%s", n, diff)
		}
		page, err := h.Tasks(t.Context(), alice, store.Query{Context: "context"})
		if err != nil || len(page.Tasks) != 3 || page.Total != 3 {
			t.Fatalf("Tasks() = %d tasks, %v; want 3", len(page.Tasks), err)
		}
		for i, name := range []string{"third", "second", "first"} {
			id := page.Tasks[i].Task
			v, err := h.Read(t.Context(), alice, id, store.AtSnapshot(), store.Limit{})
			if err != nil || string(v.Snapshot) != name+" plain" || string(v.Bulk) != name+" bulk" || len(v.Events) != 3+n {
				t.Fatalf("Read(%s) = %q, %q, %d events, %v", name, v.Snapshot, v.Bulk, len(v.Events), err)
			}
			want := []string{name + " 2", strings.Repeat(name+" 3 ", 2000), name + " 4"}
			for k, e := range v.Events[:3] {
				if string(e.Data) != want[k] {
					t.Errorf("event %d of %s = %.30q, want %.30q", e.Seq, name, e.Data, want[k])
				}
			}
			if _, err := h.Append(t.Context(), &store.Batch{
				Scope: alice, Task: id, Rev: new(page.Tasks[i].Rev), Change: store.Change{Phase: store.Parked},
				Events: []store.Event{{Kind: "note", Time: 5000, Data: []byte(strings.Repeat("written on ", 500))}},
			}).Wait(); err != nil {
				t.Fatal(err)
			}
		}
		fill(t, h, store.Owner("t", "bob"), 10)
		closeStore()
	}
}

// openOnce opens a store that is closed within the test.
func openOnce(t *testing.T, path string) (h store.Handle, closeStore func()) {
	t.Helper()
	db := must(boltstore.Open(path))
	h = must(db.Handle())
	return h, func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
