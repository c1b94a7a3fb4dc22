package operation

import (
	"net/http"
	"net/url"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/protobuf/proto"

	"a2a-server/auth"
	"a2a-server/internal/strictjson"
	"a2a-server/task/engine"
)

// Request is who asks for an operation and how, beside the [Input].
type Request struct {
	By     auth.Principal
	Bytes  int                               // of the request, if known
	Answer *engine.ReadReservation           // that tasks are read for; the binding releases it once they are sent. Nil for a stream
	Renew  engine.Renewal                    // authenticates by again; nil: no authentication
	HTTP   *http.Request                     // by which the base URL is known; nil for a stream
	From   Resume                            // where the reader of a stream continues; nil: nowhere
	V03    bool                              // it came in A2A 0.3
	Waits  func(engine.ID)                   // called when the message is durable and its response waits for the task; nil: not
	ToHTTP func(*http.Request) *http.Request // over gRPC: returns a request to the port of HTTP, whose URL the card has; nil: it came over HTTP
}

// Input is a request that a binding has received and not decoded.
type Input struct {
	JSON   Checked    // the parameters of JSON-RPC, the body of HTTP+JSON, or the message of gRPC
	Query  url.Values // nil: there is none
	Tenant string     // of the path, which is the caller's; "": it names none
	Path   []string   // the other parameters of the path, in their order; nil: it has none

	send *sdk.SendMessageRequest // decoded from JSON; nil: it is to be decoded
}

// Read reads the request of the operation in its place among other JSON. It reports false for JSON
// that has to be checked, and then read from its bytes.
func (in *Input) Read(r strictjson.Reader, op *Operation) bool {
	if !op.Sends {
		return false
	}
	in.send = readPlain(r)
	return in.send != nil
}

// ReadBody checks a body that is the request of the operation.
func (in *Input) ReadBody(raw []byte, op *Operation) (err error) {
	if err := strictjson.Read(raw, func(r strictjson.Reader) bool { return in.Read(r, op) }); err != nil {
		return refused(err)
	}
	if in.JSON = raw; in.send == nil {
		in.JSON, err = Check(raw)
	}
	return err
}

// reads returns a function that decodes a request; put, which may be nil, sets the parameters
// of the path.
func reads[M any, P interface {
	*M
	proto.Message
}](put func(P, []string)) func(Input) (*M, error) {
	return func(in Input) (*M, error) {
		pb := P(new(M))
		if err := in.fill(pb); err != nil {
			return nil, err
		}
		if put != nil && in.Path != nil {
			put(pb, in.Path)
		}
		return pb, nil
	}
}

// fill decodes a message from JSON or the query, whichever is present.
func (in Input) fill(into proto.Message) error {
	if in.Query != nil {
		return decodeQuery(in.Query, into)
	}
	return unmarshal(in.JSON, into)
}
