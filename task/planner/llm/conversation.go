package llm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/planner/llm/internal/chat"
	"a2a-server/tool"
)

// conversation is what a model is told.
type conversation struct {
	tools  []json.RawMessage
	names  map[string]string // of tools, by the names that the model knows
	blocks []block           // in their order
	config tool.ModelConfig  // of the request
}

// block is a part of a conversation that is told whole or not at all, such as a call with its
// result.
type block struct {
	messages []json.RawMessage
	fixed    bool // it is always told
}

func (b *block) size() (n int) {
	for _, m := range b.messages {
		n += len(m)
	}
	return n
}

func (c *conversation) say(fixed bool, messages ...json.RawMessage) {
	c.blocks = append(c.blocks, block{messages, fixed})
}

func fromUser(text string) json.RawMessage { return encode(chat.Message{Role: "user", Content: text}) }

// conversation returns the conversation of a task up to now.
func (p *Planner) conversation(ctx context.Context, at *task.Progress) (*conversation, error) {
	c := &conversation{names: map[string]string{}}
	for _, t := range at.Tools {
		d := tool.ToDefinition(t)
		name := wireName(d.Name)
		c.names[name], d.Name = d.Name, name
		raw, err := chat.EncodeTool(&d)
		if err != nil {
			return nil, fmt.Errorf("encode the request to the model: %w", err)
		}
		c.tools = append(c.tools, raw)
	}
	earlier, err := at.Earlier(ctx, p.config.Context) // a quarter of the budget, at 4 bytes a token
	if err != nil {
		return nil, err
	}
	var meanwhile []task.EndedTask
	if at.Meanwhile != nil {
		if meanwhile, err = at.Meanwhile(ctx); err != nil {
			return nil, err
		}
	}
	for _, e := range slices.Backward(earlier) {
		if slices.ContainsFunc(meanwhile, func(t task.EndedTask) bool { return t.ID == e.ID }) {
			c.say(false, fromUser(e.Asked)) // the answer follows
			continue
		}
		answer := encode(chat.Message{Role: "assistant", Content: e.Answered})
		if !e.Said && e.Answered != "" {
			answer = fromUser(cut("[Tools returned:]\n"+e.Answered, maxEarlier))
		}
		c.say(false, fromUser(e.Asked), answer)
	}
	if len(meanwhile) > 0 {
		c.say(false, fromUser(endedText(meanwhile)))
	}
	budget := p.budget(at.Steps)
	next, remark := 0, 0
	for i := 0; i <= len(at.Steps); i++ {
		for ; remark < len(at.Remarks) && at.Remarks[remark].After <= i; remark++ {
			c.say(false, fromUser(cut(textOf(at.Remarks[remark].Message), maxEarlier)))
		}
		for ; next < len(at.Messages) && at.Messages[next].After <= i; next++ {
			fixed := next == 0 || next == len(at.Messages)-1 // the request, and the newest reply
			c.say(fixed, fromUser(textOf(at.Messages[next].Message)))
		}
		if i < len(at.Steps) {
			if err := p.tell(c, &at.Steps[i], i+1, budget/2); err != nil {
				return nil, err
			}
		}
	}
	return c, p.prepare(at, c, budget)
}

// encode returns the request for the next answer, as JSON.
func (c *conversation) encode() (json.RawMessage, error) {
	r := &chat.Request{Model: c.config.Model, Tools: c.tools, MaxTokens: c.config.MaxTokens, Temperature: c.config.Temperature}
	for i := range c.blocks {
		r.Messages = append(r.Messages, c.blocks[i].messages...)
	}
	body, err := r.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode the request to the model: %w", err)
	}
	return body, nil
}

// tell adds a step: what people changed about its calls, the model's answer, the results, and what
// people said with approvals. The results have at most so many bytes.
func (p *Planner) tell(c *conversation, s *task.DoneStep, n, most int) error {
	is := stateOf(s)
	if len(s.Calls) == 0 {
		return nil
	}
	if len(is.Calls) != len(s.Calls) {
		is = foreign(s, n)
	}
	var before, results, after []json.RawMessage
	most = share(s.Calls, most)
	edited := map[string]json.RawMessage{} // arguments by the model's id
	for i := range s.Calls {
		r := &s.Calls[i]
		if r.Decision == approval.Edit {
			args := encode(r.Call.Args)
			edited[is.Calls[i]] = args
			before = append(before, fromUser(p.config.Words.edited(r, string(args))))
		}
		results = append(results, encode(chat.Message{Role: "tool", ToolCallID: is.Calls[i], Content: p.config.Words.result(r, most)}))
		if r.Decision == approval.Approve && r.Note != "" {
			after = append(after, fromUser(p.config.Words.feedback(r.Note)))
		}
	}
	answer, err := withArgs(is.Message, edited)
	if err != nil {
		return fmt.Errorf("read the answer of step %d: %w", n, err)
	}
	c.say(false, slices.Concat(before, []json.RawMessage{answer}, results, after)...)
	return nil
}

// withArgs returns an answer of the model with other arguments of some of its calls.
func withArgs(answer json.RawMessage, args map[string]json.RawMessage) (json.RawMessage, error) {
	if len(args) == 0 {
		return answer, nil
	}
	m := map[string]json.RawMessage{}
	var calls []map[string]json.RawMessage
	if err := json.Unmarshal(answer, &m); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(m["tool_calls"], &calls); err != nil {
		return nil, err
	}
	for _, c := range calls {
		var id string
		var function map[string]json.RawMessage
		if err := json.Unmarshal(c["id"], &id); err != nil {
			return nil, err
		}
		to, is := args[id]
		if !is {
			continue
		}
		if err := json.Unmarshal(c["function"], &function); err != nil {
			return nil, err
		}
		function["arguments"] = encode(string(to))
		c["function"] = encode(function)
	}
	m["tool_calls"] = encode(calls)
	return encode(m), nil
}

// encode returns the JSON of texts and of values that were JSON.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("encode a message: " + err.Error())
	}
	return raw
}

// foreign returns a state for a step of another planner, as if the model had wanted its calls.
func foreign(s *task.DoneStep, n int) state {
	var calls []any
	var is state
	for i := range s.Calls {
		c := &s.Calls[i].Call
		id := fmt.Sprintf("call_%d_%d", n, i+1)
		is.Calls = append(is.Calls, id)
		calls = append(calls, map[string]any{"id": id, "type": "function", "function": map[string]any{"name": wireName(c.Name), "arguments": string(encode(c.Args))}})
	}
	is.Message = encode(map[string]any{"role": "assistant", "content": "", "tool_calls": calls})
	return is
}

// textOf returns a message of the user as text. The model sees of a file that there is one.
func textOf(m *a2a.Message) string {
	var texts []string
	for _, part := range m.Parts {
		if part == nil {
			continue
		}
		switch p := part.Content.(type) {
		case a2a.Text:
			texts = append(texts, string(p))
		case a2a.Data:
			if raw, err := json.Marshal(p.Value); err == nil {
				texts = append(texts, string(raw))
			}
		default:
			texts = append(texts, fmt.Sprintf("[a file that is not shown: %s]", strings.TrimSpace(part.Filename+" "+part.MediaType)))
		}
	}
	return strings.Join(texts, "\n")
}

// wire matches the names of functions that every endpoint accepts.
var wire = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

var notWire = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// wireName returns the name by which the model knows a tool.
func wireName(name string) string {
	if wire.MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	plain := notWire.ReplaceAllString(name, "_")
	return plain[:min(len(plain), 55)] + "_" + hex.EncodeToString(sum[:4])
}
