package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"a2a-server/auth"
)

// The log, at its most talkative, has neither credentials, valid or not, nor what tasks and
// webhooks are about: whoever reads it may not do what callers may, or know what they know.
func TestNothingSecretIsLogged(t *testing.T) {
	t.Parallel()
	w := startAttacked(t)
	valid := token("k1", w.issuer.claims("acme", "mallory", auth.RoleRequester))
	wrongKey := w.keys["mallory"][:len(w.keys["mallory"])-7] + "0000000"
	callers := map[string]http.Header{
		"token": bearing(valid), "key": w.keyed("mallory"), "forged token": bearing(valid + "forged"), "wrong key": {"X-Api-Key": {wrongKey}},
		"expired key": w.keyed("expired"), "Basic": {"Authorization": {"Basic c3VwZXI6c2VjcmV0"}}, "of a dead issuer": bearing(token("k1", w.issuer.claims("acme", "mallory", auth.RoleRequester, map[string]any{"iss": w.dead}))),
	}
	for _, b := range attackBindings() {
		for _, op := range attackOperations() {
			if op.name == "SubscribeToTask" {
				continue // it lasts; the others log the same
			}
			for _, header := range callers {
				for _, task := range []string{"acme ended", "missing"} {
					b.ask(w, t, header, op, w.tasks[task])
				}
			}
		}
	}
	w.unharmed(t, attackBindings()[0])
	w.halt(t)
	lines := w.log.all()
	if len(lines) < 100 {
		t.Fatalf("the log has %d lines, want more", len(lines))
	}
	secrets := map[string]string{"an argument": victims, "a token": valid, "its signature": valid[strings.LastIndex(valid, ".")+1:], "a wrong key": wrongKey, "a password": "c3VwZXI6c2VjcmV0"}
	for id, key := range w.keys {
		secrets["the key "+id] = key
	}
	for _, line := range lines {
		for what, secret := range secrets {
			if text := fmt.Sprint(line); strings.Contains(text, secret) {
				t.Errorf("the log has %s: %s", what, text)
			}
		}
	}
}
