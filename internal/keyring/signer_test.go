package keyring

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// verified returns the id of the key in a set that verifies a signature; "": none does.
func verified(set []byte, payload []byte, sig Signature) string {
	var keys jose.JSONWebKeySet
	need(json.Unmarshal(set, &keys))
	jws := must(jose.ParseDetached(sig.Protected+".."+sig.Value, payload, []jose.SignatureAlgorithm{jose.ES256}))
	id := jws.Signatures[0].Protected.KeyID
	for _, k := range keys.Key(id) {
		if _, err := jws.Verify(k); err == nil {
			return id
		}
	}
	return ""
}

func set(t *testing.T, s *Signer) []byte {
	t.Helper()
	all := must(s.KeySet())
	return all
}

func sign(t *testing.T, s *Signer) Signature {
	t.Helper()
	sig := must(s.Sign(data, map[string]string{"typ": "JOSE", "jku": "https://a.example/keys"}))
	return sig
}

func TestSign(t *testing.T) {
	t.Parallel()
	for name, folder := range map[string]string{"in memory": "", "on disk": newWorld(t).folder} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := must(Open(Config{Folder: folder}))
			s := k.Signer(AgentCard)
			sig, all := sign(t, s), set(t, s)
			id := s.KeyID()
			if got := verified(all, data, sig); got == "" || got != id {
				t.Errorf("signed by %q, and KeyID() = %q", got, id)
			}
			if again := sign(t, s); again != sig {
				t.Error("another signature of the same has other bytes")
			}
			for _, other := range []string{"", "what is authenticate", "what is authenticated "} {
				if verified(all, []byte(other), sig) != "" {
					t.Errorf("the signature is verified for %q", other)
				}
			}
			head, err := base64.RawURLEncoding.DecodeString(sig.Protected)
			var header map[string]string
			need(json.Unmarshal(head, &header))
			if err != nil || len(header) != 4 || header["alg"] != "ES256" || header["kid"] != id || header["typ"] != "JOSE" || header["jku"] != "https://a.example/keys" {
				t.Errorf("protected header %s, %v", head, err)
			}
			another := must(Open(Config{}))
			if verified(set(t, another.Signer(AgentCard)), data, sig) != "" {
				t.Error("another server's keys verify it")
			}
		})
	}
}

// The set has the public keys, by their thumbprints, and nothing of the private ones.
func TestKeySet(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open().Signer(AgentCard)
	all := set(t, s)
	var keys struct{ Keys []map[string]string }
	if err := json.Unmarshal(all, &keys); err != nil || len(keys.Keys) != 1 {
		t.Fatalf("%s, %v", all, err)
	}
	if k := keys.Keys[0]; len(k) != 7 || k["kty"] != "EC" || k["crv"] != "P-256" || k["alg"] != "ES256" || k["use"] != "sig" || k["kid"] == "" || k["x"] == "" || k["y"] == "" {
		t.Errorf("the key is %v", k)
	}
	var parsed jose.JSONWebKeySet
	need(json.Unmarshal(all, &parsed))
	sum, err := parsed.Keys[0].Thumbprint(crypto.SHA256)
	if got := base64.RawURLEncoding.EncodeToString(sum); err != nil || got != parsed.Keys[0].KeyID {
		t.Errorf("the thumbprint is %s, %v, and the id %s", got, err, parsed.Keys[0].KeyID)
	}
	secret := (*s.keys.Load())[0].Secret
	for _, form := range []string{string(secret), base64.RawURLEncoding.EncodeToString(secret), base64.StdEncoding.EncodeToString(secret)} {
		if bytes.Contains(all, []byte(form)) {
			t.Error("the set has the private key")
		}
	}
}

// The old key is published for a day, also after a restart, and then it is nowhere.
func TestRotateASigner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.file = filepath.Join(w.folder, "agent-card.json")
	k := w.open()
	s := k.Signer(AgentCard)
	old := sign(t, s)
	must(Rotate(w.folder, AgentCard, w.now()))
	w.pass(noticing)
	young := sign(t, s)
	first, second := verified(set(t, s), data, old), verified(set(t, s), data, young)
	if first == "" || second == "" || first == second {
		t.Fatalf("the keys are %q and %q", first, second)
	}
	if set := set(t, s); strings.Index(string(set), second) > strings.Index(string(set), first) {
		t.Errorf("the key in use is not the first: %s", set)
	}
	w.pass(Overlap - noticing - 1)
	for name, running := range map[string]*Signer{"running": s, "restarted": w.open().Signer(AgentCard)} {
		if verified(set(t, running), data, old) == "" || verified(set(t, running), data, young) == "" {
			t.Errorf("%s: within a day a key is missing", name)
		}
	}
	w.pass(1)
	for name, running := range map[string]*Signer{"running": s, "restarted": w.open().Signer(AgentCard)} {
		if verified(set(t, running), data, old) != "" || verified(set(t, running), data, young) == "" {
			t.Errorf("%s: after a day the old key is still there, or the new one is not", name)
		}
	}
	if text := w.text(); strings.Count(text, `"secret"`) != 1 {
		t.Errorf("the file has more than one key: %s", text)
	}
}

// A purpose does not read the keys of another one, whatever its file says.
func TestKeysOfAnotherPurpose(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	keys := must(read(w.folder, PushSecrets))
	need(write(w.folder, AgentCard, keys))
	if _, err := Open(Config{Folder: w.folder, Now: w.now}); err == nil || !strings.Contains(err.Error(), "a key is not valid") {
		t.Errorf("Open() = %v", err)
	}
	keys[0].Algorithm, keys[0].Secret = es256, make([]byte, secretSize) // 0 is no private key
	need(write(w.folder, AgentCard, keys))
	if _, err := Open(Config{Folder: w.folder, Now: w.now}); err == nil || !strings.Contains(err.Error(), "a key is not valid") {
		t.Errorf("with 0 as the private key: Open() = %v", err)
	}
	need(os.Remove(filepath.Join(w.folder, "agent-card.json")))
	w.open()
}

// must, and need, panic with what the preparation of a test failed with.
func must[T any](v T, err error) T {
	need(err)
	return v
}

func need(err error) {
	if err != nil {
		panic(err)
	}
}
