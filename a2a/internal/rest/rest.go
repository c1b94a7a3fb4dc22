package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"a2a-server/a2a/internal/binding"
	"a2a-server/a2a/internal/jsonrpc"
	"a2a-server/a2a/internal/operation"
	"a2a-server/a2a/internal/wire"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
)

// pathItem is a path of HTTP+JSON in the router, with its handlers.
type pathItem struct {
	old        bool                       // it is of 0.3
	verbs      bool                       // its last parameter may end in a verb
	tenant     bool                       // its first parameter is the tenant
	operations map[string][]pathOperation // by verb
}

// pathOperation is an operation with its method and path.
type pathOperation struct {
	op *operation.Operation
	operation.Route
	old *operation.Legacy // nil: it is of 1.0
}

// Handler serves HTTP+JSON (§11). It is safe for concurrent use.
type Handler struct {
	binding.HTTP
	rpc *jsonrpc.Handler // of requests in JSON-RPC that come here
}

// New returns the handler of a service. rpc serves the requests in JSON-RPC that come to paths
// of HTTP+JSON.
func New(s *operation.Service, rpc *jsonrpc.Handler) *Handler {
	return &Handler{binding.HTTP{Service: s}, rpc}
}

// Route adds the paths of all operations to a router.
func (h *Handler) Route(router *echo.Echo) {
	items := map[string]*pathItem{}
	for _, v := range append(h.operations(), h.oldOperations()...) {
		path, verb := routed(v.Path)
		p := items[path]
		if p == nil {
			p = &pathItem{old: v.old != nil, tenant: strings.HasPrefix(v.Path, operation.TenantPrefix), operations: map[string][]pathOperation{}}
			items[path] = p
		}
		p.verbs = p.verbs || verb != ""
		p.operations[verb] = append(p.operations[verb], v)
	}
	for path, p := range items {
		serve := binding.Follows(h.serveAt(p))
		for _, ops := range p.operations {
			for _, v := range ops {
				router.Add(v.Method, path, serve)
			}
		}
	}
}

// operations returns the paths of 1.0 (§11.3).
func (h *Handler) operations() []pathOperation {
	var all []pathOperation
	for i := range h.Service.Table {
		for _, r := range h.Service.Table[i].Routes {
			for _, prefix := range []string{"", operation.TenantPrefix} {
				v := pathOperation{op: &h.Service.Table[i], Route: r}
				v.Path = prefix + r.Path
				all = append(all, v)
			}
		}
	}
	return all
}

// routed returns a path in echo's syntax, and the verb that follows its last parameter. In
// echo a colon begins a parameter, so other colons are escaped, and we split off the verb.
func routed(path string) (routed, verb string) {
	if before, after, ok := strings.Cut(path, "}:"); ok {
		path, verb = before+"}", after
	}
	return strings.NewReplacer(":", `\:`, "{", ":", "}", "").Replace(path), verb
}

// serveAt serves a path.
func (h *Handler) serveAt(p *pathItem) func(echo.Context) (*binding.Stream, error) {
	return func(c echo.Context) (*binding.Stream, error) {
		r := c.Request()
		active := h.Service.Activate(c.Response(), r)
		by, err := h.Service.Requests.Principal(c.Response(), r)
		if err != nil {
			return nil, err
		}
		if err := h.checkPath(r, p); err != nil {
			return nil, err
		}
		v, err := p.operation(c)
		if err != nil {
			return nil, err
		}
		if err := h.Admit(c, by, v.op, active); err != nil {
			return nil, err
		}
		in := operation.Input{Path: c.ParamValues()}
		if p.tenant {
			if in.Tenant, in.Path, err = h.Service.Tenants.OfPath(by, in.Path); err != nil {
				return nil, err
			}
		}
		if err := h.Service.Supports(v.op); err != nil {
			return nil, err
		}
		if err := h.input(c, by, v, &in); err != nil {
			return nil, err
		}
		if v.old != nil {
			return h.serveOld(c, by, active, v, in)
		}
		return h.Serve(c, by, v.op, in, binding.Envelope{Media: binding.ResponseType(r), Fault: Fault})
	}
}

// operation returns the operation that a request asks for. It removes the verb from the last
// parameter of the path.
func (p *pathItem) operation(c echo.Context) (*pathOperation, error) {
	verb := ""
	if values := c.ParamValues(); p.verbs {
		last := &values[len(values)-1]
		*last, verb, _ = strings.Cut(*last, ":")
	}
	ops := p.operations[verb]
	if len(ops) == 0 {
		return nil, wire.Transport(http.StatusNotFound)
	}
	allow := http.MethodOptions
	for i := range ops {
		if ops[i].Method == c.Request().Method {
			return &ops[i], nil
		}
		allow += ", " + ops[i].Method
	}
	c.Response().Header().Set(echo.HeaderAllow, allow)
	return nil, wire.Transport(http.StatusMethodNotAllowed)
}

// input reads a request from where its route says it is.
func (h *Handler) input(c echo.Context, by auth.Principal, v *pathOperation, in *operation.Input) (err error) {
	switch v.From {
	case operation.InQuery:
		in.Query = c.QueryParams()
	case operation.InBody:
		err = h.body(c, by, v, in)
	case operation.InOptionalBody:
		err = h.optionalBody(c, by, v, in)
	}
	return err
}

func (h *Handler) body(c echo.Context, by auth.Principal, v *pathOperation, in *operation.Input) error {
	raw, err := h.Service.Requests.Body(c.Response(), c.Request(), by)
	if err != nil {
		return err
	}
	return h.Service.Engine.Process(c.Request().Context(), by, len(raw), func() (err error) {
		if v.old != nil { // it is converted before it is decoded
			in.JSON, err = operation.Check(raw)
			return err
		}
		return in.ReadBody(raw, v.op)
	})
}

// optionalBody reads the body of an operation that does not require a body. Without a declared
// length, only reading shows whether there is a body.
func (h *Handler) optionalBody(c echo.Context, by auth.Principal, v *pathOperation, in *operation.Input) error {
	r := c.Request()
	if r.ContentLength == 0 || r.Method == http.MethodGet {
		return nil
	}
	if r.ContentLength < 0 {
		var first [1]byte
		n, err := io.ReadFull(r.Body, first[:])
		if errors.Is(err, io.EOF) {
			httpd.BodyRead(c.Response(), r)
			return nil
		}
		rest := r.Body // the next read reports any error
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(first[:n]), rest), rest}
	}
	return h.body(c, by, v, in)
}

// Fault returns the body that carries an error in HTTP+JSON: google.rpc.Status in
// JSON (§11.6).
func Fault(e *wire.Error) []byte {
	type status struct {
		Code    int    `json:"code"`
		Status  string `json:"status"`
		Message string `json:"message"`
		Details []any  `json:"details"`
	}
	e = e.Limited()
	body, _ := json.Marshal(map[string]status{"error": {e.Status, e.GRPC, e.Message, e.Details()}}) // it cannot fail
	return body
}
