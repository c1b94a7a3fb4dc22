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
				t.timeoutKey(),
				t.approveKey(),
			}
		},
		check: func(l *loader, t *Tool, n strictyaml.Node) {
			own := Own[AgentTool](t)
			if own.Bearer == "" {
				return
			}
			if _, has := t.Header["Authorization"]; has {
				l.at(n.Path()+".auth.bearer.secret", "there is an Authorization under header, too; remove one of the two")
			}
			l.template(n.Below("auth").Below("bearer").Below("secret"), "{secret:"+own.Bearer+"}", "")
		},
	}
}
