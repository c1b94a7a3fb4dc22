//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// client speaks JSON-RPC with one process.
type client struct {
	url  string
	http *http.Client
}

// rpcError is an answer that is an error.
type rpcError struct {
	Code    int
	Message string
}

func (e *rpcError) Error() string { return fmt.Sprintf("error %d: %s", e.Code, e.Message) }

// object is JSON to be written.
type object = map[string]any

// taskState is a task as an answer or an event shows it.
type taskState struct {
	ID        string
	Status    status
	Artifacts []artifact
}

type status struct {
	State   string
	Message struct{ Metadata map[string]json.RawMessage }
}

type artifact struct {
	ArtifactID string
	Parts      []struct{ Text string }
}

func (a *artifact) text() string {
	var b strings.Builder
	for _, p := range a.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// event is one of these.
type event struct {
	Task           *taskState
	StatusUpdate   *struct{ Status status }
	ArtifactUpdate *struct {
		Artifact artifact
		Append   bool
	}
}

// question is an approval that a status names.
type question struct {
	ID   string
	Kind string
	Call string
}

// questions returns those of a status, as our extension writes them.
func (s *status) questions() ([]question, error) {
	raw := s.Message.Metadata["urn:a2a-server:extension:tool-approval:v1"]
	if raw == nil {
		return nil, nil
	}
	var asked struct{ Approvals []question }
	err := json.Unmarshal(raw, &asked)
	return asked.Approvals, err
}

func (s *status) ended() bool {
	switch s.State {
	case "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED":
		return true
	}
	return false
}

// frame is an event of a stream, with what makes it one of a place in a log.
type frame struct {
	seq   uint64
	id    string
	data  string
	event event
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
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s: HTTP status %s", method, resp.Status)
	}
	return resp, nil
}

// call calls a method that answers at once.
func (c *client) call(ctx context.Context, method string, params object, result any) error {
	resp, err := c.post(ctx, method, params, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		Result json.RawMessage
		Error  *rpcError
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if answer.Error != nil {
		return fmt.Errorf("%s: %w", method, answer.Error)
	}
	return json.Unmarshal(answer.Result, result)
}

// stream calls a method that streams and hands over its frames until it ends, or take
// returns an error.
func (c *client) stream(ctx context.Context, method string, params object, lastEventID string, take func(frame) error) error {
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
		if err != nil && line == "" && err.Error() == "EOF" {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", method, err) // half a line was never said
		}
		line = strings.TrimSuffix(line, "\n")
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			f.id = id
			seq, _, _ := strings.Cut(id, "-")
			if f.seq, err = strconv.ParseUint(seq, 10, 64); err != nil {
				return fmt.Errorf("event id %q: %w", id, err)
			}
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			f.data = data
		}
		if line != "" || f.data == "" {
			continue
		}
		var answer struct {
			Result json.RawMessage
			Error  *rpcError
		}
		if err := json.Unmarshal([]byte(f.data), &answer); err != nil {
			return fmt.Errorf("%s: %q: %w", method, f.data, err)
		}
		if answer.Error != nil {
			return fmt.Errorf("%s: %w", method, answer.Error)
		}
		if err := json.Unmarshal(answer.Result, &f.event); err != nil {
			return fmt.Errorf("%s: %q: %w", method, f.data, err)
		}
		if err := take(f); err != nil {
			return err
		}
		f = frame{}
	}
}

// hasCode reports whether err is an answer with a code; -32004: there is nothing more to follow.
func hasCode(err error, code int) bool {
	var e *rpcError
	return errors.As(err, &e) && e.Code == code
}
