package a2a

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
	"github.com/labstack/echo/v4"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"a2a-server/auth"
)

// restRoutes adds the paths of HTTP+JSON (§11.3). echo takes a colon for the
// beginning of a parameter, so those of /message are escaped, and the verb behind a
// task's id is split off by hand.
func (s *Server) restRoutes() {
	g := s.echo
	g.POST(`/message\:send`, s.rest(s.restSend))
	g.POST(`/message\:stream`, s.rest(s.restStream))
	g.GET("/tasks", s.rest(s.restList))
	g.GET("/tasks/:id", s.rest(s.restTask))
	g.POST("/tasks/:id", s.rest(s.restTask))
	push := s.rest(func(echo.Context, auth.Principal) error { return noPush() })
	g.POST("/tasks/:id/pushNotificationConfigs", push)
	g.GET("/tasks/:id/pushNotificationConfigs", push)
	g.GET("/tasks/:id/pushNotificationConfigs/:config", push)
	g.DELETE("/tasks/:id/pushNotificationConfigs/:config", push)
	g.GET("/extendedAgentCard", s.rest(func(echo.Context, auth.Principal) error { return noExtendedCard() }))
}

// rest does for every path what comes before it.
func (s *Server) rest(next func(echo.Context, auth.Principal) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		by, err := s.principal(c.Request())
		if err != nil {
			return err
		}
		if err := s.checkVersion(c.Request()); err != nil {
			return err
		}
		s.activate(c.Response(), c.Request())
		return next(c, by)
	}
}

func (s *Server) checkedBody(c echo.Context, by auth.Principal) (raw checked, err error) {
	body, err := s.body(c)
	if err != nil {
		return nil, err
	}
	err = s.heavily(c, by, len(body), func() (err error) {
		raw, err = check(body)
		return err
	})
	return raw, err
}

// optionalBody reads the body of an operation that can do without. That there is none
// shows only when it is read, if its length was not said.
func (s *Server) optionalBody(c echo.Context, by auth.Principal) (checked, error) {
	r := c.Request()
	if r.ContentLength == 0 || r.Method == http.MethodGet {
		return nil, nil
	}
	if r.ContentLength < 0 {
		var first [1]byte
		n, err := io.ReadFull(r.Body, first[:])
		if errors.Is(err, io.EOF) {
			read(c.Response(), r)
			return nil, nil
		}
		rest := r.Body // what is wrong with it is said by whoever reads on
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(first[:n]), rest), rest}
	}
	return s.checkedBody(c, by)
}

func (s *Server) restAnswer(c echo.Context, body []byte) error {
	return s.answer(c, answerType(c.Request()), body)
}

func (s *Server) restSend(c echo.Context, by auth.Principal) error {
	raw, err := s.checkedBody(c, by)
	if err != nil {
		return err
	}
	req, err := s.decodeSend(c, by, raw)
	if err != nil {
		return err
	}
	a := s.ops.engine.Answer(by)
	defer a.Release()
	out, err := s.ops.send(c.Request().Context(), by, a, req, len(raw))
	if err != nil {
		return err
	}
	body, err := appendSent(nil, out)
	if err != nil {
		return err
	}
	a.Made()
	return s.restAnswer(c, body)
}

func (s *Server) restStream(c echo.Context, by auth.Principal) error {
	raw, err := s.checkedBody(c, by)
	if err != nil {
		return err
	}
	req, err := s.decodeSend(c, by, raw)
	if err != nil {
		return err
	}
	return s.stream(c, by, nil, nil, func(st *stream) error { return s.ops.stream(st.ctx, by, req, len(raw), st.open) })
}

// restTask serves what is below /tasks/{id}: the task itself, or a verb on it.
func (s *Server) restTask(c echo.Context, by auth.Principal) error {
	id, verb, _ := strings.Cut(c.Param("id"), ":")
	switch method := c.Request().Method; {
	case verb == "" && method == http.MethodGet:
		return s.restGet(c, by, id)
	case verb == "cancel" && method == http.MethodPost:
		return s.restCancel(c, by, id)
	case verb == "subscribe": // GET in the proto, POST in the tables of the text (D3)
		return s.restSubscribe(c, by, id)
	case verb == "":
		c.Response().Header().Set(echo.HeaderAllow, "OPTIONS, GET")
		return transportError(http.StatusMethodNotAllowed)
	case verb == "cancel":
		c.Response().Header().Set(echo.HeaderAllow, "OPTIONS, POST")
		return transportError(http.StatusMethodNotAllowed)
	default:
		return transportError(http.StatusNotFound)
	}
}

func (s *Server) restGet(c echo.Context, by auth.Principal, id string) error {
	var pb a2apb.GetTaskRequest
	if err := decodeQuery(c.QueryParams(), &pb); err != nil {
		return err
	}
	pb.Id = id
	req, err := toGetTask(&pb)
	if err != nil {
		return err
	}
	a := s.ops.engine.Answer(by)
	defer a.Release()
	view, options, err := s.ops.get(c.Request().Context(), a, req)
	if err != nil {
		return err
	}
	body := view.AppendTask(nil, options)
	a.Made()
	return s.restAnswer(c, body)
}

func (s *Server) restList(c echo.Context, by auth.Principal) error {
	query := c.QueryParams()
	// The SDK's client (v2.4.0) sends this filter by another name.
	if theirs, ok := query["lastUpdatedAfter"]; ok && !query.Has("statusTimestampAfter") {
		query["statusTimestampAfter"] = theirs
	}
	var pb a2apb.ListTasksRequest
	if err := decodeQuery(query, &pb); err != nil {
		return err
	}
	req, err := toListTasks(&pb)
	if err != nil {
		return err
	}
	a := s.ops.engine.Answer(by)
	defer a.Release()
	list, options, err := s.ops.list(c.Request().Context(), a, req)
	if err != nil {
		return err
	}
	body, err := appendList(nil, list, options)
	if err != nil {
		return err
	}
	a.Made()
	return s.restAnswer(c, body)
}

func (s *Server) restCancel(c echo.Context, by auth.Principal, id string) error {
	raw, err := s.optionalBody(c, by)
	if err != nil {
		return err
	}
	var pb a2apb.CancelTaskRequest
	if err := s.unmarshal(c, by, raw, &pb); err != nil {
		return err
	}
	pb.Id = id
	req, err := convert(&pb, pbconv.FromProtoCancelTaskRequest)
	if err != nil {
		return err
	}
	a := s.ops.engine.Answer(by)
	defer a.Release()
	view, err := s.ops.cancel(c.Request().Context(), a, req)
	if err != nil {
		return err
	}
	body := view.AppendTask(nil, viewOptions(nil))
	a.Made()
	return s.restAnswer(c, body)
}

func (s *Server) restSubscribe(c echo.Context, by auth.Principal, id string) error {
	raw, err := s.optionalBody(c, by)
	if err != nil {
		return err
	}
	var pb a2apb.SubscribeToTaskRequest
	if err := s.unmarshal(c, by, raw, &pb); err != nil {
		return err
	}
	pb.Id = id
	req, err := convert(&pb, pbconv.FromProtoSubscribeToTaskRequest)
	if err != nil {
		return err
	}
	return s.stream(c, by, nil, nil, func(st *stream) error {
		return s.ops.subscribe(st.ctx, by, req, s.lastEventID(c.Request()), st.open)
	})
}

// decodeQuery reads a request from its query (§11.5): names as in ProtoJSON, unknown
// ones ignored. What goes into the query is never nested and never repeated here.
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
		if len(values) > 1 || given[field.Number()] { // also by both of its names
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
	quoted := field.Kind() != protoreflect.BoolKind
	if !quoted && text != "true" && text != "false" {
		return fmt.Errorf("is %q; it must be true or false", clip(text))
	}
	raw := text
	if quoted {
		raw = quote(text)
	}
	if field.Kind() == protoreflect.EnumKind && field.Enum().Values().ByName(protoreflect.Name(text)) == nil {
		return fmt.Errorf("cannot be %q", clip(text)) // protojson takes it for a value of the future, and drops it
	}
	one := into.ProtoReflect().New().Interface()
	object, err := check([]byte(`{"` + field.JSONName() + `":` + raw + `}`))
	if err == nil {
		err = unmarshal(object, one)
	}
	if err != nil {
		return fmt.Errorf("cannot be %q", clip(text))
	}
	proto.Merge(into, one)
	return nil
}
