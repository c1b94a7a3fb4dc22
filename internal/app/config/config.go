// Package config is what an operator tells the server: one strict YAML file,
// environment variables, and flags, each overriding the one before. It owns the
// keys, their defaults, where each value came from, and the problems of a wrong
// one, all of them at once. It does not know how the server is put together.
package config

import (
	"net/netip"
	"time"

	"a2a-server/approval"
	"a2a-server/task"
)

// Config is everything that can be configured. [Load] fills in all defaults and
// checks all values.
type Config struct {
	Listen         string         // host:port. Defaults to 127.0.0.1:8080.
	PublicURL      string         // base URL in the card, without a trailing slash. Empty: as each client has reached the server.
	AllowedHosts   []string       // names, in lower case, that a request may be made to; on a public address, none allows any
	AllowedOrigins []string       // origins, exact, whose pages may call
	TrustedProxies []netip.Prefix // whose X-Forwarded-Host and X-Forwarded-Proto count
	InsecureNoAuth bool           // a public address without authentication
	Data           string         // folder of all files. Defaults to ./data.
	Store          string         // "bolt" (tasks.db in Data, or bolt:PATH) or "memory". Defaults to bolt.

	Log          Log
	Agent        Agent
	Versions     struct{ Strict bool } // a request that names no version is one of 0.3
	Planner      Planner
	Idempotency  bool // the same message sent again is the same task. Defaults to true.
	Keywords     bool // a text that is one keyword may answer. Defaults to true.
	HoldSiblings bool
	Confirmation Confirmation
	Terms        approval.Terms // deadlines: of every approval whose gate says nothing else
	Gates        []approval.Gate
	Streams      struct{ WholeText bool } // the last piece of a stream of text is the whole text
	Limits       Limits

	origins map[string]origin // by key; what is missing is a default
}

// Policy returns the policy of the gates, the deadlines and confirmation. A Config
// from [Load] has no error here.
func (c *Config) Policy() (*approval.Policy, error) {
	return approval.NewPolicy(approval.PolicyConfig{
		Gates:    c.Gates,
		Defaults: c.Terms,
		OptIn:    c.Confirmation == OptIn,
	})
}

// Log says what is logged and how.
type Log struct {
	Level  string // debug, info, warn, error. Defaults to info.
	Format string // auto, json or console. Defaults to auto.
}

// Agent is how the server introduces itself in its card.
type Agent struct {
	Name        string // Defaults to a2a-server.
	Description string
	InputModes  []string // media types that parts of messages may have. Defaults to text/plain and application/json.
}

// Planner names the planner.
type Planner struct {
	Kind   string // direct or script. Defaults to direct.
	Script string // absolute path of the file of scenarios, for script. Empty: none.
}

// Confirmation says which gates count.
type Confirmation string

// The settings of confirmation.
const (
	Required Confirmation = "required" // tools' own gates ask. The default.
	OptIn    Confirmation = "opt-in"   // only gates of the configuration ask
)

// Limits bound what the server takes.
type Limits struct {
	Engine       task.Limits
	Body         int64         // bytes of a request. Defaults to 4 MiB.
	Header       int           // bytes of a request's header. Defaults to 64 KiB.
	Streams      int           // open at once. Defaults to 10,000.
	Waiting      int           // sends that wait for their task at once. Defaults to 10,000.
	Connections  int           // open at once. Defaults to 16,384.
	Requests     int           // being answered at once, over all connections. Defaults to 16,384.
	ReadTimeout  time.Duration // of one request, from its first byte to its last. Defaults to 30 s.
	Heartbeat    time.Duration // of an idle stream. Defaults to 15 s.
	WriteTimeout time.Duration // of one write to a stream. Defaults to 30 s.
	Answers      int64         // bytes of memory for answers. Defaults to 256 MiB.
	Bodies       int64         // bytes of memory for large requests. Defaults to 256 MiB.
	Page         int64         // bytes of logs that a page of a list is made from. Defaults to 16 MiB.
	ReadRate     int           // bytes a second that an answer must be read with. Defaults to 64 KiB.
	Grace        time.Duration // of a shutdown, for calls that run. Defaults to 8 s.
	Memory       int64         // soft limit of all of Go's memory, in bytes. Defaults to 1 GiB. 0: none.
	GC           int           // GC percentage. Defaults to 400.

	// What one caller may have of Streams and of Waiting. 0: a quarter.
	StreamsPerCaller, WaitingPerCaller int
}
