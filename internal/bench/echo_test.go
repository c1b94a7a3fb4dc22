package bench

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
)

// echoServer answers with made-up tasks: what HTTP, JSON and echo cost when there is
// neither a task nor a store.
type echoServer struct {
	body []byte // the answer to GetTask
	hub  *hub
}

func newEcho(body string) *service {
	s := &echoServer{body: []byte(body), hub: newHub()}
	e := echo.New()
	e.POST("/", s.serve)
	e.GET("/events", s.idle)
	return &service{handler: e, release: s.hub.open, close: func() error { return nil }}
}

// echoRequest is what of a request has to be decoded to answer it.
type echoRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Message struct {
			MessageID string `json:"messageId"`
			Role      string `json:"role"`
			Parts     []struct {
				Data struct {
					Tool string `json:"tool"`
					Args struct {
						say
						flow
					} `json:"args"`
				} `json:"data"`
			} `json:"parts"`
		} `json:"message"`
		Configuration struct {
			ReturnImmediately bool `json:"returnImmediately"`
		} `json:"configuration"`
	} `json:"params"`
}

type echoStatus struct {
	State     string `json:"state"`
	Timestamp string `json:"timestamp"`
}

type echoPart struct {
	Text string `json:"text,omitempty"`
	Data any    `json:"data,omitempty"`
}

type echoArtifact struct {
	ID    string     `json:"artifactId"`
	Name  string     `json:"name"`
	Parts []echoPart `json:"parts"`
}

type echoMessage struct {
	ID    string     `json:"messageId"`
	Role  string     `json:"role"`
	Parts []echoPart `json:"parts"`
}

type echoTask struct {
	ID        string         `json:"id"`
	ContextID string         `json:"contextId"`
	Status    echoStatus     `json:"status"`
	Artifacts []echoArtifact `json:"artifacts"`
	History   []echoMessage  `json:"history"`

	Metadata map[string]bool `json:"metadata"`
}

type echoAnswer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  struct {
		Task echoTask `json:"task"`
	} `json:"result"`
}

const (
	someTask    = "019a6e9d-0000-7000-8000-000000000000"
	someContext = "019a6e9d-0000-7000-8000-000000000001"
)

func (s *echoServer) serve(c echo.Context) error {
	var r echoRequest
	if err := json.NewDecoder(c.Request().Body).Decode(&r); err != nil {
		return err
	}
	var f flow
	m := r.Params.Message
	if len(m.Parts) == 1 {
		f = m.Parts[0].Data.Args.flow
	}
	switch r.Method {
	case "SendStreamingMessage":
		return s.stream(c, r.ID, f)
	case "SubscribeToTask":
		return s.follow(c, r.ID)
	case "GetTask":
		return c.JSONBlob(http.StatusOK, s.body)
	}
	if f.N > 0 {
		s.hub.announce(f)
	}
	a := echoAnswer{JSONRPC: "2.0", ID: r.ID}
	t := &a.Result.Task
	t.ID, t.ContextID = someTask, someContext
	t.Status = echoStatus{State: "TASK_STATE_COMPLETED", Timestamp: time.Now().UTC().Format("2006-01-02T15:04:05.000Z")}
	if len(m.Parts) == 1 {
		call := m.Parts[0].Data
		t.Metadata = map[string]bool{"https://google.github.io/adk-docs/a2a/a2a-extension/": true}
		t.Artifacts = []echoArtifact{{ID: "c1.1", Name: call.Tool, Parts: []echoPart{{Text: call.Args.Text}}}}
		t.History = []echoMessage{{ID: m.MessageID, Role: m.Role, Parts: []echoPart{{Data: call}}}}
	}
	return c.JSON(http.StatusOK, &a)
}

// frames writes the frames of a stream.
type frames struct {
	w       http.ResponseWriter
	control *http.ResponseController
	head    string
	buf     []byte
	seq     uint64
}

func newFrames(c echo.Context, id json.RawMessage) *frames {
	c.Response().Header().Set("Content-Type", "text/event-stream")
	c.Response().Header().Set("Cache-Control", "no-cache")
	c.Response().WriteHeader(http.StatusOK)
	w := c.Response().Unwrap()
	return &frames{w: w, control: http.NewResponseController(w), head: `{"jsonrpc":"2.0","id":` + string(id) + `,"result":`}
}

// add makes a frame of a result. flush writes what was added.
func (f *frames) add(result ...string) {
	f.seq++
	f.buf = append(strconv.AppendUint(append(f.buf, "id: "...), f.seq, 10), "-0000\ndata: "...)
	f.buf = append(f.buf, f.head...)
	for _, r := range result {
		f.buf = append(f.buf, r...)
	}
	f.buf = append(f.buf, "}\n\n"...)
}

func (f *frames) flush() error {
	if err := f.control.SetWriteDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	_, err := f.w.Write(f.buf)
	f.buf = f.buf[:0]
	return errors.Join(err, f.control.Flush())
}

const (
	ids         = `"contextId":"` + someContext + `","taskId":"` + someTask + `"`
	statusHead  = `{"statusUpdate":{` + ids + `,"status":{"state":"`
	statusTail  = `","timestamp":"2026-01-01T00:00:00.000Z"}}}`
	chunkHead   = `{"artifactUpdate":{"append":true,"artifact":{"artifactId":"c1.1","name":"stream","parts":[{"text":"`
	chunkTail   = `"}]},` + ids + `}}`
	taskAtStart = `{"task":{"id":"` + someTask + `","contextId":"` + someContext + `","status":{"state":"TASK_STATE_SUBMITTED","timestamp":"2026-01-01T00:00:00.000Z"}}}`
)

// stream answers with a task's frames, each flushed.
func (*echoServer) stream(c echo.Context, id json.RawMessage, f flow) error {
	w := newFrames(c, id)
	for _, frame := range [][]string{{taskAtStart}, {statusHead, "TASK_STATE_WORKING", statusTail}} {
		w.add(frame...)
		if err := w.flush(); err != nil {
			return err
		}
	}
	for i := range f.N {
		w.add(chunkHead, chunkText(i), chunkTail)
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.add(statusHead, "TASK_STATE_COMPLETED", statusTail)
	return w.flush()
}

// follow answers with the frames of the hub as they come.
func (s *echoServer) follow(c echo.Context, id json.RawMessage) error {
	w := newFrames(c, id)
	w.add(taskAtStart)
	turn := s.hub.turn()
	if err := w.flush(); err != nil {
		return err
	}
	for n := 0; n < turn.want; {
		at, err := turn.wait(c.Request().Context(), n)
		if err != nil {
			return err
		}
		for ; n < at; n++ {
			w.add(chunkHead, chunkText(n), chunkTail)
		}
		if n == turn.want {
			w.add(statusHead, "TASK_STATE_COMPLETED", statusTail)
		}
		if err := w.flush(); err != nil {
			return err
		}
	}
	return nil
}

// idle answers with a comment, and with events that never come.
func (s *echoServer) idle(c echo.Context) error {
	w := newFrames(c, nil)
	w.buf = append(w.buf, ": begin\n\n"...)
	if err := w.flush(); err != nil {
		return err
	}
	_, err := s.hub.turn().wait(c.Request().Context(), 0)
	return err
}

// run lets the chunks of a turn come at their pace.
func (t *turn) run(f flow) {
	if f.Pace == 0 {
		t.advance(f.N)
		return
	}
	for i := range paced(context.Background(), f) {
		t.advance(i + 1)
	}
}
