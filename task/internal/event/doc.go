// Package event owns the kinds of events in a task's log, and the encoding of each. It does
// not know the meaning of an event: the fold does.
//
// A public event is the bytes of an A2A StreamResponse, exactly as json.Marshal writes the
// SDK's type; a private event is the JSON of the struct named beside its kind. Events stay
// readable forever: golden files pin the first encoding of each kind, and a change of shape is
// a new version of the kind.
package event
