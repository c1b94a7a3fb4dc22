package rules

import (
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/task/internal/event"
	"a2a-server/task/internal/output"
)

// ErrLogFull means that a task's log has reached its size limit.
var ErrLogFull = errors.New("the task's log is full")

// logRoom returns how many bytes the log may still grow by.
func logRoom(b basis) int { return b.Limits.Task - int(b.Header.Bytes) }

// openRoom returns how many bytes the log may still grow by with anything but decisions
// and outcomes of calls.
func openRoom(b basis) int {
	return b.Limits.OpenRoom(b.Busy()) - int(b.Header.Bytes)
}

// roomToRun reports whether another call may run: its outcome has to fit into the log.
func roomToRun(b basis, running int) bool {
	l := &b.Limits
	return int(b.Header.Bytes)+(running+1)*l.OutcomeRoom()+l.DecisionRoom() <= l.Task
}

// roomToRepeat reports whether a question may be published again because time has passed: at least half of
// the log is left to later events.
func roomToRepeat(b basis) bool {
	return openRoom(b)-b.Limits.Event >= b.Limits.OpenRoom(0)/2
}

// fitsOpen reports whether an event fits into the open room of the log.
func fitsOpen(b basis, v any) (bool, error) {
	data, err := event.Append(nil, v)
	if err != nil {
		return false, fmt.Errorf("encode event: %w", err)
	}
	return len(data) <= openRoom(b), nil
}

// stores refuses a message that decides nothing when the log has no room for it.
func stores(b basis, raw []byte) error {
	if room := openRoom(b); len(raw) > room {
		return task.Invalid("message", "has %d bytes, and the task's log has room for %d more: decide what the task waits for, or cancel it", len(raw), max(room, 0))
	}
	return nil
}

// publishable refuses n bytes that do not fit into an event, or into room bytes.
func publishable(b basis, what string, n, room int) error {
	if limit := b.Limits.Content(); n > limit {
		return fmt.Errorf("%s has %d bytes; at most %d are allowed: publish it in pieces", what, n, limit)
	}
	if n > room {
		return fmt.Errorf("%w: %s has %d bytes, and there is room for %d more", ErrLogFull, what, n, max(room, 0))
	}
	return nil
}

// sayable refuses a planner's status message that does not fit into an event, or into
// room bytes. m may be nil.
func sayable(b basis, m *a2a.Message, metadata map[string]any, room int) error {
	n := 0
	if m != nil {
		raw, err := event.EncodeMessage(m)
		if err != nil {
			return fmt.Errorf("encode status message: %w", err)
		}
		if err := output.CheckDepth(raw); err != nil {
			return fmt.Errorf("a status message: %w", err)
		}
		n = len(raw)
	}
	raw, err := output.EncodeMetadata(metadata)
	if err == nil {
		err = output.CheckDepth(raw)
	}
	if err != nil {
		return fmt.Errorf("status metadata: %w", err)
	}
	return publishable(b, "a status message", n+len(raw), room)
}
