package boltstore_test

import (
	"bytes"
	"errors"
	"math/bits"
	"testing"

	"a2a-server/store"
)

// The key of the newest log value, or audit entry, says where the next one goes. When it was
// changed on the disk, nothing that is there is written over.
func TestDamagedNewestKey(t *testing.T) {
	t.Parallel()
	for name, bucket := range map[string]string{"small log": "log", "small audit": "audit", "log": "log"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, rests, other, live := newDamaged(t)
			for n := 100; name == "log"; n = 1 { // pages of its own, which are proven
				fill(t, d.h, anonymous, n)
				d.open(t)
				if keys, _ := d.values(t, bucket); keys[len(keys)-1][7]&2 != 0 {
					break
				}
			}
			for _, id := range []store.TaskID{rests, other, live} {
				need(d.read(t, id))
			}
			audit, ok := d.h.(store.AuditLog)
			if !ok {
				t.Fatal("the store has no audit")
			}
			before := must(audit.Audit(t.Context(), 0, 0))
			keys, values := d.values(t, bucket)
			last := len(keys) - 1
			bad := bytes.Clone(keys[last])
			lower := byte(2) // by how much
			if name != "log" {
				lower = 1 << (bits.Len8(bad[7]) - 1)
			}
			bad[7] ^= lower
			d.put(t, append(bad, values[last]...), append(bytes.Clone(keys[last]), values[last]...))
			create := func() error {
				b, _ := turn(anonymous)
				b.Audit = [][]byte{[]byte("new")}
				_, err := d.h.Append(t.Context(), b).Wait()
				return err
			}
			for range 2 {
				if err := create(); !errors.Is(err, store.ErrReadOnly) {
					t.Errorf("Append() = %v, want ErrReadOnly", err)
				}
			}
			damagedTasks := 0
			for _, id := range []store.TaskID{rests, other, live} {
				if err := d.read(t, id); err != nil {
					damagedTasks++
				}
			}
			if damagedTasks > 1 {
				t.Errorf("%d tasks cannot be read, want one at most", damagedTasks)
			}
			after, err := audit.Audit(t.Context(), 0, 0)
			if errors.Is(err, store.ErrDataLoss) && bucket == "audit" {
				return // its page is damaged
			}
			if err != nil || len(after) != len(before) || bucket == "audit" && !bytes.Equal(after[0].Data, before[0].Data) {
				t.Errorf("Audit() = %v, %v, was %v", after, err, before)
			}
		})
	}
}
