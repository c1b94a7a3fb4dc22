//go:build linux

package a2aserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/auth/peer"
	"a2a-server/client"
	"a2a-server/internal/adminsocket"
	"a2a-server/internal/httpd"
	"a2a-server/tool"
	"a2a-server/tool/builtin"
)

// Who decides on the admin socket is looked at again when the decision is committed: who is
// not known any longer, or has lost the role, decides nothing, and learns that.
func TestAdminSocketAtTheCommit(t *testing.T) {
	t.Parallel()
	ann := auth.Principal{Tenant: "acme", Subject: "socket:ann", Roles: []string{auth.RoleApprover}, Method: "socket"}
	alice := auth.Principal{Tenant: "acme", Subject: "test:alice", Roles: []string{auth.RoleRequester}, Method: "test"}
	callers := auth.Func(func(context.Context, *auth.Credentials) (auth.Principal, error) { return alice, nil })
	tools, err := builtin.New(builtin.Config{Ledger: filepath.Join(t.TempDir(), "ledger.jsonl")})
	if err != nil {
		t.Fatal(err)
	}
	settings := DefaultSettings()
	settings.Data = t.TempDir()
	s, err := New(Config{Settings: settings, Tools: []tool.Toolset{tools}, NoListen: true, Authenticator: callers, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	var now func() (auth.Principal, error) // at the second look of a request
	looks := 0
	users := auth.Func(func(context.Context, *auth.Credentials) (auth.Principal, error) {
		if looks++; looks > 1 {
			return now()
		}
		return ann, nil
	})
	path := filepath.Join(t.TempDir(), "s")
	socket, err := adminsocket.Listen(path, 0 /* group */)
	if err != nil {
		t.Fatal(err)
	}
	port := sidePort{httpd.NewPort(socket), httpd.NewServer(s.socketAPI(users, true /* decide */), zerolog.Nop())}
	port.web.ConnContext = peer.WithConn
	port.serve(zerolog.New(zerolog.NewTestWriter(t)), "the socket failed")
	t.Cleanup(func() {
		if err := port.close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	answer := &httptest.ResponseRecorder{Code: http.StatusServiceUnavailable}
	for answer.Code == http.StatusServiceUnavailable { // until it serves
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/message:send", strings.NewReader(`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"/transfer_money to=bob amount=5"}]}}`))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("A2A-Version", "1.0")
		answer = httptest.NewRecorder()
		s.Handler().ServeHTTP(answer, request)
	}
	_, after, ok := strings.Cut(answer.Body.String(), `"task":{"id":"`)
	id, _, _ := strings.Cut(after, `"`)
	if !ok {
		t.Fatalf("the message is answered with %d %s", answer.Code, answer.Body)
	}
	admin, err := client.New(client.Config{Socket: path, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := admin.Approval(t.Context(), id+".a1")
	if err != nil {
		t.Fatal(err)
	}
	viewer := ann
	viewer.Roles = []string{auth.RoleViewer}
	for name, tc := range map[string]struct {
		now  auth.Principal
		err  error
		want string
	}{
		"not known any longer": {err: &auth.Error{Description: "the user with the uid 1 is not in auth.socket"}, want: client.ReasonUnauthenticated},
		"cannot be told":       {err: errors.New("the kernel does not say"), want: client.ReasonBusy},
		"without the role":     {now: viewer, want: client.ReasonNotAllowed},
	} {
		looks, now = 0, func() (auth.Principal, error) { return tc.now, tc.err }
		_, err := admin.Decide(t.Context(), id+".a1", client.Decision{Decision: client.Approve, Digest: shown.Approval.Digest})
		var refused *client.Error
		var unclear *client.OutcomeError
		if !errors.As(err, &refused) || errors.As(err, &unclear) || refused.Reason != tc.want || looks != 2 {
			t.Errorf("%s: %v after %d looks, want %s", name, err, looks, tc.want)
		}
	}
	looks = 0
	if shown, err = admin.Approval(t.Context(), id+".a1"); err != nil || shown.Approval.State != client.Pending {
		t.Errorf("after that the approval is %+v, %v", shown, err)
	}
}
