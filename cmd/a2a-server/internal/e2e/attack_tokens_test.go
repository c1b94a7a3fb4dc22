package e2e_test

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// tokenProvider is an OpenID Connect provider that a test changes while it runs.
type tokenProvider struct {
	*httptest.Server

	fetches atomic.Int64 // of the keys

	mu   sync.Mutex
	keys http.HandlerFunc // serves the keys
}

// signingKeys are the keys of all issuers: making one takes long.
var signingKeys = sync.OnceValue(func() map[string]*rsa.PrivateKey {
	all := map[string]*rsa.PrivateKey{}
	for _, id := range []string{"k1", "k2"} {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err) // there is randomness
		}
		all[id] = key
	}
	return all
})

func newTokenProvider(t *testing.T) *tokenProvider {
	t.Helper()
	i := &tokenProvider{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) {
		i.fetches.Add(1)
		i.current()(w, r)
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		i.CloseClientConnections()
		i.Close()
	})
	i.publish("k1")
	return i
}

// current returns what answers with the keys.
func (i *tokenProvider) current() http.HandlerFunc {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys
}

// serve sets what answers with the keys.
func (i *tokenProvider) serve(h http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = h
}

// publish makes these the only keys.
func (i *tokenProvider) publish(ids ...string) {
	set := jose.JSONWebKeySet{}
	for _, id := range ids {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: signingKeys()[id].Public(), KeyID: id, Algorithm: "RS256", Use: "sig"})
	}
	i.serve(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(set) })
}

// claims returns the claims of a valid token for somebody of a tenant, with changes; those
// that are nil are left out.
func (i *tokenProvider) claims(tenant, subject, role string, changes ...map[string]any) map[string]any {
	now := time.Now()
	c := map[string]any{
		"iss": i.URL, "aud": "a2a", "sub": subject, "client_id": "web", "sid": "s1", "org": tenant, "employee": subject, "groups": []string{role},
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "jti": rand.Text(),
	}
	for _, change := range changes {
		maps.Copy(c, change)
	}
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// part returns a part of a token.
func part(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // claims can be marshaled
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// token signs claims with a key, which an issuer need not have published.
func token(key string, claims map[string]any, header ...map[string]any) string {
	h := map[string]any{"alg": "RS256", "kid": key, "typ": "at+jwt"}
	for _, change := range header {
		maps.Copy(h, change)
	}
	input := part(h) + "." + part(claims)
	sum := sha256.Sum256([]byte(input))
	private := signingKeys()[key]
	if private == nil {
		private = signingKeys()["k2"]
	}
	signature, err := rsa.SignPKCS1v15(nil, private, crypto.SHA256, sum[:])
	if err != nil {
		panic(err) // the key can sign
	}
	return input + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// unsigned returns a token with `alg: none`.
func unsigned(claims map[string]any) string {
	return part(map[string]any{"alg": "none", "kid": "k1", "typ": "at+jwt"}) + "." + part(claims) + "."
}

// confused returns a token whose MAC has the public key as its secret, in the form that
// libraries with this mistake are given it.
func confused(claims map[string]any) string {
	der, err := x509.MarshalPKIXPublicKey(signingKeys()["k1"].Public())
	if err != nil {
		panic(err) // a key of RSA
	}
	mac := hmac.New(sha256.New, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	input := part(map[string]any{"alg": "HS256", "kid": "k1", "typ": "at+jwt"}) + "." + part(claims)
	mac.Write([]byte(input))
	return input + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
