package signin_test

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"a2a-server/auth/apikey"
	"a2a-server/internal/oidctest"
	"a2a-server/store"
	"a2a-server/task/inbox/web/signin"
)

const alicesPage = "/ui/a key:alice of acme by approver\n"

// A person who is not known is sent to sign in, gets a session with a key, and then what they
// wanted to see. Each sign-in has a token of its own, and ends the one before.
func TestKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	b := w.browser()
	if status, text := b.get("/ui/a?x=1"); status != http.StatusOK || !strings.Contains(text, `name="next" value="/ui/a?x=1"`) || !strings.Contains(text, "Sign in with corp") {
		t.Fatalf("without a session: %d %s", status, text)
	}
	if text := b.withKey(w.key, "/ui/a"); text != alicesPage {
		t.Fatalf("after signing in: %s", text)
	}
	first := b.session()
	if text := b.withKey(w.key, "/ui/a"); text != alicesPage || b.session() == first || w.signedIn(first) || !w.signedIn(b.session()) || w.rows() != 1 {
		t.Errorf("after signing in again: %s %s, before %s; %d sessions", text, b.session(), first, w.rows())
	}
	second := b.session()
	if _, text := b.do(http.MethodPost, signin.OutPath, nil); !strings.Contains(text, "You are signed out.") || b.session() != "" || w.signedIn(second) || w.rows() != 0 {
		t.Errorf("after signing out: %s", text)
	}
	for _, wrong := range []string{"", "x", w.key + "x", w.issuer.Token(t, nil)} {
		if text := b.withKey(wrong, "/ui/a"); !strings.Contains(text, "You are not signed in") || b.session() != "" {
			t.Errorf("with %q: %s", wrong, text)
		}
	}
}

// The cookie is for pages, for scripts of nobody, and over TLS for this host only.
func TestCookie(t *testing.T) {
	t.Parallel()
	for tls, want := range map[bool]string{
		false: "a2a-session=; Path=/ui; HttpOnly; SameSite=Lax",
		true:  "__Host-a2a-session=; Path=/; HttpOnly; Secure; SameSite=Lax",
	} {
		w := newWorld(t, tls)
		resp, _ := w.browser().stay().do(http.MethodPost, signin.Path, url.Values{"key": {w.key}})
		name, rest, _ := strings.Cut(resp.header.Get("Set-Cookie"), "=")
		token, attributes, _ := strings.Cut(rest, ";")
		if got := name + "=;" + attributes; got != want || len(token) != 43 || resp.header.Get("Location") != "/ui" {
			t.Errorf("TLS %v: Set-Cookie %s, want %s; Location %s", tls, resp.header.Get("Set-Cookie"), want, resp.header.Get("Location"))
		}
		if other := "a2a-session=" + token; tls && w.signedIn(other) {
			t.Error("a cookie that any host could have set counts over TLS")
		}
		if twice := name + "=" + token + "; " + name + "=" + token; w.signedIn(twice) {
			t.Error("two cookies count")
		}
	}
}

// A person signs in at the issuer, as whom its tokens name, and is sent to the page they wanted.
func TestIssuer(t *testing.T) {
	t.Parallel()
	for name, changes := range map[string]func(*signin.Config){
		"by the ID token":     func(*signin.Config) {},
		"by the access token": func(c *signin.Config) { c.Issuers[0].ByAccess = true },
	} {
		for _, tls := range []bool{false, true} {
			w := newWorld(t, tls, changes)
			b := w.browser()
			if status, text := b.atIssuer("/ui/a?b=c"); status != http.StatusOK || text != "/ui/a corp:alice of acme by approver\n" {
				t.Errorf("%s: %d %s", name, status, text)
			}
			if _, text := b.get(signin.Path + "?next=/ui/b"); text != "/ui/b corp:alice of acme by approver\n" {
				t.Errorf("%s: the page for signing in, when that is done: %s", name, text)
			}
		}
	}
}

// A session ends with whatever it rests on, and after its times, at the next request.
func TestEnds(t *testing.T) {
	t.Parallel()
	hours := func(n int, then time.Duration) func(*world, string) {
		return func(w *world, cookie string) {
			for range n {
				w.later(time.Hour - time.Minute)
				w.signedIn(cookie)
			}
			w.later(then)
		}
	}
	for _, tc := range []struct {
		name   string
		issuer bool
		do     func(w *world, cookie string)
		want   bool
	}{
		{"used each hour", false, hours(12, 0), true},
		{"idle", false, hours(3, time.Hour), false},
		{"only an open page uses it", false, func(w *world, cookie string) {
			w.later(59 * time.Minute)
			w.browser().get("/ui/renew", "Accept", "text/event-stream", "Cookie", cookie)
			w.later(time.Minute)
		}, false},
		{"after 12 hours", false, hours(12, 12*time.Minute), false},
		{"the clock goes back", false, func(w *world, _ string) { w.later(-time.Hour) }, false},
		{"the key is revoked", false, func(w *world, _ string) {
			if err := apikey.Revoke(w.file, "alice", time.Now()); err != nil {
				w.t.Fatal(err)
			}
			w.reload()
		}, false},
		{"the key is replaced", false, func(w *world, _ string) {
			w.add(apikey.Key{ID: "alice", Tenant: "acme", Roles: []string{"approver"}})
			w.reload()
		}, false},
		{"there are no keys any more", false, func(w *world, _ string) { w.restart(func(c *signin.Config) { c.Keys = nil }) }, false},
		{"restart", false, func(w *world, _ string) { w.restart() }, true},
		{"restart, of the issuer's", true, func(w *world, _ string) { w.restart() }, true},
		{"the roles of the issuer change", true, func(w *world, _ string) { w.restart(func(c *signin.Config) { c.Issuers[0].Mark = "2" }) }, false},
		{"the issuer is gone", true, func(w *world, _ string) { w.restart(func(c *signin.Config) { c.Issuers = nil }) }, false},
		{"the token ends", true, func(w *world, _ string) { w.later(29 * time.Minute) }, true},
		{"the token has ended", true, func(w *world, cookie string) {
			w.later(50 * time.Minute)
			w.signedIn(cookie)
			w.later(10*time.Minute + time.Second)
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, false)
			b := w.browser()
			if tc.issuer {
				b.atIssuer("/ui")
			} else {
				b.withKey(w.key, "/ui")
			}
			cookie := b.session()
			if !w.signedIn(cookie) {
				t.Fatal("not signed in")
			}
			tc.do(w, cookie)
			if got := w.signedIn(cookie); got != tc.want {
				t.Errorf("signed in: %v, want %v", got, tc.want)
			}
			resp, text := b.do(http.MethodGet, "/ui/a", nil)
			if !tc.want && (!strings.Contains(text, "Your session has ended") || b.session() != "" || resp.at.Query().Get("next") != "/ui/a") {
				t.Errorf("the page at %s, with the session %q: %s", resp.at, b.session(), text)
			}
		})
	}
}

// Roles count as they are now.
func TestRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	bob := apikey.Key{ID: "bob", Tenant: "acme", Roles: []string{"approver"}}
	key := w.add(bob)
	w.reload()
	b := w.browser()
	b.withKey(key, "/ui")
	w.edit(`roles: ["approver"]`, `roles: ["viewer"]`)
	if _, text := b.get("/ui/a"); text != "/ui/a key:bob of acme by viewer\n" {
		t.Errorf("with another role: %s", text)
	}
	w.edit(`tenant: "acme"`, `tenant: "other"`)
	if w.signedIn(b.session()) {
		t.Error("a session is valid in another tenant")
	}
}

// A stream ends with its session, and with the role that it needs.
func TestStreams(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world, *browser){
		"signed out":   func(_ *world, b *browser) { b.do(http.MethodPost, signin.OutPath, nil) },
		"role removed": func(w *world, _ *browser) { w.edit(`roles: ["approver"]`, `roles: ["viewer"]`) },
		"idle":         func(w *world, _ *browser) { w.later(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, false)
			b := w.browser()
			b.withKey(w.key, "/ui")
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.served.URL+"/ui/stream", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", "text/event-stream")
			resp, err := b.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			lines := bufio.NewScanner(resp.Body)
			if !lines.Scan() || lines.Text() != "/ui/stream key:alice of acme by approver" {
				t.Fatalf("the stream begins with %q, %v", lines.Text(), lines.Err())
			}
			end(w, b)
			if !lines.Scan() || lines.Text() != "ended" {
				t.Errorf("the stream continues with %q, %v", lines.Text(), lines.Err())
			}
		})
	}
}

// What has ended is removed, and a principal has so many sessions only.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	var first, last string
	for n := range 60 {
		b := w.browser().stay()
		b.withKey(w.key, "/ui")
		if last = b.session(); n == 0 {
			first = last
		}
		w.later(time.Millisecond)
	}
	if w.rows() != 50 || w.signedIn(first) || !w.signedIn(last) {
		t.Errorf("%d sessions of one principal, want 50; the first is valid: %v, the last: %v", w.rows(), w.signedIn(first), w.signedIn(last))
	}
	w.later(59 * time.Minute)
	w.signedIn(last)
	w.later(time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.signin.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run() = %v", err)
		}
	}()
	for at := time.Now(); w.rows() != 1; {
		if time.Since(at) > 10*time.Second {
			t.Fatalf("%d sessions are left, want 1", w.rows())
		}
	}
	if !w.signedIn(last) {
		t.Error("a session that was used is gone")
	}
}

// The store has no token, and nothing else that signs anybody in.
func TestStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	b := w.browser()
	b.withKey(w.key, "/ui")
	_, token, _ := strings.Cut(b.session(), "=")
	page, err := w.store.Rows(t.Context(), store.Owner("acme", "key:alice"), store.RowQuery{Kind: "session"})
	if err != nil || len(page.Rows) != 1 {
		t.Fatalf("Rows() = %v, %v", page, err)
	}
	if text := string(page.Rows[0].Key) + string(page.Rows[0].Value); strings.Contains(text, token) || strings.Contains(text, w.key) {
		t.Errorf("the row has a secret: %s", text)
	}
}

// The issuer's mistakes, and its failures, sign nobody in.
func TestBadIssuer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name           string
		claims, access map[string]any
		byAccess       bool
		secret         string
		status         int
		says           string
	}{
		{"nonce", map[string]any{"nonce": "x"}, nil, false, secret, 401, "another sign-in"},
		{"no nonce", map[string]any{"nonce": nil}, nil, false, secret, 401, "another sign-in"},
		{"audience", map[string]any{"aud": "other"}, nil, false, secret, 401, "another client"},
		{"two audiences", map[string]any{"aud": []string{client, "other"}}, nil, false, secret, 401, "another client"},
		{"authorized party", map[string]any{"azp": "other"}, nil, false, secret, 401, "another client"},
		{"issuer", map[string]any{"iss": "https://other.example.com"}, nil, false, secret, 401, "another issuer"},
		{"expired", map[string]any{"exp": 1}, nil, false, secret, 401, "has expired"},
		{"nobody", map[string]any{"sub": ""}, nil, false, secret, 401, "claim sub"},
		{"another access token", map[string]any{"at_hash": "x"}, nil, true, secret, 401, "does not belong"},
		{"the access token of another", nil, map[string]any{"sub": "bob"}, true, secret, 401, "somebody else"},
		{"an access token for another server", nil, map[string]any{"aud": "other"}, true, secret, 401, "another audience"},
		{"the secret", nil, nil, false, "wrong", 503, "cannot be checked at the moment"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, false, func(c *signin.Config) { c.Issuers[0].ByAccess = tc.byAccess })
			w.issuer.Register(oidctest.Client{ID: client, Secret: tc.secret, RedirectURI: w.served.URL + signin.Path + "/callback", Claims: tc.claims, Access: tc.access})
			b := w.browser()
			if status, text := b.atIssuer("/ui/a"); status != tc.status || !strings.Contains(text, tc.says) || w.rows() != 0 {
				t.Errorf("%d %s, want %d and %q", status, text, tc.status, tc.says)
			}
		})
	}
	w := newWorld(t, false)
	w.issuer.Up.Store(false)
	if status, text := w.browser().atIssuer("/ui/a"); status != http.StatusServiceUnavailable || !strings.Contains(text, "not available now") {
		t.Errorf("an issuer that is down: %d %s", status, text)
	}
}
