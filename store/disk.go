package store

import "fmt"

// Disk is how many bytes are used, or may be.
type Disk struct {
	// Owner is of the tasks of one owner: the event data in their logs, and
	// [TaskBytes] for each. The disk holds up to about twice as much of them, with
	// snapshots and indexes.
	Owner uint64
	// All is of the store as a whole: of a file what it occupies, without the room in it
	// that is free; in memory what all owners use.
	All uint64
}

// TaskBytes is what a task uses beside the event data in its log: its header, its
// places in lists, and its rows, roughly.
const TaskBytes = 2 << 10

// DiskError says that a create would exceed the Batch.Disk.
type DiskError struct {
	Used, Limit uint64
	All         bool // of the store as a whole; else of the owner
}

// Error says how much is used, and how much may be.
func (e *DiskError) Error() string {
	whose := "the owner's tasks use"
	if e.All {
		whose = "the store uses"
	}
	return fmt.Sprintf("%s %d bytes of the disk, and a new task would exceed the %d that are allowed", whose, e.Used, e.Limit)
}

// DiskBytes returns what b adds to what its owner uses.
func (b *Batch) DiskBytes() uint64 {
	n := uint64(0)
	if b.Creates() {
		n = TaskBytes
	}
	for i := range b.Events {
		n += uint64(len(b.Events[i].Data))
	}
	return n
}

// DiskBytes returns what the task uses of its owner's disk.
func (h *Header) DiskBytes() uint64 { return TaskBytes + h.Bytes }

// Fits returns what b will have used when it has been added to used, or a *DiskError:
// b is a create beyond one of its bounds. Of what b does not bound nothing is said.
func (b *Batch) Fits(used Disk) (Disk, error) {
	more := b.DiskBytes()
	var sum Disk
	for _, of := range []struct {
		limit, used uint64
		sum         *uint64
		all         bool
	}{
		{b.Disk.Owner, used.Owner, &sum.Owner, false},
		{b.Disk.All, used.All, &sum.All, true},
	} {
		if of.limit == 0 {
			continue
		}
		if of.used+more > of.limit {
			return Disk{}, &DiskError{Used: of.used, Limit: of.limit, All: of.all}
		}
		*of.sum = of.used + more
	}
	return sum, nil
}
