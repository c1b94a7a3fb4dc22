//go:build linux

package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// askBound is how long a caller waits for an answer. The server lets a read wait for the
// disk for ten seconds.
const askBound = time.Minute

// client speaks JSON-RPC with one process.
type client struct {
	url  string
	http *http.Client
}

func newClient(url string) *client {
	return &client{url, &http.Client{Timeout: askBound, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// object is JSON to be written.
type object = map[string]any

// rpcError is an answer that is an error. Reason is that of the protocol.
type rpcError struct {
	Code    int
	Message string
	Data    []struct{ Reason string }
}

func (e *rpcError) Error() string {
	return fmt.Sprintf("error %d %s: %s", e.Code, e.reason(), e.Message)
}

func (e *rpcError) reason() string {
	if len(e.Data) == 0 {
		return ""
	}
	return e.Data[0].Reason
}

// silenceError is a request that nobody has answered to its end.
type silenceError struct{ cause error }

func (e *silenceError) Error() string { return "no answer: " + e.cause.Error() }
func (e *silenceError) Unwrap() error { return e.cause }

// reasonOf returns the reason of an answer that is an error, "" when err is none.
func reasonOf(err error) string {
	if e := (*rpcError)(nil); errors.As(err, &e) {
		return e.reason()
	}
	return ""
}

// expired reports whether an error says that a decision came after its deadline.
func expired(err error) bool {
	e := (*rpcError)(nil)
	return errors.As(err, &e) && len(e.Data) > 1 && e.Data[1].Reason == "APPROVAL_EXPIRED"
}

// unsaid reports whether an error tells the caller nothing about what it asked for: the
// server could not take it for now, or the connection broke.
func unsaid(err error) bool {
	silence := (*silenceError)(nil)
	return errors.As(err, &silence) || reasonOf(err) == "UNAVAILABLE"
}

// task is a task as answers and events show it.
type task struct {
	ID        string
	Status    status
	Artifacts []artifact
	Metadata  map[string]json.RawMessage
}

type status struct {
	State   string
	Message struct{ Metadata map[string]json.RawMessage }
}

type artifact struct {
	ArtifactID string
	Parts      []struct {
		Text string
		Data json.RawMessage
	}
}

// text is all that the artifacts of the task say; data of them as JSON.
func (t *task) text() string {
	var b strings.Builder
	for _, a := range t.Artifacts {
		for _, p := range a.Parts {
			b.WriteString(p.Text)
			b.Write(p.Data)
		}
	}
	return b.String()
}

func (s *status) ended() bool {
	switch s.State {
	case "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED":
		return true
	}
	return false
}

// question is an approval that a status asks for.
type question struct {
	ID, Kind    string
	RequestedAt time.Time
	ExpiresAt   time.Time // zero: never
}

func (s *status) questions() ([]question, error) {
	raw := s.Message.Metadata["urn:a2a-server:extension:tool-approval:v1"]
	if raw == nil {
		return nil, nil
	}
	var asked struct{ Approvals []question }
	err := json.Unmarshal(raw, &asked)
	return asked.Approvals, err
}

// frame is an event of a stream, as it came.
type frame struct{ id, data string }

// event is what a frame says.
type event struct {
	Task         *task
	StatusUpdate *struct{ Status status }
}

func (c *client) post(ctx context.Context, method string, params object, lastEventID string) (*http.Response, error) {
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	if lastEventID != "" {
		r.Header.Set("Last-Event-ID", lastEventID)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, &silenceError{err}
	}
	if resp.StatusCode == http.StatusServiceUnavailable {
		_ = resp.Body.Close()
		return nil, &silenceError{errors.New(resp.Status)}
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s: HTTP status %s", method, resp.Status)
	}
	return resp, nil
}

// answer is what comes back for a call, and in each frame of a stream.
type answer struct {
	Result json.RawMessage
	Error  *rpcError
}

func decode(method string, text []byte, result any) error {
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return fmt.Errorf("%s: %w: %.200s", method, err, text)
	}
	if a.Error != nil {
		return fmt.Errorf("%s: %w", method, a.Error)
	}
	return json.Unmarshal(a.Result, result)
}

// call calls a method that has one answer.
func (c *client) call(ctx context.Context, method string, params object, result any) error {
	resp, err := c.post(ctx, method, params, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return &silenceError{err}
	}
	return decode(method, text, result)
}

// stream calls a method that streams and hands its frames over until it ends. A frame
// that was cut off was never said.
func (c *client) stream(ctx context.Context, method string, params object, lastEventID string, take func(frame, *event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := c.post(ctx, method, params, lastEventID)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	read := bufio.NewReader(resp.Body)
	f := frame{}
	for {
		line, err := read.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return nil
		}
		if err != nil {
			return &silenceError{err}
		}
		line = strings.TrimSuffix(line, "\n")
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			f.id = id
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			f.data = data
		}
		if line != "" || f.data == "" {
			continue
		}
		var e event
		if err := decode(method, []byte(f.data), &e); err != nil {
			return err
		}
		if err := take(f, &e); err != nil {
			return err
		}
		f = frame{}
	}
}

func (c *client) get(ctx context.Context, id string) (t task, err error) {
	err = c.call(ctx, "GetTask", object{"id": id}, &t)
	return t, err
}
