package httpd

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"a2a-server/auth"
)

// Rates bounds how often callers may make requests. Its zero value bounds nothing.
type Rates struct {
	// PerCaller is how many requests a caller may make in a second, and twice as many at once.
	// Without an Authenticator a caller is an address. 0: no limit.
	PerCaller int
	// Failures is how many invalid credentials an address may send in a minute. Beyond that,
	// its requests are refused before their credentials are checked. 0: no limit.
	Failures int
}

// maxBuckets is how many buckets a generation of [buckets] has. Two generations are kept, and
// a bucket takes less than 200 bytes, so all of them take less than 4 MiB.
const maxBuckets = 10_000

// buckets has a token bucket for each of many keys. It is bounded: a full generation replaces
// the previous generation, so that a key is forgotten only after as many other keys have come
// since its last use. A forgotten key begins with a full bucket. It is safe for concurrent
// use.
type buckets struct {
	limit rate.Limit
	burst int
	seed  maphash.Seed

	mu       sync.Mutex
	now, old map[uint64]*rate.Limiter // by hash: keys are long, and chosen by clients
}

func newBuckets(limit rate.Limit, burst int) *buckets {
	return &buckets{limit: limit, burst: burst, seed: maphash.MakeSeed(), now: map[uint64]*rate.Limiter{}}
}

// find returns the bucket of a key. If there is none, it makes a bucket if create is set, and
// else returns nil.
func find[K comparable](b *buckets, key K, create bool) *rate.Limiter {
	hash := maphash.Comparable(b.seed, key)
	b.mu.Lock()
	defer b.mu.Unlock()
	l, known := b.now[hash]
	if known {
		return l
	}
	if l = b.old[hash]; l == nil {
		if !create {
			return nil
		}
		l = rate.NewLimiter(b.limit, b.burst)
	}
	if len(b.now) >= maxBuckets {
		b.old, b.now = b.now, make(map[uint64]*rate.Limiter, maxBuckets)
	}
	b.now[hash] = l
	return l
}

// wait returns how long it is until l has a token.
func wait(l *rate.Limiter, now time.Time) time.Duration {
	missing := 1 - l.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / float64(l.Limit()) * float64(time.Second))
}

// seldom limits a log line that clients can cause at will to once a minute. Its zero value is
// ready. It is safe for concurrent use.
type seldom struct{ last, others atomic.Int64 }

// may reports whether the line may be written now, and the number of suppressed lines since
// the last.
func (s *seldom) may(at time.Time) (others int64, may bool) {
	now, last := at.UnixNano(), s.last.Load()
	if since := now - last; since >= 0 && since < int64(time.Minute) || !s.last.CompareAndSwap(last, now) {
		s.others.Add(1)
		return 0, false
	}
	return s.others.Swap(0), true
}

// limiter enforces [Rates].
type limiter struct {
	callers, failures *buckets // nil: no limit
	guard             Guard
	now               func() time.Time
	log               zerolog.Logger
	warned            seldom       // that an address is refused
	held              atomic.Int64 // requests that are held back
}

func newLimiter(r Rates, g Guard, now func() time.Time, log zerolog.Logger) *limiter {
	l := &limiter{guard: g, now: now, log: log}
	if r.PerCaller > 0 {
		l.callers = newBuckets(rate.Limit(r.PerCaller), 2*r.PerCaller)
	}
	if r.Failures > 0 {
		l.failures = newBuckets(rate.Every(time.Minute/time.Duration(r.Failures)), r.Failures)
	}
	return l
}

// take takes a request from the bucket of a caller or, if it is anonymous, of its address.
func take[K comparable](l *limiter, from K) error {
	if l.callers == nil {
		return nil
	}
	bucket, now := find(l.callers, from, true), l.now()
	if bucket.AllowN(now, 1) {
		return nil
	}
	return tooMany(wait(bucket, now), "too many requests from this caller: send fewer, or ask the operator to raise limits.rate")
}

// authenticate authenticates a request and counts it, unless its address has sent too many
// invalid credentials.
func (l *limiter) authenticate(ctx context.Context, a auth.Authenticator, c *auth.Credentials) (auth.Principal, error) {
	from := l.source(c)
	counts := l.failures != nil && from.IsValid()
	if counts {
		if bucket := find(l.failures, from, false); bucket != nil {
			if after := wait(bucket, l.now()); after > 0 {
				l.warn(from)
				return auth.Principal{}, tooMany(after, "too many invalid credentials from this address: correct the credential, and try again later")
			}
		}
	}
	by, err := a.Authenticate(ctx, c)
	if _, invalid := errors.AsType[*auth.Error](err); invalid && counts {
		find(l.failures, from, true).AllowN(l.now(), 1)
	}
	if err != nil || by.IsZero() {
		return by, err
	}
	return by, take(l, caller{by.Tenant, by.Subject})
}

// warn logs that the requests of an address are refused. If it is a proxy, its valid callers
// are refused, too, and only the operator can help.
func (l *limiter) warn(from netip.Prefix) {
	if others, may := l.warned.may(l.now()); may {
		l.log.Warn().Str("address", from.String()).Int64("others", others).
			Msg("too many invalid credentials from this address: refusing all its requests for now, valid credentials included; if it is a proxy, add it to trusted_proxies")
	}
}

// source returns the address of a request, as rates count it: an IPv4 address, or an IPv6 /64,
// the usual size of a subscriber's network. It is invalid if the address is unknown, as on a
// Unix socket.
func (l *limiter) source(c *auth.Credentials) netip.Prefix { return network(l.guard.client(c)) }

// penance is the delay of the answer to a request beyond its caller's rate. A waiting request
// costs almost nothing, while clients that repeat refused requests at once would take the
// processors from other callers.
const penance = 100 * time.Millisecond

// maxHeld is the maximum number of delayed answers, so that they never use all requests of a
// server: a refused address costs no other client a request.
const maxHeld = 1024

// slowDown holds the answer of a request beyond its rate back. If its caller is known, the
// connection stays open.
func (l *limiter) slowDown(w http.ResponseWriter, r *http.Request, known bool) {
	if known {
		skip(w, r)
	}
	defer l.held.Add(-1)
	if l.held.Add(1) > maxHeld {
		return
	}
	wait := time.NewTimer(penance)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-r.Context().Done():
	}
}

// tooMany returns the error of a request that may be made again after a time.
func tooMany(after time.Duration, message string) *Error {
	return &Error{Status: http.StatusTooManyRequests, Message: message, After: max(1, int(math.Ceil(after.Seconds())))}
}
