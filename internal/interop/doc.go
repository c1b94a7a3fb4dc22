// Package interop drives the server, as a program of its own, with clients that were
// not written here: the Go SDK's client and command line, the JavaScript SDK, and
// curl. It is a module of its own, so that what those clients need is needed by
// nobody else, and it uses no package of ours: what it knows of the server is what
// any client knows.
//
// Every client does what it can of one table of cases (cases_test.go), on each
// binding that it has. The tests need go with a C compiler (the server is built with
// the race detector), node 20 or newer with npm, and curl; they fail, and say so,
// where one is missing.
package interop
