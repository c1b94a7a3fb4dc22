package a2a

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
	"github.com/labstack/echo/v4"

	"a2a-server/auth"
	"a2a-server/internal/strictjson"
	"a2a-server/task/engine"
)

// maxID is how long the id of a request may be, in bytes as it came. It is in each
// answer, and in each frame of a stream.
const maxID = 1024

// maxWord is how long a method and a version are that are looked at, in bytes as they
// came. To unquote one of megabytes takes a processor for long, and there is none such.
const maxWord = 1024

// rpcRequest is a JSON-RPC 2.0 request. The id stays as it came: clients compare it
// to the letter.
type rpcRequest struct {
	ID     []byte
	Method string
	Params checked
}

// isRPC reports whether a request, as the routes have it, is one of JSON-RPC.
func isRPC(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == "/" }

// jsonRPC serves POST at the base URL (§9).
func (s *Server) jsonRPC(c echo.Context) error {
	by, err := s.principal(c.Request())
	if err != nil {
		return err
	}
	raw, err := s.body(c)
	if err != nil {
		return err
	}
	var rpc rpcRequest
	if err := s.heavily(c, by, len(raw), func() error { return parseRPC(raw, &rpc) }); err != nil {
		if streams(rpc.Method) {
			return s.rpcStreamError(c, rpc.ID, err)
		}
		return s.rpcError(c, rpc.ID, err)
	}
	s.activate(c.Response(), c.Request())
	err = s.checkMethod(c.Request(), rpc.Method)
	if streams(rpc.Method) {
		if err == nil {
			return s.rpcStream(c, by, &rpc)
		}
		return s.rpcStreamError(c, rpc.ID, err)
	}
	var answer []byte
	a := s.ops.engine.Answer(by)
	defer a.Release()
	if err == nil {
		answer, err = s.rpcCall(c, by, a, &rpc)
	}
	a.Made()
	if err != nil {
		return s.rpcError(c, rpc.ID, s.wire(c.Request().Context(), err, rpc.Method))
	}
	return s.answer(c, typeJSON, append(answer, '}'))
}

// streams reports whether a method, of whatever version, is answered with a stream,
// errors included.
func streams(method string) bool {
	if now, old := oldMethods[method]; old {
		method = now
	}
	return method == "SendStreamingMessage" || method == "SubscribeToTask"
}

// rpcCall runs a method that has one answer, and returns it without its end.
func (s *Server) rpcCall(c echo.Context, by auth.Principal, a *engine.Answer, rpc *rpcRequest) ([]byte, error) {
	ctx := c.Request().Context()
	head := append(rpcHead(rpc.ID), `"result":`...)
	switch rpc.Method {
	case "SendMessage":
		req, err := s.decodeSend(c, by, rpc.Params)
		if err != nil {
			return nil, err
		}
		out, err := s.ops.send(ctx, by, a, req, len(rpc.Params))
		if err != nil {
			return nil, err
		}
		return appendSent(head, out)
	case "GetTask":
		var pb a2apb.GetTaskRequest
		if err := s.unmarshal(c, by, rpc.Params, &pb); err != nil {
			return nil, err
		}
		req, err := toGetTask(&pb)
		if err != nil {
			return nil, err
		}
		view, options, err := s.ops.get(ctx, a, req)
		if err != nil {
			return nil, err
		}
		return view.AppendTask(head, options), nil
	case "ListTasks":
		req, err := s.decodeListTasks(c, by, rpc.Params)
		if err != nil {
			return nil, err
		}
		list, options, err := s.ops.list(ctx, a, req)
		if err != nil {
			return nil, err
		}
		return appendList(head, list, options)
	case "CancelTask":
		var pb a2apb.CancelTaskRequest
		if err := s.unmarshal(c, by, rpc.Params, &pb); err != nil {
			return nil, err
		}
		req, err := convert(&pb, pbconv.FromProtoCancelTaskRequest)
		if err != nil {
			return nil, err
		}
		view, err := s.ops.cancel(ctx, a, req)
		if err != nil {
			return nil, err
		}
		return view.AppendTask(head, viewOptions(nil)), nil
	case "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig":
		return nil, noPush()
	case "GetExtendedAgentCard":
		return nil, noExtendedCard()
	default:
		return nil, errMethodNotFound.saying("there is no method " + clip(rpc.Method))
	}
}

// rpcStream runs a method that streams.
func (s *Server) rpcStream(c echo.Context, by auth.Principal, rpc *rpcRequest) error {
	err := s.stream(c, by, append(rpcHead(rpc.ID), `"result":`...), []byte("}"), func(st *stream) error {
		return s.rpcEvents(c, by, rpc, st)
	})
	if err != nil {
		return s.rpcStreamError(c, rpc.ID, s.wire(c.Request().Context(), err, rpc.Method))
	}
	return nil
}

func (s *Server) rpcEvents(c echo.Context, by auth.Principal, rpc *rpcRequest, st *stream) error {
	if rpc.Method == "SendStreamingMessage" {
		req, err := s.decodeSend(c, by, rpc.Params)
		if err != nil {
			return err
		}
		return s.ops.stream(st.ctx, by, req, len(rpc.Params), st.open)
	}
	var pb a2apb.SubscribeToTaskRequest
	if err := s.unmarshal(c, by, rpc.Params, &pb); err != nil {
		return err
	}
	req, err := convert(&pb, pbconv.FromProtoSubscribeToTaskRequest)
	if err != nil {
		return err
	}
	return s.ops.subscribe(st.ctx, by, req, s.lastEventID(c.Request()), st.open)
}

// parseRPC reads the envelope of a request (JSON-RPC 2.0 §4). When it is wrong, r
// holds what could be read before, so that the answer names the id if there is one,
// and is of the kind that the method has.
func parseRPC(raw []byte, r *rpcRequest) error {
	members, err := strictjson.Members(raw, "id")
	for _, m := range members {
		if m.Name == "id" && isID(m.Value) {
			r.ID = m.Value
		}
		if m.Name == "method" && len(m.Value) <= maxWord {
			_ = json.Unmarshal(m.Value, &r.Method) // one that is no string is refused below
		}
	}
	if err != nil {
		var at *strictjson.Error
		if !errors.As(err, &at) || at.Syntax {
			r.ID = nil // null, as JSON-RPC 2.0 §5 has it for what cannot be parsed
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
			return errMethodNotFound.saying(fmt.Sprintf("there is no method with a name of %d bytes", len(m.Value)-2))
		case long && quoted: // refused below
		case long || json.Unmarshal(m.Value, text) != nil:
			return errInvalidRequest.saying(m.Name + " must be a string")
		}
	}
	switch {
	case version != "2.0":
		return errInvalidRequest.saying(`jsonrpc must be "2.0"`)
	case r.Method == "":
		return errInvalidRequest.saying("method is missing")
	case !named: // a notification: what it asks for would be done with nobody told
		return errInvalidRequest.saying("id is missing: every method of A2A has an answer")
	case len(params) > 0 && params[0] != '{':
		return errInvalidParams.saying("params must be an object")
	}
	r.Params = params
	return nil
}

// isID reports whether a value of JSON may be the id of a request.
func isID(value []byte) bool {
	return len(value) <= maxID && value[0] != '{' && value[0] != '[' && value[0] != 't' && value[0] != 'f'
}

// envelopeError tells what is no JSON from what is no request, and from parameters
// that are refused.
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

// rpcHead is the beginning of every answer, up to its result or error.
func rpcHead(id []byte) []byte {
	if len(id) == 0 {
		id = []byte("null")
	}
	b := make([]byte, 0, 1024) // most answers fit
	return append(append(append(b, `{"jsonrpc":"2.0","id":`...), id...), ',')
}

// rpcFault returns the answer that carries an error, whole.
func rpcFault(id []byte, e *wireError) []byte {
	e = e.limited()
	fault, err := json.Marshal(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    []any  `json:"data"`
	}{e.code, e.message, e.details()})
	if err != nil { // it is made of texts only
		fault = []byte(`{"code":-32603,"message":"internal error"}`)
	}
	return append(append(append(rpcHead(id), `"error":`...), fault...), '}')
}

// rpcError answers with an error. JSON-RPC has its own: HTTP's status is 200.
func (s *Server) rpcError(c echo.Context, id []byte, err error) error {
	w := s.wire(c.Request().Context(), err, "")
	w.retry(c.Response().Header())
	return s.answer(c, typeJSON, rpcFault(id, w))
}

// rpcStreamError answers a streaming method with an error: one frame of a stream,
// because the Go client reports nothing when it gets JSON there.
func (s *Server) rpcStreamError(c echo.Context, id []byte, err error) error {
	st := s.newStream(c, nil, nil)
	return st.end(st.open(engine.ID{})([]engine.Event{{Data: rpcFault(id, s.wire(c.Request().Context(), err, ""))}}))
}
