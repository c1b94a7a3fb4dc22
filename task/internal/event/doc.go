// Package event owns the kinds of events in a task's log, how each is encoded and
// how it is read again. It does not know what an event means: that is the fold's.
//
// A public event is the bytes of an A2A StreamResponse, exactly as json.Marshal
// writes the SDK's type; a private one is the JSON of the struct named beside its
// kind. What was written once is readable forever: golden files hold each kind to
// its first writing, and a change of shape is a new version of the kind.
package event
