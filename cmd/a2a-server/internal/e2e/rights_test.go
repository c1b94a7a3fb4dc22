package e2e_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/internal/testserver"
)

// Roles that need a tenant, and tasks that a change of tenant puts out of reach, are named: by Check, in the log of a start
// and of a reload, and beside the lists.
func TestRightsWithoutATenant(t *testing.T) {
	t.Parallel()
	c, conf := configured(t, "auth: {keys: {file: keys.yaml}}\ngates: [{tool: echo, approvers: {roles: [sales]}}]\n")
	file := filepath.Join(filepath.Dir(conf), "keys.yaml")
	alice := newKey(t, file, apikey.Key{ID: "alice", Roles: []string{auth.RoleRequester, "salez"}})
	olga := newKey(t, file, apikey.Key{ID: "olga", Roles: []string{auth.RoleApprover, auth.RoleViewer}})
	newKey(t, file, apikey.Key{ID: "pete", Roles: []string{auth.RoleOperator, auth.RoleViewer}})
	newKey(t, file, apikey.Key{ID: "home", Tenant: "home", Roles: []string{auth.RoleApprover}})
	checked := func() (string, string) {
		t.Helper()
		log := newLogs(t)
		c.Log = zerolog.New(log)
		err := testserver.Check(c)
		return fmt.Sprint(err), fmt.Sprint(log.all())
	}
	problem, log := checked()
	for _, want := range []string{"approver has no effect without a tenant: set auth.tenant, or give a tenant to each of these callers (key:olga)", "viewer has no effect without a tenant: set auth.tenant, or give a tenant to each of these callers (key:olga, key:pete)", "operator has no effect", `a2a-server.yaml:2:33: gates[0].approvers: no caller has the role "sales"; did you mean salez?; no caller may decide calls of this gate`} {
		if !strings.Contains(problem, want) {
			t.Errorf("Check() = %s, want %s", problem, want)
		}
	}
	if strings.Contains(problem+log, "home") || !strings.Contains(log, "salez has no effect: it grants nothing, and no gate or tool names it; did you mean sales? (key:alice)") {
		t.Errorf("Check() = %s, and logs %s", problem, log)
	}
	in := start(t, c)
	if got := len(in.log.saying("no caller may decide calls of this gate")); got != 1 {
		t.Errorf("the start warns of %d gates, want 1", got)
	}
	if got := len(in.log.saying("has no effect")); got != 4 {
		t.Errorf("the start warns of %d roles, want 4", got)
	}
	in.sendAs(t, map[string]any{"message": map[string]any{"messageId": "m1", "role": "ROLE_USER", "parts": []any{map[string]any{"text": "/transfer_money to=bob amount=5"}}}}, "X-API-Key", alice)
	for key, want := range map[string]string{olga: "without a tenant these roles have no effect: viewer, approver", alice: `"rows":"own"`} {
		if status, body := in.do(t, http.MethodGet, "/api/v1/approvals", "", "X-API-Key", key); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("the list is %d %s, want %s", status, body, want)
		}
	}
	if err := apikey.Revoke(file, "olga", time.Now()); err != nil {
		t.Fatal(err)
	}
	in.reload(t) // which is not refused
	if status, _ := in.do(t, http.MethodGet, "/api/v1/approvals", "", "X-API-Key", olga); status != http.StatusUnauthorized || len(in.log.saying("approver has no effect")) != 1 || len(in.log.saying("operator has no effect")) != 2 {
		t.Errorf("after the reload the revoked key is answered with %d, and %d and %d lines", status, len(in.log.saying("approver has no effect")), len(in.log.saying("operator has no effect")))
	}
	in.halt(t)

	rewrite(t, conf, "auth: {tenant: acme, keys: {file: keys.yaml}}\n")
	const out = "tasks out of reach: 1 (pending approvals: 1) without a tenant"
	if problem, log := checked(); problem != "<nil>" || !strings.Contains(log, out) {
		t.Errorf("with a tenant, Check() = %s, and logs %s", problem, log)
	}
	in = start(t, c)
	for t.Context().Err() == nil && len(in.log.saying(out)) == 0 {
		in.get(t, "/readyz") // the count runs beside requests
	}
	in.halt(t)
	rewrite(t, conf, "")
	if problem, log := checked(); problem != "<nil>" || !strings.Contains(log, out) {
		t.Errorf("without authentication, Check() = %s, and logs %s", problem, log)
	}
}
