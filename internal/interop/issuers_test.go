package interop

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// testIssuers has people and programs call with the tokens of a provider that follows RFC
// 9068, and of one that writes `typ: JWT` as many do.
func testIssuers(t *testing.T, p programs) {
	follows, plain := startIDP(t, p, ""), startIDP(t, p, "JWT")
	startWith := func(t *testing.T, tokenType string) *server {
		config := filepath.Join(t.TempDir(), "config.yaml")
		text := fmt.Sprintf(`
waiting_state: input_required
auth:
  oidc:
    - {name: corp, issuer: %q, audiences: [%q], networks: [127.0.0.1], roles: {claim: groups, map: {people: [requester], programs: [requester]}}}
    - {name: plain, issuer: %q, audiences: [%q], networks: [127.0.0.1], roles: [requester]%s}
`, follows.issuer, audience, plain.issuer, audience, tokenType)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return start(t, p.server, t.TempDir(), "--config", config)
	}
	strict, s := startWith(t, ""), startWith(t, ", token_type: JWT")
	alice, bob, plainAlice, program := follows.user(t, "alice"), follows.user(t, "bob"), plain.user(t, "alice"), follows.program(t)
	as := func(s *server, token string, binding a2a.TransportProtocol) *sdkClient {
		return &sdkClient{url: s.url, binding: binding, resolver: agentcard.NewResolver(&http.Client{}), headers: bearer(token)}
	}
	for _, binding := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON} {
		t.Run(string(binding), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := deadline(t)
			defer cancel()
			payee := string(binding)
			task, q := park(ctx, t, as(s, alice.Access, binding), 3, payee)

			// Somebody else with a token, also of the same name at another provider, finds
			// nothing.
			for name, token := range map[string]string{"bob": bob.Access, "a program": program, "the other alice": plainAlice.Access} {
				other := as(s, token, binding)
				_, err := other.get(ctx, &a2a.GetTaskRequest{ID: task.ID})
				checkRefused(t, err, "TASK_NOT_FOUND", "")
				list, err := other.list(ctx, &a2a.ListTasksRequest{})
				if err != nil {
					t.Fatal(err)
				}
				for _, seen := range list.Tasks {
					if seen.ID == task.ID {
						t.Errorf("%s sees the task of alice", name)
					}
				}
			}
			wantState(t, send(ctx, t, as(s, alice.Access, binding), answer(task, decision(q.ID, "approve", nil))), a2a.TaskStateCompleted)
			world{server: s}.checkRuns(t, task, transfer{3, payee})

			// A program may ask, and not approve what it has asked for.
			task, q = park(ctx, t, as(s, program, binding), 4, payee)
			_, err := as(s, program, binding).send(ctx, &a2a.SendMessageRequest{Message: answer(task, decision(q.ID, "approve", nil))})
			checkRefused(t, err, "INVALID_PARAMS", "APPROVAL_NOT_ALLOWED")
			wantState(t, get(ctx, t, as(s, program, binding), task.ID), a2a.TaskStateInputRequired)
			world{server: s}.checkRuns(t, task)

			wantState(t, send(ctx, t, as(s, plainAlice.Access, binding), text("/echo hello")), a2a.TaskStateCompleted)
		})
	}
	for _, tc := range []struct {
		name, token, says string
		to                *server
	}{
		{"no token", "", "", strict},
		{"an ID token", alice.ID, "the token names no type (typ)", strict},
		{"an ID token of one whose access tokens look the same", plainAlice.ID, "for another audience", s},
		{"a type that the operator has to allow", plainAlice.Access, "sets token_type of the issuer", strict},
		{"changed", alice.Access[:len(alice.Access)-8] + "AAAAAAAA", "the signature of the token is invalid", s},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := deadline(t)
			defer cancel()
			status, challenge := challenged(ctx, t, tc.to.url, tc.token)
			if status != http.StatusUnauthorized || !strings.HasPrefix(challenge, "Bearer") || !strings.Contains(challenge, tc.says) {
				t.Errorf("answered %d with the challenge %q, want 401 and %q", status, challenge, tc.says)
			}
		})
	}
}

// challenged asks for the list of tasks, and returns the status and the challenge of the
// answer.
func challenged(ctx context.Context, t *testing.T, url, token string) (status int, challenge string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/tasks", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := bearer(token).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("WWW-Authenticate")
}
