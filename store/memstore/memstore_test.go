package memstore

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"a2a-server/store"
	"a2a-server/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Backend {
		b := backend{newWithWindow(storetest.Window), new(atomic.Int64)}
		b.Now = func() time.Time { return time.Unix(0, b.elapsed.Load()) }
		return b
	})
}

type backend struct {
	*DB
	elapsed *atomic.Int64 // ns
}

func (b backend) Elapse(d time.Duration) { b.elapsed.Add(int64(d)) }

func (b backend) Reopen() error {
	if err := b.Close(); err != nil {
		return err
	}
	b.DB.Reopen()
	return nil
}

// Rebuild has nothing to do: nothing is derived.
func (b backend) Rebuild() error { return nil }

var (
	alice = store.Owner("acme", "alice")
	bob   = store.Owner("acme", "bob")
	eve   = store.Owner("other", "alice")
)

func open(t *testing.T) (*DB, store.Handle) {
	t.Helper()
	db := New()
	return db, newHandle(t, db)
}

func newHandle(t *testing.T, db *DB) store.Handle {
	t.Helper()
	h, err := db.Handle()
	if err != nil {
		t.Fatalf("Handle() = %v", err)
	}
	return h
}

// create returns a batch that creates a task with one public event.
func create(owner store.Scope) *store.Batch {
	return &store.Batch{
		Scope: owner, Task: store.NewTaskID(), Rev: new(uint64(0)),
		Change: store.Change{Status: &store.Status{State: 1, Time: 1000}, Phase: store.Live},
		Events: []store.Event{{Public: true, Kind: "task", Data: []byte("created")}},
	}
}

func must(t *testing.T, c *store.Commit) store.Receipt {
	t.Helper()
	r, err := c.Wait()
	if err != nil {
		t.Fatalf("Wait() = %v", err)
	}
	return r
}

func wantErr(t *testing.T, c *store.Commit, want error) {
	t.Helper()
	if r, err := c.Wait(); !errors.Is(err, want) || r != (store.Receipt{}) {
		t.Errorf("Wait() = %v, %v, want no receipt and %v", r, err, want)
	}
}

func wantDuplicate(t *testing.T, c *store.Commit, first store.TaskID) {
	t.Helper()
	var dup *store.DuplicateError
	if _, err := c.Wait(); !errors.As(err, &dup) || dup.Task != first {
		t.Errorf("Wait() = %v, want a duplicate of %s", err, first)
	}
}

func read(t *testing.T, h store.Handle, id store.TaskID, from store.From, limit store.Limit) store.LogPage {
	t.Helper()
	v, err := h.Read(t.Context(), store.System(), id, from, limit)
	if err != nil {
		t.Fatalf("Read() = %v", err)
	}
	return v
}

func TestFailedBatchLeavesNoTrace(t *testing.T) {
	t.Parallel()
	db, h := open(t)
	ctx := t.Context()
	c := create(alice)
	c.Dedup = store.Hash{1}
	c.Rows = []store.RowChange{{Kind: "k", Key: []byte("a"), Value: []byte("1")}}
	must(t, h.Append(ctx, c))
	before := read(t, h, c.Task, store.AtSnapshot(), store.Limit{})

	full := func(edit func(b *store.Batch)) *store.Batch {
		b := &store.Batch{
			Scope: alice, Task: c.Task, Rev: new(uint64(1)),
			Events:   []store.Event{{Kind: "e"}},
			Snapshot: &store.Snapshot{After: 1, Rev: 1, Bytes: []byte("s")},
			Rows:     []store.RowChange{{Kind: "k", Key: []byte("b")}},
			Due:      []store.DueChange{{Time: 1, Kind: "d"}},
			Audit:    [][]byte{[]byte("a")},
		}
		edit(b)
		return b
	}

	for _, tc := range []struct {
		name string
		edit func(b *store.Batch)
		want error
	}{
		{"foreign owner", func(b *store.Batch) { b.Scope = bob }, store.ErrNotFound},
		{"no scope", func(b *store.Batch) { b.Scope = store.Scope{} }, store.ErrNotFound},
		{"unknown task", func(b *store.Batch) { b.Task = store.NewTaskID() }, store.ErrNotFound},
		{"old rev", func(b *store.Batch) { *b.Rev = 2 }, store.ErrConflict},
		{"old fence", func(b *store.Batch) { b.Fence = new(uint64(2)) }, store.ErrFenced},
		{"row is there", func(b *store.Batch) { b.Rows = append(b.Rows, c.Rows...) }, store.ErrConflict},
		{"row twice", func(b *store.Batch) { b.Rows = append(b.Rows, b.Rows...) }, store.ErrConflict},
		{"row is not there", func(b *store.Batch) { b.Rows[0].IfRev = 1 }, store.ErrConflict},
	} {
		t.Run(tc.name, func(t *testing.T) { wantErr(t, h.Append(ctx, full(tc.edit)), tc.want) })
	}
	dup := create(alice)
	dup.Dedup = c.Dedup
	dup.Audit = [][]byte{[]byte("a")}
	wantDuplicate(t, h.Append(ctx, dup), c.Task)

	if diff := cmp.Diff(before, read(t, h, c.Task, store.AtSnapshot(), store.Limit{}), cmp.AllowUnexported(store.Scope{}, store.From{})); diff != "" {
		t.Errorf("task after failed batches (-want +got):\n%s", diff)
	}
	if len(db.tasks) != 1 || db.rows.Len() != 1 || db.due.Len() != 0 || len(db.audit) != 0 {
		t.Errorf("%d tasks, %d rows, %d due, %d audit entries, want 1, 1, 0, 0", len(db.tasks), db.rows.Len(), db.due.Len(), len(db.audit))
	}

	must(t, h.Append(ctx, full(func(*store.Batch) {})))
	got := read(t, h, c.Task, store.AtSnapshot(), store.Limit{})
	if got.Header.Rev != 2 || got.Header.Due != 1 || string(got.Snapshot) != "s" || len(got.Events) != 1 || got.Events[0].Seq != 2 {
		t.Errorf("Read() = %+v, want rev 2, due 1, snapshot s and event 2", got)
	}
}

func TestDedupWindow(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	db, h := open(t)
	db.Now = func() time.Time { return now }
	send := func(owner store.Scope) *store.Batch {
		b := create(owner)
		b.Dedup = store.Hash{1}
		return b
	}
	first := send(alice)
	must(t, h.Append(t.Context(), first))
	now = now.Add(store.WindowAge - time.Second)
	wantDuplicate(t, h.Append(t.Context(), send(eve)), first.Task) // whoever sends it
	_ = db.Close()
	db.Reopen()
	h = newHandle(t, db)
	wantDuplicate(t, h.Append(t.Context(), send(alice)), first.Task)

	now = now.Add(time.Second)
	second := send(alice)
	second.Change.Phase = store.Final
	must(t, h.Append(t.Context(), second))
	wantDuplicate(t, h.Append(t.Context(), send(alice)), second.Task)

	if err := h.Delete(t.Context(), alice, second.Task, nil); err != nil {
		t.Fatalf("Delete() = %v", err)
	}
	wantDuplicate(t, h.Append(t.Context(), send(alice)), second.Task) // deleting does not make it run again
	now = now.Add(store.WindowAge)
	if db.window.Find(store.Hash{}, db.ran()); db.window.Len() != 0 {
		t.Errorf("%d messages are remembered forever", db.window.Len())
	}
}

func TestReadPages(t *testing.T) {
	t.Parallel()
	_, h := open(t)
	c := create(alice)
	c.Events = nil
	for i := range 7 {
		c.Events = append(c.Events, store.Event{Public: i%2 == 0, Data: []byte("12345")})
	}
	must(t, h.Append(t.Context(), c))
	for _, tc := range []struct {
		from        store.From
		limit       store.Limit
		first, last uint64 // 0, 0: none
		more        bool
	}{
		{store.AtSnapshot(), store.Limit{}, 1, 7, false},
		{store.After(0), store.Limit{Events: 6}, 1, 6, true},
		{store.After(0), store.Limit{Events: 7}, 1, 7, false},
		{store.After(2), store.Limit{Bytes: 14}, 3, 4, true},
		{store.After(2), store.Limit{Bytes: 15}, 3, 5, true},
		{store.After(2), store.Limit{Bytes: 1}, 3, 3, true},
		{store.After(6), store.Limit{Bytes: 1}, 7, 7, false},
		{store.After(7), store.Limit{}, 0, 0, false},
		{store.After(1 << 63), store.Limit{}, 0, 0, false},
	} {
		t.Run(fmt.Sprint(tc.from, tc.limit), func(t *testing.T) {
			v := read(t, h, c.Task, tc.from, tc.limit)
			var first, last uint64
			if n := len(v.Events); n > 0 {
				first, last = v.Events[0].Seq, v.Events[n-1].Seq
			}
			if first != tc.first || last != tc.last || v.More != tc.more {
				t.Errorf("Read() = %d to %d, more %t, want %d to %d, %t", first, last, v.More, tc.first, tc.last, tc.more)
			}
		})
	}

	page := read(t, h, c.Task, store.After(0), store.Limit{Events: 2}).Events
	_ = append(page, store.Event{Kind: "scribble"})
	page[0].Kind = "scribble"
	if v := read(t, h, c.Task, store.After(0), store.Limit{}); v.Events[0].Kind != "" || v.Events[2].Kind != "" {
		t.Error("a page shares its slice with the log")
	}
}

func TestTaskPages(t *testing.T) {
	t.Parallel()
	_, h := open(t)
	var ids []store.TaskID
	for i := range 6 {
		owner := alice
		if i == 5 {
			owner = bob
		}
		b := create(owner)
		b.Change.Status.Time = []store.Millis{3, 1, 2, 2, 5, 4}[i]
		ids = append(ids, b.Task)
		must(t, h.Append(t.Context(), b))
	}
	for _, tc := range []struct {
		name  string
		scope store.Scope
		want  []int
		total int64
	}{
		{"owner", alice, []int{4, 0, 3, 2, 1}, 5},
		{"tenant", store.Tenant("acme"), []int{5, 4, 3, 2, 1, 0}, -1},
		{"system", store.System(), []int{5, 4, 3, 2, 1, 0}, -1},
		{"other", eve, nil, 0},
		{"nobody", store.Scope{}, nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var want, got []store.TaskID
			for _, i := range tc.want {
				want = append(want, ids[i])
			}
			q := store.Query{Limit: 2}
			for {
				p, err := h.Tasks(t.Context(), tc.scope, q)
				if err != nil || p.Total != tc.total || len(p.Tasks) > 2 {
					t.Fatalf("Tasks() = %d tasks, total %d, %v, want total %d", len(p.Tasks), p.Total, err, tc.total)
				}
				for _, hd := range p.Tasks {
					got = append(got, hd.Task)
				}
				if q.Cursor = p.Next; q.Cursor == "" {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Tasks() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRowOrder(t *testing.T) {
	t.Parallel()
	_, h := open(t)
	ix := func(keys ...string) (entries []store.IndexKey) {
		for _, k := range keys {
			entries = append(entries, store.IndexKey{Index: "ix", Key: []byte(k)})
		}
		return entries
	}
	c := create(alice)
	c.Rows = []store.RowChange{
		{Kind: "k", Key: []byte("t2"), Index: ix("p", "p", "p\x00")},
		{Kind: "k", Key: []byte("t1"), Index: ix("p")},
		{Kind: "other", Key: []byte("t0"), Index: ix("p")},
	}
	must(t, h.Append(t.Context(), c))
	for _, owner := range []store.Scope{alice, bob} {
		must(t, h.Append(t.Context(), &store.Batch{Scope: owner, Rows: []store.RowChange{
			{Kind: "k", Key: []byte("own"), Index: ix("p\x01", "o", "pp"), Value: []byte(owner.Subject())},
		}}))
	}
	for _, tc := range []struct {
		name  string
		scope store.Scope
		query store.RowQuery
		want  []string
	}{
		{"all", alice, store.RowQuery{}, []string{"own", "t1", "t2"}},
		{"nobody", store.Scope{}, store.RowQuery{}, nil},
		{"other owner", bob, store.RowQuery{}, []string{"own"}},
		{"tenant", store.Tenant("acme"), store.RowQuery{}, []string{"own", "own", "t1", "t2"}},
		{"other tenant", store.Tenant("other"), store.RowQuery{}, nil},
		{"task", alice, store.RowQuery{Task: c.Task}, []string{"t1", "t2"}},
		{"foreign task", bob, store.RowQuery{Task: c.Task}, nil},
		{"key of a task", alice, store.RowQuery{Task: c.Task, Key: []byte("t2")}, []string{"t2"}},
		{"own key", alice, store.RowQuery{Key: []byte("own")}, []string{"own"}},
		{"own key of a task", alice, store.RowQuery{Key: []byte("t1")}, nil},
		{"index", alice, store.RowQuery{Index: "ix"}, []string{"own", "t1", "t2", "t2", "own", "own"}},
		{"prefix", alice, store.RowQuery{Index: "ix", Prefix: []byte("p\x00")}, []string{"t2"}},
		{"index of a task", alice, store.RowQuery{Index: "ix", Task: c.Task}, []string{"t1", "t2", "t2"}},
	} {
		for limit := range 4 {
			t.Run(fmt.Sprintf("%s by %d", tc.name, limit), func(t *testing.T) {
				q := tc.query
				q.Kind, q.Limit = "k", limit
				var got []string
				for {
					p, err := h.Rows(t.Context(), tc.scope, q)
					if err != nil {
						t.Fatalf("Rows() = %v", err)
					}
					for _, r := range p.Rows {
						got = append(got, string(r.Key))
					}
					if q.Cursor = p.Next; q.Cursor == "" {
						break
					}
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("Rows() (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestDueClaimDelete(t *testing.T) {
	t.Parallel()
	db, h := open(t)
	ctx := t.Context()
	c := create(alice)
	c.Rows = []store.RowChange{{Kind: "k", Key: []byte("a")}}
	c.Due = []store.DueChange{
		{Time: 2, Kind: "d", Payload: []byte("first")},
		{Time: 2, Kind: "d", Payload: []byte("second")}, // changes nothing
		{Time: 1, Kind: "d"},
		{Time: 9, Kind: "d", Delete: true}, // is not there
	}
	c.Audit = [][]byte{[]byte("one"), []byte("two")}
	must(t, h.Append(ctx, c))
	due, next, err := h.Due(ctx, 2, "", 1)
	if err != nil || len(due) != 1 || due[0].Time != 1 || next != 2 {
		t.Errorf("Due() = %v, %d, %v, want one row, next at 2", due, next, err)
	}
	due, next, err = h.Due(ctx, 2, due[0].Position, 10)
	if err != nil || len(due) != 1 || string(due[0].Payload) != "first" || next != 0 {
		t.Errorf("Due() = %v, %d, %v, want the other row and no more", due, next, err)
	}

	if claimed, err := h.Claim(ctx, 10); err != nil || len(claimed) != 0 {
		t.Errorf("Claim() of its own = %v, %v, want none", claimed, err)
	}
	later := newHandle(t, db)
	wake, stop := h.Watch(alice, c.Task)
	claimed, err := later.Claim(ctx, 10)
	if err != nil || len(claimed) != 1 || claimed[0].Fence != 2 || claimed[0].Rev != 2 {
		t.Errorf("Claim() = %v, %v, want one task with fence 2 and rev 2", claimed, err)
	}
	<-wake
	wantErr(t, h.Append(ctx, &store.Batch{Scope: alice, Task: c.Task, Fence: new(uint64(1))}), store.ErrFenced)

	rev := uint64(2)
	remove := &store.Batch{Scope: store.System(), Task: c.Task, Rev: &rev, Change: store.Change{Phase: store.Final}}
	for range c.Due[:2] {
		if err := h.Delete(ctx, alice, c.Task, nil); !errors.Is(err, store.ErrBusy) {
			t.Errorf("Delete() = %v, want busy", err)
		}
		must(t, later.Append(ctx, remove))
		rev++
		remove.Change.Phase = 0
		remove.Due = []store.DueChange{{Time: 1, Kind: "d", Delete: true}, {Time: 2, Kind: "d", Delete: true}}
	}
	if err := h.Delete(ctx, bob, c.Task, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Delete() = %v, want not found", err)
	}
	if err := h.Delete(ctx, alice, c.Task, nil); err != nil {
		t.Errorf("Delete() = %v", err)
	}
	<-wake
	stop()
	stop()
	if len(db.tasks)+db.rows.Len()+db.due.Len()+len(db.watchers) != 0 {
		t.Errorf("%d tasks, %d rows, %d due rows, %d watchers are left", len(db.tasks), db.rows.Len(), db.due.Len(), len(db.watchers))
	}
	entries, err := h.Audit(ctx, 1, 10)
	if err != nil || len(entries) != 1 || entries[0].N != 2 || entries[0].Task != c.Task {
		t.Errorf("Audit() = %v, %v, want entry 2", entries, err)
	}
}

func TestWatchScope(t *testing.T) {
	t.Parallel()
	_, h := open(t)
	c := create(alice)
	want := map[store.Scope]int{alice: 1, store.Tenant("acme"): 1, store.System(): 1, bob: 0, eve: 0, {}: 0}
	wakes := make(map[store.Scope]<-chan struct{})
	for scope := range want {
		wake, stop := h.Watch(scope, c.Task)
		t.Cleanup(stop)
		wakes[scope] = wake
	}
	must(t, h.Append(t.Context(), c))
	must(t, h.Append(t.Context(), &store.Batch{Scope: alice, Task: c.Task, Fence: new(uint64(1))}))
	for scope, wake := range wakes {
		if len(wake) != want[scope] {
			t.Errorf("%d wake-ups of %v, want %d", len(wake), scope, want[scope])
		}
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	db, h := open(t)
	single := newHandle(t, db)
	c := create(alice)
	must(t, h.Append(t.Context(), c))
	_ = single.Close()
	wantErr(t, single.Append(t.Context(), create(alice)), store.ErrClosed)
	read(t, h, c.Task, store.AtSnapshot(), store.Limit{})

	_ = db.Close()
	if _, err := db.Handle(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Handle() = %v, want closed", err)
	}
	db.Reopen()
	wantErr(t, h.Append(t.Context(), create(alice)), store.ErrClosed)
	fresh := newHandle(t, db)
	read(t, fresh, c.Task, store.AtSnapshot(), store.Limit{})
	if claimed, err := fresh.Claim(t.Context(), 1); err != nil || len(claimed) != 1 {
		t.Errorf("Claim() = %v, %v, want the task of before", claimed, err)
	}
}
