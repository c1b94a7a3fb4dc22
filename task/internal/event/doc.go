// Package event owns the kinds of events in a task's log, and the encoding of each. It does
// not know the meaning of an event: the fold does.
//
// A public event is the bytes of an A2A StreamResponse, exactly as json.Marshal writes the
// SDK's type; a private event is the JSON of the struct named beside its kind. A golden
// file has the encoding of each kind.
package event
