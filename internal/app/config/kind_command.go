package config

import (
	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
)

// KindCommand is the kind of tools that run a program.
const KindCommand Kind = "command"

// CommandTool has the values of keys that only commands have.
type CommandTool struct {
	Stdin  string // template
	Output struct {
		Max int64  // bytes
		As  string // lines or bytes
	}
}

func commandKind() toolKind {
	return toolKind{
		name: KindCommand,
		keys: func(t *Tool) []key {
			own := Own[CommandTool](t)
			return []key{
				t.nameKey(KindCommand, "Name of a tool that runs a program."),
				t.descriptionKey(),
				required(shaped("run", "a list of texts", &t.Argv, argv, "Program and arguments, without a shell; {name} is an argument of the call, {{ a brace.")),
				t.argsKey(),
				t.optionalKey(),
				t.dirKey(),
				t.envKey(),
				one("stdin", "", setting.Text(&own.Stdin, "a text"), "Standard input, with placeholders."),
				t.timeoutKey(),
				one("output.max", "1MiB", setting.Size(&own.Output.Max, 1*kib, 16*mib, false), "Output that is kept."),
				one("output.as", "lines", setting.Choice(&own.Output.As, "a form of output", "lines", "bytes"), "Pieces in which output is published."),
				t.approveKey(),
			}
		},
		check: func(l *loader, t *Tool, n strictyaml.Node) {
			l.setDir(t, n)
			checkOptional(l, t.Optional, t.Args, n)
			l.template(n.Below("stdin"), Own[CommandTool](t).Stdin, "put the secret into env")
		},
	}
}
