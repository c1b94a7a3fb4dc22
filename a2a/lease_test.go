package a2a_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/auth"
	"a2a-server/task/engine"
)

// switched is an Authenticator whose answer a test changes.
type switched struct {
	mu      sync.Mutex
	by      auth.Principal
	err     error
	changed chan struct{}
	then    func() // after an answer
	headers []string
}

func (s *switched) Authenticate(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
	s.mu.Lock()
	by, err, then := s.by, s.err, s.then
	s.then = nil
	s.headers = append(s.headers, strings.Join(c.Header("X-Key"), ","))
	s.mu.Unlock()
	if then != nil {
		then()
	}
	return by, err
}

// set changes the answer, without telling.
func (s *switched) set(by auth.Principal, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by, s.err = by, err
}

// telling is a switched that tells.
type telling struct{ *switched }

func (s telling) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// tell changes the answer, and says so.
func (s telling) tell(by auth.Principal, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.by, s.err = by, err
	if s.changed != nil {
		close(s.changed)
	}
	s.changed = make(chan struct{})
}

// leased is a server in a bubble, with a task of alice that waits for her.
type leased struct {
	*wireServer
	auth telling
	task string
}

var leaseholder = auth.Principal{Tenant: "acme", Subject: "alice", Roles: []string{auth.RoleRequester, auth.RoleViewer}, Method: "test"}

func startLeased(t *testing.T, tells bool) *leased {
	t.Helper()
	l := &leased{auth: telling{&switched{by: leaseholder}}}
	l.wireServer = startWireServer(t, zerolog.Nop(), func(e *engine.Config, c *a2a.Config) {
		e.Now, c.Now, c.Authenticator = time.Now, time.Now, l.auth.switched
		if tells {
			c.Authenticator = auth.First(auth.Func(func(context.Context, *auth.Credentials) (auth.Principal, error) {
				return auth.Principal{}, auth.ErrNone
			}), l.auth)
		}
	})
	sent, err := l.engine.Send(t.Context(), engine.Send{By: leaseholder, Message: call("transfer", map[string]any{"amount": 1, "to": "x"})})
	if err != nil {
		t.Fatal(err)
	}
	l.task = sent.Task.String()
	synctest.Wait()
	return l
}

// begin makes a request in the background, and returns how it ends.
func (l *leased) begin(ctx context.Context, method, path, body string) (rec *httptest.ResponseRecorder, ended func() bool) {
	r := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Key", "k1")
	rec = httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.handler.ServeHTTP(rec, r)
	}()
	synctest.Wait()
	return rec, func() bool {
		synctest.Wait()
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

const endedComment = ": the credential has ended;"

// A stream ends with its credential, and not before.
func TestStreamEndsWithCredential(t *testing.T) {
	t.Parallel()
	down, wrong := errors.New("down"), &auth.Error{Code: "invalid_token"}
	expires := func(d time.Duration) auth.Principal {
		p := leaseholder
		p.Expires = time.Now().Add(d)
		return p
	}
	with := func(roles ...string) auth.Principal {
		p := leaseholder
		p.Roles = roles
		return p
	}
	for _, tc := range []struct {
		name  string
		first func() auth.Principal
		then  func() (auth.Principal, error) // nil: nothing changes
		tells bool
		after time.Duration // that the stream ends; 0: at once, negative: never
	}{
		{name: "nothing happens", after: -1},
		{name: "nothing happens, and it would be told", tells: true, after: -1},
		{name: "it expires", first: func() auth.Principal { return expires(40 * time.Second) }, after: 40 * time.Second},
		{name: "it expires before the first check", first: func() auth.Principal { return expires(time.Millisecond) }, after: time.Millisecond},
		{name: "it is revoked", then: func() (auth.Principal, error) { return auth.Principal{}, wrong }, after: 15 * time.Second},
		{name: "it is revoked, which is told", then: func() (auth.Principal, error) { return auth.Principal{}, wrong }, tells: true},
		{name: "it is removed", then: func() (auth.Principal, error) { return auth.Principal{}, auth.ErrNone }, tells: true},
		{name: "it is nobody's", then: func() (auth.Principal, error) { return auth.Principal{}, nil }, tells: true},
		{name: "it cannot be checked", then: func() (auth.Principal, error) { return auth.Principal{}, down }, tells: true, after: -1},
		{name: "it cannot be checked until it expires", first: func() auth.Principal { return expires(time.Minute) }, then: func() (auth.Principal, error) { return auth.Principal{}, down }, after: time.Minute},
		{name: "the roles are taken away", then: func() (auth.Principal, error) { return with(), nil }, tells: true},
		{name: "the roles are taken away, silently", then: func() (auth.Principal, error) { return with("ops"), nil }, after: 15 * time.Second},
		{name: "the role for others' tasks is taken away", then: func() (auth.Principal, error) { return with(auth.RoleRequester), nil }, tells: true},
		{name: "another role is taken away", then: func() (auth.Principal, error) { return with(auth.RoleViewer), nil }, tells: true, after: -1},
		{name: "it is somebody else's", then: func() (auth.Principal, error) {
			return auth.Principal{Tenant: "umbrella", Subject: "alice", Roles: leaseholder.Roles}, nil
		}, tells: true},
		{name: "it is prolonged", first: func() auth.Principal { return expires(20 * time.Second) }, then: func() (auth.Principal, error) { return expires(50 * time.Second), nil }, after: 50 * time.Second},
		{name: "it is shortened", then: func() (auth.Principal, error) { return expires(20 * time.Second), nil }, tells: true, after: 20 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := startLeased(t, tc.tells)
				if tc.first != nil {
					l.auth.set(tc.first(), nil)
				}
				began := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				rec, ended := l.begin(ctx, "GET", "/tasks/"+l.task+":subscribe", "")
				if ended() {
					t.Fatalf("the stream did not begin: %d %s", rec.Code, rec.Body)
				}
				if tc.then != nil {
					by, err := tc.then()
					if tc.tells {
						l.auth.tell(by, err)
					} else {
						l.auth.set(by, err)
					}
				}
				if tc.after < 0 {
					time.Sleep(10 * time.Minute)
					if ended() {
						t.Fatalf("the stream ended: %s", rec.Body)
					}
					cancel()
					if !ended() {
						t.Fatal("the stream did not end with its request")
					}
					return
				}
				if tc.after > 0 {
					time.Sleep(tc.after - time.Since(began) - time.Nanosecond)
					if ended() {
						t.Fatalf("the stream ended %v too early: %s", tc.after-time.Since(began), rec.Body)
					}
					time.Sleep(time.Nanosecond)
				}
				if !ended() {
					t.Fatal("the stream did not end")
				}
				if body := rec.Body.String(); !strings.Contains(body, endedComment) || strings.Contains(body, "error") {
					t.Errorf("the stream ended with %s", body)
				}
				for _, key := range l.auth.headers {
					if key != "k1" {
						t.Errorf("the credential was checked with %q", key)
					}
				}
			})
		})
	}
}

// Nothing that happens while a stream begins is missed.
func TestStreamOfChangedCredential(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := startLeased(t, true)
		l.auth.mu.Lock()
		l.auth.then = func() { l.auth.tell(auth.Principal{}, &auth.Error{Code: "invalid_token"}) } // once the request is let in
		l.auth.mu.Unlock()
		rec, ended := l.begin(t.Context(), "GET", "/tasks/"+l.task+":subscribe", "")
		if !ended() || rec.Code != http.StatusUnauthorized && !strings.Contains(rec.Body.String(), endedComment) {
			t.Errorf("the stream is open: %d %s", rec.Code, rec.Body)
		}
		// Afterwards the next ones are told, too.
		for range 3 {
			l.auth.set(leaseholder, nil)
			rec, ended = l.begin(t.Context(), "GET", "/tasks/"+l.task+":subscribe", "")
			if ended() {
				t.Fatalf("the stream did not begin: %d %s", rec.Code, rec.Body)
			}
			l.auth.tell(auth.Principal{}, auth.ErrNone)
			if !ended() {
				t.Fatal("the stream did not end")
			}
		}
	})
}

// A send that waits for its task is answered to whoever may still have the answer.
func TestWaitingSendEndsWithCredential(t *testing.T) {
	t.Parallel()
	const body = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"tool":"hold"}}]}}`
	for name, tc := range map[string]struct{ path, body string }{
		"REST": {"/message:send", body},
		"RPC":  {"/", `{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":` + body + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := startLeased(t, true)
				rec, ended := l.begin(t.Context(), "POST", tc.path, tc.body)
				if ended() {
					t.Fatalf("it did not wait: %d %s", rec.Code, rec.Body)
				}
				l.auth.tell(auth.Principal{}, &auth.Error{Code: "invalid_token"})
				if !ended() || rec.Code != http.StatusUnauthorized || !strings.Contains(rec.Header().Get("WWW-Authenticate"), `error="invalid_token"`) {
					t.Errorf("answered with %d %v %s, want 401", rec.Code, rec.Header(), rec.Body)
				}
			})
		})
	}
}

// A credential that has expired lets nobody in, whatever its Authenticator says.
func TestExpiredCredential(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := startLeased(t, false)
		p := leaseholder
		p.Expires = time.Now()
		l.auth.set(p, nil)
		rec, ended := l.begin(t.Context(), "GET", "/tasks/"+l.task, "")
		if !ended() || rec.Code != http.StatusUnauthorized || !strings.Contains(rec.Body.String(), "has expired") {
			t.Errorf("answered with %d %s", rec.Code, rec.Body)
		}
	})
}

// 401 has a challenge for each scheme that the server knows.
func TestChallenges(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		schemes []string
		err     error
		want    []string
	}{
		"one, none given":         {[]string{`ApiKey header="X-API-Key"`}, auth.ErrNone, []string{`ApiKey header="X-API-Key"`}},
		"two, none given":         {[]string{"ApiKey", "Bearer"}, auth.ErrNone, []string{"ApiKey", "Bearer"}},
		"two, a wrong token":      {[]string{"ApiKey", `Bearer realm="a"`}, &auth.Error{Code: "invalid_token"}, []string{`Bearer error="invalid_token"`, "ApiKey"}},
		"two, a wrong key":        {[]string{"ApiKey", "Bearer"}, &auth.Error{Scheme: "apikey", Code: "invalid_token"}, []string{`apikey error="invalid_token"`, "Bearer"}},
		"no Bearer, wrong anyhow": {[]string{"ApiKey"}, auth.ErrTwo, []string{`ApiKey error="invalid_request", error_description="` + auth.ErrTwo.Description + `"`}},
		"unnamed":                 {nil, auth.ErrNone, []string{"Bearer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startWireServer(t, zerolog.Nop(), func(_ *engine.Config, c *a2a.Config) {
				c.Authenticator = challenger{auth.Func(func(context.Context, *auth.Credentials) (auth.Principal, error) { return auth.Principal{}, tc.err }), tc.schemes}
			})
			for _, path := range []string{"/", "/message:send"} {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1"+path, unreadable{t})
				rec := record(s.handler, r)
				if got := rec.Header().Values("WWW-Authenticate"); rec.Code != http.StatusUnauthorized || strings.Join(got, "|") != strings.Join(tc.want, "|") {
					t.Errorf("%s: %d with challenges %q, want %q", path, rec.Code, got, tc.want)
				}
			}
		})
	}
}
