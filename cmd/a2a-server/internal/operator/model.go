package operator

import (
	"fmt"

	a2aserver "a2a-server"

	"a2a-server/internal/privatefile"
	"a2a-server/task"
	"a2a-server/task/planner/llm"
)

// maxInstructions bounds the system text of a model, in bytes.
const maxInstructions = 256 << 10

// model returns the planner that asks a language model. The text of its instructions is read now,
// key and headers for each request.
func (o *Operator) model() (task.Planner, error) {
	m := &o.conf.Planner.LLM
	config := llm.Config{
		URL: m.URL, Model: m.Model, Header: map[string]func() (string, error){}, Allow: m.Networks, Own: o.own,
		Reasoning: m.Reasoning,
		Words:     llm.Words{Rejected: m.Words.Rejected, Edited: m.Words.Edited, Feedback: m.Words.Feedback},
		Context:   m.Context, MaxTokens: m.MaxTokens, Steps: m.Steps, TaskTokens: m.TaskTokens, DayTokens: m.DayTokens, Timeout: o.conf.Limits.PlanTimeout, Log: o.given.Log,
	}
	if name := m.Key.Secret; name != "" {
		config.Key = func() (string, error) { return o.secret(name) }
	}
	for name, template := range m.Header {
		config.Header[name] = func() (string, error) { return o.tools.Load().Fill(template) }
	}
	if m.Instructions != "" {
		err := privatefile.CheckWriters(m.Instructions) // as for the configuration: they are no secret
		var text []byte
		if err == nil {
			text, err = privatefile.ReadAny(m.Instructions, maxInstructions)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: planner.llm.instructions: %w", a2aserver.ErrConfig, err)
		}
		config.Instructions = string(text)
	}
	planner, err := llm.New(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", a2aserver.ErrConfig, err)
	}
	return planner, nil
}
