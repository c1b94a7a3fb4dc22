// Package apikey authenticates callers by API keys: long random texts in a header, whose
// hashes are in a file. [New] reads the file, [Authenticator.Reload] reads it again, and [Add]
// and [Revoke] change it. The package does not know how a request arrived, or what a caller
// may do.
package apikey

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"a2a-server/auth"
)

// Method is the [auth.Principal.Method] of a caller with an API key.
const Method = "api_key"

// subjects begin the subjects of callers, before the id of their key.
const subjects = "key:"

// Config configures an Authenticator.
type Config struct {
	// Header is the header field that has the key. Defaults to X-API-Key. If it is
	// Authorization, the value is "Bearer <key>", and no other authenticator may read that
	// field.
	Header string
	File   string // required
	Tenant string // of keys whose entry has no tenant; may be empty

	Now func() time.Time // Defaults to time.Now.
}

// Authenticator is an [auth.Authenticator] of API keys. It is safe for concurrent use.
type Authenticator struct {
	cfg    Config
	bearer bool // Header is Authorization

	reloading sync.Mutex
	read      [sha256.Size]byte // of the file
	keys      atomic.Pointer[table]
}

// table is the immutable content of a key file.
type table struct {
	keys    map[string]entry // by id
	changed chan struct{}    // closed when another table has replaced this one
}

type entry struct {
	hash    hash
	revoked bool
	by      auth.Principal
}

// New returns an Authenticator of the keys in a file. The error is a fault of the file or the
// configuration.
func New(cfg Config) (*Authenticator, error) {
	if cfg.Header == "" {
		cfg.Header = "X-API-Key"
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	switch {
	case cfg.File == "":
		return nil, errors.New("no API key file configured: create one with a2a-server keys add")
	case !httpguts.ValidHeaderFieldName(cfg.Header):
		return nil, fmt.Errorf("%.100q is not the name of a header field: write one such as X-API-Key", cfg.Header)
	}
	a := &Authenticator{cfg: cfg, bearer: strings.EqualFold(cfg.Header, "Authorization")}
	if err := a.Reload(); err != nil {
		return nil, err
	}
	return a, nil
}

// Reload reads the file again. All its keys count at once; if anything is wrong with it,
// nothing changes, and the error lists all problems.
func (a *Authenticator) Reload() error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	text, err := readFile(a.cfg.File)
	if err != nil {
		return err
	}
	read := sha256.Sum256(text)
	before := a.keys.Load()
	if before != nil && read == a.read {
		return nil
	}
	keys, err := parseFile(a.cfg.File, text)
	if err != nil {
		return err
	}
	next := &table{keys: make(map[string]entry, len(keys)), changed: make(chan struct{})}
	for i := range keys {
		k := &keys[i]
		by := k.principal(a.cfg.Tenant)
		if err := by.Validate(); err != nil {
			return fmt.Errorf("%s: key %s: %w", a.cfg.File, k.ID, err)
		}
		next.keys[k.ID] = entry{hash: k.hash, revoked: !k.Revoked.IsZero(), by: by}
	}
	a.read = read
	a.keys.Store(next)
	if before != nil {
		close(before.changed)
	}
	return nil
}

// Holder returns whom the key with a subject authenticates. ours is false if the subject is
// not of an API key; valid is false if its key was removed or revoked, or has expired.
func (a *Authenticator) Holder(subject string) (by auth.Principal, ours, valid bool) {
	id, ours := strings.CutPrefix(subject, subjects)
	e, known := a.keys.Load().keys[id]
	return e.by, ours, ours && known && a.valid(e)
}

// valid reports whether a key is neither revoked nor expired.
func (a *Authenticator) valid(e entry) bool {
	return !e.revoked && (e.by.Expires.IsZero() || a.cfg.Now().Before(e.by.Expires))
}

// Holders returns whom the valid keys authenticate, by subject.
func (a *Authenticator) Holders() (holders []auth.Principal) {
	for _, e := range a.keys.Load().keys {
		if a.valid(e) {
			holders = append(holders, e.by)
		}
	}
	slices.SortFunc(holders, func(x, y auth.Principal) int { return strings.Compare(x.Subject, y.Subject) })
	return holders
}

// Changed implements [auth.Changing]: the channel is closed when a reload has replaced the
// keys.
func (a *Authenticator) Changed() <-chan struct{} { return a.keys.Load().changed }

// Challenges implements [auth.Challenger].
func (a *Authenticator) Challenges() []string {
	if a.bearer {
		return []string{"Bearer"}
	}
	return []string{`ApiKey header="` + a.cfg.Header + `"`}
}

const (
	saysMalformed = "this is not an API key of this server: send it whole, as it was printed"
	saysUnknown   = "the API key is not valid, or no longer: ask the operator of the server for a new one"
)

// Authenticate returns the holder of the key in a request. The time it takes depends on the
// key's form, not on whether its id exists: a wrong key costs the same as a valid one.
func (a *Authenticator) Authenticate(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
	values := c.Header(a.cfg.Header)
	switch len(values) {
	case 0:
		return auth.Principal{}, auth.ErrNone
	case 1:
	default:
		return auth.Principal{}, a.refuse("invalid_request", "the header "+a.cfg.Header+" is given more than once: send one API key")
	}
	key := values[0]
	if a.bearer {
		scheme, rest, _ := strings.Cut(key, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return auth.Principal{}, auth.ErrNone
		}
		key = rest
	}
	id, sum, ok := parse(key)
	if !ok {
		return auth.Principal{}, a.refuse("invalid_token", saysMalformed)
	}
	e, known := a.keys.Load().keys[id]
	same := subtle.ConstantTimeCompare(sum[:], e.hash[:]) == 1 // with zeros, if it is not known
	switch {
	case !known || !same || e.revoked:
		return auth.Principal{}, a.refuse("invalid_token", saysUnknown)
	case !e.by.Expires.IsZero() && !a.cfg.Now().Before(e.by.Expires):
		return auth.Principal{}, a.refuse("invalid_token", "the API key has expired: ask the operator of the server for a new one")
	}
	return e.by, nil
}

// refuse returns the error of a request with an invalid key.
func (a *Authenticator) refuse(code, says string) error {
	scheme := "ApiKey"
	if a.bearer {
		scheme = "Bearer"
	}
	return &auth.Error{Scheme: scheme, Code: code, Description: says}
}
