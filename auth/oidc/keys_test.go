package oidc_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/auth"
	"a2a-server/auth/oidc"
)

// answer is what became of a token.
func answer(t testing.TB, a auth.Authenticator, token string) string {
	t.Helper()
	who, err := authenticate(t, a, token)
	var refused *auth.Error
	switch {
	case err == nil:
		return who.Subject
	case errors.As(err, &refused):
		return "refused"
	case errors.Is(err, auth.ErrNone):
		return "none"
	}
	return "unknown"
}

// Whoever sends tokens with keys that do not exist does not make the server ask for more.
func TestUnknownKeysAreFetchedForOnce(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	p, c := newProvider(t, key), &clock{}
	a := newAuthenticator(t, p.config(c))
	flood := func() {
		var all sync.WaitGroup
		for n := range 200 {
			all.Go(func() {
				if got := answer(t, a, key.sign(header(key, members{"kid": unpublished(n)}), p.claims())); got != "refused" {
					t.Errorf("a token of an unknown key: %s", got)
				}
			})
		}
		all.Wait()
	}
	valid := key.sign(header(key), p.claims())
	if got := answer(t, a, valid); got != "corp:alice" {
		t.Fatal(got)
	}
	// In any half minute there are at most two: the first one, and one more.
	var at []time.Time
	for range 12 {
		before := p.fetches.Load()
		flood()
		for range p.fetches.Load() - before {
			at = append(at, c.now())
		}
		c.advance(10 * time.Second)
	}
	at = append([]time.Time{start}, at...)
	if len(at) != 5 {
		t.Errorf("2400 tokens in two minutes made %d fetches, want 5: %v", len(at), at)
	}
	for n := range at[2:] {
		if at[n+2].Sub(at[n]) < 30*time.Second {
			t.Errorf("three fetches within %s", at[n+2].Sub(at[n]))
		}
	}
	if got := answer(t, a, key.sign(header(key), p.claims(members{"sub": "bob"}))); got != "corp:bob" {
		t.Errorf("a valid token in a flood: %s", got)
	}
	if p.discoveries.Load() != p.fetches.Load() {
		t.Errorf("%d discoveries, %d fetches", p.discoveries.Load(), p.fetches.Load())
	}
}

// All tokens that wait for keys wait for one fetch.
func TestTokensWaitForOneFetch(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	p := newProvider(t, key)
	set := must(json.Marshal(members{"keys": []any{key.jwk()}}))
	arrived, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	p.serve(func(w http.ResponseWriter, _ *http.Request) {
		once.Do(func() { close(arrived) })
		<-release
		_, _ = w.Write(set)
	})
	a := newAuthenticator(t, p.config(&clock{}))
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			if got := answer(t, a, key.sign(header(key), p.claims(members{"sub": strconv.Itoa(n)}))); got != "corp:"+strconv.Itoa(n) {
				t.Error(got)
			}
		})
	}
	<-arrived
	// One of them gives up, and with it no other one.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Authenticate(gone, bearing("Bearer "+key.sign(header(key), p.claims()))); !errors.Is(err, context.Canceled) {
		t.Errorf("whoever is gone: %v", err)
	}
	close(release)
	all.Wait()
	if n := p.fetches.Load(); n != 1 {
		t.Errorf("%d fetches, want 1", n)
	}
}

// The request that begins a fetch may end before it.
func TestFetchOutlivesItsRequest(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	p := newProvider(t, key)
	arrived, release := make(chan struct{}), make(chan struct{})
	set := must(json.Marshal(members{"keys": []any{key.jwk()}}))
	p.serve(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		_, _ = w.Write(set)
	})
	a := newAuthenticator(t, p.config(&clock{}))
	token := key.sign(header(key), p.claims())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := a.Authenticate(ctx, bearing("Bearer "+token))
		ended <- err
	}()
	<-arrived
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the request that is gone: %v", err)
	}
	close(release)
	if got := answer(t, a, token); got != "corp:alice" || p.fetches.Load() != 1 {
		t.Errorf("the next request: %s after %d fetches", got, p.fetches.Load())
	}
}

// A key that was published later is found, and one that was withdrawn is forgotten.
func TestKeysChange(t *testing.T) {
	t.Parallel()
	old, fresh := ecPair("old"), ecPair("new")
	p, c := newProvider(t, old), &clock{}
	a := newAuthenticator(t, p.config(c))
	n := 0
	token := func(k pair) string { // never the same: what is remembered is another test
		n++
		return k.sign(header(k), p.claims(members{"jti": strconv.Itoa(n), "exp": start.Add(100 * time.Hour).Unix()}))
	}
	check := func(what string, k pair, want string) {
		t.Helper()
		if got := answer(t, a, token(k)); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("at the beginning", old, "corp:alice")
	check("not yet published", fresh, "refused")
	c.advance(30 * time.Second)
	p.publish(fresh)
	check("published", fresh, "corp:alice")
	check("withdrawn, and fetched again", old, "refused")

	c.advance(time.Hour)
	p.publish(old)
	check("withdrawn an hour ago", fresh, "refused")
	check("published again", old, "corp:alice")
	p.publish()
	c.advance(time.Hour)
	check("all withdrawn", old, "refused")
	p.publish(old)
	c.advance(29 * time.Second)
	check("published a moment after a fetch", old, "refused")
	c.advance(time.Second)
	check("a while after it", old, "corp:alice")
}

// Keys that are in use are fetched again before they end, and nobody waits for that.
func TestKeysAreRenewed(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	p, c := newProvider(t, key), &clock{}
	a := newAuthenticator(t, p.config(c))
	token := func(n int) string {
		return key.sign(header(key), p.claims(members{"jti": n, "exp": start.Add(100 * time.Hour).Unix()}))
	}
	if got := answer(t, a, token(0)); got != "corp:alice" {
		t.Fatal(got)
	}
	c.advance(29 * time.Minute)
	answer(t, a, token(1))
	if n := p.fetches.Load(); n != 1 {
		t.Errorf("%d fetches after 29 minutes, want 1", n)
	}
	c.advance(time.Minute)
	release, served := make(chan struct{}), make(chan struct{})
	set := must(json.Marshal(members{"keys": []any{key.jwk()}}))
	p.serve(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		_, _ = w.Write(set)
		close(served)
	})
	if got := answer(t, a, token(2)); got != "corp:alice" {
		t.Errorf("while the keys are renewed: %s", got)
	}
	close(release)
	<-served
	c.advance(45 * time.Minute) // the first ones would be too old by now
	// An unknown key waits for the fetch that may still be running.
	answer(t, a, key.sign(header(key, members{"kid": "other"}), p.claims()))
	p.serve(down)
	if got := answer(t, a, token(3)); got != "corp:alice" {
		t.Errorf("after the keys were renewed: %s", got)
	}
}

func down(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }

// An issuer that is down makes its tokens unknown, not invalid; its keys last an hour.
func TestIssuerIsDown(t *testing.T) {
	t.Parallel()
	key, other := ecPair("k1"), ecPair("k1")
	p, up, c := newProvider(t, key), newProvider(t, other), &clock{}
	p.serve(down)
	a := newAuthenticator(t, p.config(c), up.config(c, func(c *oidc.Config) { c.Name = "up" }))
	n := 0
	check := func(what, want string) {
		t.Helper()
		n++
		if got := answer(t, a, key.sign(header(key), p.claims(members{"jti": n, "exp": start.Add(100 * time.Hour).Unix()}))); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("down", "unknown")
	if got := answer(t, a, other.sign(header(other), up.claims())); got != "up:alice" {
		t.Errorf("the other issuer: %s", got)
	}
	check("asked again", "unknown")
	check("not asked again", "unknown")
	if n := p.fetches.Load(); n != 2 {
		t.Errorf("%d fetches at once, want 2", n)
	}
	p.publish(key)
	check("up, and not asked yet", "unknown")
	c.advance(30 * time.Second)
	check("up", "corp:alice")

	p.serve(down)
	c.advance(59 * time.Minute)
	check("down for less than an hour", "corp:alice")
	c.advance(time.Minute)
	check("down for an hour", "unknown")
	p.publish(key)
	c.advance(30 * time.Second)
	check("up again", "corp:alice")
}

// What an issuer answers instead of keys gives no caller, and does no harm.
func TestAnswersThatAreNoKeys(t *testing.T) {
	t.Parallel()
	key, other := ecPair("k1"), ecPair("k1")
	elsewhere := newProvider(t, key)
	good := must(json.Marshal(members{"keys": []any{key.jwk()}}))
	says := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
	}
	set := func(keys ...any) http.HandlerFunc {
		return says(string(must(json.Marshal(members{"keys": append([]any{}, keys...)}))))
	}
	for name, tc := range map[string]struct {
		keys http.HandlerFunc
		want string
	}{
		"keys":           {says(string(good)), "corp:alice"},
		"a key, twice":   {set(key.jwk(), key.jwk()), "corp:alice"},
		"two of an id":   {set(other.jwk(), rsaPair("k1").jwk(), edPair("k1").jwk(), key.jwk()), "corp:alice"},
		"many of an id":  {set(other.jwk(), other.jwk(), other.jwk(), other.jwk(), key.jwk()), "refused"},
		"some unusable":  {set(members{"kty": "XYZ", "kid": "x"}, members{}, "text", 1, nil, []any{}, key.jwk()), "corp:alice"},
		"an unknown alg": {set(members{"kty": "EC", "kid": "k2", "crv": "secp256k1", "alg": "ES256K", "x": "AA", "y": "AA"}, key.jwk()), "corp:alice"},
		"no use":         {set(key.jwk(members{"use": nil, "alg": nil})), "corp:alice"},
		"verify":         {set(key.jwk(members{"use": nil, "key_ops": []string{"verify"}})), "corp:alice"},

		"for encryption":     {set(key.jwk(members{"use": "enc"})), "refused"},
		"for something":      {set(key.jwk(members{"key_ops": []string{"encrypt"}})), "refused"},
		"for nothing":        {set(key.jwk(members{"key_ops": []string{}})), "refused"},
		"another algorithm":  {set(key.jwk(members{"alg": "ES384"})), "refused"},
		"none as algorithm":  {set(key.jwk(members{"alg": "none"})), "refused"},
		"no id":              {set(key.jwk(members{"kid": nil})), "refused"},
		"another id":         {set(key.jwk(members{"kid": "K1"})), "refused"},
		"a secret":           {set(members{"kty": "oct", "kid": "k1", "k": "c2VjcmV0"}), "refused"},
		"a private key":      {set(key.jwk(members{"d": encode(make([]byte, 32))})), "refused"},
		"not on the curve":   {set(key.jwk(members{"x": encode(make([]byte, 32))})), "refused"},
		"no keys":            {set(), "refused"},
		"no list":            {says(`{}`), "unknown"},
		"null":               {says(`{"keys":null}`), "unknown"},
		"another list":       {says(`{"keys":{"k1":1}}`), "unknown"},
		"two lists":          {says(`{"keys":[],` + string(good[1:])), "unknown"},
		"HTML":               {says("<!doctype html><title>Sign in</title>"), "unknown"},
		"nothing":            {says(""), "unknown"},
		"half":               {says(string(good[:len(good)/2])), "unknown"},
		"keys with an error": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); _, _ = w.Write(good) }, "unknown"},
		"not modified":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) }, "unknown"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/keys", http.StatusFound)
		}, "unknown"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(good)
		}, "unknown"},
		"just small enough": {says(string(good) + strings.Repeat(" ", 1<<20-len(good))), "corp:alice"},
		"too large":         {says(string(good) + strings.Repeat(" ", 1<<20+1-len(good))), "unknown"},
		"100 MB": {func(w http.ResponseWriter, _ *http.Request) {
			chunk := []byte(strings.Repeat(" ", 1<<20))
			for range 100 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
			_, _ = w.Write(good)
		}, "unknown"},
		"deep":     {says(`{"keys":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}"), "unknown"},
		"no UTF-8": {says("{\"keys\":[],\"a\":\"\xff\"}"), "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			p.serve(tc.keys)
			a := newAuthenticator(t, p.config(&clock{}))
			if got := answer(t, a, key.sign(header(key), p.claims())); got != tc.want {
				t.Errorf("a token: %s, want %s", got, tc.want)
			}
		})
	}
	if n := elsewhere.fetches.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// An issuer says who it is, and its keys do not come from anywhere else.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	for name, tc := range map[string]struct {
		change func(p *provider) members // of the document
		config func(p *provider, c *oidc.Config)
		want   string
	}{
		"as it should be":      {want: "corp:alice"},
		"of another issuer":    {change: func(*provider) members { return members{"issuer": "https://evil.example"} }, want: "unknown"},
		"of nobody":            {change: func(*provider) members { return members{"issuer": nil} }, want: "unknown"},
		"with a slash":         {change: func(p *provider) members { return members{"issuer": p.URL + "/"} }, want: "unknown"},
		"no keys":              {change: func(*provider) members { return members{"jwks_uri": nil} }, want: "unknown"},
		"keys in a file":       {change: func(*provider) members { return members{"jwks_uri": "file:///etc/passwd"} }, want: "unknown"},
		"keys not encrypted":   {change: func(*provider) members { return members{"jwks_uri": "http://idp.example/keys"} }, want: "unknown"},
		"keys where nobody is": {change: func(*provider) members { return members{"jwks_uri": "https://169.254.169.254/keys"} }, want: "unknown"},
		"configured": {
			change: func(*provider) members { return members{"jwks_uri": "file:///etc/passwd"} },
			config: func(p *provider, c *oidc.Config) { c.JWKS = p.URL + "/keys" }, want: "corp:alice",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, key)
			if tc.change != nil {
				change(p.document, []map[string]any{tc.change(p)})
			}
			config := p.config(&clock{})
			if tc.config != nil {
				tc.config(p, &config)
			}
			if got := answer(t, newAuthenticator(t, config), key.sign(header(key), p.claims())); got != tc.want {
				t.Errorf("a token: %s, want %s", got, tc.want)
			}
		})
	}
}

// trip is a transport that a function replaces.
type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An issuer that never answers keeps a request for ten seconds, and only the first ones.
func TestIssuerHangs(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		hangs := &http.Client{Transport: trip(func(r *http.Request) (*http.Response, error) {
			asked++
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		a := newAuthenticator(t, oidc.Config{Name: "corp", Issuer: "https://idp.example", Audiences: []string{"a2a"}, Client: hangs})
		claims := members{"iss": "https://idp.example", "aud": "a2a", "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()}
		waits := func() time.Duration {
			began := time.Now()
			if got := answer(t, a, key.sign(header(key), claims)); got != "unknown" {
				t.Errorf("a token: %s", got)
			}
			return time.Since(began)
		}
		for n, want := range []time.Duration{10 * time.Second, 10 * time.Second, 0, 0} {
			if got := waits(); got != want {
				t.Errorf("request %d waits for %s, want %s", n+1, got, want)
			}
		}
		if asked != 2 {
			t.Errorf("the issuer was asked %d times, want 2", asked)
		}
	})
}

// Anybody can send tokens of unknown keys. While the issuer hangs, they must not hold all
// requests that the server has.
func TestTokensThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	const sent, most = 5000, 4096
	key := ecPair("k1")
	synctest.Test(t, func(t *testing.T) {
		hangs := &http.Client{Transport: trip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		a := newAuthenticator(t, oidc.Config{Name: "corp", Issuer: "https://idp.example", Audiences: []string{"a2a"}, Client: hangs})
		token := key.sign(header(key), members{"iss": "https://idp.example", "aud": "a2a", "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()})
		for n := range 2 { // whoever has waited makes room
			var all sync.WaitGroup
			var late atomic.Int64
			began := time.Now()
			for range sent {
				all.Go(func() {
					if got := answer(t, a, token); got != "unknown" {
						t.Errorf("a token: %s", got)
					}
					if time.Since(began) > 0 {
						late.Add(1)
					}
				})
			}
			all.Wait()
			if got := late.Load(); got != most {
				t.Errorf("fetch %d: %d tokens wait, want %d", n+1, got, most)
			}
		}
	})
}

// The body of an answer that never ends does not keep a request longer.
func TestKeysTrickle(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	synctest.Test(t, func(t *testing.T) {
		trickles := &http.Client{Transport: trip(func(r *http.Request) (*http.Response, error) {
			answer := httptest.NewRecorder().Result()
			answer.Body = io.NopCloser(trickle{r.Context()})
			return answer, nil
		})}
		a := newAuthenticator(t, oidc.Config{Name: "corp", Issuer: "https://idp.example", JWKS: "https://idp.example/keys", Audiences: []string{"a2a"}, Client: trickles})
		began := time.Now()
		claims := members{"iss": "https://idp.example", "aud": "a2a", "sub": "alice", "exp": began.Add(time.Hour).Unix()}
		if got := answer(t, a, key.sign(header(key), claims)); got != "unknown" || time.Since(began) != 10*time.Second {
			t.Errorf("a token: %s after %s", got, time.Since(began))
		}
	})
}

// trickle is a body of which a byte arrives each second.
type trickle struct{ ctx context.Context } //nolint:containedctx // as the body of a request has it

func (b trickle) Read(p []byte) (int, error) {
	select {
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	case <-time.After(time.Second):
		p[0] = ' '
		return 1, nil
	}
}

// A verified token is not verified again for a minute, and never after it has expired.
func TestTokensAreRemembered(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	p, c := newProvider(t, key), &clock{}
	a := newAuthenticator(t, p.config(c))
	long := key.sign(header(key), p.claims())
	short := key.sign(header(key), p.claims(members{"sub": "bob", "exp": start.Add(20 * time.Second).Unix()}))
	invalid := key.sign(header(key, members{"kid": "k2"}), p.claims())
	check := func(what, token, want string) {
		t.Helper()
		if got := answer(t, a, token); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("long", long, "corp:alice")
	check("short", short, "corp:bob")
	check("invalid", invalid, "refused") // the fetch that there may be in half a minute
	p.publish()
	c.advance(19 * time.Second)
	check("short, before it ends", short, "corp:bob")
	c.advance(time.Second)
	check("short, at its end", short, "refused")
	c.advance(11 * time.Second)
	// The key is gone, which another token finds out.
	check("another one", key.sign(header(key, members{"kid": "k3"}), p.claims()), "refused")
	check("of the key that is gone", key.sign(header(key), p.claims(members{"sub": "carol"})), "refused")
	c.advance(28 * time.Second)
	check("long, for less than a minute", long, "corp:alice")
	c.advance(time.Second)
	check("long, after a minute", long, "refused")

	p.publish(pair{"k2", key.algorithm, key.private})
	c.advance(30 * time.Second)
	check("a refusal is not remembered", invalid, "corp:alice")
}

// countless is a body without an end, which counts what is read of it.
type countless struct{ n int }

func (c *countless) Read(p []byte) (int, error) {
	for n := range p {
		p[n] = ' '
	}
	c.n += len(p)
	return len(p), nil
}

// Limits and redirects do not depend on the client that is configured.
func TestBodyIsNotReadWhole(t *testing.T) {
	t.Parallel()
	key, body := ecPair("k1"), &countless{}
	endless := &http.Client{Transport: trip(func(*http.Request) (*http.Response, error) {
		answer := httptest.NewRecorder().Result()
		answer.Body = io.NopCloser(io.LimitReader(body, 10<<20))
		return answer, nil
	})}
	a := newAuthenticator(t, oidc.Config{Name: "corp", Issuer: "https://idp.example", Audiences: []string{"a2a"}, Client: endless, Now: (&clock{}).now})
	claims := members{"iss": "https://idp.example", "aud": "a2a", "sub": "alice", "exp": start.Add(time.Hour).Unix()}
	if got := answer(t, a, key.sign(header(key), claims)); got != "unknown" || body.n > 2<<20 {
		t.Errorf("a token: %s after %d bytes", got, body.n)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	p, elsewhere := newProvider(t), newProvider(t, key)
	p.serve(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/keys", http.StatusFound)
	})
	a := newAuthenticator(t, p.config(&clock{}, func(c *oidc.Config) { c.Client = &http.Client{} }))
	if got := answer(t, a, key.sign(header(key), p.claims())); got != "unknown" || elsewhere.fetches.Load() != 0 {
		t.Errorf("a token: %s", got)
	}
}

func TestKeysAreFetchedEncrypted(t *testing.T) {
	t.Parallel()
	key := ecPair("k1")
	asked := 0
	c := &http.Client{Transport: trip(func(r *http.Request) (*http.Response, error) {
		document := `{"issuer":"https://idp.example","jwks_uri":"http://idp.example/keys"}`
		if r.URL.Path == "/keys" {
			asked++
			document = string(must(json.Marshal(members{"keys": []any{key.jwk()}})))
		}
		answer := httptest.NewRecorder()
		_, _ = answer.WriteString(document)
		return answer.Result(), nil
	})}
	a := newAuthenticator(t, oidc.Config{Name: "corp", Issuer: "https://idp.example", Audiences: []string{"a2a"}, Client: c, Now: (&clock{}).now})
	claims := members{"iss": "https://idp.example", "aud": "a2a", "sub": "alice", "exp": start.Add(time.Hour).Unix()}
	if got := answer(t, a, key.sign(header(key), claims)); got != "unknown" || asked != 0 {
		t.Errorf("a token: %s, keys were asked for %d times", got, asked)
	}
}

// A small key is not used, even by whoever has it.
func TestSmallKeysAreSkipped(t *testing.T) {
	t.Parallel()
	for bits, want := range map[int]string{1536: "refused", 2048: "corp:alice"} {
		small := pair{"k1", "RS256", must(rsa.GenerateKey(rand.Reader, bits))}
		p := newProvider(t, small)
		a := newAuthenticator(t, p.config(&clock{}))
		if got := answer(t, a, small.sign(header(small), p.claims())); got != want {
			t.Errorf("%d bits: %s, want %s", bits, got, want)
		}
	}
}
