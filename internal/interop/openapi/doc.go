// Package openapi tests OpenAPI documents and tools from other projects. A validator reads the
// document of the binding HTTP+JSON, a2a/openapi.json; package a2a tests whether it is true of
// the server. Tools are made from the documents of Stripe, GitHub, Kubernetes and the pet
// store, and called against mocks made from these documents: Stripe's own mock, and mocks with
// kin-openapi.
//
// Stripe's and Kubernetes' documents come with Go modules of theirs, the pet store's with the
// validator, and GitHub's with the npm package in the folder github. This is a separate
// module, so that its dependencies stay out of the server.
package openapi
