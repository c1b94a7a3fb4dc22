package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
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

// call is one request on its way through a binding.
type call struct {
	echo echo.Context
	ctx  context.Context //nolint:containedctx // of the request
	by   auth.Principal
	rpc  rpcRequest
}

// streaming reports whether a method answers with a stream, in which an error has
// to be a frame too: the Go client reports nothing when it gets JSON there.
func streaming(method string) bool {
	return method == "SendStreamingMessage" || method == "SubscribeToTask"
}

// jsonRPC serves POST at the base URL.
func (s *Server) jsonRPC(c echo.Context) error {
	raw, err := s.body(c)
	if err != nil {
		return err
	}
	by, err := s.cfg.Authenticate(c.Request())
	if err != nil || by.IsZero() {
		return echo.NewHTTPError(http.StatusUnauthorized)
	}
	x := &call{echo: c, ctx: c.Request().Context(), by: by}
	if wrong := parseRPC(raw, &x.rpc); wrong != nil {
		return s.rpcError(x, wrong)
	}
	if wrong := checkVersion(c.Request()); wrong != nil {
		return s.rpcError(x, wrong)
	}
	var result []byte
	switch x.rpc.Method {
	case "SendMessage":
		result, err = s.sendMessage(x)
	case "SendStreamingMessage":
		return s.rpcStream(x, s.sendStreaming)
	case "GetTask":
		result, err = s.getTask(x)
	case "ListTasks":
		result, err = s.listTasks(x)
	case "CancelTask":
		result, err = s.cancelTask(x)
	case "SubscribeToTask":
		return s.rpcStream(x, s.subscribe)
	default:
		err = errMethodNotFound.saying("there is no method " + x.rpc.Method)
	}
	if err != nil {
		return s.rpcError(x, s.wire(x.ctx, err, x.rpc.Method))
	}
	return c.JSONBlob(http.StatusOK, rpcResult(x.rpc.ID, result))
}

func parseRPC(raw []byte, r *rpcRequest) *wireError {
	if err := json.Unmarshal(raw, r); err != nil {
		if !json.Valid(raw) {
			return errParse.saying("the body is not JSON")
		}
		return errInvalidRequest.saying("the body is not a JSON-RPC request: " + err.Error())
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
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	return append(b, ',')
}

func rpcResult(id json.RawMessage, result []byte) []byte {
	b := append(rpcHead(id), `"result":`...)
	return append(append(b, result...), '}')
}

// rpcFault returns the answer that carries an error.
func (s *Server) rpcFault(id json.RawMessage, e *wireError) []byte {
	fault, err := json.Marshal(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    []any  `json:"data"`
	}{e.code, e.message, e.details(s.cfg.Now())})
	if err != nil {
		fault = []byte(`{"code":-32603,"message":"internal error"}`)
	}
	b := append(rpcHead(id), `"error":`...)
	return append(append(b, fault...), '}')
}

// rpcError answers with an error: HTTP 200, as JSON, or as the one frame of a
// stream.
func (s *Server) rpcError(x *call, e *wireError) error {
	fault := s.rpcFault(x.rpc.ID, e)
	if !streaming(x.rpc.Method) {
		return x.echo.JSONBlob(http.StatusOK, fault)
	}
	st := s.newStream(x.echo, task.ID{}, nil, nil)
	st.frame(0, fault)
	return st.flush()
}

// rpcStream serves a method that streams. What fails before the first frame is an
// error; after that the stream just ends, and the client resumes by id.
func (s *Server) rpcStream(x *call, serve func(*call, func(task.ID) *stream) error) error {
	var st *stream
	err := serve(x, func(id task.ID) *stream {
		st = s.newStream(x.echo, id, append(rpcHead(x.rpc.ID), `"result":`...), []byte("}"))
		return st
	})
	if err != nil && (st == nil || !st.started) {
		return s.rpcError(x, s.wire(x.ctx, err, x.rpc.Method))
	}
	return nil
}

// viewOptions are how much of a task an answer holds. nil: all.
func viewOptions(historyLength *int) task.ViewOptions {
	if historyLength == nil {
		return task.ViewOptions{HistoryLength: -1}
	}
	return task.ViewOptions{HistoryLength: *historyLength}
}

func (s *Server) sendMessage(x *call) ([]byte, error) {
	req, err := decodeSend(x.rpc.Params)
	if err != nil {
		return nil, err
	}
	sent, err := s.engine.Send(x.ctx, task.Send{By: x.by, Message: req.Message})
	if err != nil {
		return nil, err
	}
	if sent.Direct != nil {
		return direct(sent.Direct)
	}
	config := req.Config
	if config == nil {
		config = &sdk.SendMessageConfig{}
	}
	wait := s.engine.Await
	if config.ReturnImmediately {
		wait = s.engine.Accepted
	}
	view, err := wait(x.ctx, sent)
	if err != nil {
		return nil, err
	}
	options := viewOptions(config.HistoryLength)
	return append(view.AppendTask([]byte(`{"task":`), options), '}'), nil
}

// direct returns the StreamResponse of a message that is the whole answer.
func direct(m *sdk.Message) ([]byte, error) {
	return json.Marshal(sdk.StreamResponse{Event: m})
}

func (s *Server) sendStreaming(x *call, open func(task.ID) *stream) error {
	req, err := decodeSend(x.rpc.Params)
	if err != nil {
		return err
	}
	sent, err := s.engine.Send(x.ctx, task.Send{By: x.by, Message: req.Message})
	if err != nil {
		return err
	}
	st := open(sent.Task)
	if sent.Direct != nil {
		data, err := direct(sent.Direct)
		if err != nil {
			return err
		}
		st.frame(0, data)
		return st.flush()
	}
	return s.follow(x.ctx, st, func(ctx context.Context, yield func([]task.Event) error) error {
		return s.engine.Stream(ctx, x.by, sent, func(first *task.Snapshot) error {
			if first == nil {
				return nil
			}
			return yield([]task.Event{snapshotEvent(first)})
		}, yield)
	})
}

// snapshotEvent is a task as the first event of a stream. Its id is that of the
// last event folded in.
func snapshotEvent(first *task.Snapshot) task.Event {
	data := append(first.View.AppendTask([]byte(`{"task":`), viewOptions(nil)), '}')
	return task.Event{Seq: first.Header.Seq, Public: true, Data: data}
}

func (s *Server) getTask(x *call) ([]byte, error) {
	var pb a2apb.GetTaskRequest
	if err := unmarshal(x.rpc.Params, &pb); err != nil {
		return nil, err
	}
	req, err := pbconv.FromProtoGetTaskRequest(&pb)
	if err != nil {
		return nil, errInvalidParams.saying(err.Error())
	}
	if req.ID == "" {
		return nil, invalidField("id", "is required")
	}
	if req.HistoryLength != nil && *req.HistoryLength < 0 {
		return nil, invalidField("historyLength", "must not be negative")
	}
	view, err := s.engine.Get(x.ctx, x.by, string(req.ID))
	if err != nil {
		return nil, err
	}
	return view.AppendTask(nil, viewOptions(req.HistoryLength)), nil
}

// listTasks answers a page of the caller's tasks. Everything that ListTasksResponse
// requires is always there, as §3.1.4 asks: no list is null, no token left out.
func (s *Server) listTasks(x *call) ([]byte, error) {
	var pb a2apb.ListTasksRequest
	if err := unmarshal(x.rpc.Params, &pb); err != nil {
		return nil, err
	}
	req, err := pbconv.FromProtoListTasksRequest(&pb)
	if err != nil {
		return nil, errInvalidParams.saying(err.Error())
	}
	q := task.Query{Context: req.ContextID, State: req.Status, PageSize: req.PageSize, Cursor: req.PageToken}
	if pb.PageSize != nil && pb.GetPageSize() == 0 {
		return nil, invalidField("pageSize", "is 0; 1 to 100 are allowed")
	}
	if req.StatusTimestampAfter != nil {
		q.Since = *req.StatusTimestampAfter
	}
	if req.HistoryLength != nil && *req.HistoryLength < 0 {
		return nil, invalidField("historyLength", "must not be negative")
	}
	list, err := s.engine.List(x.ctx, x.by, q)
	if err != nil {
		return nil, err
	}
	options := viewOptions(req.HistoryLength)
	options.NoArtifacts = !req.IncludeArtifacts
	b := []byte(`{"tasks":[`)
	for i, v := range list.Tasks {
		if i > 0 {
			b = append(b, ',')
		}
		b = v.AppendTask(b, options)
	}
	token, err := json.Marshal(list.NextCursor)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(b, `],"totalSize":%d,"pageSize":%d,"nextPageToken":%s}`, list.Total, list.PageSize, token), nil
}

// taskID reads the id that a method names its task by.
func taskID(id string) (task.ID, error) {
	if id == "" {
		return task.ID{}, invalidField("id", "is required")
	}
	parsed, ok := task.ParseID(id)
	if !ok {
		return task.ID{}, task.ErrTaskNotFound
	}
	return parsed, nil
}

func (s *Server) cancelTask(x *call) ([]byte, error) {
	var pb a2apb.CancelTaskRequest
	if err := unmarshal(x.rpc.Params, &pb); err != nil {
		return nil, err
	}
	id, err := taskID(pb.GetId())
	if err != nil {
		return nil, err
	}
	if err := s.engine.Cancel(x.ctx, x.by, id); err != nil {
		return nil, err
	}
	view, err := s.engine.Get(x.ctx, x.by, pb.GetId())
	if err != nil {
		return nil, err
	}
	return view.AppendTask(nil, viewOptions(nil)), nil
}

func (s *Server) subscribe(x *call, open func(task.ID) *stream) error {
	var pb a2apb.SubscribeToTaskRequest
	if err := unmarshal(x.rpc.Params, &pb); err != nil {
		return err
	}
	id, err := taskID(pb.GetId())
	if err != nil {
		return err
	}
	first, err := s.engine.Snapshot(x.ctx, x.by, id)
	if err != nil {
		return err
	}
	n, resumes := s.lastEventID(x.echo.Request(), id)
	if resumes = resumes && n <= first.Header.Seq; !resumes {
		if first.View.State().Terminal() {
			return errUnsupported.saying("the task has ended: get it instead, or resume a stream of it with Last-Event-ID")
		}
		n = first.Header.Seq
	}
	st := open(id)
	return s.follow(x.ctx, st, func(ctx context.Context, yield func([]task.Event) error) error {
		if !resumes {
			if err := yield([]task.Event{snapshotEvent(first)}); err != nil {
				return err
			}
		}
		return s.engine.Follow(ctx, x.by, id, n, task.UntilEnd, yield)
	})
}
