// Package toolset makes the tools of a server: those of the configuration, of every kind, and
// those given in Go, with the gates and secrets that belong to them, and describes them for
// operators.
//
// A [State] never changes. A reload makes another state, which takes over the servers of tools
// that stay. The package knows neither the store nor the protocol's server.
package toolset
