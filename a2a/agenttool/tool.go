package agenttool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/visible"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

const (
	cardWait     = 3 * time.Second        // for a card
	cardSoonWait = 250 * time.Millisecond // of the caller who starts another attempt

	// The pauses between attempts double.
	firstCardPause = 3 * time.Second
	maxCardPause   = 2 * time.Minute
)

// Tools implements [tool.Toolset]. The error says that the card cannot be read now. All callers
// share an attempt to read it, and wait for the first. During a later attempt they get the error of
// the last one; only the caller that starts it waits for a moment.
func (s *Toolset) Tools(ctx agent.ReadonlyContext) ([]tool.Tool, error) {
	s.mu.Lock()
	var late <-chan time.Time
	failed := s.failed
	if s.tools == nil && s.reading == nil && !s.closed && !s.config.Now().Before(s.tryNext) {
		s.reading = make(chan struct{})
		s.readers.Go(s.read)
		if failed != nil {
			late, failed = time.After(cardSoonWait), nil
		}
	}
	tools, reading := s.tools, s.reading
	s.mu.Unlock()
	if tools != nil || failed != nil {
		return tools, failed
	}
	var done <-chan struct{}
	if ctx != nil {
		done = ctx.Done()
	}
	if reading != nil {
		select {
		case <-reading:
		case <-late:
		case <-done:
			return nil, fmt.Errorf("agent %s: %w", s.config.Name, context.Cause(ctx))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tools == nil && s.failed == nil {
		return nil, fmt.Errorf("agent %s: its card was not read: the toolset is closed", s.config.Name)
	}
	return s.tools, s.failed
}

// read makes an attempt to read the card.
func (s *Toolset) read() {
	within, cancel := context.WithTimeout(s.lifetime, cardWait)
	defer cancel()
	card, err := s.remote.card(within)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.reading)
	s.reading = nil
	if err != nil {
		s.pause = min(max(firstCardPause, 2*s.pause), maxCardPause)
		s.failed, s.tryNext = fmt.Errorf("agent %s: %w", s.config.Name, err), s.config.Now().Add(s.pause)
		return
	}
	description := visible.ClipText(card.Description, maxDescription)
	if description == "" {
		description = "Sends a message to the agent " + visible.Clip(card.Name, 80)
	}
	s.tools, s.failed = s.with(description), nil
}

// with returns the tools of the set.
func (s *Toolset) with(description string) []tool.Tool {
	agent := &remoteAgent{
		Config: s.config, remote: s.remote, description: description, identity: s.config.identity(),
		schema: map[string]any{
			"type": "object", "additionalProperties": false, "required": []any{"message"},
			"properties": map[string]any{"message": map[string]any{"type": "string", "minLength": 1, "description": "What the agent is told"}},
		},
		children: map[a2a.TaskID]string{}, away: map[a2a.TaskID]misses{},
	}
	return append([]tool.Tool{agent}, s.beside...)
}

// Close ends an attempt to read the card, and idle connections.
func (s *Toolset) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.readers.Wait()
	s.remote.http.CloseIdleConnections()
	return nil
}

// remoteAgent is the tool.
type remoteAgent struct {
	*Config

	remote      *remote
	description string
	identity    string
	schema      map[string]any

	mu       sync.Mutex
	children map[a2a.TaskID]string // calls that run here, by their children
	away     map[a2a.TaskID]misses // of children that cannot be looked at
}

var (
	_ tool.StreamingTool = (*remoteAgent)(nil)
	_ tool.Timed         = (*remoteAgent)(nil)
	_ tool.JobStopper    = (*remoteAgent)(nil)
	_ tool.Watcher       = (*remoteAgent)(nil)
	_ tool.Identified    = (*remoteAgent)(nil)
)

// Name implements [tool.Tool].
func (t *remoteAgent) Name() string { return t.Config.Name }

// Description implements [tool.Tool].
func (t *remoteAgent) Description() string { return t.description }

// IsLongRunning implements [tool.Tool].
func (t *remoteAgent) IsLongRunning() bool { return false }

// RequiresApproval implements [tool.Tool].
func (t *remoteAgent) RequiresApproval() bool { return t.Approve == nil || *t.Approve }

// Schema implements [tool.StreamingTool].
func (t *remoteAgent) Schema() map[string]any { return t.schema }

// Timeout implements [tool.Timed].
func (t *remoteAgent) Timeout() time.Duration { return t.Config.Timeout }

// Identity implements [tool.Identified].
func (t *remoteAgent) Identity() string { return t.identity }

// CallStreaming implements [tool.StreamingTool].
func (t *remoteAgent) CallStreaming(ctx tool.Context, args map[string]any) iter.Seq2[*tool.Result, error] {
	return func(yield func(*tool.Result, error) bool) {
		r := &run{remoteAgent: t, ctx: ctx, yield: yield}
		defer r.release()
		message, _ := args["message"].(string)
		result, err := r.call(message)
		if r.stopped {
			return
		}
		yield(result, err)
	}
}

// StopJob implements [tool.JobStopper]: it cancels the child of a call that was abandoned.
func (t *remoteAgent) StopJob(ctx tool.Context, raw json.RawMessage) error {
	var st state
	if err := json.Unmarshal(raw, &st); err != nil {
		return fmt.Errorf("agent %s: the state of the call cannot be read: %w", t.Name(), err)
	}
	r := &run{remoteAgent: t, ctx: ctx, state: st}
	c, err := t.remote.connect(ctx)
	if err != nil {
		return t.where(err)
	}
	r.client = c
	if st.Child == "" {
		found, err := r.find()
		if err != nil {
			return t.where(public(err)) // it is asked again
		}
		if found == "" {
			return nil // there is nothing known to cancel
		}
		r.state.Child = found
	}
	t.back(r.state.Child)
	_, err = c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: r.state.Child})
	if errors.Is(err, a2a.ErrTaskNotCancelable) || errors.Is(err, a2a.ErrTaskNotFound) || err == nil {
		return nil // it has ended
	}
	return t.where(err)
}

// where names the agent in an error.
func (t *remoteAgent) where(err error) error {
	return fmt.Errorf("agent %s: %w", t.Name(), err)
}

// claim notes that a call has a child. It returns an error if another call has the same child.
func (t *remoteAgent) claim(child a2a.TaskID, call string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other, taken := t.children[child]; taken && other != call {
		return errors.New("the agent answered with the task of another call")
	}
	t.children[child] = call
	return nil
}
