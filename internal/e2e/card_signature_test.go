package e2e_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"a2a-server/a2a"

	a2aserver "a2a-server"
)

// card.sign signs the card by a key of the data folder, which signing rotate replaces.
func TestSignedCard(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"card.sign": "true", "public_url": "https://agent.example/a2a", "insecure_no_auth": "true"})
	in := start(t, c)
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
		status, body := in.do(t, http.MethodGet, a2a.CardKeysPath, "")
		if status != http.StatusOK {
			t.Fatalf("the keys: %d %s", status, body)
		}
		return strings.Count(body, `"kid"`)
	}
	before := card()
	if n := kids(); n != 1 {
		t.Errorf("%d keys are published, want 1", n)
	}
	if _, err := rotate(c, "agent-card"); err != nil {
		t.Fatal(err)
	}
	in.reload(t)
	if card() == before {
		t.Error("after the key was replaced the card has the same signature")
	}
	if n := kids(); n != 2 {
		t.Errorf("%d keys are published, want 2", n)
	}
}

// A program has extensions of its own, which the configuration may require; another one is
// refused before anything is opened.
func TestRequiredExtensions(t *testing.T) {
	t.Parallel()
	c := load(t, map[string]string{"card.required_extensions": "urn:billing"})
	if err := a2aserver.Check(c); !errors.Is(err, a2aserver.ErrConfig) || !strings.Contains(err.Error(), `card.required_extensions: a2a: the required extension "urn:billing" is not in the card: use one of urn:a2a-server:`) {
		t.Errorf("Check() = %v", err)
	}
	if s, err := a2aserver.New(c); err == nil {
		_ = s.Close()
		t.Error("New accepts an extension that nobody has")
	}
	c.Extensions = []a2a.Extension{{URI: "urn:billing", Description: "Says who pays."}}
	in := start(t, c)
	if status, body := in.do(t, http.MethodGet, "/tasks", ""); status != http.StatusBadRequest || !strings.Contains(body, "EXTENSION_SUPPORT_REQUIRED") {
		t.Errorf("without it: %d %s", status, body)
	}
	if status, body := in.do(t, http.MethodGet, "/tasks", "", "A2A-Extensions", "urn:billing"); status != http.StatusOK {
		t.Errorf("with it: %d %s", status, body)
	}
}
