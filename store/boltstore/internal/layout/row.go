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

// The versions of a row: rowContext for rows of a context, rowVersion for all other rows; with
// rowCompressed added, the value is compressed.
const (
	rowVersion    = 2
	rowContext    = 4
	rowCompressed = 8
)

// Append appends the value to b, without its checksum.
func (v *RowValue) Append(b []byte) []byte {
	version := byte(rowVersion)
	if v.Context != "" {
		version = rowContext
	}
	value := v.Value
	if v.Packed != nil {
		version, value = version|rowCompressed, v.Packed
	}
	b = append(b, version)
	b = binary.AppendUvarint(b, v.Rev)
	b = appendBytes(b, v.Owner.TenantName())
	b = appendBytes(b, v.Owner.Subject())
	if v.Context != "" {
		b = appendBytes(b, v.Context)
	}
	b = binary.AppendUvarint(b, uint64(len(v.Index)))
	for _, ix := range v.Index {
		b = appendBytes(appendBytes(b, ix.Index), ix.Key)
	}
	return append(b, value...)
}

// DecodeRow decodes the row at key. It copies only compressed values.
func DecodeRow(key, b []byte) (v RowValue, err error) {
	r := NewReader(BucketRow, key, b)
	version := r.version("row", rowVersion, rowContext, rowVersion|rowCompressed, rowContext|rowCompressed)
	v.Rev = r.Uint()
	tenant := r.string()
	v.Owner = store.Owner(tenant, r.string())
	if version&^rowCompressed == rowContext {
		v.Context = r.string()
	}
	for range r.Uint() {
		if r.Err != nil {
			break
		}
		name := r.string()
		v.Index = append(v.Index, store.IndexKey{Index: name, Key: r.Bytes()})
	}
	if r.Err == nil && version&rowCompressed != 0 {
		r.Expand()
	}
	if v.Value = r.b; r.Err != nil {
		return RowValue{}, fmt.Errorf("row %x: %w", key, r.Err)
	}
	return v, nil
}
