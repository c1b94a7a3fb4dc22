package config

import (
	"cmp"

	"a2a-server/internal/setting"
)

// keys returns the keys of an entry of the kind of t, bound to t.
func (t *Tool) keys() []key {
	switch t.Kind {
	case KindCommand:
		return t.commandKeys()
	case KindMCP:
		return t.mcpKeys()
	case KindHTTP:
		return t.httpKeys()
	case KindOpenAPI:
		return t.openapiKeys()
	case KindBuiltin:
		return t.builtinKeys()
	}
	return nil
}

func (t *Tool) commandKeys() []key {
	return []key{
		t.named("Required. The name of the tool."),
		t.description(),
		shaped("run", "a list of texts", &t.Argv, argv,
			"Required. The program and its arguments. {name} is an argument of the call; it is always part of one argument of the program, and no shell is involved. {{ and }} are braces. A value that begins with - is refused where an argument would begin with it, because the program could take it for an option, unless it is one of an enum, or the argument comes after -- (for programs that know it). A secret is not allowed here; use env."),
		t.args(),
		t.optional(),
		one("dir", "", setting.Text(&t.Dir, "a folder", setting.NotEmpty("a folder, or remove the line"), setting.OneLine),
			"The working folder. A relative path is relative to the folder of the configuration file. Without it, that folder."),
		t.env(),
		one("stdin", "", setting.Text(&t.Stdin, "a text"),
			"What the program reads from its standard input, with placeholders as in run. Without it, nothing."),
		t.timeout(),
		one("output.max", "1MiB", setting.Size(&t.Output.Max, 1*kib, 16*mib, false),
			"How much of the output is kept. The rest is read and dropped, and the result says how much that was."),
		one("output.as", "lines", setting.Choice(&t.Output.As, "a form of output", "lines", "bytes"),
			"How the output is published while the program runs: in whole lines, or in whatever pieces it writes."),
		t.approve("true", "Whether every call has to be approved."),
		t.audience(),
	}
}

func (t *Tool) mcpKeys() []key {
	return []key{
		t.named("Required. The name of the server. Its tools are called by this name, _ and their own, such as files_read_file."),
		shaped("command", "a list of texts", &t.Argv, argv,
			"The program that is the server, and its arguments. It speaks MCP over stdio, is started when it is first needed, and stopped with all its children. Write this or url."),
		one("url", "", setting.Text(&t.URL, "a URL such as https://mcp.example.com/mcp", setting.NotEmpty("a URL"), setting.OneLine),
			"The URL of a server that speaks MCP over streamable HTTP. Write this or command."),
		one("dir", "", setting.Text(&t.Dir, "a folder", setting.NotEmpty("a folder, or remove the line"), setting.OneLine),
			"The working folder of command. A relative path is relative to the folder of the configuration file. Without it, that folder."),
		t.env(),
		t.header(),
		t.networks(),
		t.only("Required. The tools that are offered, as the server calls them. [\"*\"] stands for all of them, also for those that it adds later."),
		t.approve("all", "Which tools have to be approved for every call, as the server calls them."),
		many("trust", "", &t.Trust, toolName,
			"The tools whose hints are believed: a call of a tool that says it is read-only or idempotent may be repeated after a crash. What others say is only shown."),
		t.pins(),
		one("elicit", "decline", setting.Choice(&t.Elicit, "an answer to questions of the server", "decline", "ask"),
			"What becomes of questions that the server asks while a call runs. With ask, a person answers its forms; links that somebody should open are declined. A server that answers a call with its questions (MCP 2026-07-28) suspends the call, also across restarts; one that asks and waits (elicitation/create) holds it, for at most limits.held_time, and what becomes of that call is unknown if this server stops meanwhile. The calls of one caller run one at a time, and each caller whose call runs has a connection of its own, at most 16."),
		one("protocol", "newest", setting.Choice(&t.Protocol, "a version of MCP to speak", "newest", "2025-11-25"),
			"The version of MCP to speak: the newest that the server speaks, too, or 2025-11-25. Only in the latter may a server that speaks both ask and wait (elicitation/create, such as ctx.elicit in Python); its tools that do so fail with newest."),
		t.timeout(),
		t.audience(),
	}
}

func (t *Tool) httpKeys() []key {
	return []key{
		t.named("Required. The name of the tool."),
		t.description(),
		one("request", "", setting.Text(&t.Request, "a method and a URL, such as POST https://jira.example.com/issue/{project}", aRequest),
			"Required. {name} is an argument of the call, as part of a segment of the path or of a value of the query. Scheme and host are fixed. {{ and }} are braces."),
		t.header(),
		shaped("body", "any value", &t.Body, anyValue,
			"The JSON that is sent. A text that is only a placeholder becomes the argument with its type."),
		shaped("form", "texts by name", &t.Form, formOf,
			"The fields of a form that is sent, with placeholders. Write this or body."),
		t.args(),
		t.optional(),
		one("result", "", setting.Text(&t.Result, "a JSON Pointer such as /items/0", aPointer),
			"The part of the answer that is the result of a call. Without it, the whole answer."),
		t.networks(),
		t.timeout(),
		t.approve("true, or false for GET and HEAD", "Whether every call has to be approved."),
		t.audience(),
	}
}

func (t *Tool) openapiKeys() []key {
	return []key{
		t.named("Required. The name of the entry. Its tools are called by this name, _ and their operationId, such as pets_listPets."),
		one("spec", "", setting.Text(&t.Spec, "a file", setting.NotEmpty("a file"), setting.OneLine),
			"Required. The OpenAPI document, 3.0 or 3.1, in YAML or JSON. It must have no references to other documents. A relative path is relative to the folder of the configuration file."),
		one("server", "", setting.Text(&t.URL, "a URL such as https://pets.example.com/v1", setting.NotEmpty("a URL"), setting.OneLine),
			"Required. The base URL of the requests; the servers that the document names are not used."),
		t.only("Required. The operations that are offered, by their operationId. [\"*\"] stands for all of them. One that cannot be served is a problem that config check and tools list report; the others are offered."),
		t.header(),
		t.networks(),
		t.timeout(),
		t.approve("all but GET and HEAD", "Which operations have to be approved for every call, by their operationId."),
		t.audience(),
	}
}

func (t *Tool) builtinKeys() []key {
	return []key{
		one("builtin", "", setting.Choice(&t.Name, "a set of built-in tools", Builtins()...),
			"Required. demo has echo, stream and transfer_money, to try the server by; ask_user and request_approval let a planner ask a person."),
		t.audience(),
	}
}

// Builtins returns the names of the built-in tools.
func Builtins() []string { return []string{"demo", "ask_user", "request_approval"} }

// named returns the key that is called like the kind.
func (t *Tool) named(meaning string) key {
	return one(string(t.Kind), "", setting.Text(&t.Name, "a name of letters, digits, _ and -", aToolName), meaning)
}

func (t *Tool) description() key {
	return one("description", "", setting.Text(&t.Description, "a text", setting.NotEmpty("what the tool does")),
		"Required. What the tool does, for models and people.")
}

func (t *Tool) args() key {
	return shaped("args", "JSON Schemas by name", &t.Args, schemas,
		"The arguments of a call: a JSON Schema for each. All are required, except those under optional.")
}

func (t *Tool) optional() key {
	return many("optional", "", &t.Optional, argumentName,
		"The arguments that a call may leave out. Where such a placeholder is a whole argument of a program, a whole value of a query, or a whole member of a body, that is then left out, too.")
}

func (t *Tool) env() key {
	return shaped("env", "texts or {secret: NAME}, by name", &t.Env, environmentOf,
		"The environment of the program, in addition to PATH, HOME and LANG. It gets no other variable of the server.")
}

func (t *Tool) header() key {
	return shaped("header", "texts by name", &t.Header, headersOf,
		"Headers of the request. {secret:NAME} is a secret, as in Authorization: \"Bearer {secret:jira}\".")
}

func (t *Tool) networks() key {
	return many("networks", "", &t.Networks, setting.Network,
		"Addresses that are not public, and that the connection may go to, such as 127.0.0.1 or 10.0.0.0/8. Without it, only public ones.")
}

func (t *Tool) timeout() key {
	return one("timeout", "0s", setting.Duration(&t.Timeout, 0),
		"How long one call may take. 0s: limits.tool_timeout.")
}

func (t *Tool) only(meaning string) key {
	return many("only", "", &t.Only, toolName, meaning)
}

func (t *Tool) pins() key {
	return shaped("pins", "digests by name", &t.Pins, pinsOf,
		"The digests of the tools' definitions, as 'a2a-server tools show' prints them. A tool whose definition is another one has to be approved for every call. With pins, a tool without one is not offered.")
}

func (t *Tool) approve(fallback, meaning string) key {
	form, list := "true or false", t.Kind.prefixes()
	if list {
		form = "all, none or a list of names"
	}
	k := shaped("approve", form, &t.Approve, approveOf(list), meaning+" --approve-tools and gates can add to it.")
	k.fallback = fallback
	if asJSON := k.texts; list {
		k.texts = func() []string {
			words := map[string]string{"true": "all", "false": "none"}
			text := asJSON()[0]
			return []string{cmp.Or(words[text], text)}
		}
	}
	return k
}

func (t *Tool) audience() key {
	return shaped("for", "roles and callers, as in {roles: [ops], callers: [\"corp:alice\"]}", &t.For, audienceOf,
		"Who may use the tools, and see them: callers with one of the roles, and those whose subject is listed, in any tenant or, as acme/corp:alice, in one. Without it, everybody. It is wrong without authentication, because nobody can be told apart from anybody else.")
}

// approveKeys returns the keys of the patterns of tools.
func (c *Config) approveKeys() []key {
	return []key{
		many("approve_tools", "", &c.ApproveTools, pattern,
			"Tools that have to be approved for every call, as if each had a gate with action ask. * matches any text."),
		many("no_approve_tools", "", &c.NoApproveTools, pattern,
			"Tools that need not be approved although that is the default of their kind, as of a command. * matches any text. It does not change what anybody has asked for: not a gate, not approve: in an entry of tools, and not what a tool written in Go declares, such as transfer_money. Such a tool is still asked about, and the log says so."),
	}
}
