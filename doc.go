// Package a2aserver is an A2A server with human approval, to be put into a program: it
// takes messages, runs tools, and asks a person before it runs those that need approval.
//
//	server, err := a2aserver.New(a2aserver.Config{Tools: []tool.Toolset{mine}})
//	if err != nil { … }
//	err = server.Run(ctx)
//
// The package puts the parts together: it opens the store, makes the engine and the
// server of the protocol, serves them on one port, and shuts them down in order. It is
// the only one that knows all the others, and it knows no detail of the protocol. The
// program cmd/a2a-server is its first user.
//
// A [Server] is starting until everything runs, then ready, and draining from the moment
// that it is told to end, or that its store takes no more writes. Readiness, at /readyz, is
// true only in between; /livez answers as long as the process does.
package a2aserver
