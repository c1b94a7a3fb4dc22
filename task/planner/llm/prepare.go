package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"a2a-server/task"
	"a2a-server/task/planner/llm/internal/chat"
	"a2a-server/tool"
)

// prepare completes a conversation with the instructions and the parameters of the request, which
// tools may change, and shortens it to a budget in bytes.
func (p *Planner) prepare(at *task.Progress, c *conversation, budget int) error {
	own := tool.ModelConfig{Model: p.config.Model, MaxTokens: p.config.MaxTokens}
	given := own
	r := tool.Request{SystemInstruction: p.config.Instructions, Config: &given}
	if has(at.Tools, func(t tool.Tool) bool { _, is := tool.As[tool.RequestProcessor](t); return is }) {
		c.shorten(budget - len(r.SystemInstruction))
		var err error
		if r.Messages, err = c.messages(); err != nil {
			return err
		}
	}
	if err := at.Prepare(&r); err != nil {
		return err
	}
	var err error
	if c.config, err = changed(own, r.Config); err != nil {
		return err
	}
	if text := r.SystemInstruction; text != "" {
		system := block{[]json.RawMessage{encode(chat.Message{Role: "system", Content: text})}, true /* fixed */}
		c.blocks = slices.Insert(c.blocks, 0, system)
	}
	c.shorten(budget)
	return nil
}

// messages returns a copy of the messages.
func (c *conversation) messages() ([]map[string]any, error) {
	var all []map[string]any
	for i := range c.blocks {
		for _, raw := range c.blocks[i].messages {
			var m map[string]any
			if err := json.Unmarshal(raw, &m); err != nil {
				return nil, fmt.Errorf("read a message of the conversation: %w", err)
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// changed returns the parameters of a request as tools have left them, if they are allowed.
func changed(own tool.ModelConfig, by any) (tool.ModelConfig, error) {
	c, is := by.(*tool.ModelConfig)
	if !is || c == nil {
		return own, errors.New("a tool has replaced the Config of the request to the model, which stays a *tool.ModelConfig")
	}
	if n := c.MaxTokens; n < 0 || own.MaxTokens > 0 && (n == 0 || n > own.MaxTokens) {
		return own, fmt.Errorf("a tool has set the limit of the model's answer to %d tokens: it may only lower the limit of %d (0: none)", n, own.MaxTokens)
	}
	if t := c.Temperature; t != nil && !(*t >= 0 && *t <= 2) { // not a number, too
		return own, fmt.Errorf("a tool has set the temperature of the model to %v: it is 0 to 2", *t)
	}
	own.MaxTokens, own.Temperature = c.MaxTokens, c.Temperature
	return own, nil
}
