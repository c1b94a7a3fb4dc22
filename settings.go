package a2aserver

import (
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"a2a-server/internal/setting"
)

// Settings are the plain values of a server. The operator's configuration sets them under the names in the
// tag yaml; docs/configuration.md has the same sentences as the tag doc. [DefaultSettings] returns the
// defaults.
type Settings struct {
	Listen         string         `yaml:"listen" flag:"yes" default:"127.0.0.1:8080" text:"listen" doc:"Address to listen on; port 0 picks a free port. Other machines need auth, or insecure_no_auth."`
	PublicURL      string         `yaml:"public_url" flag:"yes" text:"base URL" doc:"URL at which clients reach the server, also in the agent card, with any path of a proxy. Default: the URL of each request."`
	AllowedHosts   []string       `yaml:"allowed_hosts" flag:"yes" text:"host" doc:"Host names of requests beside localhost, the address and public_url. Others are refused on loopback, elsewhere once this is set."`
	AllowedOrigins []string       `yaml:"allowed_origins" text:"origin" doc:"Origins of web pages that may call the server, and so decide."`
	ReadOrigins    []string       `yaml:"read_origins" text:"origin" doc:"Origins of web pages that may only read."`
	TrustedProxies []netip.Prefix `yaml:"trusted_proxies" everybody:"choose the address by which their requests are counted" doc:"Proxies whose X-Forwarded-Host, -Proto and -For count. Needs auth, or insecure_no_auth."`
	InsecureNoAuth bool           `yaml:"insecure_no_auth" flag:"yes" doc:"Lets other machines in without authentication: every caller may send, read and approve everything."`
	Data           string         `yaml:"data" flag:"yes" default:"./data" fill:"a folder" doc:"Folder of all files of the server."`
	Store          string         `yaml:"store" flag:"yes" default:"bolt" text:"store" doc:"Where tasks are kept: bolt is tasks.db in data."`

	Log           Log      `yaml:"log"`
	Agent         Agent    `yaml:"agent"`
	Card          Card     `yaml:"card"`
	Versions      Versions `yaml:"versions"`
	Idempotency   bool     `yaml:"idempotency" default:"true" doc:"A message sent again with the same id and content returns the same task, for at least an hour after its end."`
	Keywords      bool     `yaml:"keywords" default:"true" doc:"A single word, such as yes or reject, may answer the only pending question."`
	HoldSiblings  bool     `yaml:"hold_siblings" doc:"The calls of a step start only when all of them have been decided."`
	ProviderError string   `yaml:"provider_error" default:"pending" oneof:"a setting of provider_error: pending, fail" doc:"In a Go program: an error of its decider leaves the call pending, or fails it."`
	Grants        Grants   `yaml:"grants"`
	Streams       Streams  `yaml:"streams"`
	GRPC          GRPC     `yaml:"grpc"`
	Push          Push     `yaml:"push"`
	UI            UI       `yaml:"ui"`
	Limits        Limits   `yaml:"limits"`
}

// DefaultSettings returns the settings of a server that nobody has configured.
func DefaultSettings() *Settings {
	s := &Settings{}
	setting.Default(s)
	return s
}

// Log configures the log.
type Log struct {
	Level  string `yaml:"level" flag:"yes" default:"info" reload:"yes" oneof:"a level: debug, info, warn, error" doc:"Least important messages that are logged; debug adds each request."`
	Format string `yaml:"format" flag:"yes" default:"auto" oneof:"a format: auto, json, console" doc:"auto is console on a terminal, else json."`
}

// Agent is the operator's part of the agent card.
type Agent struct {
	Name        string   `yaml:"name" flag:"yes" default:"a2a-server" fill:"a name" doc:"Name in the agent card. Approvals are bound to it."`
	Description string   `yaml:"description" doc:"Description in the agent card."`
	InputModes  []string `yaml:"input_modes" default:"text/plain,application/json" text:"media" doc:"Media types that parts of messages may have. A part without a type is accepted."`
}

// Card configures the parts of the agent card that do not follow from the server.
type Card struct {
	SecurityForm       string   `yaml:"security_form" default:"go" oneof:"a form: spec, go, omit" doc:"How the card lists the accepted credentials (docs/security.md)."`
	GRPC               bool     `yaml:"grpc" default:"true" doc:"Lists gRPC in the agent card, which ADK for Python then refuses."`
	Sign               bool     `yaml:"sign" doc:"Signs the agent cards (JWS, ES256). Needs public_url."`
	RequiredExtensions []string `yaml:"required_extensions" fill:"a URI" doc:"Extensions that every request has to activate."`
}

// Versions configures which versions of A2A are served.
type Versions struct {
	Strict bool `yaml:"strict" doc:"A request without a version of A2A is 0.3, whatever its method or path."`
	V03    bool `yaml:"v03" default:"true" doc:"Serves A2A 0.3 beside 1.0, at the same URL."`
}

// Grants are the settings of all grants.
type Grants struct {
	SeenWithin time.Duration `yaml:"seen_within" default:"72h" min:"1m" doc:"A grant covers nothing while its maker, if another server or the program authenticates them, has not signed in, sent or decided anything for this long."`
}

// Streams configures streamed text.
type Streams struct {
	WholeText bool `yaml:"whole_text" doc:"The last chunk of streamed text is the whole text, as ADK for Python needs."`
}

// GRPC says where the server speaks gRPC.
type GRPC struct {
	Listen     string `yaml:"listen" flag:"yes" text:"address" doc:"Address for gRPC. Default: no gRPC."`
	PublicURL  string `yaml:"public_url" text:"address" doc:"Where clients reach gRPC. Default: the card's host, and the port of grpc.listen."`
	Reflection bool   `yaml:"reflection" doc:"Lets authenticated clients list the services."`
}

// Push configures push notifications: which webhooks are called, and how.
type Push struct {
	Enabled       bool           `yaml:"enabled" doc:"Sends push notifications, to https and public addresses unless the keys below allow more."`
	AllowHTTP     bool           `yaml:"allow_http" needs:"push.enabled" doc:"Allows http; tokens can be read on the way."`
	AllowPrivate  bool           `yaml:"allow_private" needs:"push.enabled" doc:"Allows private addresses; every caller can then POST into these networks."`
	AllowLoopback bool           `yaml:"allow_loopback" needs:"push.enabled" doc:"Allows this machine, except the server's own addresses."`
	Networks      []netip.Prefix `yaml:"networks" needs:"push.enabled" doc:"Further allowed addresses. Prefer this to push.allow_private."`
	Ports         []int          `yaml:"ports" min:"1" max:"65535" needs:"push.enabled" doc:"The only ports that are allowed. Default: all."`
	NAT64         []netip.Prefix `yaml:"nat64" needs:"push.enabled" doc:"Prefixes of translated IPv4 addresses (RFC 6052), beside 64:ff9b::/96."`
	CA            string         `yaml:"ca" text:"path" needs:"push.enabled" doc:"Authorities of webhooks beside the system's, in PEM."`
	JWT           bool           `yaml:"jwt" needs:"push.enabled | public_url: receivers could not find the keys of the tokens" doc:"Signs a token (JWT, ES256) for webhooks without authentication. Needs public_url."`
	Timeout       time.Duration  `yaml:"timeout" default:"15s" min:"1s" doc:"How long a webhook may take to answer, at most 30s."`
}

// UI configures the pages for people, and how they sign in.
type UI struct {
	Enabled         bool          `yaml:"enabled" default:"true" doc:"Serves pages for people at /ui. Other machines need TLS for them."`
	SessionIdle     time.Duration `yaml:"session_idle" default:"1h" min:"1m" doc:"How long an unused session lasts."`
	SessionLifetime time.Duration `yaml:"session_lifetime" default:"12h" min:"1m" doc:"How long any session lasts."`
}

// Limits are the limits that an operator sets. The server derives all other bounds from them.
type Limits struct {
	Memory        int64         `yaml:"memory" default:"1GiB" min:"32MiB" or:"0" doc:"Soft limit of memory (docs/operations.md)."`
	Disk          int64         `yaml:"disk" default:"0" min:"1MiB" or:"0" doc:"Disk that the store may use before new tasks are refused; existing tasks continue, so leave room. 0: no limit."`
	DiskPerCaller int64         `yaml:"disk_per_caller" default:"0" min:"1MiB" or:"0" doc:"The same for the events of a caller's tasks, plus 2 KiB for each; on disk up to twice as much."`
	Body          int64         `yaml:"body" default:"4MiB" min:"1KiB" max:"64MiB" doc:"Size of a request's body."`
	Task          int64         `yaml:"task" default:"64MiB" min:"128KiB" max:"64MiB" doc:"Size of all events of a task. Before it is full, only decisions and results are accepted."`
	Connections   int           `yaml:"connections" default:"16384" min:"1" doc:"Connections open at once, and requests in progress. An address may have a quarter."`
	Streams       int           `yaml:"streams" default:"10000" min:"1" doc:"Streams open at once, and messages that wait for their tasks."`
	Turns         int           `yaml:"running_tasks" default:"2048" min:"1" doc:"Tasks that run at once in their first second; with older tasks, four times as many."`
	Queue         int           `yaml:"queue" default:"10000" min:"1" doc:"Tasks that may wait to run; then new tasks are refused, decisions never."`
	PerCaller     int           `yaml:"per_caller" default:"25" min:"1" max:"100" doc:"A caller's share of streams, turns and queue, in percent."`
	Rate          int           `yaml:"rate" default:"0" max:"1000000" doc:"Requests a second of a caller (without auth: of an address), twice as many at once. 0: no limit."`
	AuthFailures  int           `yaml:"auth_failures" default:"60" max:"1000000" doc:"Refused credentials of an address a minute. 0: no limit."`
	ReadTimeout   time.Duration `yaml:"read_timeout" default:"30s" min:"1ms" doc:"How long a request may take to arrive; its header at most 10s of that."`
	ToolTimeout   time.Duration `yaml:"tool_timeout" default:"5m" min:"1ms" doc:"How long a run of a tool may take."`
	PlanTimeout   time.Duration `yaml:"plan_timeout" default:"2m" min:"1ms" doc:"How long a planner may take for a step."`
	Grace         time.Duration `yaml:"grace" default:"8s" doc:"How long running calls may continue at shutdown, at most 24h."`
}

// FailCall is the ProviderError of a server in which an error of a provider fails the call.
const FailCall = "fail"

// OwnSocket returns the path of the socket of the server's own user, who administers there if no other
// local users do.
func (s *Settings) OwnSocket() string { return filepath.Join(s.Data, "own.sock") }

// KeysFolder returns the folder of the server's own keys; "" if they are in memory.
func (s *Settings) KeysFolder() string {
	if s.Store == "memory" {
		return ""
	}
	return filepath.Join(s.Data, "keys")
}

// StoreFile returns the kind of the store (bolt or memory) and the path of its file, which a store
// in memory does not have.
func (s *Settings) StoreFile() (kind, path string) {
	kind, path, _ = strings.Cut(s.Store, ":")
	if kind == "bolt" && path == "" {
		path = filepath.Join(s.Data, "tasks.db")
	}
	return kind, path
}

// Proxied returns the sign that other machines reach the server through a proxy: its public
// URL or the key of its proxies; "" if there is none.
func (s *Settings) Proxied() string {
	switch {
	case s.PublicURL != "" && !setting.LocalURL(s.PublicURL):
		return s.PublicURL
	case s.GRPC.PublicURL != "" && !setting.Loopback(s.GRPC.PublicURL):
		return s.GRPC.PublicURL
	case len(s.TrustedProxies) > 0:
		return "trusted_proxies"
	}
	return ""
}
