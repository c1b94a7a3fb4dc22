package oidc

import (
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"a2a-server/auth"
)

// The bounds of a cache. Only verified tokens are in it, so strangers do not choose its size;
// the bytes are bounded because tokens may have long names.
const (
	maxCached      = 10_000
	maxCachedBytes = 4 << 20 // of names, over all entries
)

// cache remembers the principals of verified tokens, never of refused tokens. It has two
// generations: the older is dropped when the newer is full. The zero value is empty.
type cache struct {
	mu         sync.Mutex
	young, old map[digest]cached
	bytes      int // of young
}

type digest = [sha256.Size]byte

type cached struct {
	principal auth.Principal
	until     time.Time
}

// get returns the principal of a token, if it is remembered at the time.
func (c *cache) get(sum digest, now time.Time) (auth.Principal, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.young[sum]
	if !ok {
		if entry, ok = c.old[sum]; ok && now.Before(entry.until) {
			c.add(sum, entry)
		}
	}
	if !ok || !now.Before(entry.until) {
		return auth.Principal{}, false
	}
	return entry.principal, true
}

// put remembers the principal of a token until a time.
func (c *cache) put(sum digest, p auth.Principal, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(sum, cached{p, until})
}

func (c *cache) add(sum digest, entry cached) {
	p, size := &entry.principal, 0
	for _, text := range slices.Concat([]string{p.Tenant, p.Subject, p.Person, p.Email}, p.Chain, p.Roles) {
		size += len(text)
	}
	if c.young == nil || len(c.young) >= maxCached/2 || c.bytes+size > maxCachedBytes/2 {
		c.old, c.young, c.bytes = c.young, map[digest]cached{}, 0
	}
	c.young[sum] = entry
	c.bytes += size
}
