package a2a

import (
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/labstack/echo/v4"

	"a2a-server/a2a/agentcard"
	"a2a-server/a2a/internal/card"
	"a2a-server/a2a/internal/wire"
)

// openAPI describes the HTTP+JSON binding in OpenAPI 3.1. go generate writes it from the
// table of operations, the A2A proto and the table of errors.
//
//go:embed openapi.json
var openAPI string

// described returns the document with the security schemes of a card.
func described(security []agentcard.SecurityScheme) string {
	if len(security) == 0 {
		return openAPI
	}
	var document map[string]any
	_ = json.Unmarshal([]byte(openAPI), &document) // it is ours
	schemes, requirements := card.OpenAPI(security)
	document["security"] = requirements
	components, _ := document["components"].(map[string]any)
	components["securitySchemes"] = schemes
	// The card needs no authentication.
	paths, _ := document["paths"].(map[string]any)
	public, _ := paths[card.Path].(map[string]any)
	get, _ := public["get"].(map[string]any)
	get["security"] = []any{}
	text, _ := json.Marshal(document) // likewise
	return string(text)
}

// document serves the OpenAPI document.
func (s *Server) document(x echo.Context) error {
	cached(x, wire.TypeJSON, "public, max-age=300", s.openAPITag, s.made, strings.NewReader(s.openAPI))
	return nil
}
