package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	v03 "a2a-server/a2a/v03"
	"a2a-server/auth"
	"a2a-server/internal/strictjson"
)

// maxID is how long the id of a request may be, in bytes of JSON. Every answer, and every
// frame of a stream, repeats it.
const maxID = 1024

// maxWord is how long a method or version may be, in bytes of JSON. Real values are shorter,
// and unquoting megabytes takes long.
const maxWord = 1024

// rpcRequest is a JSON-RPC 2.0 request. The id keeps its bytes: clients compare it
// literally.
type rpcRequest struct {
	ID     []byte // nil: null, or none
	NoID   bool   // a notification (JSON-RPC 2.0 §4.1)
	Method string
	Params checked
}

// isRPC reports whether a request, with the path below the base URL, is JSON-RPC.
func isRPC(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == "/" }

// rpcHandler serves JSON-RPC (§9). It is safe for concurrent use.
type rpcHandler struct {
	httpBinding
	methods map[string]method // by name
}

func newRPCHandler(s *service) *rpcHandler {
	return &rpcHandler{httpBinding{s}, methods(s.table)}
}

// serve serves POST at the base URL.
func (h *rpcHandler) serve(c echo.Context) (*stream, error) {
	r := c.Request()
	active := h.service.activate(c.Response(), r)
	by, err := h.service.requests.Principal(c.Response(), r)
	if err != nil {
		return nil, err
	}
	raw, err := h.service.requests.Body(c.Response(), c.Request(), by)
	if err != nil {
		return nil, err
	}
	return h.serveBody(c, by, active, raw, nil /* any operation */)
}

// serveBody serves a request whose body is JSON-RPC. only, unless it is nil, is the operation that
// the path has named, and all other operations are refused.
func (h *rpcHandler) serveBody(c echo.Context, by auth.Principal, active []string, raw []byte, only *operation) (st *stream, err error) {
	r := c.Request()
	var rpc rpcRequest
	err = h.service.cfg.Engine.Heavily(r.Context(), by, len(raw), func() error { return parseRPC(raw, &rpc) })
	m := h.methods[rpc.Method]
	plain := m.old && h.service.versions.plainFaults(r)
	if err == nil {
		err = h.checkMethod(r, rpc.Method, m)
	}
	if err == nil && only != nil && (m.op != only || !m.old) {
		err = errInvalidRequest.saying("this path is that of " + only.old + ": send " + clip(rpc.Method) + " to the base URL")
	}
	if err == nil {
		err = h.service.admit(by, m.op, active)
	}
	if err == nil {
		err = h.service.supports(m.op)
	}
	if err == nil {
		in, id := input{json: rpc.Params}, rpc.ID
		if m.op.stream != nil {
			id = bytes.Clone(id) // a stream does not keep the body
		}
		around := envelope{head: append(rpcHead(id), `"result":`...), tail: "}", media: typeJSON, fault: func(e *wireError) []byte { return rpcFault(id, e, plain) }}
		if m.old {
			around.old, around.form = m.op.legacy, v03.JSONRPC
			in, err = h.service.readOld(r.Context(), by, in, around.old, around.form)
		}
		// Without an id the result could not be returned. The SDKs check the method and the
		// parameters first.
		if err == nil && rpc.NoID {
			err = errInvalidRequest.saying("id is missing: every A2A method has a response")
		}
		if err == nil {
			st, err = h.httpBinding.serve(c, by, m.op, in, around)
			if m.old {
				err = inOldNames(err, func() v03.Names { return v03.NamesOf(m.op.name, v03.JSONRPC, nil) })
			}
		}
	}
	if err == nil || c.Response().Committed {
		return st, err
	}
	w := h.service.wire(r.Context(), err, rpc.Method)
	return nil, h.fail(c, m.op, w, rpcFault(rpc.ID, w, plain))
}

// method is the meaning of a JSON-RPC method name.
type method struct {
	op  *operation // nil: unknown
	old bool       // the name is that of A2A 0.3
}

// methods returns the methods of a table by their names in all versions.
func methods(table []operation) map[string]method {
	all := make(map[string]method, 2*len(table))
	for i := range table {
		op := &table[i]
		all[op.name] = method{op: op}
		if op.old != "" {
			all[op.old] = method{op: op, old: true}
		}
	}
	return all
}

// checkMethod refuses a method of another version than the request's, and unknown names.
func (h *rpcHandler) checkMethod(r *http.Request, name string, m method) error {
	if m.old && h.service.cfg.OnlyV1 {
		return h.service.versions.other(name + " is a method of A2A 0.3, which this server does not support: use a client for A2A " + version + ", where it is " + m.op.name)
	}
	if m.old {
		return h.service.versions.checkOld(r, name, m.op.name)
	}
	if m.op == nil && !h.service.cfg.OnlyV1 { // it is in no version
		for _, v := range askedVersions(r) {
			if !is(v, version) && !is(v, oldVersion) {
				return h.service.versions.unknown(v)
			}
		}
		return errMethodNotFound.saying("there is no method " + clip(name) + ", in A2A " + version + " or " + oldVersion)
	}
	if err := h.service.versions.check(r, name); err != nil {
		return err
	}
	if m.op == nil {
		return errMethodNotFound.saying("there is no method " + clip(name))
	}
	return nil
}

// parseRPC parses the envelope of a request (JSON-RPC 2.0 §4). With an error, r has the
// members read before it, so that the answer has the id, if known, and the form that the
// method needs: JSON or a stream.
func parseRPC(raw []byte, r *rpcRequest) error {
	members, err := strictjson.Members(raw, "id")
	for _, m := range members {
		if m.Name == "id" && isID(m.Value) {
			r.ID = m.Value
		}
		if m.Name == "method" && len(m.Value) <= maxWord {
			r.Method, _ = strictjson.NewReader(m.Value).Text() // if it is not a string, it is refused below
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
		var text *string
		switch m.Name {
		case "id":
			if named = true; r.ID == nil {
				return errInvalidRequest.saying(fmt.Sprintf("id must be a string, a number or null, of at most %d bytes", maxID))
			}
			continue
		case "params":
			params = m.Value
			continue
		case "jsonrpc":
			text = &version
		case "method":
			text = &r.Method
		default:
			continue
		}
		switch long, quoted := len(m.Value) > maxWord, m.Value[0] == '"'; {
		case long && quoted && m.Name == "method":
			return errMethodNotFound.saying(fmt.Sprintf("unknown method, with a name of %d bytes", len(m.Value)-2))
		case long && quoted, string(m.Value) == "null": // refused below
		case !quoted:
			return errInvalidRequest.saying(m.Name + " must be a string")
		default:
			*text, _ = strictjson.NewReader(m.Value).Text()
		}
	}
	switch {
	case version != "2.0":
		return errInvalidRequest.saying(`jsonrpc must be "2.0"`)
	case r.Method == "":
		return errInvalidRequest.saying("method is missing")
	case len(params) > 0 && params[0] != '{':
		return errInvalidParams.saying("params must be an object")
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
		return notJSON(at)
	}
	if pointer, ok := strings.CutPrefix(at.Pointer, "/params"); ok && (pointer == "" || pointer[0] == '/') {
		return refusedJSON(pointer, at.Reason)
	}
	if at.Pointer == "" {
		return errInvalidRequest.saying("the body " + at.Reason + " with jsonrpc, id, method and params")
	}
	return errInvalidRequest.saying(clip(at.Pointer) + ": " + at.Reason)
}

// rpcHead returns the beginning of every answer, up to its result or error.
func rpcHead(id []byte) []byte {
	if len(id) == 0 {
		id = []byte("null")
	}
	b := make([]byte, 0, 1024) // most answers fit
	return append(append(append(b, `{"jsonrpc":"2.0","id":`...), id...), ',')
}

// rpcFault returns the complete answer for an error. plain is as [versions.plainFaults] says.
func rpcFault(id []byte, e *wireError, plain bool) []byte {
	e = e.limited()
	var data any = e.details()
	if plain {
		data = struct {
			Details []any `json:"details"`
		}{e.details()}
	}
	fault, err := json.Marshal(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data"`
	}{e.code, e.message, data})
	if err != nil { // cannot happen: it holds strings only
		fault = []byte(`{"code":-32603,"message":"internal error"}`)
	}
	return append(append(append(rpcHead(id), `"error":`...), fault...), '}')
}

// fail answers with a JSON-RPC error, whose HTTP status is 200. Only authentication and roles
// are a matter of the transport. A streaming method gets a stream of a single frame, because the
// Go client reports nothing when it gets JSON there.
func (h *rpcHandler) fail(c echo.Context, op *operation, e *wireError, fault []byte) error {
	if e.status == http.StatusUnauthorized || e.status == http.StatusForbidden {
		return e.write(c.Response(), fault)
	}
	e.retry(c.Response().Header())
	if op == nil || op.stream == nil {
		return h.service.requests.Answer(c.Response(), typeJSON, fault)
	}
	return h.streamOne(c, fault)
}
