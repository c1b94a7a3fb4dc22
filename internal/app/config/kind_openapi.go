package config

import "a2a-server/internal/strictyaml"

// KindOpenAPI is the kind of tools that an OpenAPI document describes.
const KindOpenAPI Kind = "openapi"

// OpenAPITool has the values of keys that only OpenAPI documents have.
type OpenAPITool struct {
	Spec string // absolute path
}

func openapiKind() toolKind {
	return toolKind{
		name:     KindOpenAPI,
		prefixes: true,
		keys: func(t *Tool) []key {
			return []key{
				t.nameKey(KindOpenAPI, "Name of a document, with which its tools begin: pets_listPets."),
				required(file("spec", &Own[OpenAPITool](t).Spec, "OpenAPI document, 3.0 or 3.1, without external references.")),
				required(one("server", "", filled(&t.URL, "a URL such as https://pets.example.com/v1"), "Base URL of the requests; the document's servers are not used.")),
				t.headerKey(),
				t.networksKey(),
				t.onlyKey(),
				t.timeoutKey(),
				t.approveToolsKey(),
			}
		},
		check: func(l *loader, t *Tool, n strictyaml.Node) {
			l.template(n.Below("server"), t.URL, onlyHeaders)
			checkNames(l, t.Only, n, map[string][]string{"approve": t.Approve.Names})
		},
	}
}
