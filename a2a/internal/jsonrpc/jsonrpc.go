package jsonrpc

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"a2a-server/a2a/internal/binding"
	"a2a-server/a2a/internal/operation"
	v03 "a2a-server/a2a/internal/v03"
	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
)

// IsRequest reports whether a request, with the path below the base URL, is JSON-RPC.
func IsRequest(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == "/" }

// Handler serves JSON-RPC (§9). It is safe for concurrent use.
type Handler struct {
	binding.HTTP
	methods map[string]method // by name
}

// New returns the handler of a service.
func New(s *operation.Service) *Handler {
	return &Handler{binding.HTTP{Service: s}, methods(s.Table)}
}

// Serve serves POST at the base URL.
func (h *Handler) Serve(c echo.Context) (*binding.Stream, error) {
	r := c.Request()
	active := h.Service.Activate(c.Response(), r)
	by, err := h.Service.Requests.Principal(c.Response(), r)
	if err != nil {
		return nil, err
	}
	raw, err := h.Service.Requests.Body(c.Response(), c.Request(), by)
	if err != nil {
		return nil, err
	}
	return h.ServeBody(c, by, active, raw, nil /* any operation */)
}

// ServeBody serves a request whose body is JSON-RPC. only, unless it is nil, is the operation that
// the path has named, and all other operations are refused.
func (h *Handler) ServeBody(c echo.Context, by auth.Principal, active []string, raw []byte, only *operation.Operation) (st *binding.Stream, err error) {
	r := c.Request()
	var rpc request
	err = h.Service.Engine.Process(r.Context(), by, len(raw), func() error { return rpc.parse(raw, h.methods) })
	m := h.methods[rpc.Method]
	plain := m.old && h.Service.Versions.PlainFaults(r)
	if err == nil {
		err = h.checkMethod(r, rpc.Method, m)
	}
	if err == nil && only != nil && (m.op != only || !m.old) {
		err = wire.ErrInvalidRequest.Saying("this path is that of " + only.Legacy.Method + ": send " + wire.Clip(rpc.Method) + " to the base URL")
	}
	if err == nil {
		err = h.Admit(c, by, m.op, active)
	}
	if err == nil {
		err = h.Service.Supports(m.op)
	}
	if err == nil {
		in, id := rpc.Input, rpc.ID
		if m.op.Stream != nil {
			id = bytes.Clone(id) // a stream does not keep the body
		}
		around := binding.Envelope{Head: append(head(id), `"result":`...), Tail: "}", Media: wire.TypeJSON, Fault: func(e *wire.Error) []byte { return Fault(id, e, plain) }, Late: true}
		if m.old {
			around.Old, around.Form = m.op.Legacy, v03.JSONRPC
			in, err = h.Service.ReadOld(r.Context(), by, in, m.op, around.Form)
		}
		// Without an id the result could not be returned. The SDKs check the method and the
		// parameters first.
		if err == nil && rpc.NoID {
			err = wire.ErrInvalidRequest.Saying("id is missing: every A2A method has a response")
		}
		if err == nil {
			st, err = h.HTTP.Serve(c, by, m.op, in, around)
			if m.old {
				err = operation.InOldNames(err, func() v03.Names { return v03.NamesOf(m.op.Name, v03.JSONRPC, nil) })
			}
		}
	}
	if err == nil || c.Response().Committed {
		return st, err
	}
	w := h.Service.WireError(r.Context(), err, rpc.Method)
	return nil, h.fail(c, m.op, w, Fault(rpc.ID, w, plain))
}

// method is the meaning of a JSON-RPC method name.
type method struct {
	op  *operation.Operation // nil: unknown
	old bool                 // the name is that of A2A 0.3
}

// methods returns the methods of a table by their names in all versions.
func methods(table []operation.Operation) map[string]method {
	all := make(map[string]method, 2*len(table))
	for i := range table {
		op := &table[i]
		all[op.Name] = method{op: op}
		if old := op.Legacy; old != nil && old.Method != "" {
			all[old.Method] = method{op: op, old: true}
		}
	}
	return all
}

// checkMethod refuses a method of another version than the request's, and unknown names.
func (h *Handler) checkMethod(r *http.Request, name string, m method) error {
	if m.old && h.Service.OnlyV1 {
		return h.Service.Versions.Other(name + " is a method of A2A 0.3, which this server does not support: use a client for A2A " + wire.Version + ", where it is " + m.op.Name)
	}
	if m.old {
		return h.Service.Versions.CheckOld(r, name, m.op.Name)
	}
	if m.op == nil && !h.Service.OnlyV1 { // it is in no version
		for _, v := range operation.AskedVersions(r) {
			if !operation.IsVersion(v, wire.Version) && !operation.IsVersion(v, wire.OldVersion) {
				return h.Service.Versions.Unknown(v)
			}
		}
		return wire.ErrMethodNotFound.Saying("there is no method " + wire.Clip(name) + ", in A2A " + wire.Version + " or " + wire.OldVersion)
	}
	if err := h.Service.Versions.Check(r, name); err != nil {
		return err
	}
	if m.op == nil {
		return wire.ErrMethodNotFound.Saying("there is no method " + wire.Clip(name))
	}
	return nil
}

// head returns the beginning of every response, up to its result or error.
func head(id []byte) []byte {
	if len(id) == 0 {
		id = []byte("null")
	}
	b := make([]byte, 0, 1024) // most responses fit
	return append(append(append(b, `{"jsonrpc":"2.0","id":`...), id...), ',')
}

// Fault returns the complete response for an error. plain is as [operation.Versions.PlainFaults] says.
func Fault(id []byte, e *wire.Error, plain bool) []byte {
	e = e.Limited()
	var data any = e.Details()
	if plain {
		data = struct {
			Details []any `json:"details"`
		}{e.Details()}
	}
	fault, _ := json.Marshal(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data"`
	}{e.Code, e.Message, data}) // it cannot fail
	return append(append(append(head(id), `"error":`...), fault...), '}')
}

// fail answers with a JSON-RPC error, whose HTTP status is 200. Only authentication and roles
// are a matter of the transport. A streaming method gets a stream of a single frame, because the
// Go client reports nothing when it gets JSON there.
func (h *Handler) fail(c echo.Context, op *operation.Operation, e *wire.Error, fault []byte) error {
	if e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden {
		return e.Write(c.Response(), fault)
	}
	e.Retry(c.Response().Header())
	if op == nil || op.Stream == nil {
		return h.Service.Requests.Answer(c.Response(), http.StatusOK, wire.TypeJSON, fault)
	}
	return h.StreamOne(c, fault)
}
