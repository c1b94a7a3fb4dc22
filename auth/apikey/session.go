package apikey

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"a2a-server/auth"
)

// Presented returns c with a key, and no other header: the credentials of a request that
// sends the key as this server's clients do.
func (a *Authenticator) Presented(c *auth.Credentials, key string) *auth.Credentials {
	if a.bearer {
		key = "Bearer " + key
	}
	own := *c
	own.Header = func(name string) []string {
		if strings.EqualFold(name, a.cfg.Header) {
			return []string{key}
		}
		return nil
	}
	return &own
}

// Mark returns a text that tells a key from other keys of the same id, and that cannot be used
// as the key. It is empty for a text that cannot be a key.
func Mark(key string) string {
	_, sum, ok := parse(key)
	if !ok {
		return ""
	}
	return markOf(sum)
}

// Current returns whom the key with a subject authenticates now, and the key's [Mark]. valid is
// false if the key was removed or revoked, or has expired.
func (a *Authenticator) Current(subject string) (by auth.Principal, mark string, valid bool) {
	e, _, valid := a.holder(subject)
	return e.by, markOf(e.hash), valid
}

func markOf(h hash) string {
	sum := sha256.Sum256(append([]byte("session "), h[:]...))
	return hex.EncodeToString(sum[:16])
}
