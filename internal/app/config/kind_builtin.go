package config

import "a2a-server/internal/setting"

// KindBuiltin is the kind of tools that are built in.
const KindBuiltin Kind = "builtin"

func builtinKind() toolKind {
	return toolKind{
		name: KindBuiltin,
		keys: func(t *Tool) []key {
			return []key{
				required(one(string(KindBuiltin), "", setting.Choice(&t.Name, "a set of built-in tools", "demo", "ask_user", "request_approval", "finish", "escalate"), "demo has echo, stream and transfer_money; ask_user and request_approval let a planner ask a person; with finish and escalate a model ends its task.")),
			}
		},
		names: func(t *Tool) []string {
			if t.Name == "demo" {
				return []string{"echo", "stream", "transfer_money"}
			}
			return []string{t.Name}
		},
	}
}
