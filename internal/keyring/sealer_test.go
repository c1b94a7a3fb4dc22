package keyring

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is sealed opens in its place only, and not when a bit of it has changed.
func TestSeal(t *testing.T) {
	t.Parallel()
	k := newWorld(t).open()
	s := k.Sealer(PushSecrets)
	secret, place := []byte("Bearer 4f8a-secret"), []byte("task/config")
	sealed := must(s.Seal(secret, place))
	if got, err := s.Open(sealed, place); err != nil || !bytes.Equal(got, secret) {
		t.Fatalf("Open() = %q, %v", got, err)
	}
	if again, err := s.Seal(secret, place); err != nil || bytes.Equal(again, sealed) {
		t.Errorf("the same secret is sealed to the same bytes: %v", err)
	}
	if bytes.Contains(sealed, secret[7:]) {
		t.Error("the secret is readable")
	}
	for _, place := range []string{"", "task", "task/confi", "task/config/", "/task/config", "other/config"} {
		if got, err := s.Open(sealed, []byte(place)); !errors.Is(err, ErrNotSealed) || got != nil {
			t.Errorf("in the place %q: Open() = %q, %v", place, got, err)
		}
	}
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		want := ErrNotSealed
		if 1 <= i && i <= idSize {
			want = ErrKeyMissing
		}
		if got, err := s.Open(bad, place); !errors.Is(err, want) || got != nil || strings.Contains(err.Error(), "4f8a") {
			t.Errorf("with another byte %d: Open() = %q, %v, want %v", i, got, err, want)
		}
	}
	for n := range len(sealed) {
		if got, err := s.Open(sealed[:n], place); !errors.Is(err, ErrNotSealed) || got != nil {
			t.Errorf("of %d bytes: Open() = %q, %v", n, got, err)
		}
	}
	if got, err := s.Open(append(bytes.Clone(sealed), 0), place); !errors.Is(err, ErrNotSealed) || got != nil {
		t.Errorf("with a byte more: Open() = %q, %v", got, err)
	}
}

// A secret opens for a year after its key was replaced, also after restarts, and then it is an
// error.
func TestSealRotated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.open().Sealer(PushSecrets)
	old := must(s.Seal([]byte("old"), []byte("p")))
	if until, err := Rotate(w.folder, PushSecrets, w.now()); err != nil || !until.Equal(w.now().Add(SealOverlap)) {
		t.Fatalf("Rotate() = %v, %v", until, err)
	}
	w.pass(noticing)
	young, err := s.Seal([]byte("young"), []byte("p"))
	if err != nil || bytes.Equal(young[:1+idSize], old[:1+idSize]) {
		t.Fatalf("the new key is not in use: %v", err)
	}
	w.pass(SealOverlap - 2*noticing)
	for _, running := range []*Sealer{s, w.open().Sealer(PushSecrets)} {
		for want, sealed := range map[string][]byte{"old": old, "young": young} {
			if got, err := running.Open(sealed, []byte("p")); err != nil || string(got) != want {
				t.Errorf("Open() = %q, %v, want %q", got, err, want)
			}
		}
	}
	w.pass(2 * noticing)
	if got, err := s.Open(old, []byte("p")); !errors.Is(err, ErrKeyMissing) || got != nil {
		t.Errorf("after a year: Open() = %q, %v", got, err)
	}
	if _, err := s.Open(young, []byte("p")); err != nil {
		t.Errorf("the key in use: %v", err)
	}
}

// Without the file of keys nothing opens, and nothing stops.
func TestSealWithAnotherKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sealed := must(w.open().Sealer(PushSecrets).Seal([]byte("x"), []byte("p")))
	need(os.Remove(filepath.Join(w.folder, "push-secrets.json")))
	if _, err := w.open().Sealer(PushSecrets).Open(sealed, []byte("p")); !errors.Is(err, ErrKeyMissing) || !strings.Contains(err.Error(), "restore push-secrets.json") {
		t.Errorf("Open() = %v", err)
	}
}
