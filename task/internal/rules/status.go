package rules

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/view"
)

// begin adds the first public event.
func begin(add additions, b basis, state a2a.TaskState) additions {
	add = move(add, b, state)
	start := len(add.buf)
	metadata := b.metadata()
	add.buf = event.AppendTask(add.buf, b.View.IDs(), state, b.millis(), metadata)
	add.public(b, event.KindTask, start)
	b.View.Begin(&event.StatusUpdate{State: state, At: b.millis(), Metadata: metadata})
	return add
}

// say adds a status update. message may be nil.
func say(add additions, b basis, state a2a.TaskState, message *a2a.Message) additions {
	return publish(add, b, state, question{whole: message}, nil /* own */)
}

// publish adds a status update with a message, in both forms if they differ, and with metadata in addition to
// that of all updates. There may be neither.
func publish(add additions, b basis, state a2a.TaskState, q question, own map[string]any) additions {
	add = move(add, b, state)
	whole, err := encodeStatus(b.Fold, q.whole)
	if err != nil {
		return add.failed(err)
	}
	masked, err := encodeStatus(b.Fold, q.masked)
	if err != nil {
		return add.failed(err)
	}
	metadata := b.metadata()
	if len(own) > 0 {
		raw, err := json.Marshal(own)
		if err != nil {
			return add.failed(fmt.Errorf("encode status metadata: %w", err))
		}
		metadata = view.MergeMetadata(raw, metadata)
	}
	form := func(dst []byte, raw json.RawMessage) []byte {
		return event.AppendStatusUpdate(dst, b.View.IDs(), state, b.millis(), raw, metadata)
	}
	start, kind := len(add.buf), event.KindStatus
	if masked == nil {
		add.buf = form(add.buf, whole)
	} else {
		add.buf, kind = event.AppendForms(add.buf, event.Forms{Whole: form(nil, whole), Masked: form(nil, masked)}), event.KindMasked
	}
	add.public(b, kind, start)
	b.View.SetStatus(state, b.millis(), whole, masked, metadata)
	return add
}

// encodeStatus returns a message of the task as JSON; nil: there is none.
func encodeStatus(f *fold.Fold, m *a2a.Message) (json.RawMessage, error) {
	if m == nil {
		return nil, nil
	}
	m.TaskID, m.ContextID = a2a.TaskID(f.View.IDs().Task), f.View.IDs().Context
	raw, err := event.EncodeMessage(m)
	if err != nil {
		return nil, fmt.Errorf("encode status message: %w", err)
	}
	return raw, nil
}

// move moves the task to a state, if the table allows it.
func move(add additions, b basis, state a2a.TaskState) additions {
	to, err := task.StateOf(state)
	if err != nil {
		return add.failed(err)
	}
	if from := b.Header.State; !mayMove(from, to) {
		return add.failed(fmt.Errorf("task %s cannot go from %s to %s", b.Header.Task, task.StateName(from), state))
	}
	b.Header.State, b.Header.StatusTime = to, b.millis()
	add.moved = true
	return add
}

// endTask ends the task. state must be terminal.
func endTask(add additions, b basis, state a2a.TaskState, message *a2a.Message) additions {
	if !state.Terminal() {
		return add.failed(fmt.Errorf("task %s cannot end in %s, which is not a final state", b.Header.Task, state))
	}
	add.phase = store.Final
	return say(add, b, state, message)
}

func goLive(add additions, b basis) additions {
	if add.phase != 0 {
		return add
	}
	add.phase = store.Live
	if s := b.Header.State; s != task.StateSubmitted && s != task.StateWorking && !b.WaitsMeanwhile() || b.SaysItWaited() {
		return say(add, b, a2a.TaskStateWorking, nil)
	}
	return add
}

func keepLive(add additions, b basis) additions {
	if add.phase != 0 || b.Header.Phase != store.Live || len(add.resolved) == 0 || !b.SaysItWaits() && !b.SaysItWaited() {
		return add
	}
	return say(add, b, a2a.TaskStateWorking, nil)
}

func sayWorking(add additions, b basis) additions {
	switch state := b.Header.State; {
	case add.phase == store.Final, b.Held.IsZero() && add.blank() && state != task.StateSubmitted:
		return add
	case !b.Held.IsZero():
		return sayHeld(add, b)
	case state == task.StateWorking && !b.SaysItWaited():
		return add
	}
	return say(add, b, a2a.TaskStateWorking, nil)
}

// fault records why the task cannot continue.
func fault(add additions, b basis, why string) additions {
	add.event(b, event.KindFailed, &event.TurnFailed{Error: why})
	return add
}

// Queued is the [Input] that says that a live task has been waiting for its turn, so that
// its followers know why nothing happens. The state does not change, and pending
// approvals stay pending.
type Queued struct{}

// queuedText is the text of that status.
const queuedText = "The task waits for its turn: the server is running as many tasks as it may. It will continue automatically."

// queuedRoom is how many bytes of the log that status takes at most.
const queuedRoom = 2 << 10

func (Queued) put(add additions, b basis) (additions, error) {
	if b.Header.Phase != store.Live {
		return add, ErrNoChange
	}
	pending, room := b.Pending(), queuedRoom
	if len(pending) > 0 {
		room += b.Limits.Event
	}
	if openRoom(b) < room {
		return add, ErrNoChange
	}
	switch b.Header.State { //nolint:exhaustive // the others do not wait for a turn
	case task.StateSubmitted:
		return tell(add, b, a2a.TaskStateSubmitted, pending, queuedText), nil
	case task.StateWorking:
		return tell(add, b, a2a.TaskStateWorking, pending, queuedText), nil
	}
	return add, ErrNoChange
}

// heldText begins the status of a task whose planner waits for the operator of a restored store.
const heldText = "The server was restored from a backup of "

// sayHeld says, once, that the planner waits for the operator.
func sayHeld(add additions, b basis) additions {
	if b.View.Says(heldText) || openRoom(b) < queuedRoom {
		return add
	}
	return say(add, b, a2a.TaskStateWorking, b.message(heldText+b.Held.UTC().Format(time.RFC3339)+" and waits for its operator: a2a-server store resume."))
}
