package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"a2a-server/auth"
	"a2a-server/internal/httpd"
)

// place is a path of HTTP+JSON in the router, with its handlers.
type place struct {
	old    bool               // it is of 0.3
	verbs  bool               // its last parameter may end in a verb
	tenant bool               // its first parameter is the tenant
	at     map[string][]visit // by verb
}

// visit is the operation of a method at a place.
type visit struct {
	op *operation
	route
	old *legacy // nil: it is of 1.0
}

// restHandler serves HTTP+JSON (§11). It is safe for concurrent use.
type restHandler struct {
	httpBinding
	rpc *rpcHandler // of requests in JSON-RPC that come here
}

func newRESTHandler(s *service, rpc *rpcHandler) *restHandler {
	return &restHandler{httpBinding{s}, rpc}
}

// route adds the paths of all operations to a router.
func (h *restHandler) route(router *echo.Echo) {
	places := map[string]*place{}
	for _, v := range append(h.visits(), h.oldVisits()...) {
		path, verb := routed(v.path)
		p := places[path]
		if p == nil {
			p = &place{old: v.old != nil, tenant: strings.HasPrefix(v.path, tenantPrefix), at: map[string][]visit{}}
			places[path] = p
		}
		p.verbs = p.verbs || verb != ""
		p.at[verb] = append(p.at[verb], v)
	}
	for path, p := range places {
		serve := follows(h.serveAt(p))
		for _, visits := range p.at {
			for _, v := range visits {
				router.Add(v.method, path, serve)
			}
		}
	}
}

// visits returns the paths of 1.0 (§11.3).
func (h *restHandler) visits() []visit {
	var all []visit
	for i := range h.service.table {
		for _, r := range h.service.table[i].routes {
			for _, prefix := range []string{"", tenantPrefix} {
				v := visit{op: &h.service.table[i], route: r}
				v.path = prefix + r.path
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

// serveAt serves a place.
func (h *restHandler) serveAt(p *place) func(echo.Context) (*stream, error) {
	return func(c echo.Context) (*stream, error) {
		r := c.Request()
		active := h.service.activate(c.Response(), r)
		by, err := h.service.requests.Principal(c.Response(), r)
		if err != nil {
			return nil, err
		}
		if err := h.checkPath(r, p); err != nil {
			return nil, err
		}
		v, err := p.visit(c)
		if err != nil {
			return nil, err
		}
		if err := h.service.admit(by, v.op, active); err != nil {
			return nil, err
		}
		in := input{path: c.ParamValues()}
		if p.tenant {
			if in.tenant, in.path, err = h.service.tenants.ofPath(by, in.path); err != nil {
				return nil, err
			}
		}
		if err := h.service.supports(v.op); err != nil {
			return nil, err
		}
		if err := h.input(c, by, v.from, &in); err != nil {
			return nil, err
		}
		if v.old != nil {
			return h.serveOld(c, by, active, v, in)
		}
		return h.serve(c, by, v.op, in, envelope{media: answerType(r), fault: restFault})
	}
}

// visit returns the operation that a request asks for. It removes the verb from the last
// parameter of the path.
func (p *place) visit(c echo.Context) (*visit, error) {
	verb := ""
	if values := c.ParamValues(); p.verbs {
		last := &values[len(values)-1]
		*last, verb, _ = strings.Cut(*last, ":")
	}
	visits := p.at[verb]
	if len(visits) == 0 {
		return nil, transportError(http.StatusNotFound)
	}
	allow := http.MethodOptions
	for i := range visits {
		if visits[i].method == c.Request().Method {
			return &visits[i], nil
		}
		allow += ", " + visits[i].method
	}
	c.Response().Header().Set(echo.HeaderAllow, allow)
	return nil, transportError(http.StatusMethodNotAllowed)
}

// input reads a request from where its route says it is.
func (h *restHandler) input(c echo.Context, by auth.Principal, from source, in *input) (err error) {
	switch from {
	case query:
		in.query = c.QueryParams()
	case body:
		in.json, err = h.checkedBody(c, by)
	case someBody:
		in.json, err = h.optionalBody(c, by)
	}
	return err
}

func (h *restHandler) checkedBody(c echo.Context, by auth.Principal) (raw checked, err error) {
	body, err := h.service.requests.Body(c.Response(), c.Request(), by)
	if err != nil {
		return nil, err
	}
	err = h.service.cfg.Engine.Heavily(c.Request().Context(), by, len(body), func() (err error) {
		raw, err = check(body)
		return err
	})
	return raw, err
}

// optionalBody reads the body of an operation that does not require a body. Without a declared
// length, only reading shows whether there is a body.
func (h *restHandler) optionalBody(c echo.Context, by auth.Principal) (checked, error) {
	r := c.Request()
	if r.ContentLength == 0 || r.Method == http.MethodGet {
		return nil, nil
	}
	if r.ContentLength < 0 {
		var first [1]byte
		n, err := io.ReadFull(r.Body, first[:])
		if errors.Is(err, io.EOF) {
			httpd.BodyRead(c.Response(), r)
			return nil, nil
		}
		rest := r.Body // the next read reports any error
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(first[:n]), rest), rest}
	}
	return h.checkedBody(c, by)
}

// restFault returns the body that carries an error in HTTP+JSON: google.rpc.Status in
// JSON (§11.6).
func restFault(e *wireError) []byte {
	type status struct {
		Code    int    `json:"code"`
		Status  string `json:"status"`
		Message string `json:"message"`
		Details []any  `json:"details"`
	}
	e = e.limited()
	body, err := json.Marshal(map[string]status{"error": {e.status, e.grpc, e.message, e.details()}})
	if err != nil { // cannot happen: it holds strings only
		return []byte(`{"error":{"code":500,"status":"INTERNAL","message":"internal error"}}`)
	}
	return body
}
