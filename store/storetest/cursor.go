package storetest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"

	"a2a-server/store"
)

func cursorCases() []testCase {
	return []testCase{
		{"of another list", testForeignCursor},
		{"of other rows", testForeignRowCursor},
		{"garbage", testGarbageCursor},
		{"outlives handle and page size", testCursorLasts},
	}
}

// listed has three tasks and six rows in every scope that is asked.
func listed(t *testing.T, f *fixture) (id store.TaskID) {
	t.Helper()
	for _, owner := range owners() {
		for i := range 3 {
			b := create(owner)
			b.Change.Status = status(2, store.Millis(1000+i))
			for n := range 3 {
				b.Rows = append(b.Rows, put("kind", fmt.Sprint(n), 0, "", indexed("index", "aa"), indexed("other", "aa")), put("kin", fmt.Sprint(n), 0, ""))
			}
			f.append(t, b)
			if owner == alice() {
				id = b.Task
			}
		}
	}
	return id
}

func testForeignCursor(t *testing.T, f *fixture) {
	listed(t, f)
	scopes := append(owners(), store.Tenant("acme"), store.Tenant("beta"), store.System())
	queries := []store.Query{{}, {Context: "context"}, {State: 2}, {Since: 1}, {Since: 2}, {Context: "context", State: 2}}
	for _, s := range scopes {
		for i, q := range queries {
			q.Limit = 1
			page, err := f.next().Tasks(t.Context(), s, q)
			if err != nil || page.Next == "" {
				t.Fatalf("%+v: Tasks(%+v) = next %q, %v, want a cursor", s, q, page.Next, err)
			}
			for _, other := range scopes {
				for k, o := range queries {
					o.Cursor = page.Next
					_, err := f.next().Tasks(t.Context(), other, o)
					if want := map[bool]error{false: store.ErrCursor}[other == s && k == i]; !errors.Is(err, want) {
						t.Errorf("cursor of %+v of %+v: Tasks(%+v) of %+v = %v, want %v", q, s, o, other, err, want)
					}
				}
			}
			_, err = f.next().Rows(t.Context(), s, store.RowQuery{Kind: "kind", Cursor: page.Next})
			if !errors.Is(err, store.ErrCursor) {
				t.Errorf("cursor of tasks: Rows() = %v, want %v", err, store.ErrCursor)
			}
		}
	}
}

func testForeignRowCursor(t *testing.T, f *fixture) {
	id := listed(t, f)
	scopes := []store.Scope{alice(), bob(), store.Tenant("acme"), store.System()}
	queries := []store.RowQuery{
		{Kind: "kind"}, {Kind: "kin"}, {Kind: "kind", Task: id}, {Kind: "kind", Index: "index"}, {Kind: "kind", Index: "other"},
		{Kind: "kind", Index: "index", Prefix: []byte("a")}, {Kind: "kind", Index: "index", Prefix: []byte("aa")},
	}
	for _, s := range scopes {
		for i, q := range queries {
			q.Limit = 1
			page, err := f.next().Rows(t.Context(), s, q)
			if err != nil {
				t.Fatalf("%+v: Rows(%+v) = %v, want nil", s, q, err)
			}
			if page.Next == "" {
				if q.Task.IsZero() || s == alice() {
					t.Errorf("%+v: Rows(%+v) has no cursor", s, q)
				}
				continue
			}
			for _, other := range scopes {
				for k, o := range queries {
					o.Cursor = page.Next
					_, err := f.next().Rows(t.Context(), other, o)
					if want := map[bool]error{false: store.ErrCursor}[other == s && k == i]; !errors.Is(err, want) {
						t.Errorf("cursor of %+v of %+v: Rows(%+v) of %+v = %v, want %v", q, s, o, other, err, want)
					}
				}
			}
		}
	}
}

func testGarbageCursor(t *testing.T, f *fixture) {
	id := listed(t, f)
	first, err := f.h[0].Tasks(t.Context(), alice(), store.Query{Limit: 1})
	if err != nil {
		t.Fatalf("Tasks() = %v, want nil", err)
	}
	cut := first.Next[:len(first.Next)/2]
	for _, cursor := range []string{"?", "a", "AAAA", "\x00", " ", first.Next + "=", "=" + first.Next, base64.RawURLEncoding.EncodeToString(make([]byte, 32)), cut[:8]} {
		for _, s := range []store.Scope{alice(), store.Tenant("acme"), store.System()} {
			if _, err := f.next().Tasks(t.Context(), s, store.Query{Cursor: cursor}); !errors.Is(err, store.ErrCursor) {
				t.Errorf("%+v: Tasks(cursor %q) = %v, want %v", s, cursor, err, store.ErrCursor)
			}
			for _, q := range []store.RowQuery{{Kind: "kind"}, {Kind: "kind", Task: id}, {Kind: "kind", Index: "index"}} {
				if q.Cursor = cursor; s == alice() {
					if _, err := f.next().Rows(t.Context(), s, q); !errors.Is(err, store.ErrCursor) {
						t.Errorf("Rows(%+v) = %v, want %v", q, err, store.ErrCursor)
					}
				}
			}
		}
	}
	// A forged position may move within its own scope and filter; it must not do
	// more, and in particular not panic.
	for _, pos := range []string{"x", string(make([]byte, 16)), string(make([]byte, 24)), string(make([]byte, 600)), "\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
		for _, s := range []store.Scope{alice(), store.Tenant("acme"), store.System()} {
			q := store.Query{}
			q.Cursor = q.EncodeCursor(s, []byte(pos))
			page, err := f.next().Tasks(t.Context(), s, q)
			if err != nil && !errors.Is(err, store.ErrCursor) {
				t.Errorf("%+v: Tasks(position %q) = %v, want nil or %v", s, pos, err, store.ErrCursor)
			}
			for _, h := range page.Tasks {
				if !s.Covers(h.Owner) {
					t.Errorf("%+v: Tasks(position %q) has %+v", s, pos, h)
				}
			}
			for _, q := range []store.RowQuery{{Kind: "kind"}, {Kind: "kind", Task: id}, {Kind: "kind", Index: "index"}, {Kind: "kind", Index: "index", Prefix: []byte("a")}} {
				q.Cursor = q.EncodeCursor(s, []byte(pos))
				page, err := f.next().Rows(t.Context(), s, q)
				if err != nil && !errors.Is(err, store.ErrCursor) {
					t.Errorf("%+v: Rows(position %q) = %v, want nil or %v", s, pos, err, store.ErrCursor)
				}
				for _, r := range page.Rows {
					if r.Kind != "kind" {
						t.Errorf("%+v: Rows(position %q) has %+v", s, pos, r)
					}
					if _, err := f.next().Read(t.Context(), s, r.Task, store.AtSnapshot(), store.Limit{}); err != nil {
						t.Errorf("%+v: Rows(position %q) has a row of another scope: %+v", s, pos, r)
					}
				}
			}
		}
	}
}

// A list continues by the other handle, with another page size, and after a
// reopen.
func testCursorLasts(t *testing.T, f *fixture) {
	listed(t, f)
	for _, s := range []store.Scope{alice(), store.Tenant("acme"), store.System()} {
		wantTasks, _ := mustList(t, f.h[0], s, store.Query{})
		wantRows := mustRows(t, f.h[0], s, store.RowQuery{Kind: "kind"})
		var tasks []store.Header
		var rows []store.Row
		q, rq := store.Query{Limit: 1}, store.RowQuery{Kind: "kind", Limit: 1}
		for more := true; more; q.Limit++ {
			page, err := f.next().Tasks(t.Context(), s, q)
			if err != nil {
				t.Fatalf("Tasks() = %v, want nil", err)
			}
			tasks = append(tasks, page.Tasks...)
			q.Cursor, more = page.Next, page.Next != ""
			f.reopen(t)
		}
		for more := true; more; rq.Limit++ {
			page, err := f.next().Rows(t.Context(), s, rq)
			if err != nil {
				t.Fatalf("Rows() = %v, want nil", err)
			}
			rows = append(rows, page.Rows...)
			rq.Cursor, more = page.Next, page.Next != ""
		}
		if d := diff(wantTasks, tasks); d != "" {
			t.Errorf("%+v: Tasks() (-want +got)\n%s", s, d)
		}
		if d := diff(wantRows, rows); d != "" {
			t.Errorf("%+v: Rows() (-want +got)\n%s", s, d)
		}
	}
}
