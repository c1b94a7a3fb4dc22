//go:build unix

package kinds_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"a2a-server/tool"
)

// kinds are the kinds of tools that are tested.
func kinds() []kind {
	return []kind{
		{name: "function", tool: "function"},
		{name: "streaming", tool: "streaming"},
		{name: "job", tool: "job"},
		// The question of a running tool is not one of its call: there is nothing to edit,
		// and no gate with a deadline.
		{name: "dynamic", tool: "dynamic", without: []wish{edits, waits}},
		{name: "command", tool: "command"},
		{name: "http", tool: "http"},
		{name: "openapi", tool: "openapi_pay", body: true},
		{name: "mcp-stdio", tool: "stdio_pay"},
		{name: "mcp-http", tool: "web_pay"},
	}
}

// toolsets are the tools that are written in Go: one of each kind without a deadline, and
// one with it. The others are in the configuration.
func (c *serverConfig) toolsets() ([]tool.Toolset, error) {
	var ours []tool.Tool
	for _, name := range []string{"function", "function_soon"} {
		ours = append(ours, &function{base{name, true}, c})
	}
	for _, name := range []string{"streaming", "streaming_soon"} {
		ours = append(ours, &streaming{base{name, true}, c})
	}
	for _, name := range []string{"job", "job_soon"} {
		ours = append(ours, &job{function{base{name, true}, c}})
	}
	ours = append(ours, &dynamic{function{base{"dynamic", false}, c}})
	return []tool.Toolset{tool.NewToolset("go", ours...)}, nil
}

// pay is what tools do that run in the server: a line in the ledger.
func (c *serverConfig) pay(args map[string]any) (payment, error) {
	scene, _ := args["scene"].(string)
	amount, _ := args["amount"].(float64)
	p := payment{Scene: scene, Amount: int(amount)}
	return p, enter(c.ledger(), p)
}

// enter writes a payment into a ledger.
func enter(ledger string, p payment) error {
	f, err := os.OpenFile(ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(p.line())
	return errors.Join(err, f.Close())
}

// schema is that of the arguments of every tool.
func schema() map[string]any {
	return map[string]any{
		"type": "object", "required": []any{"scene", "amount"}, "additionalProperties": false,
		"properties": map[string]any{"scene": map[string]any{"type": "string"}, "amount": map[string]any{"type": "integer"}},
	}
}

type base struct {
	name  string
	gated bool
}

func (b *base) Name() string           { return b.name }
func (b *base) Description() string    { return "Pays." }
func (b *base) IsLongRunning() bool    { return false }
func (b *base) RequiresApproval() bool { return b.gated }

type function struct {
	base
	c *serverConfig
}

func (f *function) Schema() map[string]any { return schema() }

func (f *function) Call(_ tool.Context, args map[string]any) (map[string]any, error) {
	p, err := f.c.pay(args)
	return map[string]any{"paid": p.Amount}, err
}

type streaming struct {
	base
	c *serverConfig
}

func (s *streaming) Schema() map[string]any { return schema() }

func (s *streaming) CallStreaming(_ tool.Context, args map[string]any) iter.Seq2[*tool.Result, error] {
	return func(yield func(*tool.Result, error) bool) {
		if !yield(&tool.Result{Content: "paying ", Streaming: true}, nil) {
			return
		}
		p, err := s.c.pay(args)
		if err != nil {
			yield(nil, err)
			return
		}
		for range 20 {
			if !yield(&tool.Result{Content: "paid ", Streaming: true}, nil) {
				return
			}
		}
		yield(&tool.Result{Content: fmt.Sprintf("paid %d", p.Amount)}, nil)
	}
}

// dynamic asks while it runs.
type dynamic struct{ function }

func (d *dynamic) Call(ctx tool.Context, args map[string]any) (map[string]any, error) {
	if err := tool.RequestConfirmation(ctx, "Pay?", args); err != nil {
		return nil, err
	}
	return d.function.Call(ctx, args)
}

// job is a tool whose call starts a job, which is done at the second poll.
type job struct{ function }

func (j *job) IsLongRunning() bool { return true }

// Call pays once: when it is entered again after a crash, the checkpoint says that it has.
func (j *job) Call(ctx tool.Context, args map[string]any) (map[string]any, error) {
	state := map[string]any{"job": args["scene"], "polls": 0}
	if _, ok := tool.Resumed(ctx); ok {
		return state, nil
	}
	if _, err := j.c.pay(args); err != nil {
		return nil, err
	}
	return state, tool.Checkpoint(ctx, json.RawMessage(`{"paid": true}`))
}

func (j *job) Polling() tool.Polling { return tool.Polling{First: 10 * time.Millisecond} }

func (j *job) Poll(_ tool.Context, state json.RawMessage) (*tool.Result, json.RawMessage, error) {
	var s struct {
		Job   string `json:"job"`
		Polls int    `json:"polls"`
	}
	if err := json.Unmarshal(state, &s); err != nil {
		return nil, nil, err
	}
	if s.Polls > 0 {
		return &tool.Result{Content: map[string]any{"done": s.Job}}, nil, nil
	}
	s.Polls++
	state, err := json.Marshal(s)
	return nil, state, err
}
