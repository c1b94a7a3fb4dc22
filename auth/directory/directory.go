// Package directory owns the durable memory of persons who have signed in: by the token of an issuer,
// a proxy, or the program's own authenticator, directly and not by an agent. It says whether the
// person whom a key names exists, and which roles a person had at their last sign-in.
//
// A person is a row of its owner, tenant and subject, with an index by its names. It is written when a
// request is authenticated, if the row is older than an hour or says something else, so that most
// requests cost no write. It does not know credentials, votes or grants.
package directory

import (
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
	// Given are the methods whose persons are named by the operator, such as API keys: a request
	// by them shows nobody.
	Given []string
	Log   zerolog.Logger
}

// A Directory remembers persons. It is safe for concurrent use.
type Directory struct {
	cfg Config

	mu    sync.Mutex
	noted map[store.Scope]noted
}

// noted is what was last written of a person, and until when that is enough.
type noted struct {
	entry Entry
	until time.Time
}

// An Entry is a person at their last sign-in, give or take an hour.
type Entry struct {
	Person string    `json:"person,omitempty"` // as the issuer or auth.people names them
	Roles  []string  `json:"roles,omitempty"`
	Method string    `json:"method"`
	Time   time.Time `json:"time"`
}

// New returns a Directory.
func New(cfg Config) *Directory { return &Directory{cfg: cfg, noted: map[store.Scope]noted{}} }

// Complete remembers p, if it is a person who has signed in, and says of any other whether the person
// whom it names has been seen in its tenant. Any error means that this is not known: the caller has to
// try again.
func (d *Directory) Complete(ctx context.Context, p auth.Principal) (auth.Principal, error) {
	if !slices.Contains(d.cfg.Given, p.Method) {
		if p.May(auth.Review) == nil && p.Direct() && !p.IsAnonymous() && p.Validate() == nil { // a denied caller costs no write
			d.note(ctx, p)
		}
		return p, nil
	}
	if p.Person == "" || p.PersonSeen {
		return p, nil
	}
	// The index may have rows that are damaged, which show nobody.
	page, err := d.cfg.Store.Rows(ctx, store.Tenant(p.Tenant), store.RowQuery{Kind: rowPerson, Index: indexName, Prefix: indexKey(p.Tenant, auth.PersonName(p.Person))})
	if err != nil {
		return auth.Principal{}, fmt.Errorf("look up the person of %s: %w", p.Subject, err)
	}
	p.PersonSeen = slices.ContainsFunc(page.Rows, func(r store.Row) bool { return !r.Damaged })
	return p, nil
}

// Last returns a person at their last sign-in; ok is false if they have not been seen.
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

// note writes p, unless that was done lately. A person whom the store does not take is not known
// yet: their requests go on, and what names them stays in doubt.
func (d *Directory) note(ctx context.Context, p auth.Principal) {
	now, owner := d.cfg.Now(), store.Owner(p.Tenant, p.Subject)
	e := Entry{Roles: slices.Compact(slices.Sorted(slices.Values(p.Roles))), Method: p.Method, Time: now.UTC()}
	if p.PersonSeen {
		e.Person = p.Person
	}
	d.mu.Lock()
	last, known := d.noted[owner]
	d.mu.Unlock()
	if known && now.Before(last.until) && last.entry.Person == e.Person && last.entry.Method == e.Method && slices.Equal(last.entry.Roles, e.Roles) {
		return
	}
	until := now.Add(interval)
	if err := d.write(ctx, owner, p, e); err != nil {
		d.cfg.Log.Warn().Err(err).Str("subject", p.Subject).Msg("a person who signed in cannot be remembered: keys that name them do not count for them")
		until = now.Add(pause)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.noted) >= maxNoted {
		clear(d.noted) // each person is written once more
	}
	d.noted[owner] = noted{e, until}
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
