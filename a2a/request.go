package a2a

import (
	"net/http"
	"net/url"

	"google.golang.org/protobuf/proto"

	"a2a-server/auth"
	"a2a-server/task/engine"
)

// operationRequest is who asks for an operation and how, beside the [input].
type operationRequest struct {
	by      auth.Principal
	bytes   int                               // of the request, if known
	answer  *engine.Answer                    // that tasks are read for; the binding releases it once they are sent. Nil for a stream
	renew   engine.Renewal                    // authenticates by again; nil: no authentication
	request *http.Request                     // by which the base URL is known; nil for a stream
	from    resume                            // where the reader of a stream continues; nil: nowhere
	v03     bool                              // it came in A2A 0.3
	toHTTP  func(*http.Request) *http.Request // over gRPC: returns a request to the port of HTTP, whose URL the card has; nil: it came over HTTP
}

// input is a request that a binding has received and not decoded.
type input struct {
	json   checked                        // the parameters of JSON-RPC, or the body of HTTP+JSON
	query  url.Values                     // nil: there is none
	tenant string                         // of the path, which is the caller's; "": it names none
	path   []string                       // the other parameters of the path, in their order; nil: it has none
	proto  func(into proto.Message) error // decodes the request of gRPC; nil: it is of another binding
	bytes  int                            // of the request of gRPC
}

// reads returns a function that decodes a request; put, which may be nil, sets the parameters
// of the path.
func reads[M any, P interface {
	*M
	proto.Message
}](put func(P, []string)) func(input) (*M, error) {
	return func(in input) (*M, error) {
		pb := P(new(M))
		if err := in.fill(pb); err != nil {
			return nil, err
		}
		if put != nil && in.path != nil {
			put(pb, in.path)
		}
		return pb, nil
	}
}

// size returns the bytes of a request.
func (in input) size() int {
	if in.proto != nil {
		return in.bytes
	}
	return len(in.json)
}

// fill decodes a message from gRPC, JSON or the query, whichever is present.
func (in input) fill(into proto.Message) error {
	if in.query != nil {
		return decodeQuery(in.query, into)
	}
	if in.proto != nil {
		return in.proto(into)
	}
	return unmarshal(in.json, into)
}
