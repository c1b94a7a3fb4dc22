package a2a_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
)

// rated is a server with rates whose callers are whoever the header X-Who says; "" is nobody.
func rated(t *testing.T, c a2a.Config) (s *a2a.Server, ask func(who, from, forwarded string) int) {
	t.Helper()
	c.Engine = startWireServer(t, zerolog.Nop()).engine
	c.Authenticator = auth.Func(func(_ context.Context, given *auth.Credentials) (auth.Principal, error) {
		switch who := given.Header("X-Who"); {
		case len(who) == 0:
			return auth.Principal{}, auth.ErrNone
		case who[0] == "wrong":
			return auth.Principal{}, &auth.Error{Code: "invalid_token"}
		default:
			return auth.Principal{Subject: who[0], Roles: []string{auth.RoleRequester}}, nil
		}
	})
	s, err := a2a.New(c)
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel() // nobody waits for the answer, which a request beyond its rate gets late
	return s, func(who, from, forwarded string) int {
		r := newRequest(t, http.MethodGet, "/tasks/x:nothing", "").WithContext(gone)
		r.RemoteAddr = from
		if who != "" {
			r.Header.Set("X-Who", who)
		}
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		return record(s, r).Code
	}
}

// What counts as an address is what one subscriber has, and a request without a credential
// is no failure. Only a proxy says whose request it passes on: nobody else chooses the address
// that pays for an invalid credential.
func TestFailuresByAddress(t *testing.T) {
	t.Parallel()
	now := time.Now()
	_, ask := rated(t, a2a.Config{
		Rates: httpd.Rates{Failures: 1}, Guard: httpd.Guard{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}}, Now: func() time.Time { return now },
	})
	for i, c := range []struct {
		who, from, forwarded string
		refused              bool
	}{
		{"", "192.0.2.1:1", "", false},
		{"", "192.0.2.1:1", "", false},
		{"wrong", "192.0.2.1:1", "", false},
		{"wrong", "192.0.2.1:2", "", true},
		{"alice", "[::ffff:192.0.2.1]:3", "", true},
		{"alice", "192.0.2.2:1", "", false},
		{"wrong", "[2001:db8:0:1::1]:1", "", false},
		{"alice", "[2001:db8:0:1:ffff::9]:1", "", true},
		{"alice", "[2001:db8:0:2::1]:1", "", false},
		{"wrong", "@", "", false}, // a Unix socket has no address
		{"wrong", "@", "", false},

		{"wrong", "192.0.2.3:1", "192.0.2.7", false}, // a stranger blames somebody else
		{"alice", "192.0.2.7:1", "", false},
		{"alice", "192.0.2.3:1", "192.0.2.8", true}, // and does not escape
		{"wrong", "10.0.0.1:1", "192.0.2.7, 192.0.2.20", false},
		{"alice", "192.0.2.7:1", "", false},
		{"alice", "192.0.2.20:1", "", true},
		{"alice", "10.0.0.2:1", "192.0.2.20, 10.0.0.1", true}, // through two proxies
		{"wrong", "10.0.0.1:1", "192.0.2.7, nonsense", false}, // it is the proxy's own
		{"alice", "10.0.0.1:1", "", true},
		{"alice", "10.0.0.1:1", "192.0.2.7", false},
	} {
		if got := ask(c.who, c.from, c.forwarded); (got == http.StatusTooManyRequests) != c.refused {
			t.Errorf("request %d, of %q from %s for %q = %d, refused: %v", i, c.who, c.from, c.forwarded, got, c.refused)
		}
	}
}

// A caller who makes too many requests keeps the connection, unless the body is large or
// does not come, and gets the answer late, so that repeating them at once is of no use.
func TestRatedCallerKeepsTheConnection(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s, first := rated(t, a2a.Config{Rates: httpd.Rates{PerCaller: 1, Failures: 1}, Now: func() time.Time { return now }})
	srv := httptest.NewServer(s)
	defer srv.Close()
	small := `{"jsonrpc":"2.0","id":1,"method":"ListTasks"}`
	for _, c := range []struct {
		name, who, head, body string
		keeps                 bool
	}{
		{"small body", "alice", "", small, true},
		{"large body", "alice", "", strings.Repeat(" ", 17<<10), false},
		{"half a body", "alice", "Content-Length: 100\r\n", small, false},
		{"chunks", "alice", "Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n", false},
		{"nobody in particular", "wrong", "", small, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			head := c.head
			if head == "" {
				head = fmt.Sprintf("Content-Length: %d\r\n", len(c.body))
			}
			request := "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Who: " + c.who + "\r\n" + head + "\r\n" + c.body
			ask := func(conn net.Conn) (status int, closes bool) {
				t.Helper()
				if _, err := io.WriteString(conn, request); err != nil {
					t.Fatal(err)
				}
				resp := next(t, bufio.NewReader(conn)) //nolint:bodyclose // next closes it
				return resp.StatusCode, resp.Close
			}
			for range 2 { // as many as are within the rates
				first(c.who, "127.0.0.1:1", "")
			}
			conn := raw(t, srv.URL, "")
			status, closes := ask(conn)
			if c.keeps {
				began := time.Now()
				status, closes = ask(conn)
				if took := time.Since(began); took < 100*time.Millisecond {
					t.Errorf("the answer came after %v", took)
				}
			}
			if status != http.StatusTooManyRequests || closes == c.keeps {
				t.Errorf("status %d, connection closed: %t; want 429, %t", status, closes, !c.keeps)
			}
		})
	}
}

// Whoever is refused cannot hold all requests that a server has: of many at the same time,
// some get their answer at once.
func TestHeldBackRequestsAreBounded(t *testing.T) {
	t.Parallel()
	const sent, most = 1500, 1024
	now := time.Now()
	s, ask := rated(t, a2a.Config{Rates: httpd.Rates{Failures: 1}, Now: func() time.Time { return now }})
	ask("wrong", "192.0.2.1:1", "")
	synctest.Test(t, func(t *testing.T) {
		for range 2 { // whoever has waited makes room
			var all sync.WaitGroup
			var late atomic.Int64
			began := time.Now()
			for range sent {
				all.Go(func() {
					if w := record(s, newRequest(t, http.MethodGet, "/tasks", "")); w.Code != http.StatusTooManyRequests {
						t.Errorf("a request beyond the limit: %d", w.Code)
					}
					if time.Since(began) > 0 {
						late.Add(1)
					}
				})
			}
			all.Wait()
			if got := late.Load(); got != most {
				t.Errorf("%d requests are held back, want %d", got, most)
			}
		}
	})
}
