package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"a2a-server/internal/app/config"
)

// A list of who that is there and empty names nobody. It must not mean everybody, least of all beside
// action: allow: a template that renders no caller would let all callers through.
func TestAttackWhoWithAnEmptyList(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"callers: [], annotations: [destructive]", "callers: ['corp:a'], roles: []", "tenants: [], agents: [desk]"} {
		dir := folder(t, map[string]string{
			"a.yaml":       "auth: {keys: {file: keys}}\npolicy: {files: [managed.yaml]}\n",
			"managed.yaml": "gates:\n  - {tool: pay, action: allow, who: {" + who + "}}\n",
			"keys":         "[]\n",
		})
		c, err := config.Load(config.Source{File: filepath.Join(dir, "a.yaml")})
		if err == nil {
			t.Errorf("who: {%s} is taken, and means %+v; want an error that names the empty list", who, *config.AllGates(c)[0].Who)
		} else if !strings.Contains(err.Error(), "who") {
			t.Errorf("who: {%s}: %v", who, err)
		}
	}
}
