package env

import (
	"sync"
	"time"
)

// hold is the wait of a restored store for its operator.
type hold struct {
	moment time.Time // of the backup; zero: nothing waits
	over   chan struct{}
	end    func()
}

func newHold(moment time.Time) hold {
	h := hold{moment: moment, over: make(chan struct{})}
	h.end = sync.OnceFunc(func() { close(h.over) })
	if moment.IsZero() {
		h.end()
	}
	return h
}

// Held returns the moment of the backup from which the store was restored, while it waits for its
// operator. Zero: it does not wait.
func (e *Env) Held() time.Time {
	if Closed(e.hold.over) {
		return time.Time{}
	}
	return e.hold.moment
}

// Resumed returns a channel that is closed while the store does not wait for its operator.
func (e *Env) Resumed() <-chan struct{} { return e.hold.over }

// Resume ends the wait for the operator.
func (e *Env) Resume() { e.hold.end() }
