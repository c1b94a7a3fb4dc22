package task

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/auth"
	"a2a-server/internal/strictjson"
	"a2a-server/tool/agent"
)

// ReadonlyContext is the view of a task for predicates, gates, hooks, toolsets and planners.
// It is immutable.
type ReadonlyContext struct {
	context.Context //nolint:containedctx // it is one
	agentName       string
	owner           auth.Principal
	task, contextID string
	fence           uint64
	message         json.RawMessage // newest to the planner
	state           map[string]any
}

var _ agent.ReadonlyContext = (*ReadonlyContext)(nil)

// NewReadonlyContext returns the context of a caller of an agent, without a task.
func NewReadonlyContext(ctx context.Context, agentName string, by auth.Principal) *ReadonlyContext {
	return &ReadonlyContext{Context: ctx, agentName: agentName, owner: by}
}

// WithState returns c with the state of the context that a message without a task names. The
// state must not be changed any more.
func (c *ReadonlyContext) WithState(state map[string]any) *ReadonlyContext {
	with := *c
	with.state = state
	return &with
}

// InTask returns c in a task: with its ids, the fence of its turn and the newest message to its
// planner.
func (c *ReadonlyContext) InTask(id, contextID string, fence uint64, message json.RawMessage) *ReadonlyContext {
	in := *c
	in.task, in.contextID, in.fence, in.message = id, contextID, fence, message
	return &in
}

// Owner returns the owner of the task, with the roles of the newest message and the parties that acted in any.
func (c *ReadonlyContext) Owner() auth.Principal { return c.owner }

// AgentName implements [agent.ReadonlyContext].
func (c *ReadonlyContext) AgentName() string { return c.agentName }

// AppName implements [agent.ReadonlyContext].
func (c *ReadonlyContext) AppName() string { return c.agentName }

// SessionID implements [agent.ReadonlyContext].
func (c *ReadonlyContext) SessionID() string { return c.contextID }

// TaskID implements [agent.ReadonlyContext].
func (c *ReadonlyContext) TaskID() string { return c.task }

// Tenant implements [agent.ReadonlyContext].
func (c *ReadonlyContext) Tenant() string { return c.owner.Tenant }

// Roles implements [agent.ReadonlyContext].
func (c *ReadonlyContext) Roles() []string { return c.owner.Roles }

// Branch implements [agent.ReadonlyContext].
func (c *ReadonlyContext) Branch() string { return "" }

// ReadonlyState implements [agent.ReadonlyContext].
func (c *ReadonlyContext) ReadonlyState() agent.ReadonlyState { return stateView(c.state) }

// UserID implements [agent.ReadonlyContext].
func (c *ReadonlyContext) UserID() string {
	if c.owner.Method == "none" {
		return ""
	}
	return c.owner.Subject
}

// InvocationID identifies the turn; it is "" if there is no task yet.
func (c *ReadonlyContext) InvocationID() string {
	if c.task == "" {
		return ""
	}
	return c.task + "." + strconv.FormatUint(c.fence, 10)
}

// UserContent returns the newest message to the planner.
func (c *ReadonlyContext) UserContent() *agent.Content {
	var m a2a.Message
	if c.message == nil || json.Unmarshal(c.message, &m) != nil {
		return nil
	}
	content := &agent.Content{Role: "user"}
	for _, p := range m.Parts {
		content.Parts = append(content.Parts, ContentOf(p))
	}
	return content
}

// ContentOf converts a part of a message to the form that tools see.
func ContentOf(p *a2a.Part) agent.Part {
	return agent.Part{
		Text: p.Text(), Data: p.Data(), Raw: p.Raw(), URL: string(p.URL()),
		Filename: p.Filename, MediaType: p.MediaType, Metadata: p.Metadata,
	}
}

// stateView is the tools' state, which is shared: reading it returns copies.
type stateView map[string]any

func (s stateView) Get(key string) (any, bool) {
	v, ok := s[key]
	return strictjson.Clone(v), ok
}

func (s stateView) All() iter.Seq2[string, any] { return maps.All(strictjson.Clone(map[string]any(s))) }
