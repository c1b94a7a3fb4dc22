package signin_test

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/auth/oidc"
	"a2a-server/auth/proxy"
	"a2a-server/internal/httpd"
	"a2a-server/internal/oidctest"
	"a2a-server/internal/testlog"
	"a2a-server/store"
	"a2a-server/store/memstore"
	"a2a-server/task/inbox/web/signin"
)

// world is a server with two pages, of which one is a stream, at which people sign in.
type world struct {
	t      *testing.T
	ahead  atomic.Int64 // of the clock
	file   string       // of API keys
	keys   *apikey.Authenticator
	key    string // alice's
	issuer *oidctest.Issuer
	store  store.Handle
	config signin.Config
	signin *signin.SignIn
	served *httptest.Server
}

// markup shows everything that a page has.
var markup = template.Must(template.ParseFiles("testdata/page.html"))

func render(w http.ResponseWriter, _ *http.Request, status int, p signin.Page) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = markup.Execute(w, p)
}

const client, secret = "a2a-server", "s3cret"

// newWorld returns a world whose configuration was changed.
func newWorld(t *testing.T, tls bool, changes ...func(*signin.Config)) *world {
	t.Helper()
	w := &world{t: t, file: filepath.Join(t.TempDir(), "keys.yaml"), issuer: oidctest.New(t)}
	w.key = w.add(apikey.Key{ID: "alice", Tenant: "acme", Roles: []string{"approver"}})
	var err error
	if w.keys, err = apikey.New(apikey.Config{File: w.file, Now: w.now}); err != nil {
		t.Fatal(err)
	}
	issuers, err := oidc.New(oidc.Config{
		Name: "corp", Issuer: w.issuer.URL, Audiences: []string{oidctest.Audience}, Tenant: oidc.Tenant{Value: "acme"},
		Roles: oidc.Roles{Claim: "groups", Map: map[string][]string{"sre": {"approver"}}}, Client: &http.Client{}, Now: w.now,
	})
	if err != nil {
		t.Fatal(err)
	}
	behind, err := proxy.New(proxy.Config{Header: "X-User", From: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}})
	if err != nil {
		t.Fatal(err)
	}
	db := memstore.New()
	t.Cleanup(func() { _ = db.Close() })
	if w.store, err = db.Handle(); err != nil {
		t.Fatal(err)
	}
	w.served = httptest.NewUnstartedServer(http.HandlerFunc(w.serve))
	base := "http://" + w.served.Listener.Addr().String()
	if tls {
		base = "https://" + w.served.Listener.Addr().String()
	}
	w.config = signin.Config{
		Keys: w.keys, OIDC: issuers, Complete: func(_ context.Context, p auth.Principal) auth.Principal { return p }, Authenticator: auth.First(w.keys, issuers, behind), Base: base,
		Guard: httpd.Guard{Own: true, Pages: signin.Pages}, Store: w.store, Render: render, Now: w.now, Log: zerolog.New(testlog.New(t)),
		Issuers: []signin.Issuer{{Name: "corp", ClientID: client, Secret: func(context.Context) (string, error) { return secret, nil }, Scopes: []string{"groups"}, Mark: "1"}},
	}
	w.issuer.Register(oidctest.Client{ID: client, Secret: secret, RedirectURI: base + signin.Path + "/callback"})
	w.restart(changes...)
	if tls {
		w.served.StartTLS()
	} else {
		w.served.Start()
	}
	t.Cleanup(w.served.Close)
	return w
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

func (w *world) later(d time.Duration) { w.ahead.Add(int64(d)) }

func (w *world) add(k apikey.Key) string {
	w.t.Helper()
	text, err := apikey.Add(w.file, k, true /* replace */)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// reload reads the keys again.
func (w *world) reload() {
	w.t.Helper()
	if err := w.keys.Reload(); err != nil {
		w.t.Fatal(err)
	}
}

// restart begins again with what is stored, and another configuration.
func (w *world) restart(changes ...func(*signin.Config)) {
	c := w.config
	for _, change := range changes {
		change(&c)
	}
	if c.Requests == nil {
		c.Requests = httpd.New(httpd.Config{
			Authenticator: c.Authenticator, Guard: c.Guard, MaxBody: 1 << 20, Bodies: 1 << 22, ReadRate: 1 << 16, Recheck: 10 * time.Millisecond,
			Rates: httpd.Rates{Failures: 60}, Now: w.now, Log: c.Log,
			Same: func(a, b auth.Principal, action auth.Action) bool {
				return a.Subject == b.Subject && (a.May(action) == nil) == (b.May(action) == nil)
			},
		})
	}
	w.config.Guard = c.Guard
	w.config, w.signin = c, signin.New(c)
	w.config.Requests = nil
}

func (w *world) serve(out http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, signin.Path) || r.URL.Path == signin.OutPath {
		w.signin.Handler().ServeHTTP(out, r)
		return
	}
	c, ok := w.signin.Identify(out, r)
	if !ok {
		return
	}
	if r.URL.Path == "/ui/renew" {
		if _, err := c.Renew(r.Context()); err != nil {
			w.t.Errorf("Renew() = %v", err)
		}
	}
	_, _ = fmt.Fprintf(out, "%s %s of %s by %s\n", r.URL.Path, c.By.Subject, c.By.Tenant, strings.Join(c.By.Roles, ","))
	if r.URL.Path != "/ui/stream" {
		return
	}
	_ = http.NewResponseController(out).Flush()
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	defer w.requests().Lease(ctx, c.By, httpd.Renewal(c.Renew), end, auth.Decide)()
	<-ctx.Done()
	if errors.Is(context.Cause(ctx), httpd.ErrEnded) {
		_, _ = fmt.Fprintln(out, "ended")
	}
}

// requests returns a Frontend for leases.
func (w *world) requests() *httpd.Frontend {
	return httpd.New(httpd.Config{
		Authenticator: w.config.Authenticator, MaxBody: 1, Bodies: 1, Recheck: 10 * time.Millisecond, Now: w.now, Log: w.config.Log,
		Same: func(a, b auth.Principal, action auth.Action) bool {
			return (a.May(action) == nil) == (b.May(action) == nil)
		},
	})
}

// browser is a client with cookies, which follows redirects unless it is told not to.
type browser struct {
	*http.Client

	w *world
}

func (w *world) browser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	c := w.served.Client()
	return &browser{&http.Client{Transport: c.Transport, Jar: jar, Timeout: time.Minute}, w}
}

// stay makes b show redirects.
func (b *browser) stay() *browser {
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return b
}

// reply is what a server has answered.
type reply struct {
	status int
	header http.Header
	at     *url.URL // after redirects
}

// do sends a request; path may be a URL. header has names and values in turn.
func (b *browser) do(method, path string, form url.Values, header ...string) (reply, string) {
	b.w.t.Helper()
	if strings.HasPrefix(path, "/") {
		path = b.w.served.URL + path
	}
	r, err := http.NewRequestWithContext(b.w.t.Context(), method, path, strings.NewReader(form.Encode()))
	if err != nil {
		b.w.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	resp, err := b.Do(r)
	if err != nil {
		b.w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.w.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, resp.Request.URL}, string(text)
}

func (b *browser) get(path string, header ...string) (status int, text string) {
	b.w.t.Helper()
	got, text := b.do(http.MethodGet, path, nil, header...)
	return got.status, text
}

// withKey signs in with an API key and returns what is shown then.
func (b *browser) withKey(key, next string) string {
	b.w.t.Helper()
	_, text := b.do(http.MethodPost, signin.Path, url.Values{"key": {key}, "next": {next}})
	return text
}

// atIssuer signs in at the issuer.
func (b *browser) atIssuer(next string) (status int, text string) {
	b.w.t.Helper()
	return b.get(signin.Path + "/start?issuer=corp&next=" + url.QueryEscape(next))
}

// session returns the cookie of the session; "": there is none.
func (b *browser) session() string {
	at, err := url.Parse(b.w.served.URL + "/ui/")
	if err != nil {
		b.w.t.Fatal(err)
	}
	cookies := b.Jar.Cookies(at)
	n := slices.IndexFunc(cookies, func(c *http.Cookie) bool { return strings.HasSuffix(c.Name, "a2a-session") })
	if n < 0 {
		return ""
	}
	return cookies[n].Name + "=" + cookies[n].Value
}

// signedIn reports whether a cookie opens a page.
func (w *world) signedIn(cookie string) bool {
	w.t.Helper()
	status, _ := w.browser().stay().get("/ui/a", "Cookie", cookie)
	return status == http.StatusOK
}

// rows returns how many sessions are stored.
func (w *world) rows() int {
	w.t.Helper()
	page, err := w.store.Rows(w.t.Context(), store.System(), store.RowQuery{Kind: "session", Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	return len(page.Rows)
}

// edit changes the file of keys.
func (w *world) edit(from, to string) {
	w.t.Helper()
	text, err := os.ReadFile(w.file)
	if err != nil {
		w.t.Fatal(err)
	}
	if !strings.Contains(string(text), from) {
		w.t.Fatalf("%q is not in the file of keys: %s", from, text)
	}
	if err := os.WriteFile(w.file, []byte(strings.ReplaceAll(string(text), from, to)), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.reload()
}
