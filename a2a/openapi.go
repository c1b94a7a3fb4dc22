package a2a

import (
	_ "embed"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// openAPIPath is the path of the OpenAPI document.
const openAPIPath = "/openapi.json"

// openAPI describes the HTTP+JSON binding in OpenAPI 3.1. go generate writes it from the
// table of operations, the A2A proto and the table of errors.
//
//go:embed openapi.json
var openAPI string

// document serves the OpenAPI document.
func (s *Server) document(x echo.Context) error {
	h := x.Response().Header()
	h.Set("Content-Type", typeJSON)
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("ETag", s.openAPITag)
	bound(x.Response())
	http.ServeContent(x.Response(), x.Request(), "", s.made, strings.NewReader(openAPI))
	return nil
}
