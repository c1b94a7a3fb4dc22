package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"a2a-server/store"
)

// All goroutines append to the same task: receipts must be a partition of the log, and each
// batch contiguous.
func testOneTask(t *testing.T, f *fixture) {
	const writers, batches = 16, 40
	b := create(alice())
	f.append(t, b)
	receipts := make([][batches]store.Receipt, writers)
	batch := func(i, n int) []store.Event { return mixed(1+n%4, fmt.Sprint(i, " ", n)) }
	parallel(t, writers, func(i int) error {
		var commits []*store.Commit
		for n := range batches {
			commits = append(commits, f.h[i%2].Append(t.Context(), chunks(b.Task, 1, batch(i, n)...)))
			if n%8 == 0 {
				_, _ = await(commits[n])
			}
		}
		for n, c := range commits {
			var err error
			if receipts[i][n], err = await(c); err != nil {
				return err
			}
		}
		return nil
	})
	var want []store.Event
	for i, rs := range receipts {
		for n, r := range rs {
			events := batch(i, n)
			if n > 0 && r.First <= rs[n-1].Last || r.Last != r.First+uint64(len(events))-1 {
				t.Fatalf("writer %d: batch %d of %d events is %+v, the one before it %+v", i, n, len(events), r, rs[max(n, 1)-1])
			}
			for k, e := range events {
				e.Seq = r.First + uint64(k)
				want = append(want, e)
			}
		}
	}
	slices.SortFunc(want, func(a, b store.Event) int { return int(a.Seq) - int(b.Seq) })
	for i := range want {
		if want[i].Seq != uint64(i)+1 {
			t.Fatalf("receipts have seq %d where %d belongs", want[i].Seq, i+1)
		}
	}
	var log history
	log.add(want...)
	f.checkLog(t, b.Task, log.events)
	for _, rs := range receipts {
		for _, r := range rs {
			var before history
			before.add(want[:r.Last]...)
			if r.Pub != before.pub {
				t.Fatalf("receipt %+v has pub %d, want %d", r, r.Pub, before.pub)
			}
		}
	}
	if got := f.header(t, b.Task); got.Seq != uint64(len(want)) || got.Pub != log.pub || got.Rev != 1 {
		t.Errorf("header = %+v, want seq %d, pub %d, rev 1", got, len(want), log.pub)
	}
}

// Every method at once, for the race detector. Each result must be consistent in itself.
func testEverythingAtOnce(t *testing.T, f *fixture) {
	const rounds = 30
	ids := make([]store.TaskID, 4)
	for i := range ids {
		b := with(create(alice(), public("first")), put("kind", "key", 0, "", indexed("index", fmt.Sprint(i))))
		f.append(t, b)
		ids[i] = b.Task
	}
	parallel(t, 12, func(i int) error {
		ctx, h, id := t.Context(), f.h[i%2], ids[i%4]
		wake, stop := h.Watch(alice(), id)
		defer stop()
		for n := range rounds {
			header, err := readHeader(ctx, h, id)
			if err != nil {
				return err
			}
			b := with(change(id, header.Rev, mixed(3, "event")...), put("kind", "key", store.Any, fmt.Sprint(n), indexed("index", fmt.Sprint(i))),
				dueAt(store.Millis(n+1), "key", ""), dueGone(store.Millis(n), "key"), "entry", status(2, store.Millis(2000+n)))
			if _, err := do(ctx, h, b); err != nil && !errors.Is(err, store.ErrConflict) {
				return fmt.Errorf("Append() = %w, want nil or %w", err, store.ErrConflict)
			}
			if _, err := readLog(ctx, h, alice(), id, store.After(0), store.Limit{Events: 40}); err != nil {
				return err
			}
			if tasks, total, err := listAll(ctx, h, alice(), store.Query{Context: "context"}); err != nil || total != 4 || len(tasks) != 4 {
				return fmt.Errorf("Tasks() = %d tasks, total %d, %s, want 4", len(tasks), total, said(err))
			}
			if rows, err := rowsAll(ctx, h, alice(), store.RowQuery{Kind: "kind", Index: "index"}); err != nil || len(rows) != 4 {
				return fmt.Errorf("Rows() = %d rows, %s, want 4", len(rows), said(err))
			}
			if _, _, err := h.Due(ctx, endless, "", 100); err != nil {
				return err
			}
			entries, err := h.Audit(ctx, 0, 10_000)
			if err != nil {
				return err
			}
			for k, e := range entries {
				if e.N != uint64(k)+1 {
					return fmt.Errorf("audit entry %d has number %d", k, e.N)
				}
			}
			select {
			case <-wake:
			default:
			}
		}
		return nil
	})
}
