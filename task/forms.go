package task

import (
	"fmt"

	"a2a-server/store"
	"a2a-server/task/internal/event"
)

// HasForms reports whether a public event has a masked form, because a gate masks arguments of the call
// in its question, or keeps the task.
func HasForms(e *store.Event) bool { return e.Kind == event.KindMasked }

// Whole returns the StreamResponse of a public event, as the owner of its task sees it.
func Whole(e *store.Event) ([]byte, error) {
	if !HasForms(e) {
		return e.Data, nil
	}
	forms, err := readForms(e)
	return forms.Whole, err
}

// Masked returns the StreamResponse of a public event for a reader without the right to masked arguments.
func Masked(e *store.Event) ([]byte, error) {
	if !HasForms(e) {
		return e.Data, nil
	}
	forms, err := readForms(e)
	return forms.Masked, err
}

// Bare is Masked for a reader from whom a gate keeps the task: states and masked questions alone. It
// returns nil for all other events.
func Bare(e *store.Event, id, context string) ([]byte, error) {
	switch e.Kind {
	case event.KindTask, event.KindMasked:
		return Masked(e)
	case event.KindStatus:
		u, err := event.ReadStatus(e.Data)
		if err != nil {
			return nil, fmt.Errorf("%w: event %d: %w", store.ErrDataLoss, e.Seq, err)
		}
		return event.AppendStatusUpdate(nil, event.NewIDs(id, context), u.State, u.At, nil /* message */, nil /* metadata */), nil
	}
	return nil, nil
}

func readForms(e *store.Event) (event.Forms, error) {
	forms, err := event.ReadForms(e.Data)
	if err != nil {
		return event.Forms{}, fmt.Errorf("%w: event %d: %w", store.ErrDataLoss, e.Seq, err)
	}
	return forms, nil
}
