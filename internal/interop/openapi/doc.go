// Package openapi has OpenAPI documents and tools that were not written here. A validator
// reads the document of the binding HTTP+JSON, a2a/openapi.json; whether it is true of the
// server is tested in package a2a. And tools are made from the documents of Stripe, GitHub,
// Kubernetes and the pet store, and called against mocks made from them: Stripe's own, and
// those of kin-openapi.
//
// Stripe's and Kubernetes' documents come with Go modules of theirs, the pet store's with the
// validator, and GitHub's with the npm package in the folder github. This is a module of its
// own, so that what it needs is needed by nobody else.
package openapi
