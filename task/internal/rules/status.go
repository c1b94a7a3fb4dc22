package rules

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/view"
)

// task adds the first public event.
func (d *Draft) task(state a2a.TaskState) {
	d.enter(state)
	start := len(d.buf)
	metadata := d.rules.metadata()
	d.buf = event.AppendTask(d.buf, d.f.View.IDs(), state, d.at.millis(), metadata)
	d.public(event.KindTask, start)
	d.f.View.Begin(&event.StatusUpdate{State: state, At: d.at.millis(), Metadata: metadata})
}

// say adds a status update. message may be nil.
func (d *Draft) say(state a2a.TaskState, message *a2a.Message) {
	d.publish(state, question{whole: message}, nil /* own */)
}

// publish adds a status update with a message, in both forms if they differ, and with metadata in addition to
// that of all updates. There may be neither.
func (d *Draft) publish(state a2a.TaskState, q question, own map[string]any) {
	d.enter(state)
	whole, err := encodeStatus(d.basis, q.whole)
	if err != nil {
		d.fail(err)
		return
	}
	masked, err := encodeStatus(d.basis, q.masked)
	if err != nil {
		d.fail(err)
		return
	}
	metadata := d.rules.metadata()
	if len(own) > 0 {
		raw, err := json.Marshal(own)
		if err != nil {
			d.fail(fmt.Errorf("encode status metadata: %w", err))
			return
		}
		metadata = view.MergeMetadata(raw, metadata)
	}
	form := func(dst []byte, raw json.RawMessage) []byte {
		return event.AppendStatusUpdate(dst, d.f.View.IDs(), state, d.at.millis(), raw, metadata)
	}
	start, kind := len(d.buf), event.KindStatus
	if masked == nil {
		d.buf = form(d.buf, whole)
	} else {
		d.buf, kind = event.AppendForms(d.buf, event.Forms{Whole: form(nil, whole), Masked: form(nil, masked)}), event.KindMasked
	}
	d.public(kind, start)
	d.f.View.SetStatus(state, d.at.millis(), whole, masked, metadata)
}

// encodeStatus returns a message of the task as JSON; nil: there is none.
func encodeStatus(b basis, m *a2a.Message) (json.RawMessage, error) {
	if m == nil {
		return nil, nil
	}
	m.TaskID, m.ContextID = a2a.TaskID(b.f.View.IDs().Task), b.f.View.IDs().Context
	raw, err := event.EncodeMessage(m)
	if err != nil {
		return nil, fmt.Errorf("encode status message: %w", err)
	}
	return raw, nil
}

// enter moves the task to a state, if the table allows it.
func (d *Draft) enter(state a2a.TaskState) {
	to, err := task.StateOf(state)
	if err != nil {
		d.fail(err)
		return
	}
	if from := d.f.Header.State; !task.MayMove(from, to) {
		d.fail(fmt.Errorf("task %s cannot go from %s to %s", d.f.Header.Task, task.StateName(from), state))
		return
	}
	d.f.Header.State, d.f.Header.StatusTime = to, d.at.millis()
	d.status = store.Status{State: to, Time: d.at.millis()}
}

// end ends the task. state must be terminal.
func (d *Draft) end(state a2a.TaskState, message *a2a.Message) {
	if !state.Terminal() {
		d.fail(fmt.Errorf("task %s cannot end in %s, which is not a final state", d.f.Header.Task, state))
		return
	}
	d.phase = store.Final
	d.say(state, message)
}

// GoLive makes the draft leave the task live, unless it already sets a phase. If the task
// was waiting for input, its status becomes working, unless it still does.
func (d *Draft) GoLive() error {
	if d.phase != 0 {
		return nil
	}
	d.phase = store.Live
	if s := d.f.Header.State; s != task.StateSubmitted && s != task.StateWorking && !d.f.WaitsMeanwhile() || d.f.SaysItWaited() {
		d.say(a2a.TaskStateWorking, nil)
	}
	return d.err
}

// KeepLive says that a live task which was waiting for input works, if the draft resolves
// something that it waited for: its turn continues from there.
func (d *Draft) KeepLive() error {
	if d.phase != 0 || d.f.Header.Phase != store.Live || len(d.resolved) == 0 || !d.f.SaysItWaits() && !d.f.SaysItWaited() {
		return nil
	}
	d.say(a2a.TaskStateWorking, nil)
	return d.err
}

// SayWorking sets the state to working, if the draft is not empty or the task is new, and the
// task has another state; and while the planner waits for the operator, it says so.
func (d *Draft) SayWorking() error {
	if !d.at.Held.IsZero() && d.phase != store.Final {
		d.sayHeld()
		return d.err
	}
	state := d.f.Header.State
	if d.Empty() && state != task.StateSubmitted || d.phase == store.Final || state == task.StateWorking && !d.f.SaysItWaited() {
		return nil
	}
	d.say(a2a.TaskStateWorking, nil)
	return d.err
}

// fault records why the task cannot continue.
func (d *Draft) fault(why string) {
	d.add(event.KindFailed, &event.TurnFailed{Error: why})
}

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
	if openRoom(d.basis) < room {
		return ErrNoChange
	}
	switch d.f.Header.State { //nolint:exhaustive // the others do not wait for a turn
	case task.StateSubmitted:
		d.tell(a2a.TaskStateSubmitted, pending, queuedText)
		return nil
	case task.StateWorking:
		d.tell(a2a.TaskStateWorking, pending, queuedText)
		return nil
	}
	return ErrNoChange
}

// heldText begins the status of a task whose planner waits for the operator of a restored store.
const heldText = "The server was restored from a backup of "

// sayHeld says, once, that the planner waits for the operator.
func (d *Draft) sayHeld() {
	if d.f.View.Says(heldText) || openRoom(d.basis) < queuedRoom {
		return
	}
	d.say(a2a.TaskStateWorking, d.rules.message(heldText+d.at.Held.UTC().Format(time.RFC3339)+" and waits for its operator: a2a-server store resume."))
}
