package a2a

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"a2a-server/internal/httpd"
)

// keySet returns a handler that serves public keys as a JWK Set (RFC 7517) to everybody.
func keySet(keys func() ([]byte, error)) echo.HandlerFunc {
	return func(x echo.Context) error {
		set, err := keys()
		if err != nil {
			return fmt.Errorf("public keys: %w", err)
		}
		h := x.Response().Header()
		h.Set("Content-Type", "application/jwk-set+json")
		h.Set("Cache-Control", "public, max-age=300")
		h.Set("ETag", etag(set))
		httpd.Bound(x.Response())
		http.ServeContent(x.Response(), x.Request(), "", time.Time{}, bytes.NewReader(set))
		return nil
	}
}
