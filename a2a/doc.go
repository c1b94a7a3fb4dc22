// Package a2a is the protocol as clients meet it: A2A 1.0 over JSON-RPC, with
// streams as server-sent events. It owns decoding and checking of requests, the
// shapes of answers and streams, and the table of errors on the wire. It does not
// know how a task is stored or run.
//
// The bytes of the log go to the wire as they are: a frame of a stream is an id, a
// prefix, the stored bytes, a suffix.
package a2a
