package jsonrpc

import (
	"errors"
	"fmt"
	"strings"

	"a2a-server/a2a/internal/wire"
	"a2a-server/a2a/operation"
	"a2a-server/internal/strictjson"
)

// maxID is how long the id of a request may be, in bytes of JSON. Every response, and every
// frame of a stream, repeats it.
const maxID = 1024

// maxWord is how long a method or version may be, in bytes of JSON. Real values are shorter,
// and unquoting megabytes takes long.
const maxWord = 1024

// request is a JSON-RPC 2.0 request. The id keeps its bytes: clients compare it
// literally.
type request struct {
	ID     []byte // nil: null, or none
	NoID   bool   // a notification (JSON-RPC 2.0 §4.1)
	Method string
	Params operation.Checked
}

// parse parses the envelope of a request (JSON-RPC 2.0 §4). With an error, r has the
// members read before it, so that the response has the id, if known, and the form that the
// method needs: JSON or a stream.
func parse(raw []byte, r *request) error {
	members, err := strictjson.Members(raw, "id")
	for _, m := range members {
		if m.Name == "id" && isID(m.Value) {
			r.ID = m.Value
		}
		if m.Name == "method" && len(m.Value) <= maxWord {
			r.Method = m.Text() // if it is not a string, it is refused below
		}
	}
	if err != nil {
		var at *strictjson.Error
		if !errors.As(err, &at) || at.Syntax {
			r.ID = nil // null, as JSON-RPC 2.0 §5 requires if the request cannot be parsed
		}
		return envelopeError(err)
	}
	version, params := "", []byte(nil)
	named := false
	for _, m := range members {
		var to *string
		switch m.Name {
		case "id":
			if named = true; r.ID == nil {
				return wire.ErrInvalidRequest.Saying(fmt.Sprintf("id must be a string, a number or null, of at most %d bytes", maxID))
			}
			continue
		case "params":
			params = m.Value
			continue
		case "jsonrpc":
			to = &version
		case "method":
			to = &r.Method
		default:
			continue
		}
		switch long, quoted := len(m.Value) > maxWord, m.Value[0] == '"'; {
		case long && quoted && m.Name == "method":
			return wire.ErrMethodNotFound.Saying(fmt.Sprintf("unknown method, with a name of %d bytes", len(m.Value)-2))
		case long && quoted, string(m.Value) == "null": // refused below
		case !quoted:
			return wire.ErrInvalidRequest.Saying(m.Name + " must be a string")
		default:
			*to = m.Text()
		}
	}
	switch {
	case version != "2.0":
		return wire.ErrInvalidRequest.Saying(`jsonrpc must be "2.0"`)
	case r.Method == "":
		return wire.ErrInvalidRequest.Saying("method is missing")
	case len(params) > 0 && params[0] != '{':
		return wire.ErrInvalidParams.Saying("params must be an object")
	}
	r.Params, r.NoID = params, !named
	return nil
}

// isID reports whether a JSON value may be the id of a request.
func isID(value []byte) bool {
	return len(value) <= maxID && value[0] != '{' && value[0] != '[' && value[0] != 't' && value[0] != 'f'
}

// envelopeError distinguishes three errors: a body that is not JSON, a body that is not a
// request, and invalid parameters.
func envelopeError(err error) error {
	var at *strictjson.Error
	if !errors.As(err, &at) || at.Syntax {
		return wire.NotJSON(at)
	}
	if pointer, ok := strings.CutPrefix(at.Pointer, "/params"); ok && (pointer == "" || pointer[0] == '/') {
		return wire.RefusedJSON(pointer, at.Reason)
	}
	if at.Pointer == "" {
		return wire.ErrInvalidRequest.Saying("the body " + at.Reason + " with jsonrpc, id, method and params")
	}
	return wire.ErrInvalidRequest.Saying(wire.Clip(at.Pointer) + ": " + at.Reason)
}
