package event

import (
	"encoding/json"
	"fmt"
)

// Forms are the two forms of a public event of [KindMasked]: for those who see what gates mask, and for
// all others. Both are the output of [AppendStatusUpdate].
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
