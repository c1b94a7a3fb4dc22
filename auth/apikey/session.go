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

// Mark returns the [auth.Principal.Mark] of a key, which tells it from other keys of the same id, and
// cannot be used as the key. It is empty for a text that cannot be a key.
func Mark(key string) string {
	_, sum, ok := parse(key)
	if !ok {
		return ""
	}
	return markOf(sum)
}

func markOf(h hash) string {
	sum := sha256.Sum256(append([]byte("session "), h[:]...))
	return hex.EncodeToString(sum[:8])
}
