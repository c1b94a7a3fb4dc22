// Package oidctest is an OpenID Connect provider for tests.
package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// Audience is the audience of the tokens.
const Audience = "a2a"

// An Issuer issues tokens and, while it is up, publishes its key on a loopback address. It is
// safe for concurrent use.
type Issuer struct {
	URL string      // as in its tokens
	CA  []byte      // authority of its certificate, in PEM; nil: it has none
	Up  atomic.Bool // is true at the start
	key *ecdsa.PrivateKey

	codes codes
}

// New returns an Issuer that serves until the test ends.
func New(t testing.TB) *Issuer {
	t.Helper()
	i, served := start(t, httptest.NewServer)
	i.URL = served.URL
	return i
}

// NewTLS returns an Issuer with a certificate that it has signed itself.
func NewTLS(t testing.TB) *Issuer {
	t.Helper()
	i, served := start(t, func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // it has clients that reject the certificate
		s.StartTLS()
		return s
	})
	i.URL = served.URL
	i.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: served.Certificate().Raw})
	return i
}

func start(t testing.TB, serve func(http.Handler) *httptest.Server) (*Issuer, *httptest.Server) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &Issuer{key: key}
	i.Up.Store(true)
	point, err := key.PublicKey.Bytes() // 4, x and y
	if err != nil {
		t.Fatal(err)
	}
	served := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		switch {
		case !i.Up.Load():
			w.WriteHeader(http.StatusBadGateway)
			return
		case r.URL.Path == "/.well-known/openid-configuration":
			answer = map[string]any{
				"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
				"authorization_response_iss_parameter_supported": true,
			}
		case r.URL.Path == "/authorize":
			i.authorize(w, r)
			return
		case r.URL.Path == "/token":
			answer = i.exchange(t, w, r)
		default:
			answer = map[string]any{"keys": []any{map[string]any{
				"kty": "EC", "crv": "P-256", "kid": "k", "alg": "ES256", "use": "sig",
				"x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:]),
			}}}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(served.Close)
	return i, served
}

// Token returns an access token for alice, of the group sre, which is valid for an hour.
// Its claims are changed as given.
func (i *Issuer) Token(t testing.TB, changes map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss": i.URL, "aud": Audience, "sub": "alice", "client_id": "web", "sid": "s1",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(), "groups": []string{"sre"},
	}
	maps.Copy(claims, changes)
	return i.sign(t, "at+jwt", claims)
}

// sign returns a token of a type.
func (i *Issuer) sign(t testing.TB, kind string, claims map[string]any) string {
	t.Helper()
	var text string
	for _, part := range []any{map[string]any{"alg": "ES256", "kid": "k", "typ": kind}, claims} {
		encoded, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		text += base64.RawURLEncoding.EncodeToString(encoded) + "."
	}
	text = text[:len(text)-1]
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, i.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}
