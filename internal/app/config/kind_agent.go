package config

import (
	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
)

// KindAgent is the kind of tools that are remote agents.
const KindAgent Kind = "agent"

// AgentTool has the values of keys that only agents have.
type AgentTool struct {
	Card   string
	Bearer string // name of a secret
	Depth  int

	Transfer bool
}

func agentKind() toolKind {
	return toolKind{
		name: KindAgent,
		keys: func(t *Tool) []key {
			own := Own[AgentTool](t)
			return []key{
				t.nameKey(KindAgent, "Name of a tool that is a remote A2A agent."),
				one("description", "", setting.Text(&t.Description, "a text"), "Purpose of the agent. Default: that of the card."),
				required(one("card", "", setting.Text(&own.Card, "a URL", setting.NotEmpty("the URL of the agent's card"), setting.OneLine), "URL of the agent's card. The agent must have the same origin.")),
				one("auth.bearer.secret", "", setting.Text(&own.Bearer, "the name of a secret"), "Secret that is sent as bearer token."),
				t.headerKey(),
				t.networksKey(),
				one("depth", "3", setting.Count(&own.Depth, 1, 16), "Agents that may pass a message on, this one included."),
				one("transfer", "false", setting.Bool(&own.Transfer), "Adds the tool transfer_to_NAME, with which a model hands its task over to the agent."),
				t.timeoutKey(),
				t.approveKey(),
			}
		},
		names: func(t *Tool) []string { return agentNames(t.Name, Own[AgentTool](t).Transfer) },
		check: func(l *loader, t *Tool, n strictyaml.Node) {
			if own := Own[AgentTool](t); own.Bearer != "" {
				l.template(n.Below("auth.bearer.secret"), "{secret:"+own.Bearer+"}", "")
			}
		},
	}
}

// TransferPrefix begins the name of a tool that hands a task over to an agent.
const TransferPrefix = "transfer_to_"

// agentNames returns the names of the tools of an agent.
func agentNames(name string, transfer bool) []string {
	if transfer {
		return []string{name, TransferPrefix + name}
	}
	return []string{name}
}
