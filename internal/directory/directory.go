// Package directory owns the durable memory of persons who were seen: by the token of an issuer, a
// proxy, or the program's own authenticator, directly and not by an agent. It says whether the person
// whom a key names exists, and which roles a person had when they were last seen.
//
// A person is a row of its owner, tenant and subject, with an index by its names. It is written after
// a message or a decision of theirs was committed, or at a sign-in to the pages, if the row is older
// than an hour or says something else: a request that is refused, or only reads, costs no write, unless
// it shows that somebody who was remembered has other roles now. It
// does not know credentials, votes or grants.
package directory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/store"
)

// The names of rows, which are on disk.
const (
	rowPerson = "person"
	keyPerson = "last"   // the only key of an owner
	indexName = "person" // by the hash of tenant and name
)

const (
	interval = time.Hour   // after which an unchanged person is written again
	pause    = time.Minute // after which a failed write is tried again
	maxNoted = 10_000      // persons in memory
)

// Config configures a [Directory]. All of it is required.
type Config struct {
	Store store.Store
	Now   func() time.Time
	// Operators are the methods whose persons are named by the operator, such as API keys: their
	// requests show nobody.
	Operators []string
	Log       zerolog.Logger
}

// A Directory remembers persons. It is safe for concurrent use.
type Directory struct {
	cfg Config

	mu    sync.Mutex
	noted map[store.Scope]noted
}

// noted is what was last written of a person, and until when that is enough; failed: the store has
// refused another entry since.
type noted struct {
	entry  Entry
	until  time.Time
	failed bool
}

// An Entry is a person when they were last seen, give or take an hour.
type Entry struct {
	Person string    `json:"person,omitempty"` // as the issuer or auth.people names them
	Roles  []string  `json:"roles,omitempty"`
	Method string    `json:"method"`
	Time   time.Time `json:"time"`
}

// New returns a Directory.
func New(cfg Config) *Directory { return &Directory{cfg: cfg, noted: map[store.Scope]noted{}} }

// Complete returns p, which says then whether the person whom its operator names has been seen in its
// tenant. If that is a login with a person of its own, p has both. A person of whom this program remembers
// other roles is written anew. Any error means that this is not known: the caller has to try again.
func (d *Directory) Complete(ctx context.Context, p auth.Principal) (auth.Principal, error) {
	d.mu.Lock()
	last, known := d.noted[store.Owner(p.Tenant, p.Subject)]
	d.mu.Unlock()
	if known && !slices.Equal(last.entry.Roles, rolesOf(p)) {
		d.Remember(ctx, p)
	}
	if !slices.Contains(d.cfg.Operators, p.Method) || p.Person == "" || p.PersonSeen {
		return p, nil
	}
	page, err := d.cfg.Store.Rows(ctx, store.Tenant(p.Tenant), store.RowQuery{Kind: rowPerson, Index: indexName, Prefix: indexKey(p.Tenant, auth.PersonName(p.Person))})
	if err != nil {
		return auth.Principal{}, fmt.Errorf("look up the person of %s: %w", p.Subject, err)
	}
	person := ""
	for _, row := range page.Rows {
		var e Entry
		readable := !row.Damaged && json.Unmarshal(row.Value, &e) == nil
		e.Person = cmp.Or(e.Person, p.Person)
		if !readable || person != "" && auth.PersonName(e.Person) != auth.PersonName(person) {
			return p, nil // it shows nobody, or the logins of two persons have this name
		}
		person = e.Person
	}
	if p.PersonSeen = person != ""; p.PersonSeen && auth.PersonName(person) != auth.PersonName(p.Person) {
		p.Person, p.Login = person, p.Person
	}
	return p, nil
}

// Last returns a person as they were last seen; ok is false if they have not been seen.
func (d *Directory) Last(ctx context.Context, tenant, subject string) (e Entry, ok bool, err error) {
	page, err := d.cfg.Store.Rows(ctx, store.Owner(tenant, subject), store.RowQuery{Kind: rowPerson, Key: []byte(keyPerson)})
	if err != nil || len(page.Rows) == 0 {
		return Entry{}, false, err
	}
	if err := json.Unmarshal(page.Rows[0].Value, &e); err != nil {
		return Entry{}, false, fmt.Errorf("read the person %s: %w", subject, err)
	}
	return e, true, nil
}

// Remember writes p, if it is a person who acts directly, unless that was done lately. Call it only
// for an input that was committed, or a sign-in. A person whom the store does not take is not known
// yet: their requests go on, and what names them stays in doubt.
func (d *Directory) Remember(ctx context.Context, p auth.Principal) {
	if slices.Contains(d.cfg.Operators, p.Method) || !p.Direct() || p.IsZero() || p.IsAnonymous() || p.Validate() != nil {
		return
	}
	ctx = context.WithoutCancel(ctx) // the input counts, even if its client has gone
	now, owner := d.cfg.Now(), store.Owner(p.Tenant, p.Subject)
	e := Entry{Roles: rolesOf(p), Method: p.Method, Time: now.UTC()}
	if p.PersonSeen {
		e.Person = p.Person
	}
	d.mu.Lock()
	last, known := d.noted[owner]
	d.mu.Unlock()
	same := last.entry.Person == e.Person && last.entry.Method == e.Method && slices.Equal(last.entry.Roles, e.Roles)
	if known && now.Before(last.until) && (same || last.failed) {
		return
	}
	next := noted{entry: e, until: now.Add(interval)}
	if err := d.write(ctx, owner, p, e); err != nil {
		d.cfg.Log.Warn().Err(err).Str("subject", p.Subject).Msg("a person cannot be remembered: keys that name them do not count until they are")
		next = noted{last.entry, now.Add(pause), true}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.noted) >= maxNoted {
		clear(d.noted) // each person is written once more
	}
	d.noted[owner] = next
}

// rolesOf returns the roles of p, each once and in order.
func rolesOf(p auth.Principal) []string {
	return slices.Compact(slices.Sorted(slices.Values(p.Roles)))
}

func (d *Directory) write(ctx context.Context, owner store.Scope, p auth.Principal, e Entry) error {
	value, err := json.Marshal(e)
	if err != nil {
		return err
	}
	row := store.RowChange{Kind: rowPerson, Key: []byte(keyPerson), IfRev: store.Any, Value: value}
	for _, name := range p.PersonNames() {
		row.Index = append(row.Index, store.IndexKey{Index: indexName, Key: indexKey(p.Tenant, name)})
	}
	_, err = d.cfg.Store.Append(ctx, &store.Batch{Scope: owner, Rows: []store.RowChange{row}}).Wait()
	return err
}

// indexKey returns the key of a name of a person in a tenant.
func indexKey(tenant, name string) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s%s", len(tenant), tenant, name))
	return sum[:]
}
