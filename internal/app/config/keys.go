package config

import (
	"net/netip"
	"strings"
	"time"

	"a2a-server/approval"
)

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// gatesKey is the one key that has entries with keys of their own.
const gatesKey = "gates"

// configKeys returns every key but gates. The order is that of the reference and of
// [Show]; keys of one section stand together.
func configKeys() []key[Config] {
	keys := []key[Config]{
		one("listen", "127.0.0.1:8080", words("host:port", every(notEmpty("host:port"), checkListen)),
			func(c *Config) *string { return &c.Listen },
			"The address that the server listens on. Port 0 takes any that is free. An address that other machines can reach needs insecure_no_auth, because there is no authentication yet."),
		one("public_url", "", baseURL(),
			func(c *Config) *string { return &c.PublicURL },
			"The URL by which clients reach the server, with the path that a proxy in front has it at. It is the base of the URLs in the agent card. Without it the card has the URL that its client used: http:// and the host, if that is one of the names under allowed_hosts, or else the address that the request came to; see trusted_proxies for https and other names."),
		many("allowed_hosts", hostname(),
			func(c *Config) *[]string { return &c.AllowedHosts },
			"Names that a request may be made to, beside localhost, 127.0.0.1, [::1], the address itself and the host of public_url. On a loopback address everything else is refused, because it may come from a page that made a name of its own point to this machine. On any other address everything else is refused as soon as one name stands here; without any, a request may be made to any name, and the agent card repeats none."),
		many("allowed_origins", webOrigin(),
			func(c *Config) *[]string { return &c.AllowedOrigins },
			"Origins whose web pages may call the server. A request with any other Origin is refused."),
		many("trusted_proxies", network(),
			func(c *Config) *[]netip.Prefix { return &c.TrustedProxies },
			"Where proxies call from whose X-Forwarded-Host and X-Forwarded-Proto count: the host, with its port, that is checked against allowed_hosts and is shown in the agent card, and http or https. The proxy must set both itself, not pass on what clients send. From anywhere else these headers count for nothing."),
		one("insecure_no_auth", "false", boolean(),
			func(c *Config) *bool { return &c.InsecureNoAuth },
			"Serves an address that other machines can reach although nobody is authenticated: every caller may send, read and approve everything. Right only behind something that authenticates."),
		one("data", "./data", words("a folder", every(notEmpty("a folder"), checkLine)),
			func(c *Config) *string { return &c.Data },
			"The folder of all files of the server. A relative path counts from the folder that the server was started in."),
		one("store", "bolt", words("bolt, bolt:PATH or memory", checkStore),
			func(c *Config) *string { return &c.Store },
			"Where tasks are kept: bolt is the file tasks.db in data, bolt:PATH is another file, memory forgets everything when the server ends."),
		one("log.level", "info", choice("a level", "debug", "info", "warn", "error"),
			func(c *Config) *string { return &c.Log.Level },
			"The least important messages that are logged. At debug each request has a line."),
		one("log.format", "auto", choice("a format", "auto", "json", "console"),
			func(c *Config) *string { return &c.Log.Format },
			"json for programs, console for people. auto is console when the log goes to a terminal, else json."),
		one("agent.name", "a2a-server", words("a text", every(notEmpty("a name"), checkLine)),
			func(c *Config) *string { return &c.Agent.Name },
			"The name in the agent card. It is part of what approvals are bound to."),
		one("agent.description", "", words("a text", nil),
			func(c *Config) *string { return &c.Agent.Description },
			"What the agent card says about the agent. Empty: a sentence of the server's own."),
		some(many("agent.input_modes", mediaRange(),
			func(c *Config) *[]string { return &c.Agent.InputModes },
			"Media types that parts of messages may have, as the agent card lists them. A message with a part that names another type is refused (CONTENT_TYPE_NOT_SUPPORTED); a part that names none is taken. text/* takes every type of a kind, */* any type at all."),
			"text/plain", "application/json"),
		one("versions.strict", "false", boolean(),
			func(c *Config) *bool { return &c.Versions.Strict },
			"A request that names no version of A2A, by the header or the parameter A2A-Version, is one of 0.3, as the specification has it, and refused (VERSION_NOT_SUPPORTED), because 0.3 is not served. With false it is read as one of 1.0, which is what many clients mean."),
		one("planner.kind", "direct", choice("a planner", "direct", "script"),
			func(c *Config) *string { return &c.Planner.Kind },
			"What turns a message into calls of tools: direct runs the calls that the message names, script plays scenarios."),
		one("planner.script", "", words("a file", checkLine),
			func(c *Config) *string { return &c.Planner.Script },
			"The file of scenarios, needed by script; planner.kind has to be set with it. A relative path counts from the folder of the configuration file, or, in a variable or a flag, from the folder that the server was started in."),
		one("idempotency", "true", boolean(),
			func(c *Config) *bool { return &c.Idempotency },
			"The same message sent again, with the same id and content, is the same task, for at least an hour in which the server runs. 200,000 messages are remembered; with more, the caller with the most of them gives up its oldest. Conformance kits that use an id twice need false."),
		one("keywords", "true", boolean(),
			func(c *Config) *bool { return &c.Keywords },
			"A message that is one word, such as yes or reject, may answer the only question that is pending. The JSON of a decision with its digest may be the text of a message in any case."),
		one("hold_siblings", "false", boolean(),
			func(c *Config) *bool { return &c.HoldSiblings },
			"Calls of one step start only when all of them are decided. Otherwise each starts as soon as it may."),
		one("confirmation", "required", choice("a setting of confirmation", Required, OptIn),
			func(c *Config) *Confirmation { return &c.Confirmation },
			"With required, the gates that tools bring with them ask, too. With opt-in, only the gates of this file do."),
		one("deadlines.expires", "never", deadline(0),
			func(c *Config) *time.Duration { return &c.Terms.Expires },
			"How long an approval may be pending, for every gate that says nothing else and for the gates of tools."),
		one("deadlines.on_expiry", "reject", choice("an outcome of a deadline", expiries()...),
			func(c *Config) *approval.OnExpiry { return &c.Terms.OnExpiry },
			"What comes of an approval that is overdue: reject rejects the call, cancel cancels the task, keep leaves it pending without a deadline."),
		one("streams.whole_text", "false", boolean(),
			func(c *Config) *bool { return &c.Streams.WholeText },
			"When a tool has streamed nothing but text, the last piece of its artifact is the whole text, in place of the pieces before it, if that fits into limits.event. It is for clients that keep only the last piece, as ADK for Python does; everybody else gets the same text twice."),
	}
	return append(keys, limitKeys()...)
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
		return wrong("%s names no file; write bolt:PATH, or bolt for tasks.db in the data folder", quote(text))
	case isPath:
		return checkLine(path)
	}
	return wrong("%s is not a store; use bolt, bolt:PATH or memory", quote(text))
}

// shared says what 0 means for what one caller may have.
const shared = " 0: a quarter; all of it while nobody is authenticated, because all callers are one then."

// limitKeys are the keys below limits. Their defaults are those of the packages that
// keep the limits.
func limitKeys() []key[Config] {
	const ms = time.Millisecond
	return []key[Config]{
		one("limits.turns", "2048", count(1, unlimited),
			func(c *Config) *int { return &c.Limits.Engine.Turns },
			"Tasks that are at work at once, in their first second. More of them wait. One that has been at work for longer makes room for another, until four times as many have; each takes about 8 KiB. An eighth more is for new tasks, and once more an eighth for what somebody has decided."),
		one("limits.turns_per_caller", "0", count(0, unlimited),
			func(c *Config) *int { return &c.Limits.Engine.TurnsPerCaller },
			"What one caller may have of limits.turns, and of what follows from it."+shared),
		one("limits.queue", "10000", count(1, unlimited),
			func(c *Config) *int { return &c.Limits.Engine.Queue },
			"Tasks that may wait to get to work. Beyond that, new ones are refused. Decisions never are."),
		one("limits.queue_per_caller", "0", count(0, unlimited),
			func(c *Config) *int { return &c.Limits.Engine.QueuePerCaller },
			"What one caller may have of limits.queue."+shared),
		one("limits.abandoned", "8", count(1, unlimited),
			func(c *Config) *int { return &c.Limits.Engine.Abandoned },
			"Runs of one tool that do not end though they were told to. With so many, further calls of this tool fail until one of the runs ends or the server is restarted; other tools continue."),
		one("limits.tool_timeout", "5m", duration(ms),
			func(c *Config) *time.Duration { return &c.Limits.Engine.ToolTimeout },
			"How long one run of a tool may take before it is told to end."),
		one("limits.tool_grace", "5s", duration(ms),
			func(c *Config) *time.Duration { return &c.Limits.Engine.ToolGrace },
			"How long a tool may take to end when it was told to. Then it is given up: its call ends with an error when the tool is declared read-only or idempotent; else what came of it is unknown, and a person is asked."),
		one("limits.plan_timeout", "2m", duration(ms),
			func(c *Config) *time.Duration { return &c.Limits.Engine.PlanTimeout },
			"How long a planner that has to think, such as a language model, may take for one step. Then its task fails. direct and script answer at once."),
		one("limits.window", "256KiB", size[int](1*kib, 64*mib, false),
			func(c *Config) *int { return &c.Limits.Engine.Window },
			"How far the output of a tool may be ahead of the disk before the tool has to wait."),
		one("limits.event", "1MiB", size[int](128*kib, 8*mib, false),
			func(c *Config) *int { return &c.Limits.Engine.Event },
			"One public event. Clients stop reading at lines of 10 MiB. A question with its arguments has to fit."),
		one("limits.task", "64MiB", size[int](128*kib, 64*mib, false),
			func(c *Config) *int { return &c.Limits.Engine.Task },
			"All events of one task. Messages that decide nothing are refused, and chunks of tools and what a planner says fail, before it is full, so that decisions and results always fit. For that each running call keeps 2 x limits.event of it free, at most half of it: with the defaults up to 31 calls of a task run at once, fewer as it fills, and the others wait until one ends."),
		one("limits.pending", "64", count(1, unlimited),
			func(c *Config) *int { return &c.Limits.Engine.Pending },
			"Approvals that one task may wait for."),
		one("limits.args", "128KiB", size[int](1*kib, 1*mib, false),
			func(c *Config) *int { return &c.Limits.Engine.Args },
			"The arguments of one call, as JSON."),
		one("limits.steps", "1000", count(1, unlimited),
			func(c *Config) *int { return &c.Limits.Engine.Steps },
			"Steps that one task may take."),
		one("limits.calls", "64", count(1, unlimited),
			func(c *Config) *int { return &c.Limits.Engine.Calls },
			"Calls in one step. How many of them run at once follows from limits.task."),
		one("limits.parked", "1000", count(1, unlimited),
			func(c *Config) *int { return &c.Limits.Engine.Parked },
			"Tasks of one context that have not ended, as each of them may come to wait for somebody. Beyond that, messages that would make another one are refused. It holds for contexts that a message names."),
		one("limits.output", "16MiB", size[int](1*kib, 64*mib, false),
			func(c *Config) *int { return &c.Limits.Engine.Output },
			"What one call of a tool publishes, in chunks and artifacts. A call that publishes more ends with an error; what it has published stands. When a call is run again after its process died, it begins again."),
		one("limits.disk", "0", size[int64](1*mib, 1<<14*gib, true /* none */),
			func(c *Config) *int64 { return &c.Limits.Engine.Disk },
			"What the store may occupy on the disk, room in its file that is free left out, before new tasks are refused (507, RESOURCE_EXHAUSTED). Decisions, other messages to a task, and what tasks need that have begun are not refused, so leave room for them. At 80 % the log says so. 0 means no limit."),
		one("limits.disk_per_caller", "0", size[int64](1*mib, 1<<14*gib, true /* none */),
			func(c *Config) *int64 { return &c.Limits.Engine.DiskPerCaller },
			"The same for the tasks of one caller: their events, and 2 KiB for each. On the disk they take up to about twice as much. After a start the first new task waits until all tasks have been counted, about a second for a million. Without authentication all callers are one. 0 means no limit."),
		one("limits.body", "4MiB", size[int64](1*kib, 64*mib, false),
			func(c *Config) *int64 { return &c.Limits.Body },
			"The body of a request."),
		one("limits.header", "64KiB", size[int](4*kib, 1*mib, false),
			func(c *Config) *int { return &c.Limits.Header },
			"The header of a request."),
		one("limits.connections", "16384", count(1, unlimited),
			func(c *Config) *int { return &c.Limits.Connections },
			"Connections that may be open at once; lowered at the start to what the limit of open files leaves. One address that is not this machine's gets at most a quarter (one network of /64, for IPv6); so does a proxy on another machine. Beyond that, a connection is answered once, with 503, or as it should when it asks for /livez or /readyz."),
		one("limits.requests", "16384", count(1, unlimited),
			func(c *Config) *int { return &c.Limits.Requests },
			"Requests that may be answered at once, streams among them, over all connections: one of HTTP/2 has many. Beyond that, clients are told to try again later. /livez and /readyz do not count."),
		one("limits.read_timeout", "30s", duration(ms),
			func(c *Config) *time.Duration { return &c.Limits.ReadTimeout },
			"How long a request may take to come, from its first byte to the last of its body. Its header may take 10 s of that at most."),
		one("limits.streams", "10000", count(1, unlimited),
			func(c *Config) *int { return &c.Limits.Streams },
			"Streams that may be open at once; lowered at the start to three quarters of limits.connections and limits.requests. Beyond that, clients are told to try again later."),
		one("limits.streams_per_caller", "0", count(0, unlimited),
			func(c *Config) *int { return &c.Limits.StreamsPerCaller },
			"What one caller may have of limits.streams."+shared),
		one("limits.waiting", "10000", count(1, unlimited),
			func(c *Config) *int { return &c.Limits.Waiting },
			"Messages that may wait at once for their tasks to rest, which is what SendMessage does unless it is told to return at once. Beyond that, a message that would make a task is refused; one to a task that exists is taken, and answered with the task as it stands."),
		one("limits.waiting_per_caller", "0", count(0, unlimited),
			func(c *Config) *int { return &c.Limits.WaitingPerCaller },
			"What one caller may have of limits.waiting."+shared),
		one("limits.heartbeat", "15s", duration(ms),
			func(c *Config) *time.Duration { return &c.Limits.Heartbeat },
			"How long a stream may be silent before a comment is sent, which keeps proxies from closing it."),
		one("limits.write_timeout", "30s", duration(ms),
			func(c *Config) *time.Duration { return &c.Limits.WriteTimeout },
			"How long one write to a stream may take. Then the stream ends; the client can read on from where it stopped."),
		one("limits.answers", "256MiB", size[int64](4*mib, 1<<14*gib, false),
			func(c *Config) *int64 { return &c.Limits.Answers },
			"The memory for answers that are being made and sent; at most a quarter of what limits.memory leaves. Each takes 4 times the log of its task, nothing up to 64 KiB of log; one caller gets at most half, or one answer, and one that is larger than all of it goes alone. Beyond that, clients are told to try again later; what they have done is answered without the artifacts, and says so."),
		one("limits.bodies", "256MiB", size[int64](4*mib, 1<<14*gib, false),
			func(c *Config) *int64 { return &c.Limits.Bodies },
			"The memory for requests of more than 64 KiB that are on their way or being worked on; at most a quarter of what limits.memory leaves, and at least four requests of limits.body. One caller gets a quarter. Beyond that, clients are told to try again later."),
		one("limits.page", "16MiB", size[int64](64*kib, 1*gib, false),
			func(c *Config) *int64 { return &c.Limits.Page },
			"The logs that a page of a list of tasks is made from. A task whose artifacts do not fit into it is listed without them and says so; one that does not fit even so begins the next page."),
		one("limits.read_rate", "64KiB", size[int](1*kib, 64*mib, false),
			func(c *Config) *int { return &c.Limits.ReadRate },
			"How many bytes a second a client has to take of an answer, over 10 seconds. A slower one is cut off. Streams have limits.write_timeout instead."),
		one("limits.grace", "8s", duration(0),
			func(c *Config) *time.Duration { return &c.Limits.Grace },
			"How long running calls may continue when the server is told to stop. Then they are canceled, and have a second to end. With the default the whole shutdown takes less than the 10 s after which containers are killed; where they get more time, give the calls all of that but 2 s."),
		one("limits.memory", "1GiB", size[int64](32*mib, 1<<14*gib, true /* none */),
			func(c *Config) *int64 { return &c.Limits.Memory },
			"The memory that the garbage collector tries to stay below. It is not a hard limit. The least of it, GOMEMLIMIT and nine tenths of what the control group of the process has counts. 0 means that the other two do."),
		one("limits.gc", "400", count(10, 100_000),
			func(c *Config) *int { return &c.Limits.GC },
			"How much the heap may grow between two garbage collections, in percent: more memory for less work, as GOGC."),
	}
}
