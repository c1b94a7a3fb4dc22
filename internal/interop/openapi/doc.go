// Package openapi has the document of the binding HTTP+JSON, a2a/openapi.json, read by a
// validator of OpenAPI that was not written here. It is a module of its own, so that what
// the validator needs is needed by nobody else. Whether the document is true of the
// server is tested in package a2a.
package openapi
