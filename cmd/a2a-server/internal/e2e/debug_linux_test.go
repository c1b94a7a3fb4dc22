package e2e_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"a2a-server/internal/adminsocket"
	"a2a-server/internal/testserver"
)

// onSocket sends a request to the admin socket.
func onSocket(t *testing.T, c testserver.Config, method, path string, header ...string) (status int, body []byte) {
	t.Helper()
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return adminsocket.Dial(ctx, socketPath(c)) },
		DisableKeepAlives: true,
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+adminsocket.Host+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

// Profiles and the level of the log are on the admin socket only, for the role admin.
func TestDebugOnTheSocket(t *testing.T) {
	t.Parallel()
	c := withSocket(t, me("viewer, admin"))
	level := ""
	c.Inside.LogLevel = func(to string) { level = to }
	in := start(t, c)
	for path, want := range map[string]int{
		"/debug/pprof/heap": 200, "/debug/pprof/goroutine": 200, "/debug/pprof/profile?seconds=1": 200,
		"/debug/pprof/profile?seconds=61": 400, "/debug/pprof/cmdline": 404, "/debug/pprof/": 404, "/readyz": 200,
	} {
		status, body := onSocket(t, c, http.MethodGet, path)
		if status != want || want == http.StatusOK && strings.Contains(path, "pprof") && !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
			t.Errorf("GET %s is answered with %d %.80q, want %d", path, status, body, want)
		}
		if status, _ := in.get(t, path); strings.Contains(path, "debug") && status != http.StatusNotFound && status != http.StatusUnauthorized {
			t.Errorf("the port of clients serves %s with %d", path, status)
		}
	}
	if status, body := onSocket(t, c, http.MethodGet, "/readyz"); status != http.StatusOK || !strings.Contains(string(body), "approvals: 0 pending") {
		t.Errorf("the socket says %d %q", status, body)
	}
	if status, _ := onSocket(t, c, http.MethodPost, "/debug/log/debug"); status != http.StatusNoContent || level != "debug" {
		t.Errorf("POST answers %d, and the level is %q", status, level)
	}
	if status, _ := onSocket(t, c, http.MethodPost, "/debug/log/trace"); status != http.StatusNotFound || level != "debug" {
		t.Errorf("POST answers %d, and the level is %q", status, level)
	}
	if status, _ := onSocket(t, c, http.MethodPost, "/debug/log/error", "Origin", "http://localhost"); status != http.StatusForbidden || level != "debug" {
		t.Errorf("a page sets the level to %q, with %d", level, status)
	}
	if lines := in.log.find("a profile of the process is taken"); len(lines) != 3 {
		t.Errorf("the log has %d lines of profiles, want 3", len(lines))
	}
}

// Without the role admin there are neither profiles nor another level.
func TestDebugNeedsItsRole(t *testing.T) {
	t.Parallel()
	c := withSocket(t, me("viewer, operator, requester"))
	level := "info"
	c.Inside.LogLevel = func(to string) { level = to }
	start(t, c)
	for method, path := range map[string]string{http.MethodGet: "/debug/pprof/heap", http.MethodPost: "/debug/log/debug"} {
		if status, body := onSocket(t, c, method, path); status != http.StatusForbidden || level != "info" {
			t.Errorf("%s %s is answered with %d %.80q, and the level is %s", method, path, status, body, level)
		}
	}
}
