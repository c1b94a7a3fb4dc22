package layout

import (
	"encoding/binary"
	"fmt"

	"a2a-server/store"
)

// HeaderValue is a header with the fields that only this package needs.
type HeaderValue struct {
	store.Header
	LastAt     uint64 // position of its newest log value, 0: none
	Values     uint64 // number of its log values
	SnapshotAt uint64 // position of the value with the newest snapshot, 0: none
	BulkAt     uint64 // position of the value with the newest snapshot bulk, 0: none
	Deleting   bool
}

// Visible reports whether the task can be seen.
func (t *HeaderValue) Visible() bool { return t.Rev > 0 && !t.Deleting }

// headerVersion is the version of a header.
const headerVersion = 1

// Append appends the value to b, without its checksum.
func (t *HeaderValue) Append(b []byte) []byte {
	h := &t.Header
	deleting := byte(0)
	if t.Deleting {
		deleting = 1
	}
	b = append(b, headerVersion, deleting, byte(h.Phase), byte(h.State))
	for _, n := range [...]uint64{uint64(h.StatusTime), h.Seq, h.Pub, h.Rev, h.Fence, h.Epoch, uint64(h.Pending), uint64(h.Due), h.Bytes, h.Snapshot, t.LastAt, t.Values, t.SnapshotAt, h.Bulk, h.BulkSnapshot, t.BulkAt} {
		b = binary.AppendUvarint(b, n)
	}
	b = appendBytes(b, h.Owner.TenantName())
	b = appendBytes(b, h.Owner.Subject())
	return appendBytes(b, h.Context)
}

// DecodeHeader decodes the header of a task.
func DecodeHeader(id store.TaskID, value []byte) (HeaderValue, error) {
	var t HeaderValue
	r := NewReader(BucketTask, id[:], value)
	r.version("header", headerVersion)
	t.Deleting = r.byte() == 1
	t.Task, t.Phase, t.State = id, store.Phase(r.byte()), store.State(r.byte())
	t.StatusTime = store.Millis(r.Uint())
	t.Seq, t.Pub, t.Rev, t.Fence, t.Epoch = r.Uint(), r.Uint(), r.Uint(), r.Uint(), r.Uint()
	t.Pending, t.Due, t.Bytes, t.Header.Snapshot = uint32(r.Uint()), uint32(r.Uint()), r.Uint(), r.Uint()
	t.LastAt, t.Values, t.SnapshotAt = r.Uint(), r.Uint(), r.Uint()
	t.Bulk, t.BulkSnapshot, t.BulkAt = r.Uint(), r.Uint(), r.Uint()
	tenant := r.string()
	t.Owner = store.Owner(tenant, r.string())
	t.Context = r.string()
	if r.end(); r.Err != nil {
		return HeaderValue{}, fmt.Errorf("header of task %s: %w", id, r.Err)
	}
	return t, nil
}

// Newest returns the place of the task's newest value.
func (t *HeaderValue) Newest() Place { return Place{t.LastAt, t.Values} }
