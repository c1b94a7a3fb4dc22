package layout

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"a2a-server/store"
)

// LogHead is the beginning of a log value, which holds the events of a commit for a task.
type LogHead struct {
	Task     store.TaskID
	K        uint64 // 1, 2, 3 … within the task
	Prev     uint64 // position of value k-1, 0: none
	Jump     uint64 // position of value k-lowbit(k), 0: none
	First    uint64 // seq of the first event, or its would-be seq without events
	Pub      uint64 // last pub before the value
	Events   uint64
	Snapshot bool // a snapshot follows the events
	Bulk     bool // the bulk of a snapshot follows that
	OnlyBulk bool // all events are bulk: a reader without it passes the value over

	Compressed bool // the bytes after the head are compressed
}

// valueVersion is the version of a log value. A checksum ends its head, and another checksum the value.
const valueVersion = 1

// The flags of a value and of an event.
const (
	flagSnapshot = 1 << iota
	flagBulkSnapshot
	flagOnlyBulk
	flagCompressed

	flagPublic = 1
	flagBulk   = 2
)

func flag(on bool, bit byte) byte {
	if on {
		return bit
	}
	return 0
}

// Append writes the head of the value at key. It begins the value.
func (h *LogHead) Append(b, key []byte) []byte {
	start := len(b)
	flags := flag(h.Snapshot, flagSnapshot) | flag(h.Bulk, flagBulkSnapshot) | flag(h.OnlyBulk, flagOnlyBulk) | flag(h.Compressed, flagCompressed)
	b = append(b, valueVersion, flags)
	b = append(b, h.Task[:]...)
	for _, n := range [...]uint64{h.K, h.Prev, h.Jump, h.First, h.Pub, h.Events} {
		b = binary.AppendUvarint(b, n)
	}
	return AppendSum(b, start, BucketLog, key)
}

// Head reads the head of the value at key, and checks its sum if that is asked for.
func (r *Reader) Head(key []byte, check bool) (h LogHead) {
	value := r.b
	r.version("log value", valueVersion)
	flags := r.byte()
	h.Snapshot, h.Bulk, h.OnlyBulk, h.Compressed = flags&flagSnapshot != 0, flags&flagBulkSnapshot != 0, flags&flagOnlyBulk != 0, flags&flagCompressed != 0
	h.Task = r.id()
	h.K, h.Prev, h.Jump, h.First, h.Pub, h.Events = r.Uint(), r.Uint(), r.Uint(), r.Uint(), r.Uint(), r.Uint()
	if r.take(sumSize); r.Err == nil && check {
		_, r.Err = Unseal(BucketLog, key, value[:len(value)-len(r.b)])
	}
	return h
}

// AppendEvent appends an event of a log value.
func AppendEvent(b []byte, e *store.Event) []byte {
	b = append(b, flag(e.Public, flagPublic)|flag(e.Bulk, flagBulk))
	b = appendBytes(b, e.Kind)
	b = binary.AppendUvarint(b, uint64(e.Time))
	return appendBytes(b, e.Data)
}

// Event reads the next event; Data is not copied, Seq and Pub are not set.
func (r *Reader) Event() (e store.Event) {
	flags := r.byte()
	e.Public, e.Bulk = flags&flagPublic != 0, flags&flagBulk != 0
	e.Kind = r.string()
	e.Time = store.Millis(r.Uint())
	e.Data = r.Bytes()
	return e
}

// AppendSnapshot appends a snapshot, or its bulk, which holds all events up to seq after.
func AppendSnapshot(b []byte, after uint64, snapshot []byte) []byte {
	return appendBytes(binary.AppendUvarint(b, after), snapshot)
}

// ReadHead reads only the head of a task's value at position, which must be number k: a
// walk looks at many heads to find a few values.
func ReadHead(log Values, task store.TaskID, position, k uint64) (LogHead, error) {
	key := U64(position)
	r := Reader{b: log.Get(key)}
	h := r.Head(key, true /* check */)
	if r.Err == nil && (h.Task != task || h.K != k) {
		r.Err = fmt.Errorf("%w: it is number %d of task %s", store.ErrDataLoss, h.K, h.Task)
	}
	if r.Err != nil {
		return LogHead{}, fmt.Errorf("log value at %d, number %d of task %s: %w", position, k, task, r.Err)
	}
	return h, nil
}

// ReadValue reads the whole of a task's value at position, and returns its head and a
// reader positioned at its first event.
func ReadValue(log Values, task store.TaskID, position uint64) (LogHead, Reader, error) {
	key := U64(position)
	r := NewReader(BucketLog, key, log.Get(key))
	h := r.Head(key, false /* check */)
	if r.Err == nil && h.Task != task {
		r.Err = fmt.Errorf("%w: it is of task %s", store.ErrDataLoss, h.Task)
	}
	if r.Err == nil && h.Compressed {
		r.Expand()
	}
	if r.Err != nil {
		return LogHead{}, r, fmt.Errorf("log value at %d, of task %s: %w", position, task, r.Err)
	}
	return h, r, nil
}

// Place is where a value of a task is: its position and its number.
type Place struct{ Position, K uint64 }

// Before and far return the places that a head names.
func (h *LogHead) Before() Place { return Place{h.Prev, h.K - 1} }

// Far returns the place of value k-lowbit(k).
func (h *LogHead) Far() Place { return Place{h.Jump, h.K - 1<<bits.TrailingZeros64(h.K)} }

// Values is a bucket that is read only by key.
type Values interface{ Get(key []byte) []byte }
