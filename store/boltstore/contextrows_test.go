package boltstore_test

import (
	"errors"
	"testing"

	"a2a-server/store"
)

// A damaged row of a context is listed as one to the owner of the context, and nothing is
// written on top of what cannot be read.
func TestDamagedContextRow(t *testing.T) {
	t.Parallel()
	d, rests, other, _ := newDamaged(t)
	rev := map[store.TaskID]uint64{rests: 3, other: 3}
	write := func(id store.TaskID, bound store.RowBound, rows ...store.RowChange) error {
		for i := range rows {
			rows[i].Kind, rows[i].IfRev, rows[i].OfContext = "state", store.Any, true
		}
		_, err := d.h.Append(t.Context(), &store.Batch{Scope: store.System(), Task: id, Rev: new(rev[id]), Rows: rows, ContextRows: bound}).Wait()
		if err == nil {
			rev[id]++
		}
		return err
	}
	index := []store.IndexKey{{Index: "index", Key: []byte("entry")}}
	need(write(rests, store.RowBound{}, store.RowChange{Key: []byte("bad"), Value: []byte("is damaged"), Index: index}, store.RowChange{Key: []byte("good"), Value: []byte("is whole"), Index: index}))
	d.open(t)
	check := func(t *testing.T) {
		t.Helper()
		for _, q := range []store.RowQuery{{Kind: "state", Context: "context"}, {Kind: "state", Context: "context", Index: "index"}} {
			page, err := d.h.Rows(t.Context(), alice, q)
			if err != nil || len(page.Rows) != 2 {
				t.Fatalf("Rows(%+v) = %d rows, %v, want 2", q, len(page.Rows), err)
			}
			for _, row := range page.Rows {
				if row.Damaged != (string(row.Key) == "bad") || row.Context != "context" || row.Damaged && row.Value != nil {
					t.Errorf("Rows(%+v) has %+v", q, row)
				}
			}
		}
		if _, err := d.h.Rows(t.Context(), alice, store.RowQuery{Kind: "state", Context: "context", Key: []byte("bad")}); !errors.Is(err, store.ErrDataLoss) {
			t.Errorf("Rows() by its key = %v, want ErrDataLoss", err)
		}
	}
	keys, values := d.values(t, "row")
	whole := find(t, keys, values, []byte("is damaged"))
	d.eachBit(t, whole, check)
	d.changeByte(t, "row", []byte("is damaged"))
	bound := store.RowBound{Bytes: 1 << 10}
	for name, err := range map[string]error{
		"to the row":           write(rests, store.RowBound{}, store.RowChange{Key: []byte("bad")}),
		"within a bound":       write(rests, bound, store.RowChange{Key: []byte("good")}),
		"by another task":      write(other, bound, store.RowChange{Key: []byte("new")}),
		"that removes the row": write(other, store.RowBound{}, store.RowChange{Key: []byte("bad"), Delete: true}),
	} {
		if !errors.Is(err, store.ErrDataLoss) {
			t.Errorf("Append() %s = %v, want ErrDataLoss", name, err)
		}
	}
	if err := write(other, store.RowBound{}, store.RowChange{Key: []byte("good"), Value: []byte("is written"), Index: index}); err != nil {
		t.Errorf("Append() to another row = %v, want nil", err)
	}
	if _, err := d.h.Append(t.Context(), &store.Batch{Scope: alice, Task: rests, Rev: new(rev[rests])}).Wait(); err != nil {
		t.Errorf("Append() without the row = %v, want nil", err)
	}
	check(t)
}
