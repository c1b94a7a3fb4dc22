package e2e_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/auth/apikey"
	"a2a-server/internal/app"
)

// policy explain says what the server does with the call of a caller. A caller whose credential names no tenant
// and no roles has those of auth.tenant and auth.default_roles; explain judges one without them, and lets calls
// run that the server denies.
func TestAttackExplainForgetsTheDefaultsOfCallers(t *testing.T) {
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	key := newKey(t, keys, apikey.Key{ID: "ann"})
	for name, who := range map[string]string{"tenant": "tenants: [acme]", "role": "roles: [requester]", "caller": "callers: ['acme/key:ann']"} {
		c, file := configured(t, "auth: {keys: {file: "+keys+"}, tenant: acme, default_roles: [requester]}\n"+
			"gates: [{name: closed, tool: say, action: deny, who: {"+who+"}}]\n"+echoTool)
		in := start(t, c)
		_, served := in.sendAs(t, message("m1", "/say {}"), "X-API-Key", key)
		var out, problems bytes.Buffer
		code := app.Run(t.Context(), []string{"policy", "explain", "--config", file, "--caller", "key:ann", "say"}, c.Environment, strings.NewReader(""), &out, &problems)
		if denied := strings.Contains(served, "closed"); !denied {
			t.Errorf("%s: the server does not deny: %s", name, served)
		}
		if !strings.Contains(out.String(), "is denied") {
			t.Errorf("%s: the server denies the call, and policy explain (exit code %d) says: %s%s", name, code, out.String(), problems.String())
		}
	}
}
