package boltstore

import (
	"encoding/binary"
	"fmt"
	"slices"

	"a2a-server/store"
)

// reader decodes the values of the file. The first thing that does not fit makes
// it fail for good; callers check err once, at the end.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail() {
	if r.err == nil {
		r.err = fmt.Errorf("%w: a value ends too early", store.ErrDataLoss)
	}
	r.b = nil
}

func (r *reader) uint() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// take returns the next n bytes, not copied.
func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	p := r.b[:n:n]
	r.b = r.b[n:]
	return p
}

func (r *reader) bytes() []byte  { return r.take(r.uint()) }
func (r *reader) string() string { return string(r.bytes()) }
func (r *reader) id() (id [16]byte) {
	copy(id[:], r.take(16))
	return id
}

// version reads a version, which must be in known.
func (r *reader) version(what string, known ...byte) byte {
	v := r.byte()
	if r.err == nil && !slices.Contains(known, v) {
		r.err = fmt.Errorf("%w: %s has unknown version %d", store.ErrDataLoss, what, v)
		r.b = nil
	}
	return v
}

// end fails unless everything has been read.
func (r *reader) end() {
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("%w: a value has bytes after its end", store.ErrDataLoss)
	}
}

func appendBytes[T ~string | ~[]byte](b []byte, p T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(p))), p...)
}

// record is a header with the fields that only this package needs.
type record struct {
	store.Header
	last     uint64 // position of its newest log value, 0: none
	values   uint64 // number of its log values
	snapshot uint64 // position of the value with the newest snapshot, 0: none
	bulk     uint64 // position of the value with the newest snapshot bulk, 0: none
	deleting bool
}

// recordVersion is the version of a header.
const recordVersion = 4

func (t *record) append(b []byte) []byte {
	h := &t.Header
	deleting := byte(0)
	if t.deleting {
		deleting = 1
	}
	b = append(b, recordVersion, deleting, byte(h.Phase), byte(h.State))
	b = append(b, h.Message[:]...)
	for _, n := range [...]uint64{uint64(h.StatusTime), h.Seq, h.Pub, h.Rev, h.Fence, h.Epoch, uint64(h.Pending), uint64(h.Due), h.Bytes, h.Snapshot, t.last, t.values, t.snapshot, h.Bulk, h.BulkSnapshot, t.bulk} {
		b = binary.AppendUvarint(b, n)
	}
	b = appendBytes(b, h.Owner.TenantName())
	b = appendBytes(b, h.Owner.Subject())
	return appendBytes(b, h.Context)
}

func decodeRecord(id store.TaskID, value []byte) (record, error) {
	var t record
	r := open(bucketTask, id[:], value)
	r.version("header", recordVersion)
	t.deleting = r.byte() == 1
	t.Task, t.Phase, t.State, t.Message = id, store.Phase(r.byte()), store.State(r.byte()), r.id()
	t.StatusTime = store.Millis(r.uint())
	t.Seq, t.Pub, t.Rev, t.Fence, t.Epoch = r.uint(), r.uint(), r.uint(), r.uint(), r.uint()
	t.Pending, t.Due, t.Bytes, t.Header.Snapshot = uint32(r.uint()), uint32(r.uint()), r.uint(), r.uint()
	t.last, t.values, t.snapshot = r.uint(), r.uint(), r.uint()
	t.Bulk, t.BulkSnapshot, t.bulk = r.uint(), r.uint(), r.uint()
	tenant := r.string()
	t.Owner = store.Owner(tenant, r.string())
	t.Context = r.string()
	if r.end(); r.err != nil {
		return record{}, fmt.Errorf("header of task %s: %w", id, r.err)
	}
	return t, nil
}

// head is the beginning of a log value, which holds the events of a commit for a task.
type head struct {
	task     store.TaskID
	k        uint64 // 1, 2, 3 … within the task
	prev     uint64 // position of value k-1, 0: none
	jump     uint64 // position of value k-lowbit(k), 0: none
	first    uint64 // seq of the first event, or its would-be seq without events
	pub      uint64 // last pub before the value
	events   uint64
	snapshot bool // a snapshot follows the events
	bulk     bool // the bulk of a snapshot follows that
	onlyBulk bool // all events are bulk: a reader without it passes the value over

	compressed bool // the bytes after the head are compressed
}

// The versions of a log value. In valueCompressed, the bytes after the head are compressed. A
// checksum ends the head, and another checksum the value.
const (
	valueVersion    = 4
	valueCompressed = 5
)

// The flags of a value and of an event.
const (
	flagSnapshot = 1 << iota
	flagBulkSnapshot
	flagOnlyBulk

	flagPublic = 1
	flagBulk   = 2
)

func flag(on bool, bit byte) byte {
	if on {
		return bit
	}
	return 0
}

// append writes the head of the value at key. It begins the value.
func (h *head) append(b, key []byte) []byte {
	start := len(b)
	flags := flag(h.snapshot, flagSnapshot) | flag(h.bulk, flagBulkSnapshot) | flag(h.onlyBulk, flagOnlyBulk)
	version := byte(valueVersion)
	if h.compressed {
		version = valueCompressed
	}
	b = append(b, version, flags)
	b = append(b, h.task[:]...)
	for _, n := range [...]uint64{h.k, h.prev, h.jump, h.first, h.pub, h.events} {
		b = binary.AppendUvarint(b, n)
	}
	return appendSum(b, start, bucketLog, key)
}

// head reads the head of the value at key, and checks its sum if that is asked for.
func (r *reader) head(key []byte, check bool) (h head) {
	whole := r.b
	h.compressed = r.version("log value", valueVersion, valueCompressed) == valueCompressed
	flags := r.byte()
	h.snapshot, h.bulk, h.onlyBulk = flags&flagSnapshot != 0, flags&flagBulkSnapshot != 0, flags&flagOnlyBulk != 0
	h.task = r.id()
	h.k, h.prev, h.jump, h.first, h.pub, h.events = r.uint(), r.uint(), r.uint(), r.uint(), r.uint(), r.uint()
	if r.take(sumSize); r.err == nil && check {
		_, r.err = unseal(bucketLog, key, whole[:len(whole)-len(r.b)])
	}
	return h
}

func appendEvent(b []byte, e *store.Event) []byte {
	b = append(b, flag(e.Public, flagPublic)|flag(e.Bulk, flagBulk))
	b = appendBytes(b, e.Kind)
	b = binary.AppendUvarint(b, uint64(e.Time))
	return appendBytes(b, e.Data)
}

// event reads the next event; Data is not copied, Seq and Pub are not set.
func (r *reader) event() (e store.Event) {
	flags := r.byte()
	e.Public, e.Bulk = flags&flagPublic != 0, flags&flagBulk != 0
	e.Kind = r.string()
	e.Time = store.Millis(r.uint())
	e.Data = r.bytes()
	return e
}

// rowValue is the value of the row bucket.
type rowValue struct {
	rev     uint64
	owner   store.Scope // of a row without a task
	context string      // of a row of a context
	index   []store.IndexKey
	value   []byte
	packed  []byte // value, compressed; nil: it is written as it is
}

// The versions of a row: rowContext for rows of a context, rowVersion for all other rows; with
// rowCompressed added, the value is compressed.
const (
	rowVersion    = 2
	rowContext    = 4
	rowCompressed = 8
)

func (v *rowValue) append(b []byte) []byte {
	version := byte(rowVersion)
	if v.context != "" {
		version = rowContext
	}
	value := v.value
	if v.packed != nil {
		version, value = version|rowCompressed, v.packed
	}
	b = append(b, version)
	b = binary.AppendUvarint(b, v.rev)
	b = appendBytes(b, v.owner.TenantName())
	b = appendBytes(b, v.owner.Subject())
	if v.context != "" {
		b = appendBytes(b, v.context)
	}
	b = binary.AppendUvarint(b, uint64(len(v.index)))
	for _, ix := range v.index {
		b = appendBytes(appendBytes(b, ix.Index), ix.Key)
	}
	return append(b, value...)
}

// decodeRow decodes the row at key. It copies only compressed values.
func decodeRow(key, b []byte) (v rowValue, err error) {
	r := open(bucketRow, key, b)
	version := r.version("row", rowVersion, rowContext, rowVersion|rowCompressed, rowContext|rowCompressed)
	v.rev = r.uint()
	tenant := r.string()
	v.owner = store.Owner(tenant, r.string())
	if version&^rowCompressed == rowContext {
		v.context = r.string()
	}
	for range r.uint() {
		if r.err != nil {
			break
		}
		name := r.string()
		v.index = append(v.index, store.IndexKey{Index: name, Key: r.bytes()})
	}
	if r.err == nil && version&rowCompressed != 0 {
		r.expand()
	}
	if v.value = r.b; r.err != nil {
		return rowValue{}, fmt.Errorf("row %x: %w", key, r.err)
	}
	return v, nil
}
