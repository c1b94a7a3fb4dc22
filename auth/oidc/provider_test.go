package oidc_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"a2a-server/auth"
	"a2a-server/auth/oidc"
	"a2a-server/internal/egress"
)

// clock is a clock that tests move.
type clock struct{ ahead atomic.Int64 }

var start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func (c *clock) now() time.Time          { return start.Add(time.Duration(c.ahead.Load())) }
func (c *clock) advance(d time.Duration) { c.ahead.Add(int64(d)) }

// pair is a key that a provider signs with.
type pair struct {
	id, algorithm string
	private       crypto.Signer
}

var rsaKey = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })

func rsaPair(id string) pair { return pair{id, "RS256", rsaKey()} }
func ecPair(id string) pair {
	return pair{id, "ES256", must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))}
}
func edPair(id string) pair {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return pair{id, "EdDSA", must(key, err)}
}
func must[T any](v T, err error) T {
	if err != nil {
		panic(err) // keys and JSON of tests can be made
	}
	return v
}

// jwk returns the public key as an issuer publishes it, with members changed.
func (p pair) jwk(changes ...map[string]any) map[string]any {
	raw := must(json.Marshal(jose.JSONWebKey{Key: p.private.Public(), KeyID: p.id, Algorithm: p.algorithm, Use: "sig"}))
	var members map[string]any
	if err := json.Unmarshal(raw, &members); err != nil {
		panic(err)
	}
	change(members, changes)
	return members
}

// change sets members, and removes those that are nil.
func change(members map[string]any, changes []map[string]any) {
	for _, c := range changes {
		maps.Copy(members, c)
	}
	maps.DeleteFunc(members, func(_ string, v any) bool { return v == nil })
}

// encode returns a part of a token.
func encode(v any) string {
	raw, ok := v.([]byte)
	if !ok {
		raw = must(json.Marshal(v))
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// sign returns a token with a header and claims, which may be maps or bytes.
func (p pair) sign(header, claims any) string {
	input := encode(header) + "." + encode(claims)
	sum := sha256.Sum256([]byte(input))
	var signature []byte
	switch key := p.private.(type) {
	case *rsa.PrivateKey:
		signature = must(rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:]))
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
		must(r, err)
		signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	case ed25519.PrivateKey:
		signature = ed25519.Sign(key, []byte(input))
	}
	return input + "." + encode(signature)
}

// hmacSigned returns a token that is signed with a shared secret.
func hmacSigned(header, claims any, secret []byte) string {
	input := encode(header) + "." + encode(claims)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(input))
	return input + "." + encode(mac.Sum(nil))
}

// provider is an issuer of tokens, which may be changed while it runs.
type provider struct {
	*httptest.Server

	discoveries, fetches atomic.Int64

	mu       sync.Mutex
	keys     http.Handler // serves the keys
	document map[string]any
}

func newProvider(t testing.TB, pairs ...pair) *provider {
	t.Helper()
	p := &provider{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.discoveries.Add(1)
		p.mu.Lock()
		defer p.mu.Unlock()
		_ = json.NewEncoder(w).Encode(p.document)
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) {
		p.fetches.Add(1)
		p.mu.Lock()
		keys := p.keys
		p.mu.Unlock()
		keys.ServeHTTP(w, r)
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	p.document = map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys"}
	p.publish(pairs...)
	return p
}

// serve sets what answers with the keys.
func (p *provider) serve(h http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = h
}

// publish makes these the only keys.
func (p *provider) publish(pairs ...pair) {
	set := []any{}
	for _, k := range pairs {
		set = append(set, k.jwk())
	}
	p.publishRaw(set)
}

func (p *provider) publishRaw(set []any) {
	p.serve(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": set})
	})
}

// config returns the configuration for the tokens of the provider.
func (p *provider) config(c *clock, changes ...func(*oidc.Config)) oidc.Config {
	config := oidc.Config{Name: "corp", Issuer: p.URL, Audiences: []string{"a2a"}, Algorithms: []string{"RS256", "ES256", "EdDSA"}, Client: client(), Now: c.now}
	for _, change := range changes {
		change(&config)
	}
	return config
}

var client = sync.OnceValue(func() *http.Client {
	return must(egress.NewClient(egress.Config{AllowLoopback: true, NoReuse: true, Timeout: time.Minute}))
})

func header(p pair, changes ...map[string]any) map[string]any {
	h := map[string]any{"alg": p.algorithm, "kid": p.id, "typ": "at+jwt"}
	change(h, changes)
	return h
}

func (p *provider) claims(changes ...map[string]any) map[string]any {
	c := map[string]any{
		"iss": p.URL, "aud": "a2a", "sub": "alice", "client_id": "web", "sid": "s1", "iat": start.Unix(), "exp": start.Add(time.Hour).Unix(),
		"groups": []string{"sre"}, "org": "acme",
	}
	change(c, changes)
	return c
}

// bearing returns the credentials of a request with Authorization headers.
func bearing(values ...string) *auth.Credentials {
	return &auth.Credentials{Header: func(name string) []string {
		if http.CanonicalHeaderKey(name) != "Authorization" {
			return nil
		}
		return values
	}}
}

func authenticate(t testing.TB, a auth.Authenticator, token string) (auth.Principal, error) {
	t.Helper()
	return a.Authenticate(t.Context(), bearing("Bearer "+token))
}

func newAuthenticator(t testing.TB, configs ...oidc.Config) *oidc.Authenticator {
	t.Helper()
	a, err := oidc.New(configs...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func unpublished(n int) string { return fmt.Sprintf("unpublished-%d", n) }
