package a2aserver

import (
	"fmt"
	"net/netip"

	"a2a-server/internal/app/config"
	"a2a-server/internal/privatefile"
	"a2a-server/internal/toolset"
	"a2a-server/task"
	"a2a-server/task/planner/direct"
	"a2a-server/task/planner/llm"
)

// maxInstructions bounds the system text of a model, in bytes.
const maxInstructions = 256 << 10

// planner returns the given planner, or else that of the configuration. tools are those in force
// while the server runs, and own returns the addresses on which it listens.
func (c *Config) planner(conf *config.Config, tools *toolset.Current, own func() []netip.AddrPort) (task.Planner, error) {
	switch {
	case c.Planner != nil:
		return c.Planner, nil
	case conf.Planner.Kind == "llm":
		return c.model(conf, tools, own)
	}
	return direct.New(direct.Config{Approval: tools.Always}), nil
}

// model returns the planner that asks a language model. The text of its instructions is read now,
// key and headers for each request.
func (c *Config) model(conf *config.Config, tools *toolset.Current, own func() []netip.AddrPort) (task.Planner, error) {
	m := &conf.Planner.LLM
	of := llm.Config{
		URL: m.URL, Model: m.Model, Header: map[string]func() (string, error){}, Allow: m.Networks, Own: own,
		Reasoning: m.Reasoning,
		Words:     llm.Words{Rejected: m.Words.Rejected, Edited: m.Words.Edited, Feedback: m.Words.Feedback},
		Context:   m.Context, MaxTokens: m.MaxTokens, Steps: m.Steps, TaskTokens: m.TaskTokens, DayTokens: m.DayTokens, Timeout: conf.Limits.PlanTimeout, Log: c.Log,
	}
	if name := m.Key.Secret; name != "" {
		of.Key = func() (string, error) { return tools.Load().Secret(name) }
	}
	for name, template := range m.Header {
		of.Header[name] = func() (string, error) { return tools.Load().Fill(template) }
	}
	if m.Instructions != "" {
		err := privatefile.CheckWriters(m.Instructions) // as for the configuration: they are no secret
		var text []byte
		if err == nil {
			text, err = privatefile.ReadAny(m.Instructions, maxInstructions)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: planner.llm.instructions: %w", ErrConfig, err)
		}
		of.Instructions = string(text)
	}
	planner, err := llm.New(of)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return planner, nil
}

// closePlanner closes the connections of a planner.
func closePlanner(p task.Planner) {
	if p, is := p.(*llm.Planner); is {
		p.Close()
	}
}
