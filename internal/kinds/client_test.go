//go:build unix

package kinds_test

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
)

// status is what a client reads of a task's status.
type status struct {
	State   string `json:"state"`
	Message struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
	} `json:"message"`
}

// pending is an approval as the question shows it.
type pending struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"`
	Digest  string   `json:"digest"`
	Options []string `json:"options"`
}

func (s *status) pending() ([]pending, error) {
	raw, ok := s.Message.Metadata["urn:a2a-server:extension:tool-approval:v1"]
	if !ok {
		return nil, nil
	}
	var q struct {
		Approvals []pending `json:"approvals"`
	}
	err := json.Unmarshal(raw, &q)
	return q.Approvals, err
}

func (s *status) over() bool {
	switch s.State {
	case "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED":
		return true
	}
	return false
}

// errGone means that the server did not answer, so that it was killed.
var errGone = errors.New("the server is gone")

// client plays a scene to its end, over as many servers as that takes. Whatever it does
// twice is the same message.
func (w *world) client(ctx context.Context, s scene) error {
	gone := ""
	for {
		address, err := w.server(ctx, gone)
		if err != nil {
			return err
		}
		state, err := w.visit(ctx, address, s)
		if err == nil {
			w.mu.Lock()
			w.ends[s.name()] = state
			w.mu.Unlock()
			return nil
		}
		if ctx.Err() != nil || !errors.Is(err, errGone) {
			return err
		}
		gone = address
	}
}

// visit plays a scene with one server, and returns the state in which the task ended.
func (w *world) visit(ctx context.Context, address string, s scene) (string, error) {
	c := &conn{ctx: ctx, base: "http://" + address}
	var sent struct {
		Task struct {
			ID     string `json:"id"`
			Status status `json:"status"`
		} `json:"task"`
	}
	err := c.post("/message:send", map[string]any{
		"message": map[string]any{
			"messageId": s.name(), "role": "ROLE_USER",
			"parts": []any{map[string]any{"data": map[string]any{"tool": s.tool(), "args": s.args(asked)}}},
		},
		"configuration": map[string]any{"returnImmediately": true},
	}, &sent)
	if err != nil {
		return "", err
	}
	if sent.Task.Status.over() {
		return sent.Task.Status.State, nil
	}
	id := sent.Task.ID
	state := ""
	err = c.follow(id, func(now *status) error {
		if now.over() {
			state = now.State
			return nil
		}
		return w.act(c, id, s, now)
	})
	if state != "" {
		return state, nil
	}
	if !errors.Is(err, errEnded) {
		return "", err
	}
	var task struct {
		Status status `json:"status"`
	}
	if err := c.get("/tasks/"+id, &task); err != nil {
		return "", err
	}
	if !task.Status.over() {
		return "", fmt.Errorf("%w: its stream ended while the task was %s", errGone, task.Status.State)
	}
	return task.Status.State, nil
}

// act does what the client wants when its task has asked.
func (w *world) act(c *conn, id string, s scene, now *status) error {
	asked, err := now.pending()
	if err != nil || len(asked) == 0 {
		return err
	}
	for _, a := range asked {
		decision := map[string]any{"id": a.ID, "digest": a.Digest}
		switch {
		case a.Kind == "outcome":
			w.mu.Lock()
			w.unknown[s.name()] = true
			w.mu.Unlock()
			decision["decision"] = "reject"
		case s.wish == waits:
			continue
		case s.wish == cancels:
			return c.post("/tasks/"+id+":cancel", map[string]any{}, nil)
		case s.wish == edits:
			decision["decision"] = "edit"
			decision["arguments"] = s.args(edited)
		default:
			decision["decision"] = string(s.wish)
		}
		err := c.post("/message:send", map[string]any{
			"message": map[string]any{
				"messageId": "decision on " + a.ID, "role": "ROLE_USER", "taskId": id,
				"parts": []any{map[string]any{"data": map[string]any{"type": "approval_response", "decisions": []any{decision}}}},
			},
			"configuration": map[string]any{"returnImmediately": true},
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// conn speaks HTTP+JSON with one server.
type conn struct {
	ctx  context.Context //nolint:containedctx // a conn lives as long as its client
	base string
}

// errEnded means that there is nothing to follow.
var errEnded = errors.New("the task has ended")

func (c *conn) do(method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(c.ctx, method, c.base+path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	req.Close = true // so that nothing is left open when the test ends
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errGone, err)
	}
	return resp, nil
}

// read decodes an answer.
func read(resp *http.Response, v any) error {
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errGone, err)
	case resp.StatusCode == http.StatusServiceUnavailable:
		return fmt.Errorf("%w: %s", errGone, data)
	case resp.StatusCode >= 300:
		if strings.Contains(string(data), "TASK_STATE") || strings.Contains(string(data), "NOT_CANCELABLE") || strings.Contains(string(data), "UNSUPPORTED_OPERATION") {
			return fmt.Errorf("%w: %s", errEnded, data)
		}
		return fmt.Errorf("HTTP %d: %s", resp.StatusCode, data)
	case v == nil:
		return nil
	}
	return json.Unmarshal(data, v)
}

func (c *conn) post(path string, body, v any) error {
	resp, err := c.do(http.MethodPost, path, body)
	if err != nil {
		return err
	}
	return read(resp, v)
}

func (c *conn) get(path string, v any) error {
	resp, err := c.do(http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return read(resp, v)
}

// follow calls see with each status of a task, until it has ended or see fails.
func (c *conn) follow(id string, see func(*status) error) error {
	resp, err := c.do(http.MethodGet, "/tasks/"+id+":subscribe", nil)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return read(resp, nil)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				return errEnded
			}
			return fmt.Errorf("%w: %w", errGone, err)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var event struct {
			Task *struct {
				Status status `json:"status"`
			} `json:"task"`
			Update *struct {
				Status status `json:"status"`
			} `json:"statusUpdate"`
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return err
		}
		switch {
		case event.Task != nil:
			err = see(&event.Task.Status)
		case event.Update != nil:
			err = see(&event.Update.Status)
		}
		if err != nil {
			return err
		}
	}
}
