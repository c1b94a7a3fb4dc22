// Package share counts a limited resource: how much of it is held in all, and by each caller.
// The resource, and the words of a refusal, belong to its users.
package share

import (
	"slices"
	"sync"
)

// Shares counts a resource held by callers. It is safe for concurrent use, and keeps nothing
// of a caller that holds nothing.
type Shares[Caller comparable] struct {
	all, each int64

	mu      sync.Mutex
	held    int64
	by      map[Caller]int64
	waiting []*waiter[Caller] // in the order of their arrival
}

// waiter waits for a unit.
type waiter[Caller comparable] struct {
	caller  Caller
	granted chan struct{} // closed when it has the unit
}

// New returns Shares of all units, of which a caller may hold at most each.
func New[Caller comparable](all, each int64) *Shares[Caller] {
	return &Shares[Caller]{all: all, each: min(each, all), by: map[Caller]int64{}}
}

// Full is a limit that a request for units exceeds.
type Full struct {
	Own         bool  // it is the limit of the caller
	Held, Limit int64 // by the caller, or in all
	Alone       bool  // the caller holds everything that is held
}

// Take gives n units to a caller, or returns the limit that they exceed.
func (s *Shares[Caller]) Take(caller Caller, n int64) *Full {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(caller, -1, n)
}

// Extend is Take for a holder of mine units that needs n more. The limit of its caller does not
// hold for the only holder of that caller, and the limit of all not for the only holder.
func (s *Shares[Caller]) Extend(caller Caller, mine, n int64) *Full {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(caller, mine, n)
}

func (s *Shares[Caller]) take(caller Caller, mine, n int64) *Full {
	own := s.by[caller]
	switch {
	case own > mine && own+n > s.each:
		return &Full{Own: true, Held: own, Limit: s.each, Alone: own == s.held}
	case s.held > mine && s.held+n > s.all:
		return &Full{Held: s.held, Limit: s.all, Alone: own == s.held}
	}
	s.add(caller, n)
	return nil
}

func (s *Shares[Caller]) add(caller Caller, n int64) {
	s.held += n
	if s.by[caller] += n; s.by[caller] == 0 {
		delete(s.by, caller)
	}
}

// Add gives n units to a caller that has them anyway, whatever the limits are.
func (s *Shares[Caller]) Add(caller Caller, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(caller, n)
}

// Give returns n units of a caller.
func (s *Shares[Caller]) Give(caller Caller, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(caller, -n)
	s.grant()
}

// Wait asks for a unit for a caller. The channel is closed once the caller has it. Units are
// given in the order of the requests, except to callers that have their share. Call give once
// to return the unit, or to stop waiting for it.
func (s *Shares[Caller]) Wait(caller Caller) (granted <-chan struct{}, give func()) {
	w := &waiter[Caller]{caller, make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, w)
	s.grant()
	return w.granted, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if i := slices.Index(s.waiting, w); i >= 0 {
			s.waiting = slices.Delete(s.waiting, i, i+1)
			return
		}
		s.add(caller, -1)
		s.grant()
	}
}

// grant gives units to waiters. s.mu must be held.
func (s *Shares[Caller]) grant() {
	s.waiting = slices.DeleteFunc(s.waiting, func(w *waiter[Caller]) bool {
		if s.held >= s.all || s.take(w.caller, -1, 1) != nil {
			return false
		}
		close(w.granted)
		return true
	})
}

// Held returns how many units a caller holds.
func (s *Shares[Caller]) Held(caller Caller) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[caller]
}

// Total returns how many units are held, and by how many callers.
func (s *Shares[Caller]) Total() (units int64, callers int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held, len(s.by)
}
