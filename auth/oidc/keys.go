package oidc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/rs/zerolog"

	"a2a-server/internal/guard"
	"a2a-server/internal/strictjson"
)

// The limits of fetching keys.
const (
	keysLast     = time.Hour        // keys are not used for longer than that after they were asked for
	keysRenewed  = keysLast / 2     // from this age on they are fetched in the background
	fetchPause   = 30 * time.Second // between the beginnings of two fetches, except after the first
	fetchTimeout = 10 * time.Second // of a fetch, with discovery
	maxDocument  = 1 << 20          // of a document, in bytes
	maxWaiting   = 4096             // tokens that wait for a fetch: a quarter of the requests that a server has by default
)

// keySet has the keys of an issuer. It fetches them when a token needs a key that it does not
// have: once for all waiting tokens, and not more than once in fetchPause, whatever tokens
// arrive. The first fetch does not count, so that an issuer that is still starting is soon
// asked again.
type keySet struct {
	issuer, jwks string
	client       http.Client
	now          func() time.Time
	log          zerolog.Logger

	mu        sync.Mutex
	keys      map[string][]key // by id
	fetched   time.Time        // when the fetch of keys began; zero: there are none
	tried     bool             // there was a fetch
	refetched time.Time        // when the latest fetch began, other than the first
	failure   error            // of the last fetch
	running   chan struct{}    // closed at the end of the fetch that is running; nil: none is
	waiting   int              // tokens that wait for its end
}

func newKeySet(c *Config) *keySet {
	s := &keySet{issuer: c.Issuer, jwks: c.JWKS, client: *c.Client, now: c.Now, log: c.Log.With().Str("issuer", c.Issuer).Logger()}
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s
}

// find returns the keys with an id, none if the issuer publishes none. The error says why
// that is not known.
func (s *keySet) find(ctx context.Context, id string) ([]key, error) {
	found, running, err := s.look(ctx, id, true)
	if running == nil {
		return found, err
	}
	defer s.left()
	select {
	case <-running:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	found, _, err = s.look(ctx, id, false)
	return found, err
}

// left counts a token that no longer waits.
func (s *keySet) left() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
}

// look returns the keys with an id, or the end of a fetch to wait for; call left then.
func (s *keySet) look(ctx context.Context, id string, fetch bool) ([]key, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	usable := !s.fetched.IsZero() && now.Sub(s.fetched) < keysLast
	if found := s.keys[id]; usable && len(found) > 0 {
		if now.Sub(s.fetched) >= keysRenewed {
			s.start(ctx, now)
		}
		return found, nil, nil
	}
	if fetch && s.start(ctx, now) {
		if s.waiting == maxWaiting {
			return nil, nil, errTooMany
		}
		s.waiting++
		return nil, s.running, nil
	}
	if s.failure != nil || !usable {
		return nil, nil, fmt.Errorf("not known at the moment: %w", cmp.Or(s.failure, errTooOld))
	}
	return nil, nil, nil
}

var (
	errTooOld  = errors.New("the known keys are too old")
	errTooMany = errors.New("too many tokens wait for the keys")
)

// start reports whether a fetch is running, which it starts if it may. s.mu is held.
func (s *keySet) start(ctx context.Context, now time.Time) bool {
	if s.running != nil {
		return true
	}
	if s.tried {
		if !s.refetched.IsZero() && now.Sub(s.refetched) < fetchPause {
			return false
		}
		s.refetched = now
	}
	s.tried = true
	running := make(chan struct{})
	s.running = running
	go func() {
		defer close(running)
		// All waiting tokens need the fetch, so it does not end with the request that began
		// it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
		defer cancel()
		keys, err := s.fetch(ctx)
		if err != nil {
			s.log.Warn().Err(err).Msg("cannot fetch the keys of the issuer; tokens that need new keys are answered with 503")
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running, s.failure = nil, err
		if err == nil {
			s.keys, s.fetched = keys, now
		}
	}()
	return true
}

// fetch asks the issuer for its keys. It recovers from panics, so that no answer ends the
// process.
func (s *keySet) fetch(ctx context.Context) (keys map[string][]key, err error) {
	defer guard.Recover(&err, "read the keys: panic")
	from := s.jwks
	if from == "" {
		if from, err = s.discover(ctx); err != nil {
			return nil, err
		}
	}
	raw, err := s.get(ctx, from)
	if err != nil {
		return nil, err
	}
	keys, skipped, err := readKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	switch {
	case len(keys) == 0:
		s.log.Warn().Errs("skipped", skipped).Msg("the issuer publishes no key that can be used; all its tokens are refused")
	case len(skipped) > 0:
		s.log.Debug().Errs("skipped", skipped).Msg("some keys of the issuer are not used")
	}
	return keys, nil
}

// discover returns where the keys are.
func (s *keySet) discover(ctx context.Context) (string, error) {
	document, at, err := s.metadata(ctx)
	if err != nil {
		return "", err
	}
	keys, ok := document["jwks_uri"].(string)
	if !ok {
		return "", fmt.Errorf("%s has no jwks_uri: configure jwks", at)
	}
	if err := checkURL(keys); err != nil {
		return "", fmt.Errorf("%s: jwks_uri: %w", at, err)
	}
	return keys, nil
}

// metadata returns the issuer's discovery document and its URL (OpenID Connect Discovery 1.0,
// section 4).
func (s *keySet) metadata(ctx context.Context) (document map[string]any, at string, err error) {
	at = strings.TrimSuffix(s.issuer, "/") + "/.well-known/openid-configuration"
	raw, err := s.get(ctx, at)
	if err != nil {
		return nil, at, err
	}
	if document, err = strictjson.DecodeObject(raw); err != nil {
		return nil, at, fmt.Errorf("%s: %w", at, err)
	}
	if document["issuer"] != s.issuer {
		return nil, at, fmt.Errorf("%s names the issuer %.200q: if it is correct, configure that issuer", at, document["issuer"])
	}
	return document, at, nil
}

// get returns the document at a URL.
func (s *keySet) get(ctx context.Context, from string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, application/jwk-set+json")
	resp, err := s.client.Do(req)
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		return nil, fmt.Errorf("%w: if the certificate is correct, add its authority as ca to the entry of the issuer", err)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers with status %d, not 200", from, resp.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", from, err)
	}
	if len(raw) > maxDocument {
		return nil, fmt.Errorf("%s is longer than 1 MiB", from)
	}
	return raw, nil
}

// signers are the candidate keys for the signature of a token. They implement go-oidc's
// KeySet.
type signers struct {
	keys     []key
	token    *token
	verified bool
}

// VerifySignature returns the payload of the token if any of the keys has signed it, with an
// algorithm of that key.
func (s *signers) VerifySignature(_ context.Context, raw string) ([]byte, error) {
	jws, err := jose.ParseSignedCompact(raw, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(s.token.algorithm)})
	if err != nil {
		return nil, err
	}
	for _, k := range s.keys {
		if !k.signs(s.token.algorithm) {
			continue
		}
		payload, err := jws.Verify(k.public)
		if err != nil {
			continue
		}
		if !bytes.Equal(payload, s.token.payload) {
			return nil, errors.New("the signed payload differs from the payload that was read")
		}
		s.verified = true
		return payload, nil
	}
	return nil, errors.New("no key has signed the token")
}
