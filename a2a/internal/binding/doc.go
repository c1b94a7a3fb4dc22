// Package binding runs operations for the bindings over HTTP: [HTTP] writes the response of
// an operation, or the server-sent events of a [Stream], within the [Envelope] of the binding.
package binding
