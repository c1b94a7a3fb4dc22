package a2a_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// What an Authenticator says decides what its caller is told, on both bindings; nothing
// but a principal lets anybody in.
func TestPrincipalErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by        auth.Principal
		err       error
		status    int
		challenge string
		says      string
	}{
		"somebody":          {by: auth.Principal{Subject: "alice", Roles: []string{auth.RoleRequester}}, status: http.StatusOK, says: "tasks"},
		"nobody":            {status: http.StatusUnauthorized, challenge: "Bearer", says: "UNAUTHENTICATED"},
		"no credential":     {err: auth.ErrNone, status: http.StatusUnauthorized, challenge: "Bearer", says: "UNAUTHENTICATED"},
		"a wrong one":       {err: &auth.Error{Scheme: "ApiKey", Code: "invalid_token"}, status: http.StatusUnauthorized, challenge: `ApiKey error="invalid_token"`, says: "UNAUTHENTICATED"},
		"cannot be checked": {err: errors.New("the issuer at 10.0.0.7 is down"), status: http.StatusServiceUnavailable, says: "UNAVAILABLE"},
		"a nil *auth.Error": {by: auth.Principal{Subject: "alice"}, err: (*auth.Error)(nil), status: http.StatusServiceUnavailable, says: "UNAVAILABLE"},
		"not UTF-8":         {by: auth.Principal{Subject: "Jos\xe9"}, status: http.StatusServiceUnavailable, says: "UNAVAILABLE"},
		"too large":         {by: auth.Principal{Subject: "alice", Roles: []string{strings.Repeat("r", 1<<20)}}, status: http.StatusServiceUnavailable, says: "UNAVAILABLE"},
		"and is somebody":   {by: auth.Principal{Subject: "alice"}, err: errors.New("down"), status: http.StatusServiceUnavailable, says: "UNAVAILABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen *auth.Credentials
			s := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, config *a2a.Config) {
				config.Authenticator = auth.Func(func(_ context.Context, given *auth.Credentials) (auth.Principal, error) {
					seen = given
					return c.by, c.err
				})
			})
			for _, r := range [][3]string{{"GET", "/tasks", ""}, {"POST", "/", `{"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}`}} {
				w := s.ask(t, r[0], r[1], r[2], "X-Key", "k")
				if w.Code != c.status || w.Header().Get("WWW-Authenticate") != c.challenge || !strings.Contains(w.Body.String(), c.says) {
					t.Errorf("%s: %d, challenge %q, %s; want %d, %q, %q", r[0], w.Code, w.Header().Get("WWW-Authenticate"), w.Body, c.status, c.challenge, c.says)
				}
				if strings.Contains(w.Body.String(), "10.0.0.7") {
					t.Errorf("the answer shows what is for the log: %s", w.Body)
				}
				if key := seen.Header("x-key"); len(key) != 1 || key[0] != "k" || !seen.Remote.IsValid() {
					t.Errorf("the credentials are %q from %v", key, seen.Remote)
				}
			}
		})
	}
}

// A request that the shutdown cuts off can be repeated, whatever the store makes of it.
func TestCutOffByShutdown(t *testing.T) {
	t.Parallel()
	s := startWireServer(t, zerolog.Nop(), usual)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(httpd.ErrStopping)
	for _, path := range []string{"/tasks", "/tasks/01a202f1-8160-7c8e-a9c2-57d35242287e"} {
		w := record(s.handler, newRequest(t, http.MethodGet, path, "").WithContext(ctx))
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("GET %s = %d %s, want 503 with Retry-After", path, w.Code, w.Body)
		}
	}
}

// Whoever has no credential at all can send one that cannot be checked, as often as they
// like: the log says so once a minute, and how many there were.
func TestLogOfUncheckedCredentialsIsBounded(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	clock := time.Unix(1_700_000_000, 0)
	s := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) {
		c.Log, c.Now = zerolog.New(&text).Level(zerolog.InfoLevel), func() time.Time { return clock }
		c.Authenticator = auth.Func(func(context.Context, *auth.Credentials) (auth.Principal, error) {
			return auth.Principal{}, errors.New("the issuer is down")
		})
	})
	for _, want := range []string{`"others":0`, `"others":99`} {
		text.Reset()
		for range 100 {
			s.ask(t, http.MethodGet, "/tasks", "")
		}
		if got := text.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "the issuer is down") || !strings.Contains(got, want) {
			t.Errorf("the log has %d lines, want one with %s: %.300s", strings.Count(got, "\n"), want, got)
		}
		clock = clock.Add(time.Minute)
	}
}
