// Package a2aserver is an A2A server with human approval that you embed in a program: it
// accepts messages, runs tools, and asks a person before it runs a tool that needs approval.
//
//	server, err := a2aserver.New(a2aserver.Config{Tools: []tool.Toolset{mine}})
//	if err != nil { … }
//	err = server.Run(ctx)
//
// The package assembles the parts: it opens the store, creates the engine and the protocol
// server, serves them on one port, and shuts them down in order. No other package knows all
// the parts, and this package knows no detail of the protocol. The program cmd/a2a-server is
// its first user.
//
// A [Server] is starting until everything runs, then ready, and draining from the moment that
// it is told to stop, or that its store accepts no more writes. /readyz succeeds only while it
// is ready; /livez succeeds as long as the process answers.
package a2aserver
