package a2a

import (
	"bytes"
	"encoding/json"
	"net/http"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
	"github.com/labstack/echo/v4"

	"a2a-server/internal/auth"
	"a2a-server/task"
)

// rpcRequest is a JSON-RPC 2.0 request. The id stays as it came: clients compare it
// to the letter.
type rpcRequest struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

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
	if err := parseRPC(raw, &rpc); err != nil {
		return s.rpcError(c, rpc.ID, err)
	}
	s.activate(c.Response(), c.Request())
	err = checkVersion(c.Request())
	switch rpc.Method {
	case "SendStreamingMessage", "SubscribeToTask":
		if err == nil {
			return s.rpcStream(c, by, &rpc)
		}
		return s.rpcStreamError(c, rpc.ID, err)
	}
	var answer []byte
	if err == nil {
		answer, err = s.rpcCall(c, by, &rpc)
	}
	if err != nil {
		return s.rpcError(c, rpc.ID, s.wire(c.Request().Context(), err, rpc.Method))
	}
	return s.answer(c, "application/json", append(answer, '}'))
}

// rpcCall runs a method that has one answer, and returns it without its end.
func (s *Server) rpcCall(c echo.Context, by auth.Principal, rpc *rpcRequest) ([]byte, error) {
	ctx := c.Request().Context()
	head := append(rpcHead(rpc.ID), `"result":`...)
	switch rpc.Method {
	case "SendMessage":
		req, err := decodeSend(rpc.Params)
		if err != nil {
			return nil, err
		}
		out, err := s.ops.send(ctx, by, req)
		if err != nil {
			return nil, err
		}
		return appendSent(head, out)
	case "GetTask":
		var pb a2apb.GetTaskRequest
		if err := unmarshal(rpc.Params, &pb); err != nil {
			return nil, err
		}
		req, err := convert(&pb, pbconv.FromProtoGetTaskRequest)
		if err != nil {
			return nil, err
		}
		view, options, err := s.ops.get(ctx, by, req)
		if err != nil {
			return nil, err
		}
		return view.AppendTask(head, options), nil
	case "ListTasks":
		var pb a2apb.ListTasksRequest
		if err := unmarshal(rpc.Params, &pb); err != nil {
			return nil, err
		}
		req, err := toListTasks(&pb)
		if err != nil {
			return nil, err
		}
		list, options, err := s.ops.list(ctx, by, req)
		if err != nil {
			return nil, err
		}
		return appendList(head, list, options)
	case "CancelTask":
		var pb a2apb.CancelTaskRequest
		if err := unmarshal(rpc.Params, &pb); err != nil {
			return nil, err
		}
		req, err := convert(&pb, pbconv.FromProtoCancelTaskRequest)
		if err != nil {
			return nil, err
		}
		view, err := s.ops.cancel(ctx, by, req)
		if err != nil {
			return nil, err
		}
		return view.AppendTask(head, viewOptions(nil)), nil
	case "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig":
		return nil, noPush()
	case "GetExtendedAgentCard":
		return nil, noExtendedCard()
	default:
		return nil, errMethodNotFound.saying("there is no method " + rpc.Method)
	}
}

// rpcStream runs a method that streams.
func (s *Server) rpcStream(c echo.Context, by auth.Principal, rpc *rpcRequest) error {
	st := s.newStream(c, append(rpcHead(rpc.ID), `"result":`...), []byte("}"))
	err := s.rpcEvents(c, by, rpc, st)
	if err = st.end(err); err != nil {
		return s.rpcStreamError(c, rpc.ID, s.wire(c.Request().Context(), err, rpc.Method))
	}
	return nil
}

func (s *Server) rpcEvents(c echo.Context, by auth.Principal, rpc *rpcRequest, st *stream) error {
	if rpc.Method == "SendStreamingMessage" {
		req, err := decodeSend(rpc.Params)
		if err != nil {
			return err
		}
		return s.ops.stream(st.ctx, by, req, st.open)
	}
	var pb a2apb.SubscribeToTaskRequest
	if err := unmarshal(rpc.Params, &pb); err != nil {
		return err
	}
	req, err := convert(&pb, pbconv.FromProtoSubscribeToTaskRequest)
	if err != nil {
		return err
	}
	return s.ops.subscribe(st.ctx, by, req, s.lastEventID(c.Request()), st.open)
}

func parseRPC(raw []byte, r *rpcRequest) error {
	if err := json.Unmarshal(raw, r); err != nil {
		if !json.Valid(raw) {
			return errParse.saying("the body is not JSON")
		}
		r.ID = nil
		return errInvalidRequest.saying("the body is not a JSON-RPC request: it must be one object with jsonrpc, id, method and params")
	}
	id := bytes.TrimSpace(r.ID)
	switch {
	case len(id) > 0 && (id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f'):
		r.ID = nil
		return errInvalidRequest.saying("id must be a string, a number or null")
	case r.JSONRPC != "2.0":
		return errInvalidRequest.saying(`jsonrpc must be "2.0"`)
	case r.Method == "":
		return errInvalidRequest.saying("method is missing")
	}
	return nil
}

// rpcHead is the beginning of every answer, up to its result or error.
func rpcHead(id json.RawMessage) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	b := make([]byte, 0, 1024) // most answers fit
	return append(append(append(b, `{"jsonrpc":"2.0","id":`...), id...), ',')
}

// rpcFault returns the answer that carries an error, whole.
func rpcFault(id json.RawMessage, e *wireError) []byte {
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
func (s *Server) rpcError(c echo.Context, id json.RawMessage, err error) error {
	return s.answer(c, "application/json", rpcFault(id, s.wire(c.Request().Context(), err, "")))
}

// rpcStreamError answers a streaming method with an error: one frame of a stream,
// because the Go client reports nothing when it gets JSON there.
func (s *Server) rpcStreamError(c echo.Context, id json.RawMessage, err error) error {
	st := s.newStream(c, nil, nil)
	return st.end(st.open(task.ID{})([]task.Event{{Data: rpcFault(id, s.wire(c.Request().Context(), err, ""))}}))
}

// answer writes a whole answer. One that a socket does not take at once must be
// read in time.
func (s *Server) answer(c echo.Context, contentType string, body []byte) error {
	if len(body) > largeAnswer {
		control := http.NewResponseController(c.Response().Unwrap())
		if err := control.SetWriteDeadline(s.deadline()); err == nil {
			defer func() { _ = control.SetWriteDeadline(noDeadline) }() // a connection that is gone is noticed by its next use
		}
	}
	return c.Blob(http.StatusOK, contentType, body)
}
