package a2aserver

import (
	"fmt"

	"a2a-server/a2a/agentcard"
	"a2a-server/internal/app/config"
	"a2a-server/internal/keyring"
)

// card returns the agent card of a configuration, apart from skills, security and the address
// of gRPC.
func (c *Config) card(conf *config.Config) (agentcard.Card, error) {
	card := agentcard.Card{
		Name: conf.Agent.Name, Description: conf.Agent.Description, Version: Version(), URL: conf.PublicURL,
		InputModes: conf.Agent.InputModes, SecurityForm: agentcard.SecurityForm(conf.Card.SecurityForm),
		Extensions: c.Extensions, RequiredExtensions: conf.Card.RequiredExtensions,
	}
	if card.Description == "" && c.Planner == nil && conf.Planner.Kind == "direct" {
		card.Description = `Runs tools, and asks a person before it runs those that need approval. Call a tool with a text, /tool key=value, or a data part, {"tool": "name", "args": {…}}; each skill has an example.`
	}
	if err := card.CheckExtensions(); err != nil {
		return agentcard.Card{}, fmt.Errorf("%w: card.required_extensions: %w", ErrConfig, err)
	}
	return card, nil
}

// cardKeys returns the keys that sign the agent card; nil: it is not signed.
func (s *Server) cardKeys() *keyring.Signer {
	if !s.config.Card.Sign {
		return nil
	}
	return s.keys.Signer(keyring.AgentCard)
}
