// Package event owns the kinds of events in a task's log, and how each is encoded and
// decoded. It does not know what an event means: the fold does.
//
// A public event is the bytes of an A2A StreamResponse, exactly as json.Marshal writes
// the SDK's type; a private one is the JSON of the struct named beside its kind. What was
// once written stays readable forever: golden files pin the first encoding of each kind,
// and a change of shape is a new version of the kind.
package event
