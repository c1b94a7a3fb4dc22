package event

import (
	"encoding/json"
	"fmt"

	"a2a-server/store"
)

// Forms are the two forms of a public event of [KindMasked]: with masked values, for readers with that right, and
// without. Both are the output of [AppendStatusUpdate].
type Forms struct {
	Whole  json.RawMessage `json:"whole"`
	Masked json.RawMessage `json:"masked"`
}

// AppendForms appends an event of [KindMasked].
func AppendForms(dst []byte, f Forms) []byte {
	dst = append(append(dst, `{"whole":`...), f.Whole...)
	return append(append(append(dst, `,"masked":`...), f.Masked...), '}')
}

// ReadForms reads the output of [AppendForms].
func ReadForms(data []byte) (f Forms, err error) {
	if err = json.Unmarshal(data, &f); err == nil && (len(f.Whole) == 0 || len(f.Masked) == 0) {
		err = fmt.Errorf("a form is missing")
	}
	return f, err
}

// MaskedUpdate is a new status in both forms.
type MaskedUpdate struct{ Whole, Masked StatusUpdate }

// ReadMasked reads an event of [KindMasked]. The result keeps nothing of data.
func ReadMasked(data []byte) (u MaskedUpdate, err error) {
	f, err := ReadForms(data)
	if err != nil {
		return u, err
	}
	if u.Whole, err = ReadStatus(f.Whole); err == nil {
		u.Masked, err = ReadStatus(f.Masked)
	}
	u.Whole.Own()
	u.Masked.Own()
	return u, err
}

// HasForms reports whether a public event has a masked form, because a gate masks arguments of the call
// in its question, or keeps the task.
func HasForms(e *store.Event) bool { return e.Kind == KindMasked }

// Whole returns the StreamResponse of a public event, as the owner of its task sees it.
func Whole(e *store.Event) ([]byte, error) {
	if !HasForms(e) {
		return e.Data, nil
	}
	forms, err := formsOf(e)
	return forms.Whole, err
}

// Masked returns the StreamResponse of a public event for a reader without the right to masked arguments.
func Masked(e *store.Event) ([]byte, error) {
	if !HasForms(e) {
		return e.Data, nil
	}
	forms, err := formsOf(e)
	return forms.Masked, err
}

// Bare is Masked for a reader from whom a gate keeps the task: states and masked questions alone. It
// returns nil for all other events.
func Bare(e *store.Event, id, context string) ([]byte, error) {
	switch e.Kind {
	case KindTask, KindMasked:
		return Masked(e)
	case KindStatus:
		u, err := ReadStatus(e.Data)
		if err != nil {
			return nil, fmt.Errorf("%w: event %d: %w", store.ErrDataLoss, e.Seq, err)
		}
		return AppendStatusUpdate(nil, NewIDs(id, context), u.State, u.At, nil /* message */, nil /* metadata */), nil
	}
	return nil, nil
}

func formsOf(e *store.Event) (Forms, error) {
	forms, err := ReadForms(e.Data)
	if err != nil {
		return Forms{}, fmt.Errorf("%w: event %d: %w", store.ErrDataLoss, e.Seq, err)
	}
	return forms, nil
}
