package conformance

import (
	"context"
	"errors"
	"io"
)

// client is what a client of A2A can do. Its errors are a *fault if the server answered
// with one, errNotOffered if the binding has no such operation, io.EOF at the end of a
// stream, and otherwise say in what way an answer is against the specification. It is safe
// for concurrent use.
type client interface {
	card(context.Context) (*card, error)
	send(context.Context, sending) (*sent, error)
	stream(context.Context, sending) *stream
	get(ctx context.Context, task string, history *int) (*task, error)
	list(context.Context, listing) (*page, error)
	cancel(ctx context.Context, task string, metadata map[string]any) (*task, error)
	// subscribe follows a task from its current state or, if after is not empty, from what
	// comes after the event with this id.
	subscribe(ctx context.Context, task, after string) *stream
	setPush(context.Context, pushConfig) (*pushConfig, error)
	getPush(ctx context.Context, task, id string) (*pushConfig, error)
	listPush(ctx context.Context, task string) ([]pushConfig, error)
	deletePush(ctx context.Context, task, id string) error
	extendedCard(context.Context) (*card, error)
	// garbled sends a message in a way that the encoding allows and the protocol does not.
	garbled(context.Context, garble) error
}

// garble is a way to break a request that has been encoded.
type garble string

const (
	notEncoded    garble = "not in the encoding at all"
	cut           garble = "cut off"
	wrongType     garble = "parts is no list"
	wrongScalar   garble = "messageId is an object"
	duplicateName garble = "messageId is there twice"
	notUTF8       garble = "a text is not UTF-8"
	hugeNumber    garble = "an integer that a double cannot hold"
	notDeclared   garble = "a media type that nobody knows"
	unknownField  garble = "a field that nobody knows"  // which is to be ignored
	noRequest     garble = "not a request, but encoded" // which a path or a service always is
	wrongMethod   garble = "a method of HTTP that its path does not have"
	unknownCall   garble = "an operation that does not exist"
)

// errNotOffered is the error of an operation that a binding does not have.
var errNotOffered = errors.New("not offered")

// caller is who calls, and what goes with each request.
type caller struct {
	key        string // "": no credential
	version    *string
	extensions []string
	activated  func([]string) // is told the extensions that an answer lists; nil: nobody wants to know
}

// binding is a binding of a version of A2A.
type binding struct {
	name    string // of the test
	version string // Major.Minor
	connect func(*world, caller) client
	resumes bool // a stream can continue after an event
	lists   bool // it has ListTasks
}

// bindings are all that the server speaks.
func bindings() []binding {
	return []binding{
		{name: "JSON-RPC-1.0", version: "1.0", resumes: true, lists: true, connect: connectRPC10},
		{name: "REST-1.0", version: "1.0", resumes: true, lists: true, connect: connectREST10},
		{name: "gRPC-1.0", version: "1.0", lists: true, connect: connectGRPC10},
		{name: "JSON-RPC-0.3", version: "0.3", resumes: true, connect: connectRPC03},
		{name: "REST-0.3", version: "0.3", resumes: true, lists: true, connect: connectREST03},
		{name: "gRPC-0.3", version: "0.3", lists: true, connect: connectGRPC03},
	}
}

// stream is a stream of events. It is not safe for concurrent use.
type stream struct {
	next  func() (*event, error) // blocks; io.EOF at the end
	close func()                 // ends the stream; may be called twice
}

// broken returns the stream of a request that was refused or failed.
func broken(err error) *stream {
	return &stream{next: func() (*event, error) { return nil, err }, close: func() {}}
}

// rest returns all events up to the end.
func (s *stream) rest() ([]event, error) {
	var all []event
	for {
		e, err := s.next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, *e)
	}
}
