//go:build linux

package peer_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/auth"
	"a2a-server/auth/peer"
)

// serve serves on a network, and returns a function that asks it who the caller is.
func serve(t *testing.T, network, address string, a auth.Authenticator) (who func() (auth.Principal, error)) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	var by auth.Principal
	var wrong error
	server := &http.Server{
		ConnContext: peer.WithConn,
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			by, wrong = a.Authenticate(r.Context(), &auth.Credentials{Header: r.Header.Values})
		}),
	}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, l.Addr().String())
	}}}
	t.Cleanup(client.CloseIdleConnections)
	return func() (auth.Principal, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://peer/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Uid", "0") // nothing that a caller says counts
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		return by, wrong
	}
}

// Who connects is who the kernel says.
func TestCaller(t *testing.T) {
	t.Parallel()
	me := uint32(os.Getuid())
	known, err := peer.New(
		peer.User{UID: me, Name: "alice", Person: "corp:alice", Tenant: "acme", Roles: []string{auth.RoleApprover}},
		peer.User{UID: me + 1, Name: "bob"},
	)
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	by, err := serve(t, "unix", socket, known)()
	want := auth.Principal{Tenant: "acme", Subject: "socket:alice", Person: "corp:alice", Roles: []string{auth.RoleApprover}, Method: peer.Method}
	if diff := cmp.Diff(want, by); err != nil || diff != "" {
		t.Errorf("the caller is %+v, %v", by, err)
	}
	if !by.Direct() {
		t.Error("a user of the machine is no person")
	}
	by.Roles[0] = auth.RoleAdmin
	if again, err := serve(t, "unix", socket+"2", known)(); err != nil || again.Has(auth.RoleAdmin) {
		t.Errorf("a changed principal changes the next: %+v, %v", again, err)
	}
}

// A user who is not listed is nobody, and learns which id to add and where.
func TestStranger(t *testing.T) {
	t.Parallel()
	known, err := peer.New(peer.User{UID: uint32(os.Getuid()) + 1, Name: "bob", Roles: []string{auth.RoleAdmin}})
	if err != nil {
		t.Fatal(err)
	}
	by, err := serve(t, "unix", filepath.Join(t.TempDir(), "s"), known)()
	var refused *auth.Error
	if !by.IsZero() || !errors.As(err, &refused) || !strings.Contains(err.Error(), strconv.Itoa(os.Getuid())) || !strings.Contains(err.Error(), "auth.socket") {
		t.Errorf("a stranger is %+v, %v", by, err)
	}
	if got := auth.ChallengesOf(known); !cmp.Equal(got, []string{"Peer"}) {
		t.Errorf("challenges are %v", got)
	}
}

// What is no Unix socket, or was not seen, has no credential of this kind.
func TestNoSocket(t *testing.T) {
	t.Parallel()
	known, err := peer.New(peer.User{UID: uint32(os.Getuid()), Name: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	if by, err := serve(t, "tcp", "127.0.0.1:0", known)(); !by.IsZero() || !errors.Is(err, auth.ErrNone) {
		t.Errorf("over TCP the caller is %+v, %v", by, err)
	}
	if by, err := known.Authenticate(t.Context(), &auth.Credentials{}); !by.IsZero() || !errors.Is(err, auth.ErrNone) {
		t.Errorf("without a connection the caller is %+v, %v", by, err)
	}
	// A connection that has ended says nothing of who it was.
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	var refused *auth.Error
	by, err := known.Authenticate(peer.WithConn(t.Context(), c), &auth.Credentials{})
	if !by.IsZero() || err == nil || errors.Is(err, auth.ErrNone) || errors.As(err, &refused) {
		t.Errorf("through a closed connection the caller is %+v, %v", by, err)
	}
}

func TestUsersThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, users := range map[string][]peer.User{
		"two":         {{UID: 1, Name: "a"}, {UID: 1, Name: "b"}},
		"no name":     {{UID: 1}},
		"overflow":    {{UID: 65534, Name: "nobody"}},
		"none":        {{UID: 1<<32 - 1, Name: "nobody"}},
		"not UTF-8":   {{UID: 1, Name: "\xff"}},
		"a long name": {{UID: 1, Name: strings.Repeat("a", 2000)}},
	} {
		if _, err := peer.New(users...); err == nil {
			t.Errorf("%s: there is no error", name)
		}
	}
}
