package store_test

import (
	"testing"

	"a2a-server/store"
)

// Two ids of contexts have the same key only if they are the same, and the key of a UUID in
// its canonical form is the UUID.
func TestContextKey(t *testing.T) {
	t.Parallel()
	const canonical = "0198c1a4-7d5e-7cc1-b0a2-5d4c3b2a1908"
	id, ok := store.ParseTaskID(canonical)
	if !ok {
		t.Fatalf("%s is no id", canonical)
	}
	if got := store.ContextKey(canonical); got != id {
		t.Errorf("ContextKey(%q) = %x, want its bytes", canonical, got)
	}
	keys := map[[16]byte]string{}
	for _, id := range []string{
		canonical, "0198C1A4-7D5E-7CC1-B0A2-5D4C3B2A1908", "0198c1a4-7d5e-7cc1-b0a2-5d4C3b2a1908", "0198c1a47d5e7cc1b0a25d4c3b2a1908", "{0198c1a4-7d5e-7cc1-b0a2-5d4c3b2a1908}",
		"urn:uuid:" + canonical, canonical + " ", "0198c1a4-7d5e-7cc1-b0a2-5d4c3b2a190g", "0198c1a4x7d5e-7cc1-b0a2-5d4c3b2a1908", "", "context",
	} {
		key := store.ContextKey(id)
		if other, taken := keys[key]; taken {
			t.Errorf("%q has the key of %q", id, other)
		}
		keys[key] = id
	}
}
