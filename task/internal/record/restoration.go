package record

import (
	"encoding/json"
	"fmt"
	"time"

	"a2a-server/store"
)

// A store that was restored from a backup knows it by two kinds of rows, which are written before
// any server opens it.
const (
	// KindRestored is the mark of the store: while it says so, the store waits for its operator.
	// It is in the scope [RestorationOwner], and stays when the wait is over. Value: the JSON of
	// a [Restoration].
	KindRestored = "restored"
	// DueRestored has a task that was open at the moment of the backup, and was not brought up to
	// date yet. Time: 1, before all other due rows; key: the id of the restoration; payload: its
	// JSON.
	DueRestored = "task.restored"
)

// Restoration is the restoration of a store from a backup.
type Restoration struct {
	V      int       `json:"v"`      // Version
	ID     string    `json:"id"`     // random: no other restoration has it
	Moment time.Time `json:"moment"` // of the backup

	Resumed time.Time `json:"resumed,omitzero"` // when its operator let it continue; only in the mark
}

// restorationKey is the key of the mark.
const restorationKey = "store"

// RestorationOwner is the scope of the mark. It is no valid name, so no caller has it.
func RestorationOwner() store.Scope { return store.Owner("", "\xfftask/engine") }

// Row returns the change that puts the mark.
func (r *Restoration) Row(ifRev uint64) (store.RowChange, error) {
	return Encode(KindRestored, []byte(restorationKey), ifRev, r)
}

// Due returns the change that says that a task is to be brought up to date.
func (r *Restoration) Due() (store.DueChange, error) {
	payload, err := json.Marshal(&Restoration{V: r.V, ID: r.ID, Moment: r.Moment})
	if err != nil {
		return store.DueChange{}, fmt.Errorf("encode a restoration: %w", err)
	}
	return store.DueChange{Time: 1, Kind: DueRestored, Key: []byte(r.ID), Payload: payload}, nil
}

// ParseRestoration returns the restoration in the mark.
func ParseRestoration(row *store.Row) (r Restoration, err error) {
	err = parseRow(row, "the mark of a restored store", &r, &r.V)
	return r, err
}

// ParseDueRestored returns the restoration in a due row.
func ParseDueRestored(row *store.Due) (r Restoration, err error) {
	err = parseRow(&store.Row{Damaged: row.Damaged, Value: row.Payload}, "due work of a restoration", &r, &r.V)
	if err == nil && r.ID == "" {
		err = fmt.Errorf("%w: due work of a restoration has no id", store.ErrDataLoss)
	}
	return r, err
}
