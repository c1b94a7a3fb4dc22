package call

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"a2a-server/internal/strictjson"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/internal/fold"
	"a2a-server/task/internal/output"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// toolContext is the context of a running tool. It implements tool.Context.
type toolContext struct {
	context.Context //nolint:containedctx // it is one
	*task.ReadonlyContext
	run *Run

	mu    sync.Mutex
	state map[string]any
	delta map[string]any
	acts  agent.EventActions
	saved map[string]int64 // newest versions of the artifacts that it has saved
	asked map[string]int   // number of questions so far, by content; nil: none
}

var _ tool.Context = (*toolContext)(nil)

// newToolContext builds the context of a run, with the proof that its arguments were
// checked, the newest decision on the call, and the resumption if it was suspended.
func newToolContext(ctx context.Context, r *Run) *toolContext {
	x := &toolContext{ReadonlyContext: r.entry.Context, run: r, state: r.entry.State, asked: maps.Clone(r.entry.Asked)}
	r.entry.Confirmer, r.entry.Checkpointer, r.entry.Reporter, r.entry.Asker = x, x, x, x
	x.Context = tool.ContextWithCallValues(ctx, &r.entry.CallValues)
	return x
}

func (x *toolContext) FunctionCallID() string       { return x.run.entry.Call }
func (x *toolContext) Actions() *agent.EventActions { return &x.acts }
func (x *toolContext) State() agent.State           { return (*toolState)(x) }
func (x *toolContext) Artifacts() agent.Artifacts   { return (*toolArtifacts)(x) }
func (x *toolContext) Task() agent.CancellableTask  { return (*cancellable)(x) }

// toolState is the state that the tools of a task share. Changes become durable with the
// result of the call.
type toolState toolContext

func (s *toolState) Get(key string) (any, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.state[key]
	return strictjson.Clone(v), ok // it may be in the delta, too
}

func (s *toolState) All() iter.Seq2[string, any] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.All(strictjson.Clone(s.state))
}

func (s *toolState) Set(key string, value any) error {
	if err := fold.CheckStateKey(key); err != nil {
		return err
	}
	var kept any
	data, err := json.Marshal(value)
	if err == nil {
		err = output.CheckDepth(data)
	}
	if err == nil {
		err = json.Unmarshal(data, &kept)
	}
	if err != nil {
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

// cancellable notifies a tool when its task ends.
type cancellable toolContext

func (c *cancellable) ID() string { return c.TaskID() }

// OnCancel registers cancel, which is called if the call is told to end before it has
// ended.
func (c *cancellable) OnCancel(_ string, cancel func(cause error)) (remove func()) {
	return c.run.onStop(cancel)
}

// askID identifies a question of a call by its content and, among equal questions, by its
// number, so that it is found again when the call runs again. A call that goes on from a state that it kept
// goes on with the numbers, too: a decision is for the question that was asked, and for no equal one after it.
func (x *toolContext) askID(a tool.Question) (string, error) {
	canonical, err := json.Marshal(struct {
		Kind    tool.QuestionKind `json:"kind"`
		Hint    string            `json:"hint"`
		Payload any               `json:"payload,omitempty"`
		Schema  map[string]any    `json:"schema,omitempty"`
	}{a.Kind, a.Hint, a.Payload, a.Schema})
	if err != nil {
		return "", fmt.Errorf("the payload of a question is not JSON: %w", err)
	}
	v, err := strictjson.Decode(canonical)
	if err == nil {
		canonical, err = strictjson.Canonical(v)
	}
	if err != nil {
		return "", fmt.Errorf("the payload of a question is not allowed: %w", err)
	}
	sum := sha256.Sum256(canonical)
	name := hex.EncodeToString(sum[:16])
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.asked == nil {
		x.asked = map[string]int{}
	}
	x.asked[name]++
	return fmt.Sprintf("%s.%d", name, x.asked[name]), nil
}

// Confirm answers a question of the running tool from the log. It implements
// tool.Confirmer.
func (x *toolContext) Confirm(_ context.Context, hint string, payload any) error {
	q := tool.Question{Kind: tool.AskConfirm, Hint: hint, Payload: payload}
	id, err := x.askID(q)
	if err != nil {
		return err
	}
	if payload != nil { // as it is now, whatever the tool does with it
		if q.Payload, err = encoded(payload); err != nil {
			return err
		}
	}
	approved, known := x.run.entry.Decided[id]
	switch {
	case !known:
		x.run.mu.Lock()
		x.run.asks = append(x.run.asks, rules.ToolQuestion{ID: id, Question: q}) // the call is suspended on it, whatever the tool returns
		x.run.mu.Unlock()
		return &tool.Suspension{Asks: []tool.Question{q}}
	case approved:
		return nil
	default:
		return tool.ErrConfirmationRejected
	}
}

// encoded returns a value of a question as its JSON.
func encoded(v any) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("a question of the tool is not JSON: %w", err)
	}
	return raw, nil
}

// frozen returns a copy of a suspension that later changes by the tool do not affect, and
// whose questions can be encoded. It calls the tool's own code, which may panic.
func frozen(s *tool.Suspension) (*tool.Suspension, error) {
	own := *s
	own.State, own.Asks, own.Waits = bytes.Clone(s.State), slices.Clone(s.Asks), slices.Clone(s.Waits)
	for i := range own.Asks {
		if err := freeze(&own.Asks[i]); err != nil {
			return nil, err
		}
	}
	return &own, nil
}

// freeze makes a question independent of later changes by the tool. It calls the tool's own
// code, which may panic.
func freeze(a *tool.Question) error {
	if a.Payload != nil {
		raw, err := encoded(a.Payload)
		if err != nil {
			return err
		}
		a.Payload = raw
	}
	if _, err := encoded(a.Schema); err != nil {
		return fmt.Errorf("the schema of the tool's question: %w", err)
	}
	return nil
}

// errNoMemory is the error of a search without [Config.Memory].
var errNoMemory = errors.New("this agent has no memory to search")

// SearchMemory implements tool.Context.
func (x *toolContext) SearchMemory(ctx context.Context, query string) (*agent.MemorySearchResponse, error) {
	return x.run.runs.search(ctx, *x.ReadonlyContext, query)
}

// SearchMemory implements tool.Context.
func (x *jobContext) SearchMemory(ctx context.Context, query string) (*agent.MemorySearchResponse, error) {
	return x.runs.search(ctx, x.ReadonlyContext, query)
}

// search searches the agent's memory for the caller that by identifies.
func (c *Runs) search(ctx context.Context, by task.ReadonlyContext, query string) (*agent.MemorySearchResponse, error) {
	if c.Memory == nil {
		return c.searchEarlier(ctx, &by, query)
	}
	by.Context = ctx
	found, err := c.Memory.Search(&by, query)
	if err == nil && found == nil {
		found = &agent.MemorySearchResponse{}
	}
	return found, err
}

// maxMemory bounds the earlier texts that a search reads, in bytes: the newest count.
const maxMemory = 1 << 20

// searchEarlier searches the ended tasks of the owner of a task in its context.
func (c *Runs) searchEarlier(ctx context.Context, by *task.ReadonlyContext, query string) (*agent.MemorySearchResponse, error) {
	if c.Rank == nil {
		return nil, errNoMemory
	}
	var entries []agent.MemoryResult
	size, owner := 0, by.Owner()
	err := c.Reader.Earlier(ctx, store.Owner(owner.Tenant, owner.Subject), by.SessionID(), by.TaskID(), func(f *fold.Fold) (more bool, _ error) {
		all, err := rules.Memories(f)
		if err != nil {
			return false, err
		}
		for i := range all {
			if size += len(all[i].Content); size > maxMemory {
				return false, nil
			}
			entries = append(entries, all[i])
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	found, err := c.Rank(ctx, query, entries)
	if err != nil {
		return nil, fmt.Errorf("search the earlier tasks: %w", err)
	}
	return &agent.MemorySearchResponse{Results: found}, nil
}
