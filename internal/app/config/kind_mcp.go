package config

import (
	"maps"
	"slices"
	"strings"

	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
)

// KindMCP is the kind of tools of an MCP server.
const KindMCP Kind = "mcp"

// MCPTool has the values of keys that only MCP servers have.
type MCPTool struct {
	Trust    []string
	Elicit   string // decline or ask
	Protocol string // newest or 2025-11-25
}

func mcpKind() toolKind {
	return toolKind{
		name:     KindMCP,
		prefixes: true,
		keys: func(t *Tool) []key {
			own := Own[MCPTool](t)
			return []key{
				t.nameKey(KindMCP, "Name of an MCP server, with which its tools begin: files_read_file."),
				shaped("command", "a list of texts", &t.Argv, argv, "Program of a server that speaks MCP over stdio. Write this or url."),
				one("url", "", filled(&t.URL, "a URL"), "Server that speaks MCP over streamable HTTP."),
				t.dirKey(),
				t.envKey(),
				t.headerKey(),
				t.networksKey(),
				t.onlyKey(),
				many("trust", "", &own.Trust, toolName, "Tools whose hints (read-only, idempotent) are believed: calls may be repeated after a crash."),
				shaped("pins", "digests by name", &t.Pins, pinsOf, "Reviewed digests, as 'a2a-server tools show' prints them. A changed tool needs approval; a tool without a pin is not offered."),
				one("elicit", "decline", setting.Choice(&own.Elicit, "an answer to questions of the server", "decline", "ask"), "With ask, people answer the server's forms."),
				one("protocol", "newest", setting.Choice(&own.Protocol, "a version of MCP to speak", "newest", "2025-11-25"), "Version of MCP. Servers that ask and wait (ctx.elicit) need 2025-11-25."),
				t.timeoutKey(),
				t.approveToolsKey(),
			}
		},
		check: func(l *loader, t *Tool, n strictyaml.Node) {
			if len(t.Argv) > 0 {
				l.setDir(t, n)
			}
			l.template(n.Below("url"), t.URL, onlyHeaders)
			checkServer(l, n)
			checkNames(l, t.Only, n, map[string][]string{
				"approve": t.Approve.Names, "trust": Own[MCPTool](t).Trust, "pins": slices.Sorted(maps.Keys(t.Pins)),
			})
		},
	}
}

// checkServer checks how an MCP server is reached.
func checkServer(l *loader, n strictyaml.Node) {
	in := n.Path() + "."
	process, remote := l.given(in+"command"), l.given(in+"url")
	switch {
	case process && remote:
		l.atKey(in+"url", "the server has a command, too; remove one of the two")
	case !process && !remote:
		n.Add("names neither command nor url; write command: [program, argument], or url: https://…")
	}
	useless, how := []string{"header", "networks"}, "a command; write url: if it is reached over the network"
	if remote {
		useless, how = []string{"dir", "env"}, "a URL; write command: if it is a program on this machine"
	}
	for _, name := range useless {
		if l.given(in+name) && process != remote {
			l.atKey(in+name, "has no effect, because the server is %s", how)
		}
	}
}

var aDigest = matching(`^[0-9A-Fa-f]{64}$`, "%s is not a digest; copy the 64 hexadecimal digits that 'a2a-server tools show' prints")

func pinsOf(_ *loader, n strictyaml.Node) map[string]string {
	return byName(n, "digests", "read_file: 3f2a…", anyName, func(n strictyaml.Node) string {
		return strings.ToLower(text(n, aDigest))
	})
}
