package config

import (
	"fmt"
	"strings"
	"time"

	"a2a-server/approval"
	"a2a-server/approval/condition"
	"a2a-server/internal/setting"
	"a2a-server/internal/strictyaml"
)

const (
	kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	ms            = time.Millisecond

	defaultKeyHeader = "X-API-Key"
	noEffect         = "it would have no effect"
)

// keys returns every key, bound to its variable in c, in the order of the reference and of
// [Show]. Keys of a section are next to each other. Flags, variables, the file, its checks,
// [Show] and docs/configuration.md are made from these rows and from the tables below.
func (c *Config) keys() []key {
	a, l, m := &c.Auth, &c.Limits, &c.Planner.LLM
	return []key{
		one("listen", "127.0.0.1:8080", setting.Listen(&c.Listen), "Address to listen on; port 0 picks a free port. Other machines need auth, or insecure_no_auth."),
		one("public_url", "", setting.BaseURL(&c.PublicURL), "URL at which clients reach the server, also in the agent card, with any path of a proxy. Default: the URL of each request."),
		many("allowed_hosts", "", &c.AllowedHosts, setting.Host, "Host names of requests beside localhost, the address and public_url. Others are refused on loopback, elsewhere once this is set."),
		many("allowed_origins", "", &c.AllowedOrigins, setting.Origin, "Origins of web pages that may call the server, and so decide."),
		many("read_origins", "", &c.ReadOrigins, setting.Origin, "Origins of web pages that may only read."),
		many("trusted_proxies", "", &c.TrustedProxies, setting.Network, "Proxies whose X-Forwarded-Host, -Proto and -For count. Needs auth, or insecure_no_auth.", notEverybody("choose the address by which their requests are counted")),
		one("insecure_no_auth", "false", setting.Bool(&c.InsecureNoAuth), "Lets other machines in without authentication: every caller may send, read and approve everything."),
		one("data", "./data", filled(&c.Data, "a folder"), "Folder of all files of the server."),
		one("store", "bolt", setting.Text(&c.Store, "bolt, bolt:PATH or memory", checkStore), "Where tasks are kept: bolt is tasks.db in data."),
		reloaded(one("log.level", "info", setting.Choice(&c.Log.Level, "a level", "debug", "info", "warn", "error"), "Least important messages that are logged; debug adds each request.")),
		one("log.format", "auto", setting.Choice(&c.Log.Format, "a format", "auto", "json", "console"), "auto is console on a terminal, else json."),
		one("agent.name", "a2a-server", filled(&c.Agent.Name, "a name"), "Name in the agent card. Approvals are bound to it."),
		one("agent.description", "", setting.Text(&c.Agent.Description, "a string"), "Description in the agent card."),
		many("agent.input_modes", "text/plain,application/json", &c.Agent.InputModes, setting.MediaRange, "Media types that parts of messages may have. A part without a type is accepted."),
		one("card.security_form", "go", setting.Choice(&c.Card.SecurityForm, "a form", FormSpec, FormGo, FormOmit), "How the card lists the accepted credentials (docs/security.md)."),
		one("card.grpc", "true", setting.Bool(&c.Card.GRPC), "Lists gRPC in the agent card, which ADK for Python then refuses."),
		one("card.sign", "false", setting.Bool(&c.Card.Sign), "Signs the agent cards (JWS, ES256). Needs public_url."),
		many("card.required_extensions", "", &c.Card.RequiredExtensions, func(to *string) setting.Value { return filled(to, "a URI") }, "Extensions that every request has to activate."),
		one("versions.strict", "false", setting.Bool(&c.Versions.Strict), "A request without a version of A2A is 0.3, whatever its method or path."),
		one("versions.v03", "true", setting.Bool(&c.Versions.V03), "Serves A2A 0.3 beside 1.0, at the same URL."),
		one("planner.kind", "direct", setting.Choice(&c.Planner.Kind, "a planner", "direct", "llm"), "Turns a message into calls: direct runs the calls in it, llm asks a language model."),
		one("planner.llm.url", "", setting.Text(&m.URL, "a URL", setting.OneLine), "Base URL of chat completions."),
		one("planner.llm.model", "", setting.Text(&m.Model, "a name", setting.OneLine), "Name of the model."),
		shaped("planner.llm.key", "{secret: NAME}", &m.Key, secretOf, "Bearer token."),
		shaped("planner.llm.header", "texts by name", &m.Header, headersOf, "Further headers."),
		many("planner.llm.networks", "", &m.Networks, setting.Network, "Addresses of url that are not public."),
		file("planner.llm.instructions", &m.Instructions, "System text."),
		one("planner.llm.reasoning", "false", setting.Bool(&m.Reasoning), "Shows reasoning to clients."),
		one("planner.llm.words.rejected", "", setting.Text(&m.Words.Rejected, "a text"), "Text about a rejected call."),
		one("planner.llm.words.edited", "", setting.Text(&m.Words.Edited, "a text"), "Text before an edited call."),
		one("planner.llm.words.feedback", "", setting.Text(&m.Words.Feedback, "a text"), "Text with a reason."),
		one("planner.llm.context", "32000", setting.Count(&m.Context, 1000, setting.Unlimited), "Tokens of request and answer."),
		one("planner.llm.max_tokens", "0", setting.Count(&m.MaxTokens, 0, setting.Unlimited), "Tokens of an answer."),
		one("planner.llm.steps", "25", setting.Count(&m.Steps, 1, setting.Unlimited), "Answers before the client is asked."),
		one("planner.llm.task_tokens", "0", setting.Count(&m.TaskTokens, 0, setting.Unlimited), "Tokens of a task."),
		one("planner.llm.day_tokens", "0", setting.Count(&m.DayTokens, 0, setting.Unlimited), "Tokens of a caller a day (UTC)."),
		one("idempotency", "true", setting.Bool(&c.Idempotency), "A message sent again with the same id and content returns the same task, for at least an hour after its end."),
		one("keywords", "true", setting.Bool(&c.Keywords), "A single word, such as yes or reject, may answer the only pending question."),
		one("hold_siblings", "false", setting.Bool(&c.HoldSiblings), "The calls of a step start only when all of them have been decided."),
		one("declared_gates", "ask", setting.Choice(&c.DeclaredGates, "a setting of declared_gates", AskDeclared, IgnoreDeclared), "With ignore only configured gates ask, not those that tools declare, except ask tools and request_approval."),
		one("provider_error", "pending", setting.Choice(&c.ProviderError, "a setting of provider_error", KeepPending, FailCall), "In a Go program: an error of its decider leaves the call pending, or fails it."),
		one("waiting_state", string(approval.WaitsWorking), setting.Choice(&c.Terms.WaitingState, "a waiting state", approval.WaitingStates()...), "State of a task that waits for a decision that its client may not make; else it is input_required (docs/approvals.md)."),
		one("deadlines.expires", "168h", setting.Deadline(&c.Terms.Expires, 0), "How long an approval may be pending, unless its gate has a time."),
		one("deadlines.on_expiry", "reject", setting.Choice(&c.Terms.OnExpiry, "an outcome of a deadline", expiries()...), "Effect of the deadline: reject the call, cancel the task, or keep waiting."),
		one("grants.seen_within", "72h", setting.Duration(&c.Grants.SeenWithin, time.Minute), "A grant covers nothing while its maker, if another server or the program authenticates them, has not signed in, sent or decided anything for this long."),
		one("streams.whole_text", "false", setting.Bool(&c.Streams.WholeText), "The last chunk of streamed text is the whole text, as ADK for Python needs."),
		reloaded(many("approve_tools", "", &c.ApproveTools, pattern, "Tools whose calls all need approval; * matches any text.")),
		reloaded(many("no_approve_tools", "", &c.NoApproveTools, pattern, "Tools that need no approval by the default of their kind. Gates, approve and declarations of a tool still ask.")),
		reloaded(many("policy.files", "", &c.PolicyFiles, func(to *string) setting.Value { return filled(to, "a path") }, "Files with more gates, in a list gates: (docs/policy.md). All are one policy.")),
		one("grpc.listen", "", setting.Text(&c.GRPC.Listen, "host:port", optional(checkHostPort)), "Address for gRPC. Default: no gRPC."),
		one("grpc.public_url", "", setting.Text(&c.GRPC.PublicURL, "host:port", optional(checkHostPort)), "Where clients reach gRPC. Default: the card's host, and the port of grpc.listen."),
		one("grpc.reflection", "false", setting.Bool(&c.GRPC.Reflection), "Lets authenticated clients list the services."),
		needing(file("tls.cert", &c.TLS.Cert, "Certificate with its chain, in PEM; the server then speaks only TLS."), "tls.key", "a certificate needs its private key"),
		needing(file("tls.key", &c.TLS.Key, "Private key of tls.cert, in PEM, mode 0640 or less."), "tls.cert", "a private key needs its certificate"),
		needing(file("tls.client_ca", &c.TLS.ClientCA, "Authorities of client certificates, in PEM."), "tls.cert", "client certificates need TLS"),
		needing(one("tls.client_auth", "optional", setting.Choice(&c.TLS.ClientAuth, "a setting of client certificates", ClientOptional, ClientRequired), "With required every connection needs a certificate, probes too."), "tls.client_ca", "no client certificate could be valid"),
		needing(one("auth.keys.header", defaultKeyHeader, setting.Text(&a.Keys.Header, "a header", aHeader), "Header of API keys; Authorization has Bearer and the key."), "auth.keys.file", noEffect),
		file("auth.keys.file", &a.Keys.File, "File of API keys, which 'a2a-server keys add' writes."),
		mappings("auth.oidc", "issuer", "- name: corp", &a.OIDC, oidcKeys, checkOIDC),
		needing(one("auth.mtls.subject", string(NoName), setting.Choice(&a.MTLS.Subject, "a name in a certificate", NoName, URISAN, DNSSAN, EmailSAN, CommonName), "Name in a client certificate that is the caller, a service."), "tls.client_ca", "no client certificate could be valid"),
		needing(one("auth.mtls.tenant", "", aName(&a.MTLS.Tenant), "Tenant of these callers."), "auth.mtls.subject", noEffect),
		needing(many("auth.mtls.roles", "", &a.MTLS.Roles, aRole, "Roles of these callers."), "auth.mtls.subject", noEffect),
		needing(one("auth.proxy.header", "", setting.Text(&a.Proxy.Header, "a header", aProxyHeader), "Header with the caller's name, which the proxy must replace."), "auth.proxy.from", "the header would be ignored from every address"),
		needing(many("auth.proxy.from", "", &a.Proxy.From, setting.Network, "Addresses of these proxies, used by nothing else.", notEverybody("write any name into the header")), "auth.proxy.header", noEffect),
		needing(shaped("auth.proxy.tenant", "a name, or {header: NAME}", &a.Proxy.Tenant, fromOf("header"), "Tenant of these callers."), "auth.proxy.header", noEffect),
		needing(shaped("auth.proxy.roles", "a list, or {header: NAME, map: {GROUP: [ROLE]}}", &a.Proxy.Roles, rolesOf("header"), "Roles of these callers."), "auth.proxy.header", noEffect),
		mappings("auth.socket", "local user", "- uid: 1000", &a.Socket, socketKeys, checkSocketUser),
		one("auth.delegated_decisions", "false", setting.Bool(&a.DelegatedDecisions), "Lets services, and agents with the token of a person, decide approvals."),
		shaped("auth.people", "{alice: [\"key:alice\", \"corp:alice\"]}", &a.People, peopleOf, "Subjects of one person, by name, for four eyes and votes; acme/corp:alice names the tenant."),
		many("auth.default_roles", "", &a.DefaultRoles, aRole, "Roles of callers without any in their credential or its section."),
		one("auth.tenant", "", aName(&a.Tenant), "Tenant of callers without any in their credential or its section."),
		file("admin.socket", &c.Admin.Socket, "Unix socket for the users in auth.socket. Default: admin.sock in data."),
		needing(needing(one("admin.mode", string(OwnerConnects), setting.Choice(&c.Admin.Mode, "a mode", OwnerConnects, GroupConnects), "Users that may connect: root and the server's user, with 0660 also admin.group."), "admin.group", "0660 lets a group connect"), "auth.socket", "no user may do anything on the socket"),
		needing(one("admin.group", "", setting.Text(&c.Admin.Group, "a group", setting.OneLine), "Group that may connect with 0660."), "admin.mode", noEffect+" with the mode 0600; with 0660 the group may connect"),
		needing(one("admin.own_user_decides", "false", setting.Bool(&c.Admin.OwnUserDecides), "Lets the server's own user decide, and so tools, which run as this user."), "auth.socket", "no user may do anything on the socket"),
		one("admin.listen", "", setting.Text(&c.Admin.Listen, "host:port", optional(checkHostPort)), "Address for metrics of Prometheus. Other addresses than loopback need admin.token. Default: no metrics."),
		needing(shaped("admin.token", "{secret: NAME}", &c.Admin.Token, secretOf, "Bearer token of scrapers."), "admin.listen", noEffect),
		one("push.enabled", "false", setting.Bool(&c.Push.Enabled), "Sends push notifications, to https and public addresses unless the keys below allow more."),
		needing(one("push.allow_http", "false", setting.Bool(&c.Push.AllowHTTP), "Allows http; tokens can be read on the way."), "push.enabled", noEffect),
		needing(one("push.allow_private", "false", setting.Bool(&c.Push.AllowPrivate), "Allows private addresses; every caller can then POST into these networks."), "push.enabled", noEffect),
		needing(one("push.allow_loopback", "false", setting.Bool(&c.Push.AllowLoopback), "Allows this machine, except the server's own addresses."), "push.enabled", noEffect),
		needing(many("push.networks", "", &c.Push.Networks, setting.Network, "Further allowed addresses. Prefer this to push.allow_private."), "push.enabled", noEffect),
		needing(many("push.ports", "", &c.Push.Ports, func(to *int) setting.Value { return setting.Count(to, 1, 65535) }, "The only ports that are allowed. Default: all."), "push.enabled", noEffect),
		needing(many("push.nat64", "", &c.Push.NAT64, setting.Network, "Prefixes of translated IPv4 addresses (RFC 6052), beside 64:ff9b::/96."), "push.enabled", noEffect),
		needing(file("push.ca", &c.Push.CA, "Authorities of webhooks beside the system's, in PEM."), "push.enabled", noEffect),
		needing(needing(one("push.jwt", "false", setting.Bool(&c.Push.JWT), "Signs a token (JWT, ES256) for webhooks without authentication. Needs public_url."), "push.enabled", noEffect), "public_url", "receivers could not find the keys of the tokens"),
		one("push.timeout", "15s", setting.Duration(&c.Push.Timeout, time.Second), "How long a webhook may take to answer, at most 30s."),
		one("ui.enabled", "true", setting.Bool(&c.UI.Enabled), "Serves pages for people at /ui. Other machines need TLS for them."),
		one("ui.session_idle", "1h", setting.Duration(&c.UI.SessionIdle, time.Minute), "How long an unused session lasts."),
		one("ui.session_lifetime", "12h", setting.Duration(&c.UI.SessionLifetime, time.Minute), "How long any session lasts."),
		one("limits.memory", "1GiB", setting.Size(&l.Memory, 32*mib, 1<<14*gib, true /* none */), "Soft limit of memory (docs/operations.md)."),
		one("limits.disk", "0", setting.Size(&l.Disk, 1*mib, 1<<14*gib, true /* none */), "Disk that the store may use before new tasks are refused; existing tasks continue, so leave room. 0: no limit."),
		one("limits.disk_per_caller", "0", setting.Size(&l.DiskPerCaller, 1*mib, 1<<14*gib, true /* none */), "The same for the events of a caller's tasks, plus 2 KiB for each; on disk up to twice as much."),
		one("limits.body", "4MiB", setting.Size(&l.Body, 1*kib, 64*mib, false), "Size of a request's body."),
		one("limits.task", "64MiB", setting.Size(&l.Task, 128*kib, 64*mib, false), "Size of all events of a task. Before it is full, only decisions and results are accepted."),
		one("limits.connections", "16384", setting.Count(&l.Connections, 1, setting.Unlimited), "Connections open at once, and requests in progress. An address may have a quarter."),
		one("limits.streams", "10000", setting.Count(&l.Streams, 1, setting.Unlimited), "Streams open at once, and messages that wait for their tasks."),
		one("limits.running_tasks", "2048", setting.Count(&l.Turns, 1, setting.Unlimited), "Tasks that run at once in their first second; with older tasks, four times as many."),
		one("limits.queue", "10000", setting.Count(&l.Queue, 1, setting.Unlimited), "Tasks that may wait to run; then new tasks are refused, decisions never."),
		one("limits.per_caller", "25", setting.Count(&l.PerCaller, 1, 100), "A caller's share of streams, turns and queue, in percent."),
		one("limits.rate", "0", setting.Count(&l.Rate, 0, 1_000_000), "Requests a second of a caller (without auth: of an address), twice as many at once. 0: no limit."),
		one("limits.auth_failures", "60", setting.Count(&l.AuthFailures, 0, 1_000_000), "Refused credentials of an address a minute. 0: no limit."),
		one("limits.read_timeout", "30s", setting.Duration(&l.ReadTimeout, ms), "How long a request may take to arrive; its header at most 10s of that."),
		one("limits.tool_timeout", "5m", setting.Duration(&l.ToolTimeout, ms), "How long a run of a tool may take."),
		one("limits.plan_timeout", "2m", setting.Duration(&l.PlanTimeout, ms), "How long a planner may take for a step."),
		one("limits.grace", "8s", setting.Duration(&l.Grace, 0), "How long running calls may continue at shutdown."),
		reloaded(mappings("gates", "gate", gateExample, &c.Gates, gateKeys, checkGate)),
		reloaded(mappings("notify", "route", "- name: ops", &c.Notify, routeKeys, checkRoute)),
		reloaded(c.secretsKey()),
		reloaded(c.toolsKey()),
	}
}

// gateKeys returns the keys of an entry of gates.
func gateKeys(g *approval.Gate) []key {
	return []key{
		one("name", "", setting.Text(&g.Name, "a string", setting.NotEmpty("a name, or remove the line"), setting.OneLine, notReserved), "Unique name in approvals and in the audit. Default: gate: and the tool; a list of tools needs a name."),
		required(toolsOfGate(g)),
		one("action", "ask", setting.Choice(&g.Action, "an action", approval.ActionAsk, approval.ActionAllow, approval.ActionDeny), "Only an allow with the exact name overrides the tool's own gate."),
		shaped("when", "a condition such as args.amount > 100", &g.Condition, func(_ *loader, n strictyaml.Node) *condition.Condition { return compiled(n, condition.Compile) }, "Limits the gate to calls about which this is true (CEL; docs/policy.md)."),
		shaped("who", "{callers: [\"corp:*\"], roles: [ops], tenants: [acme], agents: [desk], annotations: [destructive]}", &g.Who, whoOf, "Limits the gate to these requesters, agents and tools: in each list, any."),
		one("hint", "", setting.Text(&g.Hint, "a string"), "Question, or reason of a denial; {name} and {/json/pointer} become arguments of the call."),
		one("expires", "", setting.Deadline(&g.Terms.Expires, -1), "How long the approval may be pending, instead of deadlines.expires."),
		one("on_expiry", "", setting.Choice(&g.Terms.OnExpiry, "an outcome of a deadline", expiries()...), "Effect of the deadline. Default: deadlines.on_expiry."),
		many("allowed", "", &g.Terms.Allowed, aVerb, "Decisions that are offered. Default: all.", decides),
		one("people", "", setting.Count(&g.Terms.People, 1, approval.MaxPeople), "Persons who have to approve (default 1), each with one vote; a rejection by any of them ends it. Needs auth (docs/approvals.md)."),
		one("human", "false", setting.Bool(&g.Terms.Human), "Services, agents that act for a person, and a provider may not decide."),
		one("four_eyes", "false", setting.Bool(&g.Terms.FourEyes), "Excludes every requester of the call from deciding. Needs auth."),
		one("elsewhere", "false", setting.Bool(&g.Terms.Elsewhere), "The A2A client may not decide. Needs auth."),
		one("waiting_state", "", setting.Choice(&g.Terms.WaitingState, "a waiting state", approval.WaitingStates()...), "State of a task that waits for a decision that its client may not make, instead of the server's waiting_state."),
		shaped("approvers", "{roles: [sre], subjects: [\"corp:alice\"], when: args.region in decider.roles}", &g.Terms.Approvers, approversOf, "Only these may decide, if they have the right, and when is true of them; acme/corp:alice names the tenant. Needs auth."),
		one("destructive", "false", setting.Bool(&g.Terms.Destructive), "Shown as destructive; a word approves it only with the code of the question."),
		one("no_text", "false", setting.Bool(&g.Terms.NoText), "Never decided by text, only by data and outside the conversation."),
		one("on_reject", "continue", setting.Either(&g.Terms.CancelsTask, "cancel", "continue"), "cancel: a rejection cancels the task, too."),
		one("risk", "", setting.Choice(&g.Terms.Risk, "a risk", approval.RiskLow, approval.RiskMedium, approval.RiskHigh), "Shown; decides nothing. Default: high if destructive, else medium."),
		grantsKey(&g.Terms.Grants),
		many("mask", "", &g.Terms.Mask, pointerOf(approval.CheckMask), "Arguments that lists, hints, messages and logs show as •••, such as /users/*/name."),
		one("mask_task", "false", setting.Bool(&g.Terms.MaskTask), "Only the requester and those who may decide see the task's messages, results and artifacts."),
		many("notify", "", &g.Terms.Notify, aRoute, "Routes that announce the approval."),
		one("remind", "", setting.Deadline(&g.Terms.Remind, 0), "When the routes are told again, once, after asking."),
		one("escalate.after", "", setting.Deadline(&g.Terms.Escalate.After, 0), "When others are asked, too, once, after asking."),
		many("escalate.notify", "", &g.Terms.Escalate.Notify, aRoute, "Routes that are told then, whatever their events are."),
		many("escalate.add_roles", "", &g.Terms.Escalate.AddRoles, func(to *string) setting.Value { return filled(to, "a name") }, "Roles that may decide then, beside the gate's approvers, if they have the right."),
	}
}

// oidcKeys returns the keys of an entry of auth.oidc.
func oidcKeys(o *OIDC) []key {
	return []key{
		required(one("name", "", setting.Text(&o.Name, "a name", anIssuerID), "Name with which subjects begin (corp:alice); never change it.")),
		required(one("issuer", "", setting.Text(&o.Issuer, "a URL such as https://idp.example.com", anIssuer), "The issuer, exactly as in the claim iss.")),
		required(many("audiences", "", &o.Audiences, aText, "Accepted values of the claim aud.")),
		many("algorithms", "RS256,ES256", &o.Algorithms, func(to *string) setting.Value {
			return setting.Choice(to, "an algorithm of signatures", "RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "EdDSA")
		}, "Accepted signatures."),
		one("jwks", "", setting.Text(&o.JWKS, "a URL", aURL), "Keys of the issuer. Default: its discovery document."),
		one("token_type", "at+jwt", filled(&o.TokenType, "a type"), "Required typ of tokens."),
		one("subject", "sub", filled(&o.Subject, "a claim"), "Claim with the caller's name, never given to another person."),
		one("person", "", setting.Text(&o.Person, "a claim", setting.OneLine), "Claim of the person behind several names, for four eyes."),
		shaped("tenant", "a name, or {claim: NAME}", &o.Tenant, fromOf("claim"), "Tenant of these callers."),
		shaped("roles", "a list, or {claim: NAME, map: {GROUP: [ROLE]}}", &o.Roles, rolesOf("claim"), "Roles of these callers."),
		many("networks", "", &o.Networks, setting.Network, "Allowed addresses that are not public."),
		file("ca", &o.CA, "Authorities of the issuer beside the system's, in PEM."),
		one("client_id", "", setting.Text(&o.ClientID, "a text", setting.OneLine), "Client with which people sign in at /ui."),
		shaped("client_secret", "{secret: NAME}", &o.ClientSecret, secretOf, "Secret of the client. Default: the client is public."),
		many("scopes", "", &o.Scopes, aText, "Scopes to ask for, beside openid."),
		one("sign_in_token", string(ByID), setting.Choice(&o.SignInToken, "a token", ByID, ByAccess), "Token with the claims of the person who signs in."),
	}
}

// socketKeys returns the keys of an entry of auth.socket.
func socketKeys(u *SocketUser) []key {
	return []key{
		required(one("uid", "", setting.Count(&u.UID, 0, 1<<31-1), "Numeric id of a user of this machine.")),
		required(one("subject", "", filled(&u.Subject, "a name"), "Name of the user, after socket: in the subject.")),
		one("person", "", aName(&u.Person), "Person behind several names, for four eyes."),
		one("tenant", "", aName(&u.Tenant), "Tenant of the user."),
		many("roles", "", &u.Roles, aRole, "Roles of the user."),
	}
}

// secretKeys returns the keys of an entry of secrets.
func secretKeys(s *Secret) []key {
	return []key{
		one("env", "", setting.Text(&s.Env, "the name of an environment variable", aVariable), "Variable of the server that has the secret."),
		file("file", &s.File, "File that has the secret, at most 64 KiB, mode 0640 or less."),
	}
}

func expiries() []approval.OnExpiry {
	return []approval.OnExpiry{approval.ExpiryRejects, approval.ExpiryCancels, approval.ExpiryKeeps}
}

func aName(to *string) setting.Value { return setting.Text(to, "a name", setting.OneLine) }
func aText(to *string) setting.Value { return filled(to, "a text") }

// filled returns a value that is a text that is not empty.
func filled(to *string, how string) setting.Value {
	return setting.Text(to, how, setting.NotEmpty(how), setting.OneLine)
}

func aVerb(to *approval.DecisionType) setting.Value {
	return setting.Choice(to, "a decision", approval.Approve, approval.Edit, approval.Reject, approval.Respond, approval.Cancel)
}

// optional returns a check that accepts nothing, too.
func optional(check func(string) error) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		return check(text)
	}
}

func checkHostPort(text string) error {
	var to string
	return setting.Listen(&to).UnmarshalText([]byte(text))
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
