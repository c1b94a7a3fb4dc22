package config

import (
	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
)

// KindAsk is the kind of tools that have a call of the agent's own function approved.
const KindAsk Kind = "ask"

// AskTool has the values of keys that only this kind has.
type AskTool struct {
	Hint string // template
}

func askKind() toolKind {
	return toolKind{
		name: KindAsk,
		keys: func(t *Tool) []key {
			return []key{
				t.nameKey(KindAsk, "Name of a function that the calling agent runs itself, once its call is approved here."),
				t.descriptionKey(),
				one("hint", "", setting.Text(&Own[AskTool](t).Hint, "a text"), "Question to the approver, with {argument} or {/json/pointer}. Default: it lists the arguments."),
				t.argsKey(),
				t.optionalKey(),
			}
		},
		check: func(l *loader, t *Tool, n strictyaml.Node) { checkOptional(l, t.Optional, t.Args, n) },
	}
}
