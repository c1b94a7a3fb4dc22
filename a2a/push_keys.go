package a2a

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// KeysPath is where receivers find the keys of the tokens of notifications, below the base
// URL.
const KeysPath = "/.well-known/jwks.json"

// pushKeys serves them (RFC 7517). A new key is there before it signs anything that arrives,
// but not in the caches of receivers, which ask again for a key that they do not know.
func (s *Server) pushKeys(x echo.Context) error {
	set, err := s.cfg.Push.Keys()
	if err != nil {
		return fmt.Errorf("public keys: %w", err)
	}
	h := x.Response().Header()
	h.Set("Content-Type", "application/jwk-set+json")
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("ETag", etag(set))
	bound(x.Response())
	http.ServeContent(x.Response(), x.Request(), "", time.Time{}, bytes.NewReader(set))
	return nil
}
