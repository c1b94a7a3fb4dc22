// Package operation has the operations of A2A: the [Table] of them, their requests and
// responses. It owns the decoding and validation of requests, and what
// holds for every binding: versions, extensions, tenants and roles. A [Service] is the
// operations of a server. It does not know how a binding writes a request or a response,
// nor how a task is stored or run.
package operation
