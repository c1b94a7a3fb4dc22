package layout

import (
	"encoding/binary"
	"fmt"

	"a2a-server/store"
)

// RowValue is the value of the row bucket.
type RowValue struct {
	Rev     uint64
	Owner   store.Scope // of a row without a task
	Context string      // of a row of a context
	Index   []store.IndexKey
	Value   []byte
	Packed  []byte // value, compressed; nil: it is written as it is
}

// rowVersion is the version of a row, and flagPacked the flag of a row whose value is compressed.
const (
	rowVersion = 1
	flagPacked = 1
)

// Append appends the value to b, without its checksum.
func (v *RowValue) Append(b []byte) []byte {
	value := v.Value
	if v.Packed != nil {
		value = v.Packed
	}
	b = append(b, rowVersion, flag(v.Packed != nil, flagPacked))
	b = binary.AppendUvarint(b, v.Rev)
	b = appendBytes(b, v.Owner.TenantName())
	b = appendBytes(b, v.Owner.Subject())
	b = appendBytes(b, v.Context)
	b = binary.AppendUvarint(b, uint64(len(v.Index)))
	for _, ix := range v.Index {
		b = appendBytes(appendBytes(b, ix.Index), ix.Key)
	}
	return append(b, value...)
}

// DecodeRow decodes the row at key. It copies only compressed values.
func DecodeRow(key, b []byte) (v RowValue, err error) {
	r := NewReader(BucketRow, key, b)
	r.version("row", rowVersion)
	flags := r.byte()
	v.Rev = r.Uint()
	tenant := r.string()
	v.Owner = store.Owner(tenant, r.string())
	v.Context = r.string()
	for range r.Uint() {
		if r.Err != nil {
			break
		}
		name := r.string()
		v.Index = append(v.Index, store.IndexKey{Index: name, Key: r.Bytes()})
	}
	if r.Err == nil && flags&flagPacked != 0 {
		r.Expand()
	}
	if v.Value = r.b; r.Err != nil {
		return RowValue{}, fmt.Errorf("row %x: %w", key, r.Err)
	}
	return v, nil
}
