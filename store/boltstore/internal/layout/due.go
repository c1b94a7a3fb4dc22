package layout

import (
	"bytes"
	"encoding/binary"

	"a2a-server/store"
)

// DecodeDue returns the row at k, copied.
func DecodeDue(k, v []byte) store.Due {
	d := store.Due{Position: store.DuePosition(k), Damaged: true}
	if len(k) < 8 {
		return d
	}
	d.Time = store.Millis(binary.BigEndian.Uint64(k))
	task, rest, ok := CutOwner(k[8:])
	var kind []byte
	if ok {
		kind, rest, ok = CutWord(rest)
	}
	if !ok {
		return d
	}
	d.Task, d.Kind, d.Key = task, string(kind), bytes.Clone(rest)
	payload, err := Unseal(BucketDue, k, v)
	if err != nil {
		return d
	}
	d.Payload, d.Damaged = append([]byte{}, payload...), false
	return d
}
