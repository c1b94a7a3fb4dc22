package rules

import (
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/view"
)

// task adds the first public event.
func (d *batch) task(state a2a.TaskState) error {
	if err := d.enter(state); err != nil {
		return err
	}
	start := len(d.buf)
	metadata := d.rules.metadata()
	d.buf = event.AppendTask(d.buf, d.f.View.IDs(), state, d.now(), metadata)
	d.public(event.KindTask, start)
	d.f.View.Begin(&event.StatusUpdate{State: state, At: d.now(), Metadata: metadata})
	return nil
}

// say adds a status update. message may be nil.
func (d *batch) say(state a2a.TaskState, message *a2a.Message) error {
	return d.sayWith(state, message, nil)
}

// sayWith is say with metadata in addition to that of all updates. Either may be nil.
func (d *batch) sayWith(state a2a.TaskState, message *a2a.Message, own map[string]any) error {
	if err := d.enter(state); err != nil {
		return err
	}
	var raw json.RawMessage
	if message != nil {
		message.TaskID, message.ContextID = a2a.TaskID(d.f.View.IDs().Task), d.f.View.IDs().Context
		var err error
		if raw, err = event.EncodeMessage(message); err != nil {
			return fmt.Errorf("encode status message: %w", err)
		}
	}
	metadata := d.rules.metadata()
	if len(own) > 0 {
		raw, err := json.Marshal(own)
		if err != nil {
			return fmt.Errorf("encode status metadata: %w", err)
		}
		metadata = view.MergeMetadata(raw, metadata)
	}
	start := len(d.buf)
	d.buf = event.AppendStatusUpdate(d.buf, d.f.View.IDs(), state, d.now(), raw, metadata)
	d.public(event.KindStatus, start)
	d.f.View.SetStatus(state, d.now(), raw, metadata)
	return nil
}

// enter moves the task to a state, if the table allows it.
func (d *batch) enter(state a2a.TaskState) error {
	to, err := task.StateOf(state)
	if err != nil {
		return err
	}
	if from := d.f.Header.State; !task.MayMove(from, to) {
		return fmt.Errorf("task %s cannot go from %s to %s", d.f.Header.Task, task.StateName(from), state)
	}
	d.f.Header.State, d.f.Header.StatusTime = to, d.now()
	d.status = store.Status{State: to, Time: d.now()}
	return nil
}

// end ends the task. state must be terminal.
func (d *batch) end(state a2a.TaskState, message *a2a.Message) error {
	if !state.Terminal() {
		return fmt.Errorf("task %s cannot end in %s, which is not a final state", d.f.Header.Task, state)
	}
	d.phase = store.Final
	return d.say(state, message)
}

// GoLive makes the draft leave the task live, unless it already sets a phase. If the task
// was waiting for input, its status becomes working, unless it still does.
func (d *batch) GoLive() error {
	if d.phase != 0 {
		return nil
	}
	d.phase = store.Live
	if s := d.f.Header.State; s != task.StateSubmitted && s != task.StateWorking && !d.f.WaitsMeanwhile() {
		return d.say(a2a.TaskStateWorking, nil)
	}
	return nil
}

// KeepLive says that a live task which was waiting for input works, if the draft resolves
// something that it waited for: its turn continues from there.
func (d *batch) KeepLive() error {
	if d.phase != 0 || d.f.Header.Phase != store.Live || len(d.resolved) == 0 || !d.f.SaysItWaits() {
		return nil
	}
	return d.say(a2a.TaskStateWorking, nil)
}

// SayWorking sets the state to working, if the draft is not empty or the task is new, and the
// task has another state.
func (d *batch) SayWorking() error {
	state := d.f.Header.State
	if d.Empty() && state != task.StateSubmitted || d.phase == store.Final || state == task.StateWorking {
		return nil
	}
	return d.say(a2a.TaskStateWorking, nil)
}

// fault records why the task cannot continue.
func (d *batch) fault(why string) error {
	return d.add(event.KindFailed, &event.TurnFailed{Error: why})
}
