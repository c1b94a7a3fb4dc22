package storetest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"

	"a2a-server/store"
)

// listed has three tasks and six rows in every scope that is asked.
func listed(t *testing.T, f *fixture) (id store.TaskID) {
	t.Helper()
	for _, owner := range owners() {
		for i := range 3 {
			b := with(create(owner), status(2, store.Millis(1000+i)))
			for n := range 3 {
				b = with(b, put("kind", fmt.Sprint(n), 0, "", indexed("index", "aa"), indexed("other", "aa")), put("kin", fmt.Sprint(n), 0, ""))
			}
			f.append(t, b)
			if owner == alice() {
				id = b.Task
			}
		}
	}
	return id
}

// aList asks for a page of tasks or of rows, and returns the scopes of its entries.
type aList struct {
	name string
	page func(ctx context.Context, h store.Handle, s store.Scope, limit int, cursor string) (tasks []store.Header, rows []store.Row, next string, err error)
	// forge returns the cursor after a position.
	forge func(s store.Scope, pos []byte) string
}

// lists are all kinds of lists there are.
func lists(id store.TaskID) (all []aList) {
	for _, q := range []store.Query{{}, {Context: "context"}, {State: 2}, {Since: 1}, {Since: 2}, {Context: "context", State: 2}} {
		all = append(all, aList{fmt.Sprintf("%+v", q), func(ctx context.Context, h store.Handle, s store.Scope, limit int, cursor string) ([]store.Header, []store.Row, string, error) {
			q.Limit, q.Cursor = limit, cursor
			page, err := h.Tasks(ctx, s, q)
			return page.Tasks, nil, page.Next, err
		}, q.EncodeCursor})
	}
	for _, q := range []store.RowQuery{
		{Kind: "kind"}, {Kind: "kin"}, {Kind: "kind", Task: id}, {Kind: "kind", Index: "index"}, {Kind: "kind", Index: "other"},
		{Kind: "kind", Index: "index", Prefix: []byte("a")}, {Kind: "kind", Index: "index", Prefix: []byte("aa")},
	} {
		all = append(all, aList{fmt.Sprintf("%+v", q), func(ctx context.Context, h store.Handle, s store.Scope, limit int, cursor string) ([]store.Header, []store.Row, string, error) {
			q.Limit, q.Cursor = limit, cursor
			page, err := h.Rows(ctx, s, q)
			return nil, page.Rows, page.Next, err
		}, q.EncodeCursor})
	}
	return all
}

func testForeignCursor(t *testing.T, f *fixture) {
	all := lists(listed(t, f))
	scopes := append(owners(), store.Tenant("acme"), store.Tenant("beta"), store.System())
	for _, s := range scopes {
		for i, list := range all {
			_, _, cursor, err := list.page(t.Context(), f.next(), s, 1, "")
			if err != nil {
				t.Fatalf("%+v: %s: %v, want a page", s, list.name, err)
			}
			if cursor == "" { // the rows of a task that s may not see
				continue
			}
			for _, other := range scopes {
				for k, o := range all {
					var want error
					if other != s || k != i {
						want = store.ErrCursor
					}
					if _, _, _, err := o.page(t.Context(), f.next(), other, 1, cursor); !errors.Is(err, want) {
						t.Errorf("cursor of %s of %+v: %s of %+v = %v, want %v", list.name, s, o.name, other, err, want)
					}
				}
			}
		}
	}
}

func testGarbageCursor(t *testing.T, f *fixture) {
	id := listed(t, f)
	for _, list := range lists(id) {
		_, _, next, err := list.page(t.Context(), f.h[0], alice(), 1, "")
		if err != nil || next == "" {
			t.Fatalf("%s: next %q, %v, want a cursor", list.name, next, err)
		}
		for _, s := range seers() {
			for _, cursor := range []string{"?", "a", "AAAA", "\x00", " ", next + "=", "=" + next, base64.RawURLEncoding.EncodeToString(make([]byte, 32)), next[:8]} {
				if _, _, _, err := list.page(t.Context(), f.next(), s, 1, cursor); !errors.Is(err, store.ErrCursor) {
					t.Errorf("%+v: %s from cursor %q: %v, want %v", s, list.name, cursor, err, store.ErrCursor)
				}
			}
			// A forged position may move within its own scope and filter; it must not do
			// more, and in particular not panic.
			for _, pos := range []string{"x", string(make([]byte, 16)), string(make([]byte, 24)), string(make([]byte, 600)), "\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
				tasks, rows, _, err := list.page(t.Context(), f.next(), s, 50, list.forge(s, []byte(pos)))
				if err != nil && !errors.Is(err, store.ErrCursor) {
					t.Errorf("%+v: %s from position %q: %v, want nil or %v", s, list.name, pos, err, store.ErrCursor)
				}
				for _, h := range tasks {
					if !s.Covers(h.Owner) {
						t.Errorf("%+v: %s from position %q has %+v", s, list.name, pos, h)
					}
				}
				for _, r := range rows {
					if _, err := f.next().Read(t.Context(), s, r.Task, store.AtSnapshot(), store.Limit{}); err != nil {
						t.Errorf("%+v: %s from position %q has a row of another scope: %+v", s, list.name, pos, r)
					}
				}
			}
		}
	}
}

// A list continues by the other handle, with another page size, and after a
// reopen.
func testCursorLasts(t *testing.T, f *fixture) {
	all := lists(listed(t, f))
	for _, s := range seers() {
		for _, list := range []aList{all[0], all[6]} {
			wantTasks, wantRows, _, err := list.page(t.Context(), f.h[0], s, 1000, "")
			if err != nil {
				t.Fatalf("%s: %v, want nil", list.name, err)
			}
			var tasks []store.Header
			var rows []store.Row
			cursor := ""
			for size := 1; size == 1 || cursor != ""; size++ {
				moreTasks, moreRows, next, err := list.page(t.Context(), f.next(), s, size, cursor)
				if err != nil {
					t.Fatalf("%s: %v, want nil", list.name, err)
				}
				tasks, rows, cursor = append(tasks, moreTasks...), append(rows, moreRows...), next
				f.reopen(t)
			}
			same(t, wantTasks, tasks, "%+v: %s", s, list.name)
			same(t, wantRows, rows, "%+v: %s", s, list.name)
		}
	}
}
