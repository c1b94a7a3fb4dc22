package config

import (
	"fmt"
	"strings"

	"a2a-server/approval"
	"a2a-server/internal/setting"
)

const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30

// keys returns every key, bound to its variable in c, in the order of the reference and of
// [Show]. Keys of one section are next to each other.
func (c *Config) keys() []key {
	keys := []key{
		one("listen", "127.0.0.1:8080", setting.Listen(&c.Listen),
			"The address that the server listens on. Port 0 picks a free one. An address that other machines can reach needs authentication (auth), or insecure_no_auth."),
		one("public_url", "", setting.BaseURL(&c.PublicURL),
			"The URL at which clients reach the server, including any path that a proxy in front adds. It is the base of the URLs in the agent card. Without it the card uses the URL of the request for it: http:// and the host, if that is one of the names under allowed_hosts, or else the address that the request came to; see trusted_proxies for https and other names. A URL whose host is not this machine needs authentication (auth), or insecure_no_auth."),
		many("allowed_hosts", "", &c.AllowedHosts, setting.Host,
			"Host names that a request may use, in addition to localhost, 127.0.0.1, [::1], the address itself and the host of public_url. On a loopback address everything else is refused, because it may come from a web page whose own name resolves to this machine (DNS rebinding). On any other address everything else is refused once this list has an entry; while it is empty, requests may use any name, and the agent card repeats none."),
		many("allowed_origins", "", &c.AllowedOrigins, setting.Origin,
			"Origins whose web pages may call the server: send messages, and so decide, and read. A request with any other Origin is refused."),
		many("read_origins", "", &c.ReadOrigins, setting.Origin,
			"Origins whose web pages may only read: GET and HEAD of HTTP+JSON, which cannot change anything."),
		many("trusted_proxies", "", &c.TrustedProxies, setting.Network,
			"Addresses of proxies whose X-Forwarded-Host and X-Forwarded-Proto are trusted: the host, with its port, is checked against allowed_hosts and used in the agent card, as is http or https. The proxy must set both headers itself, not pass on what clients send. From any other address these headers are ignored. X-Forwarded-For of these proxies, to which each of them appends the address of its client, says whose requests limits.rate and limits.auth_failures count. They need authentication (auth), or insecure_no_auth.", notEverybody("choose the address by which their requests are counted")),
		one("insecure_no_auth", "false", setting.Bool(&c.InsecureNoAuth),
			"Allows listen, grpc.listen, public_url and trusted_proxies to let other machines in without authentication: every caller may send, read and approve everything. Use it only behind a proxy that authenticates."),
		one("data", "./data", setting.Text(&c.Data, "a folder", setting.NotEmpty("a folder"), setting.OneLine),
			"The folder for all files of the server. A relative path is relative to the working directory."),
		one("store", "bolt", setting.Text(&c.Store, "bolt, bolt:PATH or memory", checkStore),
			"Where tasks are kept: bolt is the file tasks.db in data, bolt:PATH is another file, memory forgets everything when the server ends."),
		one("log.level", "info", setting.Choice(&c.Log.Level, "a level", "debug", "info", "warn", "error"),
			"The least important messages that are logged. At debug each request has a line."),
		one("log.format", "auto", setting.Choice(&c.Log.Format, "a format", "auto", "json", "console"),
			"json for programs, console for people. auto is console when the log goes to a terminal, else json."),
		one("agent.name", "a2a-server", setting.Text(&c.Agent.Name, "a string", setting.NotEmpty("a name"), setting.OneLine),
			"The name in the agent card. Approvals are bound to it."),
		one("agent.description", "", setting.Text(&c.Agent.Description, "a string"),
			"The description in the agent card. Empty: a default sentence."),
		many("agent.input_modes", "text/plain,application/json", &c.Agent.InputModes, setting.MediaRange,
			"Media types that the parts of a message may have, as listed in the agent card. A message with a part of another type is refused (CONTENT_TYPE_NOT_SUPPORTED); a part without a type is accepted. text/* accepts every text type, */* any type at all."),
		one("card.security_form", "go", setting.Choice(&c.Card.SecurityForm, "a form", FormSpec, FormGo, FormOmit),
			"How the agent card writes which credentials are needed. go is the form that the SDKs for Go, Python and JavaScript read. spec is the form of the specification, for strict readers of ProtoJSON; the Go SDK 2.4.0, its command line and ADK for Go refuse a card with it. omit leaves it out, so that clients have to know."),
		one("card.grpc", "true", setting.Bool(&c.Card.GRPC),
			"Lists the interfaces of gRPC in the agent card, if the server listens for gRPC. ADK for Python refuses a card that has one, because gRPC's address is no URL: with false it reads the card, and clients of gRPC have to know the address."),
		one("card.sign", "false", setting.Bool(&c.Card.Sign),
			"Signs the agent card and the extended one (JWS, ES256), so that clients can tell whether somebody between has changed them. The public keys are at public_url, which it needs, followed by /.well-known/agent-card-keys.json. See docs/security.md."),
		many("card.required_extensions", "", &c.Card.RequiredExtensions, func(to *string) setting.Value {
			return setting.Text(to, "a URI", setting.NotEmpty("a URI"), setting.OneLine)
		},
			"Extensions of the agent card that every request has to activate in the header A2A-Extensions; one that does not is refused (EXTENSION_SUPPORT_REQUIRED) before anything happens. By default none is required: all dialects of approvals are always understood."),
		one("versions.strict", "false", setting.Bool(&c.Versions.Strict),
			"A request that names no version of A2A, in the header or the parameter A2A-Version, counts as version 0.3, as the specification says, and is refused (VERSION_NOT_SUPPORTED) if its method or path is of 1.0. With false it has the version of its method or path, which is what many clients mean."),
		one("versions.v03", "true", setting.Bool(&c.Versions.V03),
			"Serve A2A 0.3 beside 1.0, at the same URL: the methods of JSON-RPC whose names have a slash, HTTP+JSON at /v1/, and what clients of 0.3 read in the agent card. With false only 1.0 is served."),
		one("planner.kind", "direct", setting.Choice(&c.Planner.Kind, "a planner", "direct", "script"),
			"What turns a message into tool calls: direct runs the calls that the message names, script plays scenarios."),
		one("planner.script", "", setting.Text(&c.Planner.Script, "a file", setting.OneLine),
			"The file of scenarios that script needs; set planner.kind with it. A relative path is relative to the folder of the configuration file or, in a variable or a flag, to the working directory."),
		one("idempotency", "true", setting.Bool(&c.Idempotency),
			"A message sent again with the same id and content returns the same task, for at least one hour of server time. The server remembers 200,000 messages; when there are more, it forgets the oldest of the caller that has the most. Conformance kits that reuse an id need false."),
		one("keywords", "true", setting.Bool(&c.Keywords),
			"A message of one word, such as yes or reject, may answer the only pending question. Except where a gate has no_text, the JSON of a decision with its digest is accepted as the text of a message either way."),
		one("hold_siblings", "false", setting.Bool(&c.HoldSiblings),
			"The calls of a step start only when all of them have been decided. With false each starts as soon as it may."),
		one("confirmation", "required", setting.Choice(&c.Confirmation, "a setting of confirmation", Required, OptIn),
			"With required, the gates that tools declare ask, too. With opt-in, only the gates in this file do."),
		one("deadlines.expires", "168h", setting.Deadline(&c.Terms.Expires, 0),
			"How long an approval may be pending, unless its gate sets its own time; never: until somebody answers. It also applies to the gates of tools."),
		one("deadlines.on_expiry", "reject", setting.Choice(&c.Terms.OnExpiry, "an outcome of a deadline", expiries()...),
			"What happens to an approval that is overdue: reject rejects the call, cancel cancels the task, keep leaves it pending without a deadline."),
		one("streams.whole_text", "false", setting.Bool(&c.Streams.WholeText),
			"When a tool has streamed only text, the last chunk of its artifact replaces the chunks before it with the whole text, if that fits into limits.event. It is for clients that keep only the last chunk, as ADK for Python does; all others get the text twice."),
	}
	keys = append(keys, c.approveKeys()...)
	keys = append(keys, c.GRPC.keys()...)
	keys = append(append(keys, c.TLS.keys()...), c.Auth.keys()...)
	keys = append(keys, c.Admin.keys()...)
	gates := mappings("gates", "gate", "- tool: delete_*", &c.Gates, gateKeys, checkGate)
	keys = append(append(keys, c.Push.keys()...), c.UI.keys()...)
	return append(append(keys, c.Limits.keys()...), gates, c.secretsKey(), c.toolsKey())
}

func expiries() []approval.OnExpiry {
	return []approval.OnExpiry{approval.ExpiryRejects, approval.ExpiryCancels, approval.ExpiryKeeps}
}

func checkStore(text string) error {
	path, isPath := strings.CutPrefix(text, "bolt:")
	switch {
	case text == "bolt" || text == "memory":
		return nil
	case isPath && strings.TrimSpace(path) == "":
		return fmt.Errorf("%s names no file; write bolt:PATH, or bolt for tasks.db in the data folder", quote(text))
	case isPath:
		return setting.OneLine(path)
	}
	return fmt.Errorf("%s is not a store; use bolt, bolt:PATH or memory", quote(text))
}
