package e2e_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"a2a-server/a2a/agentcard"
	"a2a-server/internal/testserver"

	a2aserver "a2a-server"
)

// card.sign signs the card by a key of the data folder, which outlives a restart and a damaged
// file, and which signing rotate replaces.
func TestSignedCard(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"card.sign": "true", "public_url": "https://agent.example/a2a", "insecure_no_auth": "true"})
	in := startHooked(t, c, nil)
	card := func() string {
		t.Helper()
		status, body := in.do(t, http.MethodGet, "/a2a/.well-known/agent-card.json", "", "Host", "agent.example")
		if status != http.StatusOK {
			t.Fatalf("the card: %d %s", status, body)
		}
		var v struct {
			Signatures []struct{ Protected, Signature string }
		}
		if err := json.Unmarshal([]byte(body), &v); err != nil || len(v.Signatures) != 1 {
			t.Fatalf("the card has no signature: %v, %s", err, body)
		}
		return v.Signatures[0].Protected + v.Signatures[0].Signature
	}
	kids := func() int {
		t.Helper()
		status, body := in.do(t, http.MethodGet, "/.well-known/agent-card-keys.json", "")
		if status != http.StatusOK {
			t.Fatalf("the keys: %d %s", status, body)
		}
		return strings.Count(body, `"kid"`)
	}
	before := card()
	if n := kids(); n != 1 {
		t.Errorf("%d keys are published, want 1", n)
	}
	in.halt(t)
	in = start(t, c)
	if card() != before {
		t.Error("after a restart the card has another signature")
	}
	until, err := rotate(c, "agent-card")
	if left := time.Until(until); err != nil || left < 23*time.Hour || left > 24*time.Hour {
		t.Fatalf("rotate() = %v, %v, want a day from now", until, err)
	}
	in.reload(t)
	young := card()
	if young == before {
		t.Error("after the key was replaced the card has the same signature")
	}
	if n := kids(); n != 2 {
		t.Errorf("%d keys are published, want 2", n)
	}
	file := filepath.Join(c.Set["data"], "keys", "agent-card.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v, want 0600", info, err)
	}
	rewrite(t, file, "{")
	if err := in.server.Reload(); err != nil || len(in.log.find("the server's own keys were not read: the keys in use stay")) != 1 {
		t.Errorf("Reload() with a damaged file = %v, want a line in the log", err)
	}
	if card() != young {
		t.Error("the key in use was lost with its file")
	}
	in.halt(t)
	if _, err := testserver.New(c); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("New() with a damaged file = %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	in = start(t, c)
	if card() == young {
		t.Error("with a new key the card has the signature of the lost key")
	}
}

// A program has extensions of its own, which the configuration may require; another one is
// refused before anything is opened.
func TestRequiredExtensions(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"card.required_extensions": "urn:billing"})
	if err := testserver.Check(c); !errors.Is(err, a2aserver.ErrConfig) || !strings.Contains(err.Error(), `card.required_extensions: a2a: the required extension "urn:billing" is not in the card: use one of urn:a2a-server:`) {
		t.Errorf("Check() = %v", err)
	}
	if s, err := testserver.New(c); err == nil {
		_ = s.Close()
		t.Error("New accepts an extension that nobody has")
	}
	c.Extensions = []agentcard.Extension{{URI: "urn:billing", Description: "Says who pays."}}
	in := start(t, c)
	if status, body := in.do(t, http.MethodGet, "/tasks", ""); status != http.StatusBadRequest || !strings.Contains(body, "EXTENSION_SUPPORT_REQUIRED") {
		t.Errorf("without it: %d %s", status, body)
	}
	if status, body := in.do(t, http.MethodGet, "/tasks", "", "A2A-Extensions", "urn:billing"); status != http.StatusOK {
		t.Errorf("with it: %d %s", status, body)
	}
}
