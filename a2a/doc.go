// Package a2a serves A2A 1.0 and 0.3 over JSON-RPC, HTTP+JSON and gRPC. It has the
// [Server], which puts the parts together, and what is served beside the operations: the
// agent card, the public keys, the OpenAPI document and the page at the base URL.
//
// The parts import each other in one direction only:
//
//	a2a                                 the server, and its Config
//	a2a/internal/{jsonrpc,rest,grpc}    one binding each: how a request and its response are written
//	a2a/internal/binding                the bindings over HTTP: running an operation, streams of events
//	a2a/internal/operation              the operations, their requests and responses
//	a2a/internal/card                   the agent card
//	a2a/internal/wire                   the errors that clients get, versions, media types
//
// Each operation, and how clients reach it, is defined once, in the table of package operation
// (table.go). A new operation is an entry there, and a method of operation.Service that runs it:
// in tasks.go, or push.go if it is about webhooks. Bindings, the OpenAPI document and their tests
// walk the table. A new error is an entry in the table of package wire.
//
// The bytes of the log go to the wire unchanged: an event of a stream is an id, a prefix, the
// stored bytes and a suffix.
package a2a
