package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

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

// restRoutes adds the paths of HTTP+JSON (§11.3).
func (s *Server) restRoutes() {
	var all []visit
	for i := range s.table {
		for _, r := range s.table[i].routes {
			for _, prefix := range []string{"", tenantPrefix} {
				v := visit{op: &s.table[i], route: r}
				v.path = prefix + r.path
				all = append(all, v)
			}
		}
	}
	s.route(all)
}

// route adds paths to the router.
func (s *Server) route(all []visit) {
	places := map[string]*place{}
	for _, v := range all {
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
		serve := follows(s.rest(p))
		for _, visits := range p.at {
			for _, v := range visits {
				s.echo.Add(v.method, path, serve)
			}
		}
	}
}

// routed returns a path in echo's syntax, and the verb that follows its last parameter. In
// echo a colon begins a parameter, so other colons are escaped, and we split off the verb.
func routed(path string) (routed, verb string) {
	if before, after, ok := strings.Cut(path, "}:"); ok {
		path, verb = before+"}", after
	}
	return strings.NewReplacer(":", `\:`, "{", ":", "}", "").Replace(path), verb
}

// rest serves a place.
func (s *Server) rest(p *place) func(echo.Context) (*stream, error) {
	return func(c echo.Context) (*stream, error) {
		r := c.Request()
		active := s.activate(c.Response(), r)
		by, err := s.requests.Principal(c.Response(), r)
		if err != nil {
			return nil, err
		}
		if err := s.checkPath(r, p); err != nil {
			return nil, err
		}
		v, err := p.visit(c)
		if err != nil {
			return nil, err
		}
		if err := s.admit(by, v.op, active); err != nil {
			return nil, err
		}
		in := input{path: c.ParamValues()}
		if p.tenant {
			if in.tenant, in.path, err = s.pathTenant(by, in.path); err != nil {
				return nil, err
			}
		}
		if err := s.supports(v.op); err != nil {
			return nil, err
		}
		if err := s.restInput(c, by, v.from, &in); err != nil {
			return nil, err
		}
		if v.old != nil {
			return s.serveOld(c, by, active, v, in)
		}
		return s.serve(c, by, v.op, in, envelope{media: answerType(r), fault: restFault})
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

// restInput reads a request from where its route says it is.
func (s *Server) restInput(c echo.Context, by auth.Principal, from source, in *input) (err error) {
	switch from {
	case query:
		in.query = c.QueryParams()
	case body:
		in.json, err = s.checkedBody(c, by)
	case someBody:
		in.json, err = s.optionalBody(c, by)
	}
	return err
}

func (s *Server) checkedBody(c echo.Context, by auth.Principal) (raw checked, err error) {
	body, err := s.requests.Body(c.Response(), c.Request(), by)
	if err != nil {
		return nil, err
	}
	err = s.cfg.Engine.Process(c.Request().Context(), by, len(body), func() (err error) {
		raw, err = check(body)
		return err
	})
	return raw, err
}

// optionalBody reads the body of an operation that does not require a body. Without a declared
// length, only reading shows whether there is a body.
func (s *Server) optionalBody(c echo.Context, by auth.Principal) (checked, error) {
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
	return s.checkedBody(c, by)
}

// decodeQuery decodes a request from its query (§11.5): names as in ProtoJSON, unknown names
// ignored. No field of these requests is nested or repeated.
func decodeQuery(query url.Values, into proto.Message) error {
	fields := into.ProtoReflect().Descriptor().Fields()
	given := map[protoreflect.FieldNumber]bool{}
	for name, values := range query {
		field := fields.ByJSONName(name)
		if field == nil {
			field = fields.ByTextName(name)
		}
		if field == nil {
			continue
		}
		if len(values) > 1 || given[field.Number()] { // under either of its names
			return invalidField(field.JSONName(), "is given more than once")
		}
		given[field.Number()] = true
		if err := setField(into, field, values[0]); err != nil {
			return invalidField(name, err.Error())
		}
	}
	return nil
}

func setField(into proto.Message, field protoreflect.FieldDescriptor, text string) error {
	var value any = text
	switch field.Kind() { //nolint:exhaustive // protojson reads the others from text
	case protoreflect.BoolKind:
		if text != "true" && text != "false" {
			return fmt.Errorf("is %q; it must be true or false", clip(text))
		}
		value = text == "true"
	case protoreflect.EnumKind: // protojson drops an unknown value, as it may be from a later version
		if field.Enum().Values().ByName(protoreflect.Name(text)) == nil {
			return fmt.Errorf("cannot be %q", clip(text))
		}
	}
	one := into.ProtoReflect().New().Interface()
	raw, err := json.Marshal(value)
	if err == nil {
		err = unmarshal(checked(`{"`+field.JSONName()+`":`+string(raw)+`}`), one)
	}
	if err != nil {
		return fmt.Errorf("cannot be %q", clip(text))
	}
	proto.Merge(into, one)
	return nil
}
