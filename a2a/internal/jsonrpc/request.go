package jsonrpc

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"a2a-server/a2a/internal/operation"
	"a2a-server/a2a/internal/wire"
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
	Input  operation.Input // the parameters
}

// parse parses a request (JSON-RPC 2.0 §4), and decodes the parameters of an ordinary send in the
// same pass if they follow its method. With an error, r has the members read before it, so that the
// response has the id, if known, and the form that the method needs: JSON or a stream.
func (r *request) parse(raw []byte, methods map[string]method) error {
	err, rare := r.read(raw, methods)
	if rare {
		*r = request{}
		err, _ = r.read(raw, nil)
	}
	return err
}

// read is parse for methods whose parameters are to be decoded. rare means that those of a send have
// another form, and have to be read without methods.
func (r *request) read(raw []byte, methods map[string]method) (fault error, rare bool) { //nolint:revive // rare says that fault is to be ignored
	version, named := "", false
	err := strictjson.ReadObject(raw, func(in strictjson.Reader, name []byte) (ok bool) {
		m := methods[r.Method]
		if string(name) == "params" && m.op != nil && m.op.Sends && !m.old {
			r.Input.JSON, ok = in.Span(func() bool { return r.Input.Read(in, m.op) })
			rare = !ok
			return ok
		}
		value, ok := in.Raw(string(name) == "id" /* any number */)
		if ok {
			fault = cmp.Or(fault, r.member(string(name), value, &version))
		}
		named = named || string(name) == "id"
		return ok
	})
	if err != nil {
		var at *strictjson.Error
		if !errors.As(err, &at) || at.Syntax {
			r.ID = nil // null, as JSON-RPC 2.0 §5 requires if the request cannot be parsed
		}
		return envelopeError(err), false
	}
	r.NoID = !named
	switch params := r.Input.JSON; {
	case rare || fault != nil:
		return fault, rare
	case version != "2.0":
		return wire.ErrInvalidRequest.Saying(`jsonrpc must be "2.0"`), false
	case r.Method == "":
		return wire.ErrInvalidRequest.Saying("method is missing"), false
	case len(params) > 0 && params[0] != '{':
		return wire.ErrInvalidParams.Saying("params must be an object"), false
	}
	return nil, false
}

// member takes a member of a request.
func (r *request) member(name string, value []byte, version *string) error {
	to := version
	switch name {
	case "id":
		if !isID(value) {
			return wire.ErrInvalidRequest.Saying(fmt.Sprintf("id must be a string, a number or null, of at most %d bytes", maxID))
		}
		r.ID = value
		return nil
	case "params":
		r.Input.JSON = value
		return nil
	case "jsonrpc":
	case "method":
		to = &r.Method
	default:
		return nil
	}
	switch long, quoted := len(value) > maxWord, value[0] == '"'; {
	case long && quoted && name == "method":
		return wire.ErrMethodNotFound.Saying(fmt.Sprintf("unknown method, with a name of %d bytes", len(value)-2))
	case long && quoted, string(value) == "null": // refused later
	case !quoted:
		return wire.ErrInvalidRequest.Saying(name + " must be a string")
	default:
		*to = strictjson.Unquote(value)
	}
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
