package a2a

import (
	"bytes"
	"fmt"
	"time"

	"github.com/labstack/echo/v4"
)

// KeysPath is where receivers find the keys of the tokens of notifications, below the base
// URL. A new key is there before it signs anything that arrives, but not in the caches of
// receivers, which ask again for a key that they do not know.
const KeysPath = "/.well-known/jwks.json"

// keySet returns a handler that serves public keys as a JWK Set (RFC 7517), without
// authentication.
func keySet(keys func() ([]byte, error)) echo.HandlerFunc {
	return func(x echo.Context) error {
		set, err := keys()
		if err != nil {
			return fmt.Errorf("public keys: %w", err)
		}
		cached(x, "application/jwk-set+json", "public, max-age=300", etag(set), time.Time{}, bytes.NewReader(set))
		return nil
	}
}
