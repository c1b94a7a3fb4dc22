// Package a2aservertest provides servers for tests: in memory, without a fixed port, and
// with a clock that moves only when the test advances it.
//
//	s := a2aservertest.New(t, a2aserver.Config{Tools: []tool.Toolset{mine}})
//	asked := s.Send("/pay amount=5")       // input-required
//	s.Approve(asked)
//	done := s.Wait(asked.ID, a2a.TaskStateCompleted)
//	if s.Text(done) != "paid" { … }
//
// A helper that fails ends its test.
package a2aservertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	a2aserver "a2a-server"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/approval/dialect"
	"a2a-server/internal/testlog"
	"a2a-server/task/engine"
)

// patience turns a hang into a failure. It is the system's time, not the server's.
const patience = time.Minute

// Server is a server that runs until its test ends. Its helpers act as auth.Anonymous, or as
// whom [Server.As] says. It is safe for concurrent use.
type Server struct {
	*a2aserver.Server

	URL string // of the server, without a trailing slash

	t      testing.TB
	client *http.Client
	clock  *clock
	caller auth.Principal // of the helpers
}

// New runs a server with this Config. It is in memory, and has a data folder of the test, unless Config.Store or the
// settings Data and Store say otherwise; and it has no fixed port. Its clock starts at the current time. It logs to the test,
// unless Config.Log is set.
func New(t testing.TB, c a2aserver.Config) *Server {
	t.Helper()
	settings := *a2aserver.DefaultSettings()
	if c.Settings != nil {
		settings = *c.Settings
	}
	if usual := a2aserver.DefaultSettings(); settings.Data == usual.Data {
		settings.Data = t.TempDir()
		if settings.Store == usual.Store {
			settings.Store = "memory"
		}
	}
	s := &Server{t: t, caller: auth.Anonymous(), clock: &clock{now: time.Now().UTC().Truncate(time.Millisecond)}}
	c.Settings, c.NoListen, c.Now, c.Host = &settings, true, s.clock.Now, s.clock
	log := testlog.New(t)
	if reflect.ValueOf(c.Log).IsZero() {
		c.Log = zerolog.New(log)
	}
	var err error
	if s.Server, err = a2aserver.New(c); err != nil {
		t.Fatal(err)
	}
	serving := httptest.NewServer(s.Handler())
	s.URL, s.client = serving.URL, serving.Client()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.WithoutCancel(t.Context())) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		serving.CloseClientConnections()
		serving.Close()
	})
	for until := time.Now().Add(patience); !s.ready(); {
		if time.Now().After(until) {
			t.Fatal("the server did not become ready")
		}
	}
	return s
}

// Close stops the server as [a2aserver.Server.Close] does, but gives running calls no grace
// period. It is called when the test ends.
func (s *Server) Close() error {
	s.clock.end()
	return s.Server.Close()
}

func (s *Server) ready() bool {
	resp, err := s.do(s.t.Context(), http.MethodGet, "/readyz", nil)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode == http.StatusOK
}

// Text returns the text of a task's results: the text parts of its artifacts, with a line break
// between two parts unless the first ends in a break, so that lines that a tool publishes while it
// runs give the same text in chunks of any size. A result that is an object appears as JSON.
func (s *Server) Text(t *a2a.Task) string {
	var all strings.Builder
	begun := true // all is at the beginning of a line
	for _, artifact := range t.Artifacts {
		for _, part := range artifact.Parts {
			text := part.Text()
			if text == "" {
				continue
			}
			if !begun {
				all.WriteByte('\n')
			}
			all.WriteString(text)
			begun = strings.HasSuffix(text, "\n")
		}
	}
	return all.String()
}

// Advance moves the server's clock. Deadlines and timers that expire meanwhile run in the
// background: use [Server.Wait] to wait for their effect on a task.
func (s *Server) Advance(d time.Duration) { s.clock.advance(d) }

// Sleep moves the server's clock as a machine does that has slept: what expires meanwhile expires at the
// end, and nothing that follows from it begins before.
func (s *Server) Sleep(d time.Duration) { s.clock.sleep(d) }

// Now returns the server's time.
func (s *Server) Now() time.Time { return s.clock.Now() }

// Send sends a text as a new message and returns its task once it waits for a decision or for input, or
// has ended.
func (s *Server) Send(text string) *a2a.Task {
	s.t.Helper()
	return s.SendMessage(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text)))
}

// SendMessage sends a message and returns its task once it waits for any decision, or for input,
// or has ended.
func (s *Server) SendMessage(m *a2a.Message) *a2a.Task {
	s.t.Helper()
	var answer struct {
		Task    *a2a.Task    `json:"task"`
		Message *a2a.Message `json:"message"`
	}
	s.call(http.MethodPost, "/message:send", map[string]any{"message": m, "configuration": map[string]any{"returnImmediately": true}}, &answer)
	if answer.Task == nil {
		s.t.Fatalf("the answer is a message, want a task: %+v", answer.Message)
	}
	return s.wait(answer.Task.ID, "a task that waits or has ended", func(now *a2a.TaskStatus) bool {
		return now.State.Terminal() || now.State == a2a.TaskStateInputRequired || now.State == a2a.TaskStateAuthRequired || dialect.Waits(now.Message)
	})
}

// Get returns the current state of a task.
func (s *Server) Get(id a2a.TaskID) *a2a.Task {
	s.t.Helper()
	var t a2a.Task
	s.call(http.MethodGet, "/tasks/"+string(id), nil, &t)
	return &t
}

// Wait follows a task until it has the state want, and returns the task, which may have moved
// on since. It subscribes to the task and does not poll: while nothing happens, it sends
// nothing. It fails if the task ends in another state.
func (s *Server) Wait(id a2a.TaskID, want a2a.TaskState) *a2a.Task {
	s.t.Helper()
	return s.wait(id, want, func(now *a2a.TaskStatus) bool { return now.State == want })
}

// wait is Wait for any status.
func (s *Server) wait(id a2a.TaskID, want any, is func(*a2a.TaskStatus) bool) *a2a.Task {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for ctx.Err() == nil {
		if s.follow(ctx, id, is) {
			return s.Get(id)
		}
		got := s.Get(id)
		if is(&got.Status) {
			return got
		}
		if got.Status.State.Terminal() {
			s.t.Fatalf("task %s ended as %s, want %s: %+v", id, got.Status.State, want, got.Status.Message)
		}
	}
	s.t.Fatalf("task %s is %s after %v, want %s", id, s.Get(id).Status.State, patience, want)
	return nil
}

// follow reports whether a task has come to a status before its stream ended.
func (s *Server) follow(ctx context.Context, id a2a.TaskID, is func(*a2a.TaskStatus) bool) bool {
	s.t.Helper()
	resp, err := s.do(ctx, http.MethodPost, "/tasks/"+string(id)+":subscribe", nil)
	if err != nil {
		return false // Wait looks again
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return false // it has ended
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var event struct {
			Task         *a2a.Task                  `json:"task"`
			StatusUpdate *a2a.TaskStatusUpdateEvent `json:"statusUpdate"`
		}
		if !ok || json.Unmarshal([]byte(data), &event) != nil {
			continue
		}
		if event.Task != nil && is(&event.Task.Status) || event.StatusUpdate != nil && is(&event.StatusUpdate.Status) {
			return true
		}
	}
	return false
}

// Pending returns the pending approvals of a task, the oldest first.
func (s *Server) Pending(t *a2a.Task) []approval.Approval {
	s.t.Helper()
	var pending []approval.Approval
	for cursor := ""; ; {
		page, err := s.Approvals().List(s.t.Context(), s.caller, engine.ApprovalQuery{Task: string(t.ID), Cursor: cursor})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, a := range page.Approvals {
			if a.State == approval.Pending {
				pending = append(pending, a)
			}
		}
		if cursor = page.Next; cursor == "" {
			return pending
		}
	}
}

// Approve approves all pending approvals of a task, with their arguments unchanged.
func (s *Server) Approve(t *a2a.Task) {
	s.t.Helper()
	s.decide(t, approval.Decision{Type: approval.Approve})
}

// Reject rejects all pending approvals of a task.
func (s *Server) Reject(t *a2a.Task, reason string) {
	s.t.Helper()
	s.decide(t, approval.Decision{Type: approval.Reject, Reason: reason})
}

func (s *Server) decide(t *a2a.Task, answer approval.Decision) {
	s.t.Helper()
	pending := s.Pending(t)
	if len(pending) == 0 {
		s.t.Fatalf("task %s, which is %s, asks nothing", t.ID, s.Get(t.ID).Status.State)
	}
	for i := range pending {
		answer.ID, answer.Digest = pending[i].ID, pending[i].Digest
		if err := s.Approvals().Decide(s.t.Context(), s.caller, answer); err != nil {
			s.t.Fatal(err)
		}
	}
}

// call sends a request of HTTP+JSON and decodes its answer into the value at into.
func (s *Server) call(method, path string, body, into any) {
	s.t.Helper()
	resp, err := s.do(s.t.Context(), method, path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, raw)
	}
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
}

func (s *Server) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	if body == nil {
		raw = nil
	}
	r, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	caller, err := s.header()
	if err != nil {
		return nil, fmt.Errorf("encode the caller: %w", err)
	}
	if caller != "" {
		r.Header.Set(callerHeader, caller)
	}
	return s.client.Do(r)
}
