package task

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strconv"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/internal/auth"
	"a2a-server/internal/strictjson"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/toolconfirmation"
)

// readonlyContext is what predicates, gates and toolsets see of a task.
type readonlyContext struct {
	context.Context //nolint:containedctx // it is one
	agentName       string
	owner           auth.Principal
	task, contextID string
	fence           uint64
	message         json.RawMessage // newest to the planner
	state           map[string]any
}

var _ agent.ReadonlyContext = (*readonlyContext)(nil)

func (c *readonlyContext) AgentName() string                  { return c.agentName }
func (c *readonlyContext) AppName() string                    { return c.agentName }
func (c *readonlyContext) SessionID() string                  { return c.contextID }
func (c *readonlyContext) TaskID() string                     { return c.task }
func (c *readonlyContext) Tenant() string                     { return c.owner.Tenant }
func (c *readonlyContext) Roles() []string                    { return c.owner.Roles }
func (c *readonlyContext) Branch() string                     { return "" }
func (c *readonlyContext) ReadonlyState() agent.ReadonlyState { return stateView(c.state) }

func (c *readonlyContext) UserID() string {
	if c.owner.Method == "none" {
		return ""
	}
	return c.owner.Subject
}

// InvocationID names the turn; there is none before the task.
func (c *readonlyContext) InvocationID() string {
	if c.task == "" {
		return ""
	}
	return c.task + "." + strconv.FormatUint(c.fence, 10)
}

func (c *readonlyContext) UserContent() *agent.Content {
	var m a2a.Message
	if c.message == nil || json.Unmarshal(c.message, &m) != nil {
		return nil
	}
	content := &agent.Content{Role: "user"}
	for _, p := range m.Parts {
		content.Parts = append(content.Parts, contentOf(p))
	}
	return content
}

type stateView map[string]any

func (s stateView) Get(key string) (any, bool)  { v, ok := s[key]; return v, ok }
func (s stateView) All() iter.Seq2[string, any] { return maps.All(s) }

// readonly returns the context of a task for whatever is asked about its calls. As
// several questions are asked of one fold, it is kept until the fold says something
// else; it is made anew then and never changed, because a tool may have kept it.
func (t *turn) readonly(f *fold) *readonlyContext {
	if c := t.asked; c != nil && t.askedOf == f && c.fence == f.header.Fence && t.askedAfter == len(f.Messages) && (c.state == nil) == (f.State == nil) {
		return c
	}
	c := t.e.readonly(t.ctx, f.Owner)
	c.task, c.contextID, c.state = f.view.TaskID(), f.view.ContextID(), f.State
	c.fence, c.message = f.header.Fence, f.toPlanner()
	t.asked, t.askedOf, t.askedAfter = c, f, len(f.Messages)
	return c
}

func (e *Engine) readonly(ctx context.Context, by auth.Principal) *readonlyContext {
	return &readonlyContext{Context: ctx, agentName: e.cfg.Agent, owner: by}
}

// toolContext is what a running tool sees. It implements tool.Context.
type toolContext struct {
	readonlyContext
	turn  *turn
	run   *run
	call  call
	mu    sync.Mutex
	delta map[string]any
	acts  agent.EventActions
	asked map[string]int // questions so far, by what they say; nil: none
	known map[string]decision
}

// decision is how a question of this call was decided before this run.
type decision struct{ approved bool }

var _ tool.Context = (*toolContext)(nil)

// toolContext builds the context of a run: with the newest decision on the call,
// and what a suspension left.
func (t *turn) toolContext(ctx context.Context, f *fold, c *call, r *run) *toolContext {
	x := &toolContext{turn: t, run: r, call: *c}
	c.decoded = nil // the tool may change them: they are its own now
	x.readonlyContext = *t.readonly(f)
	x.state = maps.Clone(f.State)
	var newest *toolconfirmation.ToolConfirmation
	if a := f.approval(c.Approval); a != nil && a.Resolution != nil {
		newest = confirmationOf(a)
	}
	var answers []tool.Answer
	var digest string
	if len(c.Answered) > 0 {
		_, digest, _ = t.e.bind(&x.readonlyContext, c) // "" when it fails, which is nobody's digest
	}
	fresh := len(c.Answered) - c.Fresh
	for i, ask := range c.Answered {
		a := f.approval(ask.Approval)
		if a == nil || a.Resolution == nil {
			continue
		}
		if a.AskKind == string(tool.AskConfirm) {
			if digest != a.Digest {
				continue // the tool has changed since: it has to ask again
			}
			if x.known == nil {
				x.known = map[string]decision{}
			}
			x.known[ask.Ask] = decision{approved: a.State == "approved"}
			newest = confirmationOf(a)
		}
		if i >= fresh {
			answers = append(answers, answerOf(a))
		}
	}
	ctx = tool.ContextWithConfirmer(ctx, x)
	if newest != nil {
		ctx = tool.ContextWithConfirmation(ctx, newest)
	}
	if c.Suspended > 0 {
		ctx = tool.ContextWithResumption(ctx, &tool.Resumption{State: c.ToolState, Answers: answers})
	}
	x.Context = ctx
	return x
}

func confirmationOf(a *pendingApproval) *toolconfirmation.ToolConfirmation {
	tc := &toolconfirmation.ToolConfirmation{Hint: a.Hint, Confirmed: a.State == "approved" || a.State == "edited"}
	if a.Resolution.Payload != nil {
		_ = json.Unmarshal(a.Resolution.Payload, &tc.Payload) // it was decoded when it came in
	}
	return tc
}

func answerOf(a *pendingApproval) tool.Answer {
	return tool.Answer{
		Ask:      tool.Ask{Kind: tool.AskKind(a.AskKind), Hint: a.Hint},
		State:    string(a.State),
		Response: a.Resolution.Response, Reason: a.Resolution.Reason, Payload: a.Resolution.Payload,
	}
}

func (x *toolContext) FunctionCallID() string       { return x.call.ID }
func (x *toolContext) Actions() *agent.EventActions { return &x.acts }
func (x *toolContext) State() agent.State           { return (*toolState)(x) }
func (x *toolContext) Artifacts() agent.Artifacts   { return (*toolArtifacts)(x) }
func (x *toolContext) Task() agent.CancellableTask  { return (*cancellable)(x) }

// SearchMemory answers that there is no memory: none is configured.
func (x *toolContext) SearchMemory(context.Context, string) (*agent.MemorySearchResponse, error) {
	return nil, errors.New("this agent has no memory to search")
}

// toolState is the state of the task as its tools share it. What is set becomes
// durable with the result of the call.
type toolState toolContext

func (s *toolState) Get(key string) (any, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.state[key]
	return v, ok
}

func (s *toolState) All() iter.Seq2[string, any] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.All(maps.Clone(s.state))
}

func (s *toolState) Set(key string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("state %q cannot be kept: %w", key, err)
	}
	var kept any
	if err := json.Unmarshal(data, &kept); err != nil {
		return fmt.Errorf("state %q cannot be kept: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.delta == nil {
		s.delta = map[string]any{}
	}
	if s.state == nil {
		s.state = map[string]any{}
	}
	s.state[key], s.delta[key] = kept, kept
	return nil
}

// cancellable lets a tool hear of the end of its task.
type cancellable toolContext

func (c *cancellable) ID() string { return c.task }

func (c *cancellable) OnCancel(_ string, cancel func(cause error)) (remove func()) {
	ctx := c.Context
	stop := context.AfterFunc(ctx, func() {
		defer func() { _ = recover() }() // it is the tool's own code
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			cancel(cause)
		}
	})
	return func() { stop() }
}

// ask is a question that a running tool has put.
type ask struct {
	id string // the same in every run of the call
	tool.Ask
}

// askID names a question of a call by what it says and, among equals, by its
// number: so it is found again when the call is entered again.
func (x *toolContext) askID(a tool.Ask) (string, error) {
	canonical, err := json.Marshal(struct {
		Kind    tool.AskKind   `json:"kind"`
		Hint    string         `json:"hint"`
		Payload any            `json:"payload,omitempty"`
		Schema  map[string]any `json:"schema,omitempty"`
	}{a.Kind, a.Hint, a.Payload, a.Schema})
	if err != nil {
		return "", fmt.Errorf("the payload of a question is no JSON: %w", err)
	}
	v, err := strictjson.Decode(canonical)
	if err != nil {
		return "", fmt.Errorf("the payload of a question is not allowed: %w", err)
	}
	if canonical, err = strictjson.Canonical(v); err != nil {
		return "", fmt.Errorf("the payload of a question is not allowed: %w", err)
	}
	sum := sha256.Sum256(canonical)
	name := hex.EncodeToString(sum[:8])
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.asked == nil {
		x.asked = map[string]int{}
	}
	x.asked[name]++
	return fmt.Sprintf("%s.%d", name, x.asked[name]), nil
}

// Confirm decides a question of the running tool from what is in the log. It
// implements tool.Confirmer.
func (x *toolContext) Confirm(_ context.Context, hint string, payload any) error {
	q := tool.Ask{Kind: tool.AskConfirm, Hint: hint, Payload: payload}
	id, err := x.askID(q)
	if err != nil {
		return err
	}
	known, ok := x.known[id]
	switch {
	case !ok:
		x.run.note(ask{id, q})
		return &tool.Suspension{Asks: []tool.Ask{q}}
	case known.approved:
		return nil
	default:
		return tool.ErrConfirmationRejected
	}
}

// note keeps a question that the tool has put, so that the call is suspended on it
// whatever the tool returns.
func (r *run) note(a ask) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asks = append(r.asks, a)
}

// changes returns what the tool has set of the state.
func (x *toolContext) changes() map[string]any {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.delta)
}
