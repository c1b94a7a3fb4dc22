package config

import (
	"fmt"
	"strings"
	"time"

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

// shared documents the value 0 of a caller's share.
const shared = " 0: a quarter of it, or all of it without authentication, because then all callers count as one."

// keys returns the keys below limits. Their defaults are those of the packages that enforce
// the limits.
func (l *Limits) keys() []key {
	const ms = time.Millisecond
	return []key{
		one("limits.turns", "2048", setting.Count(&l.Engine.Turns, 1, setting.Unlimited),
			"Tasks that may run at the same time, in their first second. Others wait. A task that has run for longer makes room for another, up to four times this number; each takes about 8 KiB. One eighth more is reserved for new tasks, and another eighth for decisions."),
		one("limits.turns_per_caller", "0", setting.Count(&l.Engine.TurnsPerCaller, 0, setting.Unlimited),
			"One caller's share of limits.turns, and of what follows from it."+shared),
		one("limits.queue", "10000", setting.Count(&l.Engine.Queue, 1, setting.Unlimited),
			"Tasks that may wait to run. Beyond that, new ones are refused; decisions never are."),
		one("limits.queue_per_caller", "0", setting.Count(&l.Engine.QueuePerCaller, 0, setting.Unlimited),
			"One caller's share of limits.queue."+shared),
		one("limits.held", "256", setting.Count(&l.Engine.Held, 1, setting.Unlimited),
			"Calls that may be held at the same time, by the answer to a question that their tool waits for. Each keeps its tool running meanwhile, and what that needs. Beyond that, such a question is not asked, and the call continues without an answer."),
		one("limits.held_per_caller", "0", setting.Count(&l.Engine.HeldPerCaller, 0, setting.Unlimited),
			"One caller's share of limits.held."+shared),
		one("limits.held_time", "1h", setting.Duration(&l.Engine.HeldTime, ms),
			"How long a call is held at most, if its question has no earlier deadline. Then the question expires, and the call continues without an answer."),
		one("limits.abandoned", "8", setting.Count(&l.Engine.Abandoned, 1, setting.Unlimited),
			"Runs of one tool that have not ended although they were canceled. At this number, further calls of this tool fail until one of the runs ends or the server is restarted; other tools are not affected."),
		one("limits.tool_timeout", "5m", setting.Duration(&l.Engine.ToolTimeout, ms),
			"How long one run of a tool may take before it is canceled, unless the tool has a limit of its own: timeout in its entry of tools, or, in Go, tool.Timed."),
		one("limits.tool_grace", "5s", setting.Duration(&l.Engine.ToolGrace, ms),
			"How long a tool may take to end after it was canceled. Then it is abandoned: the call fails if the tool is declared read-only or idempotent; otherwise its outcome is unknown, and a person is asked."),
		one("limits.plan_timeout", "2m", setting.Duration(&l.Engine.PlanTimeout, ms),
			"How long a planner that takes time, such as a language model, may take for one step before its task fails. direct and script answer immediately."),
		one("limits.window", "256KiB", setting.Size(&l.Engine.Window, 1*kib, 64*mib, false),
			"How much output a tool may produce ahead of the disk before it has to wait."),
		one("limits.event", "1MiB", setting.Size(&l.Engine.Event, 128*kib, 8*mib, false),
			"The size of one public event. Clients stop reading at lines of 10 MiB. A question with its arguments has to fit."),
		one("limits.task", "64MiB", setting.Size(&l.Engine.Task, 128*kib, 64*mib, false),
			"The size of all events of one task. Before it is full, messages other than decisions are refused and the output of tools and planners fails, so that decisions and results always fit. To that end each running call reserves 2 x limits.event, at most half of the limit in all: with the defaults up to 31 calls of a task run at the same time, fewer as the log fills, and the others wait until one ends."),
		one("limits.pending", "64", setting.Count(&l.Engine.Pending, 1, setting.Unlimited),
			"Approvals that may be pending in one task."),
		one("limits.args", "128KiB", setting.Size(&l.Engine.Args, 1*kib, 1*mib, false),
			"The arguments of one call, as JSON."),
		one("limits.steps", "1000", setting.Count(&l.Engine.Steps, 1, setting.Unlimited),
			"Steps that a planner may take in one task."),
		one("limits.calls", "64", setting.Count(&l.Engine.Calls, 1, setting.Unlimited),
			"Calls in one step. How many of them run at the same time follows from limits.task."),
		one("limits.webhooks", "10", setting.Count(&l.Engine.Webhooks, 1, 100),
			"Webhooks that one task may have (push notifications). Beyond that, one has to be deleted, or replaced by its id."),
		one("limits.parked", "1000", setting.Count(&l.Engine.Parked, 1, setting.Unlimited),
			"Unfinished tasks in one context, since each of them may wait for a person. Beyond that, messages that would create another are refused. It applies to contexts that a message names."),
		one("limits.output", "16MiB", setting.Size(&l.Engine.Output, 1*kib, 64*mib, false),
			"What one tool call may publish, in chunks and artifacts. A call that publishes more fails; what it has published stays. When a call is run again after its process died, the count starts again."),
		one("limits.disk", "0", setting.Size(&l.Engine.Disk, 1*mib, 1<<14*gib, true /* none */),
			"How much disk the store may use, not counting free space in its file, before new tasks are refused (507, RESOURCE_EXHAUSTED). Decisions, other messages to a task, and whatever running tasks need are never refused, so leave room for them. The log warns at 80 %. 0 means no limit."),
		one("limits.disk_per_caller", "0", setting.Size(&l.Engine.DiskPerCaller, 1*mib, 1<<14*gib, true /* none */),
			"The same for the tasks of one caller: their events, plus 2 KiB for each. On disk they take up to about twice as much. After a start the first new task waits until all tasks have been counted, which takes about a second for a million. Without authentication all callers count as one. 0 means no limit."),
		one("limits.body", "4MiB", setting.Size(&l.Body, 1*kib, 64*mib, false),
			"The size of a request's body."),
		one("limits.header", "64KiB", setting.Size(&l.Header, 4*kib, 1*mib, false),
			"The size of a request's header."),
		one("limits.connections", "16384", setting.Count(&l.Connections, 1, setting.Unlimited),
			"Connections that may be open at the same time; lowered at the start to what the limit of open files allows. Any one address other than this machine's gets at most a quarter (for IPv6, one /64 network); so does a proxy on another machine. Beyond that, a connection is answered once, with 503, or as it should when it asks for /livez or /readyz."),
		one("limits.requests", "16384", setting.Count(&l.Requests, 1, setting.Unlimited),
			"Requests that may be in progress at the same time, including streams, over all connections: one HTTP/2 connection can have many. Beyond that, clients are told to try again later. /livez and /readyz do not count."),
		one("limits.read_timeout", "30s", setting.Duration(&l.ReadTimeout, ms),
			"How long a request may take to arrive, from its first byte to the last of its body. Its header may take at most 10 s of that."),
		one("limits.streams", "10000", setting.Count(&l.Streams, 1, setting.Unlimited),
			"Streams that may be open at the same time; lowered at the start to three quarters of limits.connections and limits.requests. Beyond that, clients are told to try again later."),
		one("limits.streams_per_caller", "0", setting.Count(&l.StreamsPerCaller, 0, setting.Unlimited),
			"One caller's share of limits.streams."+shared),
		one("limits.waiting", "10000", setting.Count(&l.Waiting, 1, setting.Unlimited),
			"Messages that may wait at the same time for their tasks to pause or end, which is what SendMessage does unless it is asked to return immediately. Beyond that, a message that would create a task is refused; one to an existing task is accepted, and answered with the task in its current state."),
		one("limits.waiting_per_caller", "0", setting.Count(&l.WaitingPerCaller, 0, setting.Unlimited),
			"One caller's share of limits.waiting."+shared),
		one("limits.rate", "0", setting.Count(&l.Rate, 0, 1_000_000),
			"Requests that one caller may make in a second; a stream is one. Beyond that, they are refused (429, RESOURCE_EXHAUSTED) before they are read. Without authentication a caller is an address. 0: no limit."),
		one("limits.burst", "0", setting.Count(&l.Burst, 0, 1_000_000),
			"Requests that one caller may make at once, after a pause. 0: twice limits.rate."),
		one("limits.auth_failures", "60", setting.Count(&l.AuthFailures, 0, 1_000_000),
			"Refused credentials of one address in a minute; for IPv6, of one /64 network. Beyond that, its requests are refused (429) before their credentials are checked, so nobody can guess. 0: no limit."),
		one("limits.heartbeat", "15s", setting.Duration(&l.Heartbeat, ms),
			"How long a stream may be idle before a comment is sent, which keeps proxies from closing it."),
		one("limits.write_timeout", "30s", setting.Duration(&l.WriteTimeout, ms),
			"How long one write to a stream may take before the stream is closed; the client can resume where it stopped."),
		one("limits.answers", "256MiB", setting.Size(&l.Answers, 4*mib, 1<<14*gib, false),
			"The memory for answers that are being built and sent; at most a quarter of the memory limit. An answer takes 4 times the size of its task's log, or nothing if the log is at most 64 KiB. One caller gets at most half of it, or one answer; an answer larger than all of it is served alone. Beyond that, clients are told to try again later; requests that have changed something are answered without artifacts, and the answer says so."),
		one("limits.bodies", "256MiB", setting.Size(&l.Bodies, 4*mib, 1<<14*gib, false),
			"The memory for requests of more than 64 KiB that are being received or processed; at most a quarter of the memory limit, and at least four requests of limits.body. One caller gets a quarter. Beyond that, clients are told to try again later."),
		one("limits.page", "16MiB", setting.Size(&l.Page, 64*kib, 1*gib, false),
			"How many bytes of task logs are read for one page of a task list. A task whose artifacts do not fit is listed without them and says so; one that does not fit even then starts the next page."),
		one("limits.read_rate", "64KiB", setting.Size(&l.ReadRate, 1*kib, 64*mib, false),
			"How fast a client has to read an answer, in bytes per second averaged over 10 seconds. A slower one is disconnected. Streams have limits.write_timeout instead."),
		one("limits.grace", "8s", setting.Duration(&l.Grace, 0),
			"How long running calls may continue when the server is told to stop. Then they are canceled, and have one second to end. With the default the whole shutdown takes less than the 10 s after which containers are killed; if yours get more time, set this to 2 s less."),
		one("limits.memory", "1GiB", setting.Size(&l.Memory, 32*mib, 1<<14*gib, true /* none */),
			"The memory that the garbage collector tries to stay below. It is not a hard limit. The smallest of this, GOMEMLIMIT and 90 % of the process's cgroup limit applies. With 0 only the other two count."),
		one("limits.gc", "400", setting.Count(&l.GC, 10, 100_000),
			"How much the heap may grow between two garbage collections, in percent, like GOGC: more memory for less work."),
	}
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
