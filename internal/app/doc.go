// Package app puts the parts together: it opens the store, makes the engine and the
// server of the protocol, serves them on one port, and shuts them down in order. It
// is the only package that knows all the others, and it knows no detail of the
// protocol.
//
// An [App] is starting until everything runs, then ready, and draining from the
// moment that it is told to end, or that its store takes no more writes. Readiness,
// at /readyz, is true only in between; /livez answers as long as the process does.
package app
