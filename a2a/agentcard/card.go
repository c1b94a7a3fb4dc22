package agentcard

import (
	"cmp"
	"net"
	"net/url"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// Path is where clients look for the card (§8.2).
const Path = "/.well-known/agent-card.json"

// Card is the operator's part of the agent card. Capabilities and interfaces are derived,
// so that the card never promises what the server refuses.
type Card struct {
	Name        string // Defaults to "a2a-server".
	Description string // Defaults to a sentence about tools and approvals.
	Version     string // of the agent. Defaults to "0".
	URL         string // base URL of the interfaces, without a trailing slash. Empty: the URL by which each client reaches the server.
	Skills      []Skill

	// GRPC is the host and port of gRPC; "": the server does not speak it. Without a host it
	// is that of the base URL.
	GRPC string

	// Security lists the ways to authenticate, of which a request has to use exactly one;
	// empty: requests need no credential, or the ways are unknown.
	Security     []SecurityScheme
	SecurityForm SecurityForm // Defaults to SecurityGo.

	Extensions         []Extension // of the program, in addition to the dialects of approvals
	RequiredExtensions []string    // URIs, without which a request is refused

	// InputModes are the media types that parts of messages may have, in lower case; a
	// message with a part of another type is refused. text/* matches every text type,
	// */* any type. Defaults to text/plain and application/json.
	InputModes []string

	pushes bool // the server sends push notifications
}

// Skill is an entry of the card's skills. Each tool has an entry.
type Skill struct {
	ID, Name, Description string
	Tags                  []string
	Examples              []string // messages that call the tool
}

// Build returns the card for a client that reaches the interfaces at base. extended says that
// GetExtendedAgentCard returns another card.
func (c Card) Build(base string, extended bool) *sdk.AgentCard {
	card := &sdk.AgentCard{
		Name:        cmp.Or(c.Name, "a2a-server"),
		Description: cmp.Or(c.Description, "Runs tools, and asks a person before it runs those that need approval."),
		Version:     cmp.Or(c.Version, "0"),
		SupportedInterfaces: []*sdk.AgentInterface{
			sdk.NewAgentInterface(base, sdk.TransportProtocolJSONRPC),
			sdk.NewAgentInterface(base, sdk.TransportProtocolHTTPJSON),
		},
		Capabilities:       sdk.AgentCapabilities{Streaming: true, PushNotifications: c.pushes, ExtendedAgentCard: extended, Extensions: c.extensions()},
		DefaultInputModes:  c.InputModes,
		DefaultOutputModes: []string{"text/plain", "application/json"},
	}
	if at := c.grpcAddress(base); at != "" {
		card.SupportedInterfaces = append(card.SupportedInterfaces, sdk.NewAgentInterface(at, sdk.TransportProtocolGRPC))
	}
	for _, s := range c.Skills {
		tags := s.Tags
		if len(tags) == 0 {
			tags = []string{"tool"}
		}
		card.Skills = append(card.Skills, sdk.AgentSkill{ID: s.ID, Name: cmp.Or(s.Name, s.ID), Description: cmp.Or(s.Description, s.ID), Tags: tags, Examples: s.Examples})
	}
	if len(card.Skills) == 0 { // a card has at least one skill (§4.4.1, §5.7)
		card.Skills = []sdk.AgentSkill{{ID: "tasks", Name: "tasks", Description: "Takes messages and keeps their tasks.", Tags: []string{"tasks"}}}
	}
	return card
}

// grpcAddress returns the host and port of gRPC for a client that reaches the other
// interfaces at base; "": there is none.
func (c *Card) grpcAddress(base string) string {
	host, port, err := net.SplitHostPort(c.GRPC)
	if err != nil || host != "" {
		return c.GRPC
	}
	if u, err := url.Parse(base); err == nil {
		host = u.Hostname()
	}
	return net.JoinHostPort(host, port)
}
