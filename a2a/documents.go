package a2a

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"a2a-server/a2a/internal/card"
	"a2a-server/a2a/internal/operation"
	v03 "a2a-server/a2a/internal/v03"
	"a2a-server/a2a/internal/wire"
	"a2a-server/internal/httpd"
)

// card serves the agent card. Its ETag is the digest of its bytes, so that a client that
// has the card gets 304 (§8.6). If no URL is configured, the card depends on how the
// client reaches the server, and Vary tells caches so.
func (s *Server) card(x echo.Context) error {
	body, err := s.service.Cards.Public(card.Form{BaseURL: s.service.Base.Of(x.Request()), Union: s.service.Versions.WantsUnion(x.Request())})
	if err != nil {
		return err
	}
	h := x.Response().Header()
	s.service.Base.Vary(h)
	if !s.cfg.OnlyV1 {
		h.Add("Vary", operation.VersionHeader)
	}
	modified, cache := s.made, "public, max-age=300"
	if s.service.Cards.Changes() { // only the ETag says whether it has
		modified, cache = time.Time{}, "public, max-age=60"
	}
	cached(x, wire.TypeJSON, cache, etag(body), modified, bytes.NewReader(body))
	return nil
}

// cached answers with a body that caches may keep, or that it has not changed.
func cached(x echo.Context, media, control, tag string, modified time.Time, body io.ReadSeeker) {
	h := x.Response().Header()
	h.Set("Content-Type", media)
	h.Set("Cache-Control", control)
	h.Set("ETag", tag)
	httpd.Bound(x.Response())
	http.ServeContent(x.Response(), x.Request(), "", modified, body)
}

// etag returns the digest of a body as its ETag.
func etag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// keysPath is where receivers find the keys of the tokens of notifications, below the base
// URL. A new key is there before it signs anything that arrives, but not in the caches of
// receivers, which ask again for a key that they do not know.
const keysPath = "/.well-known/jwks.json"

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

// OldTask returns a task, in the JSON of A2A 1.0, as the webhooks of A2A 0.3 get it.
func OldTask(task []byte) ([]byte, error) { return v03.AppendTask(nil, task, v03.JSONRPC) }
