package a2aserver_test

import (
	"encoding/json"
	"errors"
	"io"
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
	if err := in.stop(); err != nil {
		t.Fatal(err)
	}
	in = start(t, c)
	if _, ok := in.nextPage(t, token); !ok {
		t.Error("after a restart the token is refused")
	}
	until, err := a2aserver.RotateKey(c, "page-tokens")
	if left := time.Until(until); err != nil || left < 23*time.Hour || left > 24*time.Hour {
		t.Fatalf("RotateKey() = %v, %v, want a day from now", until, err)
	}
	if err := in.server.Reload(); err != nil {
		t.Fatal(err)
	}
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
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := in.server.Reload(); err != nil || len(in.log.find("the server's own keys were not read: the keys in use stay")) != 1 {
		t.Errorf("Reload() with a damaged file = %v, want a line in the log", err)
	}
	if _, ok := in.nextPage(t, young); !ok {
		t.Error("the key in use was lost with its file")
	}
	if err := in.stop(); err != nil {
		t.Fatal(err)
	}
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
	for says, rotate := range map[string]func() (time.Time, error){
		"a restart makes new ones":  func() (time.Time, error) { return a2aserver.RotateKey(memory, "page-tokens") },
		"did you mean page-tokens?": func() (time.Time, error) { return a2aserver.RotateKey(load(t, nil), "page-token") },
		"when it starts":            func() (time.Time, error) { return a2aserver.RotateKey(load(t, nil), "page-tokens") },
	} {
		if _, err := rotate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("RotateKey() = %v, want %q", err, says)
		}
	}
}

// A key lets its owner in until it is revoked, and then ends what it has opened.
func TestAPIKeys(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys.yaml")
	alice, err := apikey.Add(file, apikey.Key{ID: "alice", Roles: []string{auth.RoleRequester}}, false)
	if err != nil {
		t.Fatal(err)
	}
	bob, err := apikey.Add(file, apikey.Key{ID: "bob", Roles: []string{auth.RoleRequester}}, false)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := apikey.New(apikey.Config{File: file})
	if err != nil {
		t.Fatal(err)
	}
	c := load(t, map[string]string{"store": "memory"})
	c.Authenticator = keys
	in := start(t, c)
	send := request(t, "SendMessage", message("m1", "/transfer_money amount=5 to=bob"))
	for name, header := range map[string][]string{
		"no key":           nil,
		"a forged key":     {"X-API-Key", alice[:20] + "AAAA" + alice[24:]},
		"an empty one":     {"X-API-Key", ""},
		"in another field": {"Authorization", "Bearer " + alice},
	} {
		resp := in.open(t, http.MethodPost, "/", send, header...)
		if got := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(got, "ApiKey ") || strings.Contains(got, "a2ak_") {
			t.Errorf("%s: %d with the challenge %q", name, resp.StatusCode, got)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	status, text := in.do(t, http.MethodPost, "/", send, "X-API-Key", alice)
	var answer struct{ Result struct{ Task taskAnswer } }
	if err := json.Unmarshal([]byte(text), &answer); status != http.StatusOK || err != nil || answer.Result.Task.ID == "" {
		t.Fatalf("a send with a key = %d %s", status, text)
	}
	path := "/tasks/" + answer.Result.Task.ID
	for key, want := range map[string]int{alice: http.StatusOK, bob: http.StatusNotFound} {
		if status, _ := in.do(t, http.MethodGet, path, "", "X-API-Key", key); status != want {
			t.Errorf("GetTask = %d, want %d", status, want)
		}
	}
	stream := in.open(t, http.MethodPost, "/", request(t, "SubscribeToTask", map[string]any{"id": answer.Result.Task.ID}), "X-API-Key", alice)
	defer stream.Body.Close()
	if _, err := io.ReadFull(stream.Body, make([]byte, 10)); err != nil {
		t.Fatalf("the stream begins with %v", err)
	}
	if err := apikey.Revoke(file, "alice", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := keys.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, stream.Body); err != nil {
		t.Errorf("the stream of a key that was revoked ends with %v", err)
	}
	for key, want := range map[string]int{alice: http.StatusUnauthorized, bob: http.StatusNotFound} {
		if status, _ := in.do(t, http.MethodGet, path, "", "X-API-Key", key); status != want {
			t.Errorf("after alice's key was revoked, GetTask = %d, want %d", status, want)
		}
	}
}

// A key that was revoked ends at a reload, also if the rest of the reload fails, and the
// server's own keys stop no reload.
func TestRevokedWhileOtherThingsAreBroken(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, conf := filepath.Join(folder, "keys.yaml"), filepath.Join(folder, "a2a-server.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := "auth: {keys: {file: keys.yaml}}\n"
	write(good)
	c := load(t, nil)
	c.File = conf
	keys := map[string]string{}
	for _, id := range []string{"a", "b", "c"} {
		key, err := apikey.Add(file, apikey.Key{ID: id, Roles: []string{auth.RoleRequester}}, false)
		if err != nil {
			t.Fatal(err)
		}
		keys[id] = key
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
	write("auth: {")
	if revoked("a") {
		t.Error("a configuration that is not YAML was reloaded")
	}
	write(good + "tools: [{command: two}]\n")
	if revoked("b") {
		t.Error("a configuration that is not valid was reloaded")
	}
	write(good)
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
