package httpd

import (
	"fmt"

	"a2a-server/auth"
	"a2a-server/internal/share"
)

// Shares counts how much of a limited resource each caller holds. It is safe for
// concurrent use.
type Shares struct {
	what   string // for messages: plural noun and verb, such as "streams are open"
	shares *share.Shares[caller]
}

// caller identifies the caller whose requests are counted: the owner of the tasks they create.
type caller struct{ tenant, subject string }

// NewShares returns shares of all units. A caller may hold up to each, or a quarter of all
// when each is 0.
func NewShares(what string, all, each int) *Shares {
	if each <= 0 {
		each = max(all/4, 1)
	}
	return &Shares{what, share.New[caller](int64(all), int64(each))}
}

// Taken returns how many units are taken.
func (s *Shares) Taken() int {
	units, _ := s.shares.Total()
	return int(units)
}

// Take takes n units for a caller; a call of give returns them. The error is an [*Error] with
// 503 when too few are left.
func (s *Shares) Take(by auth.Principal, n int) (give func(), err error) {
	who := caller{by.Tenant, by.Subject}
	switch full := s.shares.Take(who, int64(n)); {
	case full == nil:
		return func() { s.shares.Give(who, int64(n)) }, nil
	case full.Own:
		return nil, busy(fmt.Sprintf("%d %s for this caller, which is the limit: try again when one has ended", full.Held, s.what))
	default:
		return nil, busy(fmt.Sprintf("%d %s, which is this server's limit: try again later", full.Held, s.what))
	}
}
