package httpd

import (
	"fmt"
	"sync"

	"a2a-server/auth"
)

// Shares counts how much of a limited resource each caller holds. It is safe for
// concurrent use.
type Shares struct {
	what string // for messages: plural noun and verb, such as "streams are open"
	all  int
	each int // of a caller

	mu   sync.Mutex
	held int
	by   map[caller]int // units held by each; a caller that holds none is not in it
}

// caller identifies the caller whose requests are counted: the owner of the tasks they create.
type caller struct{ tenant, subject string }

// NewShares returns shares of all units. A caller may hold up to each, or a quarter of all
// when each is 0.
func NewShares(what string, all, each int) *Shares {
	if each <= 0 {
		each = max(all/4, 1)
	}
	return &Shares{what: what, all: all, each: min(all, each), by: map[caller]int{}}
}

// Take takes n units for a caller; a call of give returns them. The error is an [*Error] with
// 503 when too few are left.
func (s *Shares) Take(by auth.Principal, n int) (give func(), err error) {
	who := caller{by.Tenant, by.Subject}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.by[who]+n > s.each:
		return nil, busy(fmt.Sprintf("%d %s for this caller, which is the limit: try again when one has ended", s.by[who], s.what))
	case s.held+n > s.all:
		return nil, busy(fmt.Sprintf("%d %s, which is this server's limit: try again later", s.held, s.what))
	}
	s.by[who] += n
	s.held += n
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held -= n
		if s.by[who] -= n; s.by[who] == 0 {
			delete(s.by, who)
		}
	}, nil
}
