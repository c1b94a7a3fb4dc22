package a2a

import (
	_ "embed"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// openAPIPath is where the document stands that describes HTTP+JSON.
const openAPIPath = "/openapi.json"

// openAPI describes the binding HTTP+JSON as OpenAPI 3.1. It is written from the table of
// operations, the proto of A2A and the table of errors by go generate.
//
//go:embed openapi.json
var openAPI string

// document serves the description of HTTP+JSON.
func (s *Server) document(x echo.Context) error {
	h := x.Response().Header()
	h.Set("Content-Type", typeJSON)
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("ETag", s.openAPITag)
	bound(x.Response())
	http.ServeContent(x.Response(), x.Request(), "", s.made, strings.NewReader(openAPI))
	return nil
}
