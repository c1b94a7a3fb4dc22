package tool

import "a2a-server/internal/guard"

// Reachable is a tool that runs elsewhere and may be down for a while, although its
// definition is known. It is looked up with [As].
type Reachable interface {
	// Reachable returns nil if a call can be sent now, as far as is known, or else why not;
	// it may begin to change that, but must not wait for it. A call that was approved is
	// not started while it returns an error: it is tried again later, for as long as people
	// want to wait, and asked about again if it was approved over a day before it can start.
	Reachable() error
}

// Unreachable returns why a call of t cannot be sent now, nil if it can or that is unknown. A
// panic in t is an error.
func Unreachable(t Tool) (err error) {
	defer guard.Recover(&err, "whether it can be reached panicked")
	if r, ok := As[Reachable](t); ok {
		return r.Reachable()
	}
	return nil
}
