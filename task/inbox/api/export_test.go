package api

// Document returns the OpenAPI document of the API.
func Document() []byte { return document }
