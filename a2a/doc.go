// Package a2a serves A2A 1.0 over JSON-RPC, HTTP+JSON and gRPC, with streams as server-sent
// events, and the agent card. It owns the decoding and validation of requests, the
// format of answers and streams, the table of errors on the wire, and the check of
// where requests come from. It does not know how a task is stored or run.
//
// Each operation, and how clients reach it, is defined once (table.go). A binding
// decodes the request and supplies the envelope of the answer. The bytes of the log go
// to the wire unchanged: a frame of a stream is an id, a prefix, the stored bytes and a
// suffix.
package a2a
