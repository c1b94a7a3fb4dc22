package a2aserver_test

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
	if err := in.server.Reload(); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("Reload() with a damaged file = %v", err)
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
