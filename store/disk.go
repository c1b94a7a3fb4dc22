package store

import "fmt"

// Disk is disk usage, or a limit on it, in bytes.
type Disk struct {
	// Owner counts the tasks of an owner: the event data in their logs, plus [TaskBytes] for
	// each, and the keys and values of the rows of its contexts. On disk, with snapshots and
	// indexes, they take up to about twice as much.
	Owner uint64
	// All counts the whole store: for a file its size without its free pages, in memory the
	// usage of all owners.
	All uint64
}

// TaskBytes is roughly the size of a task in addition to the event data in its log: its
// header, its index entries and its rows.
const TaskBytes = 2 << 10

// DiskError says that a create would exceed Batch.Disk.
type DiskError struct {
	Used, Limit uint64
	All         bool // the limit of the whole store; else the owner's
}

// Error names the usage and the limit.
func (e *DiskError) Error() string {
	whose := "the owner's tasks use"
	if e.All {
		whose = "the store uses"
	}
	return fmt.Sprintf("%s %d bytes of the disk, and a new task would exceed the limit of %d", whose, e.Used, e.Limit)
}

// diskBytes returns how many bytes b adds to its owner's usage.
func (b *Batch) diskBytes() uint64 {
	n := uint64(0)
	if b.Creates() {
		n = TaskBytes
	}
	for i := range b.Events {
		n += uint64(len(b.Events[i].Data))
	}
	return n
}

// DiskBytes returns how many bytes the task adds to its owner's usage.
func (h *Header) DiskBytes() uint64 { return TaskBytes + h.Bytes }

// Fits returns the usage after b has been added to used, or a *DiskError if b is a create that
// exceeds one of its limits. A field that b does not limit is 0.
func (b *Batch) Fits(used Disk) (Disk, error) {
	more := b.diskBytes()
	var sum Disk
	if limit := b.Disk.Owner; limit > 0 {
		if sum.Owner = used.Owner + more; sum.Owner > limit {
			return Disk{}, &DiskError{Used: used.Owner, Limit: limit}
		}
	}
	if limit := b.Disk.All; limit > 0 {
		if sum.All = used.All + more; sum.All > limit {
			return Disk{}, &DiskError{Used: used.All, Limit: limit, All: true}
		}
	}
	return sum, nil
}
