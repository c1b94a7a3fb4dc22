package record

import (
	"time"

	"a2a-server/store"
)

// KindSweep is the newest [Sweep] of the store, in the scope [RestorationOwner]. Value: its JSON.
const KindSweep = "sweep"

// A Sweep ends the pending approvals of calls that the policy denies, after the gates that deny have
// changed. It is written before the first approval ends, so that a sweep that a crash interrupts is
// done again.
type Sweep struct {
	V       int       `json:"v"`             // Version
	N       uint64    `json:"n"`             // from 1
	Denials string    `json:"denials"`       // of the policy, see [approval.Policy.Denials]
	Begun   time.Time `json:"begun"`         //
	Done    time.Time `json:"done,omitzero"` // zero: not yet
}

// Row returns the change that puts the sweep.
func (s *Sweep) Row(ifRev uint64) (store.RowChange, error) {
	return Encode(KindSweep, []byte("policy"), ifRev, s)
}

// ParseSweep returns the sweep in a row.
func ParseSweep(row *store.Row) (s Sweep, err error) {
	err = parseRow(row, "the newest sweep of approvals", &s, &s.V)
	return s, err
}
