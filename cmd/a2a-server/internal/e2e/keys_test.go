package e2e_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/internal/keyring"
	"a2a-server/internal/testserver"
)

// rotate makes a new key of a server's own.
func rotate(c testserver.Config, purpose keyring.Purpose) (until time.Time, err error) {
	conf, err := configuration(c)
	if err != nil {
		return time.Time{}, err
	}
	return keyring.Rotate(conf.KeysFolder(), purpose, time.Now())
}

func TestMemoryHasNoKeysFolder(t *testing.T) {
	t.Parallel()
	memory := load(t, map[string]string{"store": "memory"})
	start(t, memory)
	if _, err := os.Stat(filepath.Join(memory.Set["data"], "keys")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a server in memory has made a folder of keys: %v", err)
	}
}

// A key that was revoked ends at a reload, also if the rest of the reload fails, and the
// server's own keys stop no reload.
func TestRevokedWhileOtherThingsAreBroken(t *testing.T) {
	t.Parallel()
	const good = "auth: {keys: {file: keys.yaml}}\n"
	c, conf := configured(t, good)
	file := filepath.Join(filepath.Dir(conf), "keys.yaml")
	keys := map[string]string{}
	for _, id := range []string{"a", "b", "c"} {
		keys[id] = newKey(t, file, apikey.Key{ID: id, Roles: []string{auth.RoleRequester}})
	}
	in := start(t, c)
	revoked := func(id string) bool {
		t.Helper()
		if err := apikey.Revoke(file, id, time.Now()); err != nil {
			t.Fatal(err)
		}
		err := in.server.Reload()
		if status, _ := in.do(t, http.MethodGet, "/tasks", "", "X-API-Key", keys[id]); status != http.StatusUnauthorized {
			t.Errorf("after key %s was revoked: %d, want 401 (Reload() = %v)", id, status, err)
		}
		return err == nil
	}
	rewrite(t, conf, "auth: {")
	if revoked("a") {
		t.Error("a configuration that is not YAML was reloaded")
	}
	rewrite(t, conf, good+"tools: [{command: two}]\n")
	if revoked("b") {
		t.Error("a configuration that is not valid was reloaded")
	}
	rewrite(t, conf, good)
	if err := os.Remove(filepath.Join(c.Set["data"], "keys", "agent-card.json")); err != nil {
		t.Fatal(err)
	}
	if !revoked("c") {
		t.Error("without the file of its own keys the server does not reload")
	}
	if n := len(in.log.find("the server's own keys were not read: the keys in use stay")); n != 1 {
		t.Errorf("the log says %d times that a file of own keys is missing, want once", n)
	}
}
