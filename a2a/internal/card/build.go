package card

import (
	"cmp"
	"net"
	"net/url"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2a/agentcard"
)

// Path is where clients look for the card (§8.2).
const Path = "/.well-known/agent-card.json"

// card is the operator's part of the card of a server.
type card struct {
	agentcard.Card
	pushes bool // the server sends push notifications
}

// build returns the card for a client that reaches the interfaces at base. extended says that
// GetExtendedAgentCard returns another card.
func (c *card) build(base string, extended bool) *sdk.AgentCard {
	made := &sdk.AgentCard{
		Name:        cmp.Or(c.Name, "a2a-server"),
		Description: cmp.Or(c.Description, "Runs tools, and asks a person before it runs those that need approval."),
		Version:     cmp.Or(c.Version, "0"),
		SupportedInterfaces: []*sdk.AgentInterface{
			sdk.NewAgentInterface(base, sdk.TransportProtocolJSONRPC),
			sdk.NewAgentInterface(base, sdk.TransportProtocolHTTPJSON),
		},
		Capabilities:       sdk.AgentCapabilities{Streaming: true, PushNotifications: c.pushes, ExtendedAgentCard: extended, Extensions: c.AllExtensions()},
		DefaultInputModes:  c.InputModes,
		DefaultOutputModes: []string{"text/plain", "application/json"},
	}
	if at := c.grpcAddress(base); at != "" {
		made.SupportedInterfaces = append(made.SupportedInterfaces, sdk.NewAgentInterface(at, sdk.TransportProtocolGRPC))
	}
	for _, s := range c.Skills {
		tags := s.Tags
		if len(tags) == 0 {
			tags = []string{"tool"}
		}
		made.Skills = append(made.Skills, sdk.AgentSkill{ID: s.ID, Name: cmp.Or(s.Name, s.ID), Description: cmp.Or(s.Description, s.ID), Tags: tags, Examples: s.Examples})
	}
	if len(made.Skills) == 0 { // a card has at least one skill (§4.4.1, §5.7)
		made.Skills = []sdk.AgentSkill{{ID: "tasks", Name: "tasks", Description: "Takes messages and keeps their tasks.", Tags: []string{"tasks"}}}
	}
	return made
}

// grpcAddress returns the host and port of gRPC for a client that reaches the other
// interfaces at base; "": there is none.
func (c *card) grpcAddress(base string) string {
	host, port, err := net.SplitHostPort(c.GRPC)
	if err != nil || host != "" {
		return c.GRPC
	}
	if u, err := url.Parse(base); err == nil {
		host = u.Hostname()
	}
	return net.JoinHostPort(host, port)
}
