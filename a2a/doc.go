// Package a2a is the protocol as clients meet it: A2A 1.0 over JSON-RPC and
// HTTP+JSON, with streams as server-sent events, and the agent card. It owns
// decoding and checking of requests, the shapes of answers and streams, the table of
// errors on the wire, and who may call from where. It does not know how a task is
// stored or run.
//
// What an operation is, and how clients reach it, is said once (table.go); a binding finds
// the request and says what stands around the answer. The bytes of the log go to the wire as they are: a frame
// of a stream is an id, a prefix, the stored bytes, a suffix. The SDK's own
// transports get the same operations as an a2asrv.RequestHandler.
package a2a
