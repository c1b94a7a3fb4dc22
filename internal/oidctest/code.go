package oidctest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"
)

// A Client is a client of an [Issuer], for the authorization code flow. Every user who comes
// to the issuer is alice, signed in already.
type Client struct {
	ID, Secret  string // Secret "": the client is public
	RedirectURI string
	Claims      map[string]any // changes of the claims of ID tokens
	Access      map[string]any // changes of the claims of access tokens
}

// codes are the codes that an Issuer has given.
type codes struct {
	mu     sync.Mutex
	client Client
	given  map[string]url.Values // the request of each code; nil: the code was used
}

// Register makes c the only client of i.
func (i *Issuer) Register(c Client) {
	i.codes.mu.Lock()
	defer i.codes.mu.Unlock()
	i.codes.client = c
	if i.codes.given == nil {
		i.codes.given = map[string]url.Values{}
	}
}

// authorize is the authorization endpoint.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	i.codes.mu.Lock()
	defer i.codes.mu.Unlock()
	q, c := r.URL.Query(), i.codes.client
	switch {
	case c.ID == "" || q.Get("client_id") != c.ID || q.Get("redirect_uri") != c.RedirectURI:
		http.Error(w, "client_id or redirect_uri is not registered", http.StatusBadRequest)
		return
	case q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("nonce") == "":
		http.Error(w, "a code with PKCE and a nonce is needed", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	i.codes.given[code] = q
	answer := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.URL}}
	w.Header().Set("Location", c.RedirectURI+"?"+answer.Encode())
	w.WriteHeader(http.StatusFound)
}

// exchange is the token endpoint.
func (i *Issuer) exchange(t testing.TB, w http.ResponseWriter, r *http.Request) any {
	i.codes.mu.Lock()
	defer i.codes.mu.Unlock()
	c := i.codes.client
	wrong := func(status int, code string) any {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		return map[string]any{"error": code}
	}
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != c.ID || secret != c.Secret {
		return wrong(http.StatusUnauthorized, "invalid_client")
	}
	code := r.PostFormValue("code")
	asked := i.codes.given[code]
	i.codes.given[code] = nil
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if asked == nil || r.PostFormValue("redirect_uri") != c.RedirectURI || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(challenge[:]) {
		return wrong(http.StatusBadRequest, "invalid_grant")
	}
	access := i.Token(t, c.Access)
	half := sha256.Sum256([]byte(access))
	claims := map[string]any{
		"iss": i.URL, "aud": c.ID, "sub": "alice", "nonce": asked.Get("nonce"), "at_hash": base64.RawURLEncoding.EncodeToString(half[:16]),
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(), "groups": []string{"sre"},
	}
	maps.Copy(claims, c.Claims)
	w.Header().Set("Content-Type", "application/json")
	return map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 3600, "id_token": i.sign(t, "JWT", claims)}
}
