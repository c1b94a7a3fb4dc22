package boltstore_test

import (
	"bytes"
	"math/bits"
	"testing"

	"a2a-server/store"
)

// The key of the newest log value, or audit entry, says where the next one goes. When it was
// changed on the disk, nothing that is there is written over: the store ends, and the next process
// refuses the file.
func TestDamagedNewestKey(t *testing.T) {
	t.Parallel()
	for name, bucket := range map[string]string{"small log": "log", "small audit": "audit", "log": "log"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _, _, _ := newDamaged(t)
			for n := 100; name == "log"; n = 1 { // pages of its own, which are proven
				fill(t, d.h, anonymous, n)
				d.open(t)
				if keys, _ := d.values(t, bucket); keys[len(keys)-1][7]&2 != 0 {
					break
				}
			}
			keys, values := d.values(t, bucket)
			last := len(keys) - 1
			bad := bytes.Clone(keys[last])
			lower := byte(2) // by how much
			if name != "log" {
				lower = 1 << (bits.Len8(bad[7]) - 1)
			}
			bad[7] ^= lower
			d.put(t, append(bad, values[last]...), append(bytes.Clone(keys[last]), values[last]...))
			b, _ := turn(anonymous)
			b.Audit = [][]byte{[]byte("new")}
			refuses(t, d.h, b, store.ErrDamaged)
			hasFailed(t, d.db, d.h, d.path)
			refused(t, afterEnd(t, d.path), "of "+bucket, "order")
		})
	}
}
