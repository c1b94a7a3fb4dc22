package store

// State is the status of a task as a number from 1 to [MaxState]. The engine defines their
// meaning; the store only indexes lists by them.
type State uint8

// MaxState is the largest State: A2A has nine.
const MaxState State = 9

// Phase says whether a task is run by a handle. The zero Phase is invalid in a header and
// means "unchanged" in a [Change].
type Phase uint8

// The phases of a task; see the package comment.
const (
	Live   Phase = iota + 1 // an instance runs it
	Parked                  // it waits: rows on disk, nothing else
	Final                   // it has ended
)

// Header is the fixed part of a task, known without reading its log.
type Header struct {
	Task       TaskID
	Owner      Scope  // always an Owner
	Context    string // context id, at most MaxContext bytes
	State      State
	StatusTime Millis // of the newest status
	Phase      Phase
	Seq        uint64 // of the newest event
	Pub        uint64 // of the newest public event
	Rev        uint64
	Fence      uint64
	Epoch      uint64 // of the handle that last made the task Live
	Pending    uint32 // as the engine set it; the number of pending approvals
	Due        uint32 // due rows of the task that are on disk
	Bytes      uint64 // of event data in the log
	Bulk       uint64 // the part of Bytes that is bulk events
	Snapshot   uint64 // last seq that the newest snapshot holds, 0: no snapshot

	// BulkSnapshot is the last seq whose bulk events a snapshot holds, 0: none. It is
	// at most Snapshot, and less when newer snapshots have no bulk part.
	BulkSnapshot uint64

	// Damaged says that the header is damaged, so that the task is lost. Task is correct, and
	// so is each of Owner, Context, State and StatusTime that is not zero: an Owner's list
	// knows them from its index. A task that was Live is listed only for System. Read returns
	// ErrDataLoss.
	Damaged bool
}

// Size returns the bytes of event data in the log; noBulk leaves out bulk events.
func (h *Header) Size(noBulk bool) uint64 {
	if noBulk {
		return h.Bytes - h.Bulk
	}
	return h.Bytes
}
