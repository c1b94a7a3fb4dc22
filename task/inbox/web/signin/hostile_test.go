package signin_test

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task/inbox/web/signin"
)

// begin begins a sign-in at the issuer, and returns where the issuer sends the browser then.
func (b *browser) begin() string {
	b.w.t.Helper()
	b.stay()
	resp, text := b.do(http.MethodGet, signin.Path+"/start?issuer=corp&next=/ui/a", nil)
	if resp.status != http.StatusSeeOther {
		b.w.t.Fatalf("the sign-in begins with %d %s", resp.status, text)
	}
	resp, text = b.do(http.MethodGet, resp.header.Get("Location"), nil)
	if resp.status != http.StatusFound {
		b.w.t.Fatalf("the issuer answers %d %s", resp.status, text)
	}
	return resp.header.Get("Location")
}

// An answer of the issuer counts once, in the browser that asked for it, and as it was sent.
func TestBadCallbacks(t *testing.T) {
	t.Parallel()
	set := func(name, value string) func(*world, *browser, string) (*browser, string) {
		return func(_ *world, b *browser, at string) (*browser, string) {
			u, err := url.Parse(at)
			if err != nil {
				panic(err)
			}
			q := u.Query()
			if q.Set(name, value); value == "" {
				q.Del(name)
			}
			u.RawQuery = q.Encode()
			return b, u.String()
		}
	}
	const notBegun, other, begin = "not begun in this browser", "another issuer", "begin again"
	for _, tc := range []struct {
		name   string
		change func(*world, *browser, string) (*browser, string)
		status int
		says   string
	}{
		{"as it is", set("x", "y"), http.StatusSeeOther, ""},
		{"in another browser", func(w *world, _ *browser, at string) (*browser, string) { return w.browser().stay(), at }, 400, notBegun},
		{"in a browser that has begun its own", func(w *world, _ *browser, at string) (*browser, string) {
			victim := w.browser()
			victim.begin()
			return victim, at
		}, 400, notBegun},
		{"another state", set("state", "x"), 400, notBegun},
		{"no state", set("state", ""), 400, notBegun},
		{"another code", set("code", "x"), 401, begin},
		{"no code", set("code", ""), 400, "no code"},
		{"another issuer", set("iss", "https://other.example.com"), 401, other},
		{"no issuer", set("iss", ""), 401, other},
		{"refused", set("error", "access_denied<script>"), 403, "access_denied&lt;script&gt;"},
		{"too late", func(w *world, b *browser, at string) (*browser, string) { w.later(11 * time.Minute); return b, at }, 400, notBegun},
		{"twice", func(_ *world, b *browser, at string) (*browser, string) { b.get(at); return b, at }, 400, notBegun},
		{"twice, with the cookie", func(w *world, b *browser, at string) (*browser, string) {
			u, _ := url.Parse(w.served.URL + "/ui/")
			cookies := b.Jar.Cookies(u)
			b.get(at)
			again := w.browser().stay()
			again.Jar.SetCookies(u, cookies)
			return again, at
		}, 401, begin},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, false)
			b := w.browser()
			b, at := tc.change(w, b, b.begin())
			before := w.rows()
			resp, text := b.do(http.MethodGet, at, nil, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document")
			if resp.status != tc.status || !strings.Contains(text, tc.says) || (w.rows() > before) != (tc.says == "") {
				t.Errorf("%d %s, want %d and %q; %d sessions more", resp.status, text, tc.status, tc.says, w.rows()-before)
			}
		})
	}
}

// Nobody is sent to another site after signing in.
func TestOpenRedirect(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"/ui": "/ui", "/ui/approvals/a.1?x=/y&z": "/ui/approvals/a.1?x=/y&z", "/ui/%C3%A4": "/ui/%C3%A4", "/ui?a": "/ui?a",
		"": "/ui", "/": "/ui", "//evil.example": "/ui", "/ui//evil.example": "/ui", "https://evil.example/ui": "/ui", "/uix": "/ui", "/api/v1/audit": "/ui",
		"/\\evil.example/ui": "/ui", "/ui/\\evil": "/ui", "/ui/../api/v1": "/ui", "/ui/%2e%2e/api": "/ui", "/ui/a\r\nX: y": "/ui", "/ui/%0d%0aX": "/ui", "javascript:alert(1)": "/ui",
		"/ui/signin": "/ui", "/ui/signin/start?issuer=corp": "/ui", "/ui/signout": "/ui", "ui/a": "/ui", "/ui/" + strings.Repeat("a", 2000): "/ui", "\t/ui": "/ui",
	} {
		if got := signin.Local(next); got != want {
			t.Errorf("Local(%q) = %q, want %q", next, got, want)
		}
	}
	w := newWorld(t, false)
	b := w.browser().stay()
	for _, next := range []string{"//evil.example", "https://evil.example/ui"} {
		if resp, _ := b.do(http.MethodPost, signin.Path, url.Values{"key": {w.key}, "next": {next}}); resp.header.Get("Location") != "/ui" {
			t.Errorf("next %s leads to %s", next, resp.header.Get("Location"))
		}
	}
}

// A link that prepares a decision prepares none by way of the page to sign in.
func TestSignInPreparesNothing(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"/ui/approvals/a.1?do=approve": "/ui/approvals/a.1", "/ui/approvals/a.1?x=1&do=reject": "/ui/approvals/a.1", "/ui/batch?id=a.1&id=a.2": "/ui", "/ui/%62atch?id=a.1": "/ui",
		"/ui/./batch?id=a.1": "/ui", "/ui/%2e/batch?id=a.1": "/ui", "/ui/./try?text=%2Fpay": "/ui",
		"/ui/try?task=t1&text=approve&context=c": "/ui/try?task=t1", "/ui/try?text=%2Fpay": "/ui/try", "/ui/tasks?context=c": "/ui/tasks?context=c",
	} {
		if got := signin.Local(next); got != want {
			t.Errorf("Local(%q) = %q, want %q", next, got, want)
		}
	}
}

// Pages of other sites sign nobody in or out, but may link to a page.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	b := w.browser().stay()
	b.withKey(w.key, "/ui")
	cookie, rows := b.session(), w.rows()
	for _, from := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
		if resp, text := b.do(http.MethodPost, signin.Path, url.Values{"key": {w.key}}, from...); resp.status != http.StatusForbidden || resp.header.Get("Set-Cookie") != "" || w.rows() != rows {
			t.Errorf("%v signs in: %d %s", from, resp.status, text)
		}
		if resp, text := b.do(http.MethodPost, signin.OutPath, nil, from...); resp.status != http.StatusForbidden || !w.signedIn(cookie) {
			t.Errorf("%v signs out: %d %s", from, resp.status, text)
		}
	}
	own := []string{"Origin", w.served.URL, "Sec-Fetch-Site", "same-origin"}
	if resp, text := b.do(http.MethodPost, signin.OutPath, nil, own...); resp.status != http.StatusSeeOther || w.signedIn(cookie) {
		t.Errorf("our own page signs out: %d %s", resp.status, text)
	}
	if status, text := b.get(signin.Path, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); status != http.StatusOK {
		t.Errorf("a link of another site: %d %s", status, text)
	}
	if status, text := b.get(signin.Path, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"); status != http.StatusForbidden {
		t.Errorf("a frame of another site: %d %s", status, text)
	}
	if status, text := b.get(signin.Path, "Origin", "https://evil.example"); status != http.StatusForbidden {
		t.Errorf("a script of another site: %d %s", status, text)
	}
	if status, _ := b.get(signin.OutPath); status != http.StatusNotFound {
		t.Errorf("GET of the path for signing out: %d", status)
	}
}

// Whoever is not known is told so in a way that fits the request, and nothing else happens.
func TestUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	page := w.served.URL + "/ui/a?b"
	for _, tc := range []struct {
		name, method string
		header       []string
		status       int
		to           string
	}{
		{"a page", http.MethodGet, nil, 303, "/ui/signin?next=%2Fui%2Fx"},
		{"with a session that is none", http.MethodGet, []string{"Cookie", "a2a-session=x"}, 303, "/ui/signin?next=%2Fui%2Fx&why=ended"},
		{"a form", http.MethodPost, []string{"Referer", page, "Sec-Fetch-Mode", "navigate"}, 303, "/ui/signin?next=%2Fui%2Fa%3Fb"},
		{"a form of another site", http.MethodPost, []string{"Referer", "https://evil.example/x"}, 303, "/ui/signin?next=%2Fui"},
		{"a script", http.MethodPost, []string{"Sec-Fetch-Mode", "cors"}, 401, ""},
		{"a stream", http.MethodGet, []string{"Accept", "text/event-stream"}, 401, ""},
	} {
		resp, text := w.browser().stay().do(tc.method, "/ui/x", nil, tc.header...)
		if resp.status != tc.status || resp.header.Get("Location") != tc.to || strings.Contains(text, "/ui/x ") {
			t.Errorf("%s: %d to %q, want %d to %q: %s", tc.name, resp.status, resp.header.Get("Location"), tc.status, tc.to, text)
		}
	}
}

// request is a request as the server gets it: from an address, with or without TLS.
func (w *world) request(method, path, from, host string, encrypted bool, form url.Values, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.RemoteAddr, r.Host, r.TLS = from, host, nil
	if encrypted {
		r.TLS = &tls.ConnectionState{}
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	out := httptest.NewRecorder()
	w.serve(out, r)
	return out
}

// Beyond this machine, nobody signs in without TLS, and the page says what the operator sets.
func TestNeedsTLS(t *testing.T) {
	t.Parallel()
	const proxy, far, near, nearProxy = "10.0.0.9:1", "192.0.2.7:1", "127.0.0.1:1", "127.0.0.2:1"
	for _, tc := range []struct {
		name, base, from, host string
		encrypted              bool
		header                 []string
		says                   string // "": they may
	}{
		{"this machine", "http://127.0.0.1:80", near, "127.0.0.1:80", false, nil, ""},
		{"this machine, by name", "", near, "localhost:80", false, nil, ""},
		{"TLS of our own", "https://a.example", far, "a.example", true, nil, ""},
		{"a proxy", "https://a.example", proxy, "a.example", false, nil, ""},
		{"a proxy on this machine", "https://a.example", nearProxy, "localhost", false, nil, ""},
		{"a proxy on this machine, for itself", "", nearProxy, "localhost", false, nil, "tls.cert"},
		{"a proxy that says https", "https://a.example", proxy, "inner", false, []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "a.example"}, ""},
		{"a proxy that says http", "https://a.example", proxy, "a.example", false, []string{"X-Forwarded-Proto", "http"}, "tls.cert"},
		{"a proxy, http", "http://a.example", proxy, "a.example", false, nil, "tls.cert"},
		{"another machine", "http://127.0.0.1:80", far, "127.0.0.1", false, nil, "tls.cert"},
		{"another machine that says https", "https://a.example", far, "a.example", false, []string{"X-Forwarded-Proto", "https"}, "tls.cert"},
		{"an unknown proxy on this machine", "https://a.example", near, "a.example", false, []string{"X-Forwarded-Proto", "https"}, "trusted_proxies"},
		{"a name that leads here", "", near, "evil.example", false, nil, "tls.cert"},
		{"an unknown address", "https://a.example", "@", "a.example", false, nil, "tls.cert"},
	} {
		w := newWorld(t, false, func(c *signin.Config) {
			c.Base, c.Guard.Proxies = tc.base, []netip.Prefix{netip.MustParsePrefix("10.0.0.9/32"), netip.MustParsePrefix("127.0.0.2/32")}
		})
		form := w.request(http.MethodGet, signin.Path, tc.from, tc.host, tc.encrypted, nil, tc.header...)
		got := w.request(http.MethodPost, signin.Path, tc.from, tc.host, tc.encrypted, url.Values{"key": {w.key}}, tc.header...)
		if tc.says == "" {
			name, _, _ := strings.Cut(got.Header().Get("Set-Cookie"), "=")
			if want := strings.HasPrefix(name, "__Host-"); form.Code != http.StatusOK || got.Code != http.StatusSeeOther || want != (tc.from != near) {
				t.Errorf("%s: %d, then %d %s with cookie %s", tc.name, form.Code, got.Code, got.Body, name)
			}
			continue
		}
		if form.Code != http.StatusForbidden || got.Code != http.StatusForbidden || !strings.Contains(form.Body.String(), tc.says) || strings.Contains(form.Body.String(), "<form") || w.rows() != 0 {
			t.Errorf("%s: %d %s, then %d, want 403 and %q", tc.name, form.Code, form.Body, got.Code, tc.says)
		}
	}
}

// Without an Authenticator everybody on this machine is anonymous, and nobody else.
func TestAnonymous(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false, func(c *signin.Config) { c.Authenticator, c.Keys, c.OIDC, c.Issuers = nil, nil, nil, nil })
	b := w.browser()
	for _, path := range []string{"/ui", signin.Path} {
		if status, text := b.get(path); status != http.StatusOK || text != "/ui anonymous of  by \n" {
			t.Errorf("GET %s: %d %s", path, status, text)
		}
	}
	if got := w.request(http.MethodGet, "/ui", "192.0.2.7:1", "127.0.0.1", false, nil); got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), "sets auth") {
		t.Errorf("another machine: %d %s", got.Code, got.Body)
	}
}

// A credential of the request itself needs no session, and counts before one.
func TestProxy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false, func(c *signin.Config) {
		c.Base, c.Guard.Proxies = "https://a.example", []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}
	})
	const from, host = "10.0.0.1:1", "a.example"
	user := []string{"X-User", "carol"}
	if got := w.request(http.MethodGet, "/ui/a", from, host, false, nil, user...); got.Body.String() != "/ui/a proxy:carol of  by \n" || got.Header().Get("Set-Cookie") != "" {
		t.Errorf("a proxy's user: %d %s", got.Code, got.Body)
	}
	cookie, _, _ := strings.Cut(w.request(http.MethodPost, signin.Path, from, host, false, url.Values{"key": {w.key}}).Header().Get("Set-Cookie"), ";")
	if got := w.request(http.MethodGet, "/ui/a", from, host, false, nil, "Cookie", cookie); got.Body.String() != alicesPage {
		t.Errorf("with a session: %d %s", got.Code, got.Body)
	}
	if got := w.request(http.MethodGet, "/ui/a", from, host, false, nil, append(user, "Cookie", cookie)...); got.Body.String() != "/ui/a proxy:carol of  by \n" {
		t.Errorf("with both: %d %s", got.Code, got.Body)
	}
	if got := w.request(http.MethodGet, "/ui/a", "192.0.2.7:1", host, true, nil, user...); got.Code != http.StatusSeeOther {
		t.Errorf("somebody who writes the proxy's header: %d %s", got.Code, got.Body)
	}
}

// Forged cookies count as failures of their address, and cost no memory.
func TestForgedCookies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false)
	w.restart(func(c *signin.Config) {
		c.Requests = httpd.New(httpd.Config{
			Authenticator: c.Authenticator, Guard: c.Guard, MaxBody: 1, Bodies: 1, Recheck: time.Second, Now: w.now, Log: c.Log,
			Rates: httpd.Rates{PerCaller: 1000, Failures: 60}, Same: func(auth.Principal, auth.Principal, auth.Action) bool { return true },
		})
	})
	b := w.browser().stay()
	b.withKey(w.key, "/ui")
	codes := map[int]int{}
	try := func(from, cookie string) int {
		return w.request(http.MethodGet, "/ui/a", from, "a.example", true, nil, "Cookie", "__Host-a2a-session="+cookie).Code
	}
	token := make([]byte, 32)
	for n := range 10_000 {
		_, _ = rand.Read(token)
		codes[try(fmt.Sprintf("198.51.%d.%d:1", n/50/256, n/50%256), base64.RawURLEncoding.EncodeToString(token))]++
	}
	if codes[http.StatusSeeOther] != 10_000 || w.rows() != 1 {
		t.Errorf("10,000 forged cookies of 200 addresses: %v; %d sessions", codes, w.rows())
	}
	for _, odd := range []string{"", "x", strings.Repeat("A", 43), strings.Repeat("A", 4000), "../../x", "%00", strings.Repeat("A", 42) + "="} {
		if code := try("203.0.113.1:1", odd); code != http.StatusSeeOther {
			t.Errorf("the cookie %.50q: %d", odd, code)
		}
	}
	for range 60 {
		try("203.0.113.2:1", "x")
	}
	if code := try("203.0.113.2:1", "x"); code != http.StatusTooManyRequests {
		t.Errorf("after 60 forged cookies of one address: %d, want 429", code)
	}
}
