package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/store"
)

// Names of a session's row. They are on disk.
const (
	rowSession = "session"       // key: SHA-256 of the token; value: session as JSON; owner: the principal
	indexToken = "session.token" // the key again: a search by token does not know the owner
	indexEnd   = "session.end"   // when the session ends, in 16 hexadecimal digits of milliseconds
)

const (
	usedEvery   = time.Minute // how often the last use is written
	sweepEvery  = 10 * time.Minute
	maxSessions = 50 // of a principal; the next session replaces the session that would end first
)

// The ways to begin a session.
const (
	wayKey  = "key"
	wayOIDC = "oidc"
)

// session is the value of a row.
type session struct {
	By      auth.Principal `json:"by"`
	Way     string         `json:"way"`
	Issuer  string         `json:"issuer,omitempty"` // its name
	Mark    string         `json:"mark"`             // of the key or of the issuer
	Created store.Millis   `json:"created"`
	Used    store.Millis   `json:"used"`
	Ends    store.Millis   `json:"ends,omitempty"` // with its credential; 0: the credential does not end
}

// row is a session as it is stored.
type row struct {
	session
	key []byte
	rev uint64
}

func (s *session) owner() store.Scope { return store.Owner(s.By.Tenant, s.By.Subject) }

// latest returns when v ends however much it is used.
func (s *SignIn) latest(v *session) store.Millis {
	end := v.Created + store.Millis(s.cfg.Lifetime.Milliseconds())
	if v.Ends > 0 {
		end = min(end, v.Ends)
	}
	return end
}

// over returns when v ends if it is not used again.
func (s *SignIn) over(v *session) store.Millis {
	return min(s.latest(v), v.Used+store.Millis(s.cfg.Idle.Milliseconds()))
}

// put returns the change that writes a row with revision rev.
func (s *SignIn) put(key []byte, rev uint64, v *session) (*store.Batch, error) {
	value, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return &store.Batch{Scope: v.owner(), Rows: []store.RowChange{{
		Kind: rowSession, Key: key, IfRev: rev, Value: value,
		Index: []store.IndexKey{{Index: indexToken, Key: key}, {Index: indexEnd, Key: fmt.Appendf(nil, "%016x", uint64(s.over(v)))}},
	}}}, nil
}

// create begins a session with a new token. It ends the session that the request had.
func (s *SignIn) create(w http.ResponseWriter, r *http.Request, v session) error {
	ctx := r.Context()
	v.Created = store.MillisOf(s.cfg.Now())
	v.Used = v.Created
	if !v.By.Expires.IsZero() {
		v.Ends = store.MillisOf(v.By.Expires)
	}
	if err := s.makeRoom(ctx, v.owner()); err != nil {
		return err
	}
	token := make([]byte, 32)
	_, _ = rand.Read(token) // it never fails
	key := sha256.Sum256(token)
	b, err := s.put(key[:], 0, &v)
	if err != nil {
		return err
	}
	if _, err := s.cfg.Store.Append(ctx, b).Wait(); err != nil {
		return err
	}
	if err := s.end(r); err != nil {
		s.cfg.Log.Warn().Err(err).Msg("the session before a sign-in cannot be ended: it ends by its time")
	}
	s.set(w, r, sessionCookie, base64.RawURLEncoding.EncodeToString(token), 0)
	s.cfg.Log.Info().Str("tenant", v.By.Tenant).Str("subject", v.By.Subject).Str("way", v.Way).Msg("signed in")
	return nil
}

// makeRoom ends a session of an owner with too many.
func (s *SignIn) makeRoom(ctx context.Context, owner store.Scope) error {
	page, err := s.cfg.Store.Rows(ctx, owner, store.RowQuery{Kind: rowSession, Index: indexEnd, Limit: maxSessions})
	if err != nil || len(page.Rows) < maxSessions {
		return err
	}
	return s.remove(ctx, owner, page.Rows[0].Key)
}

// find returns the session of a token, or [errNoSession].
func (s *SignIn) find(ctx context.Context, token string) (row, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != 32 {
		return row{}, errNoSession
	}
	key := sha256.Sum256(raw)
	page, err := s.cfg.Store.Rows(ctx, store.System(), store.RowQuery{Kind: rowSession, Index: indexToken, Prefix: key[:], Limit: 1})
	if err != nil {
		return row{}, err
	}
	if len(page.Rows) == 0 {
		return row{}, errNoSession
	}
	return decode(&page.Rows[0])
}

func decode(at *store.Row) (row, error) {
	out := row{key: at.Key, rev: at.Rev}
	if at.Damaged || json.Unmarshal(at.Value, &out.session) != nil {
		return row{}, errNoSession
	}
	return out, nil
}

var errNoSession = errors.New("there is no such session")

// touch writes that a session is being used. That it ended meanwhile is no error.
func (s *SignIn) touch(ctx context.Context, at *row) {
	now := store.MillisOf(s.cfg.Now())
	if now-at.Used < store.Millis(usedEvery.Milliseconds()) {
		return
	}
	v := at.session
	v.Used = now
	b, err := s.put(at.key, at.rev, &v)
	if err == nil {
		_, err = s.cfg.Store.Append(ctx, b).Wait()
	}
	if err != nil && !errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
		s.cfg.Log.Warn().Err(err).Msg("the last use of a session cannot be written: it may end too early")
	}
}

// end ends the session of a request, if it has one.
func (s *SignIn) end(r *http.Request) error {
	token, err := s.token(httpd.CredentialsOf(r))
	if err != nil {
		return nil //nolint:nilerr // such a cookie is of no session
	}
	at, err := s.find(r.Context(), token)
	if errors.Is(err, errNoSession) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.remove(r.Context(), at.owner(), at.key)
}

func (s *SignIn) remove(ctx context.Context, owner store.Scope, key []byte) error {
	_, err := s.cfg.Store.Append(ctx, &store.Batch{Scope: owner, Rows: []store.RowChange{{Kind: rowSession, Key: key, IfRev: store.Any, Delete: true}}}).Wait()
	return err
}

// Run removes sessions that have ended, until ctx ends.
func (s *SignIn) Run(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Log.Warn().Err(err).Msg("ended sessions cannot be removed now")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (s *SignIn) sweep(ctx context.Context) error {
	q := store.RowQuery{Kind: rowSession, Index: indexEnd, Limit: 100}
	for stored, err := range store.AllRows(ctx, s.cfg.Store, store.System(), q) {
		if err != nil {
			return err
		}
		at, err := decode(stored)
		if err != nil {
			continue // its owner is lost
		}
		if store.MillisOf(s.cfg.Now()) < s.over(&at.session) {
			break // and so are the rest
		}
		if err := s.remove(ctx, at.owner(), at.key); err != nil {
			return err
		}
	}
	return nil
}
