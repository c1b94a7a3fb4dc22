package rules

import (
	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
)

// Queued is the [Input] that says that a live task has been waiting for its turn, so that
// its followers know why nothing happens. The state does not change, and pending
// approvals stay pending.
type Queued struct{}

// queuedText is the text of that status.
const queuedText = "The task waits for its turn: the server is running as many tasks as it may. It will continue automatically."

// queuedRoom is how many bytes of the log that status takes at most.
const queuedRoom = 2 << 10

func (Queued) put(d *Draft) error {
	if d.f.Header.Phase != store.Live {
		return ErrNoChange
	}
	pending, room := d.f.Pending(), queuedRoom
	if len(pending) > 0 {
		room += d.rules.Limits.Event
	}
	if d.openRoom() < room {
		return ErrNoChange
	}
	switch d.f.Header.State { //nolint:exhaustive // the others do not wait for a turn
	case task.StateSubmitted:
		return d.tell(a2a.TaskStateSubmitted, pending, queuedText)
	case task.StateWorking:
		return d.tell(a2a.TaskStateWorking, pending, queuedText)
	}
	return ErrNoChange
}
