package a2aserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// issuer issues tokens, and publishes its key while it is up.
type issuer struct {
	url string
	up  atomic.Bool
	key *ecdsa.PrivateKey
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key}
	i.up.Store(true)
	point, err := key.PublicKey.Bytes() // 4, x and y
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any
		switch {
		case !i.up.Load():
			w.WriteHeader(http.StatusBadGateway)
			return
		case r.URL.Path == "/.well-known/openid-configuration":
			answer = map[string]any{"issuer": i.url, "jwks_uri": i.url + "/keys"}
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
	i.url = served.URL
	return i
}

// token returns an access token for alice, with claims changed.
func (i *issuer) token(t testing.TB, changes map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss": i.url, "aud": "a2a", "sub": "alice", "client_id": "web",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(), "groups": []string{"sre"},
	}
	maps.Copy(claims, changes)
	var text string
	for _, part := range []any{map[string]any{"alg": "ES256", "kid": "k", "typ": "at+jwt"}, claims} {
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
