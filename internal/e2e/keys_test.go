package e2e_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	a2aserver "a2a-server"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/internal/app/ownkeys"
)

// nextPage returns the token of the second page of tasks, and whether a token is accepted.
func (in *instance) nextPage(t *testing.T, token string) (next string, ok bool) {
	t.Helper()
	status, text := in.get(t, "/tasks?pageSize=1&pageToken="+token)
	_, after, _ := strings.Cut(text, `"nextPageToken":"`)
	next, _, _ = strings.Cut(after, `"`)
	if status != http.StatusOK && status != http.StatusBadRequest {
		t.Fatalf("GET /tasks = %d %s", status, text)
	}
	return next, status == http.StatusOK
}

// rotate makes a new key of a server's own.
func rotate(c a2aserver.Config, purpose string) (until time.Time, err error) {
	conf, err := configuration(c)
	if err != nil {
		return time.Time{}, err
	}
	return ownkeys.Rotate(conf, purpose, time.Now())
}

// Tokens of pages outlive a restart and a new key, and nobody else makes them.
func TestPageTokensOfAServer(t *testing.T) {
	t.Parallel()
	c := load(t, nil)
	in := startHooked(t, c, nil)
	in.send(t, "m1", "/echo one")
	in.send(t, "m2", "/echo two")
	token, _ := in.nextPage(t, "")
	if _, ok := in.nextPage(t, token); token == "" || !ok {
		t.Fatalf("the token %q is not accepted", token)
	}
	if _, ok := in.nextPage(t, token[27:]); ok {
		t.Error("a token without its code is accepted")
	}
	in.halt(t)
	in = start(t, c)
	if _, ok := in.nextPage(t, token); !ok {
		t.Error("after a restart the token is refused")
	}
	until, err := rotate(c, "page-tokens")
	if left := time.Until(until); err != nil || left < 23*time.Hour || left > 24*time.Hour {
		t.Fatalf("RotateKey() = %v, %v, want a day from now", until, err)
	}
	in.reload(t)
	young, _ := in.nextPage(t, "")
	if young[:6] == token[:6] {
		t.Error("after a reload the old key is in use")
	}
	if _, ok := in.nextPage(t, token); !ok {
		t.Error("what the old key has made is refused at once")
	}
	file := filepath.Join(c.Set["data"], "keys", "page-tokens.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v, want 0600", info, err)
	}
	rewrite(t, file, "{")
	if err := in.server.Reload(); err != nil || len(in.log.find("the server's own keys were not read: the keys in use stay")) != 1 {
		t.Errorf("Reload() with a damaged file = %v, want a line in the log", err)
	}
	if _, ok := in.nextPage(t, young); !ok {
		t.Error("the key in use was lost with its file")
	}
	in.halt(t)
	if _, err := a2aserver.New(c); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("New() with a damaged file = %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, ok := start(t, c).nextPage(t, young); ok {
		t.Error("with a new key, what the lost one has made is accepted")
	}
}

func TestRotateKeyRefuses(t *testing.T) {
	t.Parallel()
	memory := load(t, map[string]string{"store": "memory"})
	start(t, memory)
	if _, err := os.Stat(filepath.Join(memory.Set["data"], "keys")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a server in memory has made a folder of keys: %v", err)
	}
	for says, rotated := range map[string]func() (time.Time, error){
		"a restart makes new ones":  func() (time.Time, error) { return rotate(memory, "page-tokens") },
		"did you mean page-tokens?": func() (time.Time, error) { return rotate(load(t, nil), "page-token") },
		"when it starts":            func() (time.Time, error) { return rotate(load(t, nil), "page-tokens") },
	} {
		if _, err := rotated(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("RotateKey() = %v, want %q", err, says)
		}
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
	if err := os.Remove(filepath.Join(c.Set["data"], "keys", "page-tokens.json")); err != nil {
		t.Fatal(err)
	}
	if !revoked("c") {
		t.Error("without the file of its own keys the server does not reload")
	}
	if n := len(in.log.find("the server's own keys were not read: the keys in use stay")); n != 1 {
		t.Errorf("the log says %d times that a file of own keys is missing, want once", n)
	}
}
