package e2e_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
)

// What was made before callers were authenticated is nobody's afterwards, whatever their
// name and role.
func TestTasksFromBeforeAuthentication(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"push.enabled": "true"})
	in := startHooked(t, c, nil)
	ended := in.send(t, "m1", "/echo text="+victims).ID
	parked := in.send(t, "m2", "/transfer_money amount=5 to="+victims).ID
	in.halt(t)

	dir := t.TempDir()
	keys := map[string]string{}
	for _, k := range []apikey.Key{
		{ID: "anonymous", Roles: []string{auth.RoleRequester}},
		{ID: "none", Roles: []string{auth.RoleRequester, auth.RoleViewer, auth.RoleOperator, auth.RoleApprover}},
		{ID: "everything", Tenant: "acme", Roles: []string{auth.RoleRequester, auth.RoleViewer, auth.RoleOperator, auth.RoleApprover}},
		{ID: "tenant", Tenant: "anonymous", Roles: []string{auth.RoleRequester, auth.RoleViewer}},
	} {
		keys[k.ID] = newKey(t, filepath.Join(dir, "keys.yaml"), k)
	}
	c.File = filepath.Join(dir, "a2a-server.yaml")
	rewrite(t, c.File, "auth: {keys: {file: keys.yaml}}\n")
	in = start(t, c)
	for id, key := range keys {
		for _, task := range []string{ended, parked} {
			for _, op := range attackOperations() {
				if !op.ofTask {
					continue
				}
				_, _, body := putRPC(op, task)
				if status, text := in.do(t, http.MethodPost, "/", body, "X-API-Key", key); !strings.Contains(text, "TASK_NOT_FOUND") {
					t.Errorf("%s of %s: %d %s", op.name, id, status, text)
				}
			}
		}
		if status, text := in.do(t, http.MethodGet, "/tasks?includeArtifacts=true", "", "X-API-Key", key); status != http.StatusOK || !strings.Contains(text, `"totalSize":0`) {
			t.Errorf("the list of %s: %d %s", id, status, text)
		}
	}
	if status, text := in.do(t, http.MethodGet, "/tasks", ""); status != http.StatusUnauthorized {
		t.Errorf("the list of nobody: %d %s", status, text)
	}
}
