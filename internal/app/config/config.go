// Package config reads the operator's configuration: a strict YAML file, environment variables
// and flags, each overriding its predecessor. It owns the keys and their defaults, records
// where each value came from, and reports all problems at once. It does not know how the
// server is built.
package config

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"a2a-server/approval"
)

// Config is a complete configuration. [Load] sets all defaults and checks all values.
type Config struct {
	Listen         string         // host:port. Defaults to 127.0.0.1:8080.
	PublicURL      string         // base URL in the card, without a trailing slash. Empty: the URL by which each client reaches the server.
	AllowedHosts   []string       // names, in lower case, that a request may use; on a public address an empty list allows any
	AllowedOrigins []string       // exact origins whose pages may call
	ReadOrigins    []string       // exact origins whose pages may only read
	TrustedProxies []netip.Prefix // proxies with a trusted X-Forwarded-For, -Host and -Proto
	InsecureNoAuth bool           // allow a public address without authentication
	Data           string         // folder of all files. Defaults to ./data.
	Store          string         // "bolt" (tasks.db in Data, or bolt:PATH) or "memory". Defaults to bolt.

	GRPC     GRPC
	TLS      TLS
	Auth     Auth
	Admin    Admin
	Log      Log
	Agent    Agent
	Card     Card
	Versions Versions
	Planner  Planner
	// The same message sent again returns the same task; a text of a single word may answer. Both default to true.
	Idempotency, Keywords bool
	HoldSiblings          bool
	DeclaredGates         DeclaredGates
	ProviderError         ProviderError
	Terms                 approval.Terms    // deadlines of approvals whose gates set none
	Gates                 []approval.Gate   // of this file; [AllGates] has all
	PolicyFiles           []string          // absolute paths of files with more gates
	Secrets               map[string]Secret // by name
	Tools                 Tools
	// Patterns of tools, as in a gate. NoApproveTools are not asked about, unless more than the default of their kind asks.
	ApproveTools, NoApproveTools []string
	Streams                      struct{ WholeText bool } // the last chunk of streamed text is the whole text
	Grants                       Grants
	Push                         Push
	Notify                       []Route // that announce approvals
	UI                           UI
	Limits                       Limits

	fileGates [][]approval.Gate // of each of PolicyFiles
	origins   map[string]origin // by key; missing for defaults
}

// Given returns the names of the keys that the file, the environment or a flag sets, in their order.
func Given(c *Config) []string { return slices.Sorted(maps.Keys(c.origins)) }

// Policy returns the policy that the gates, the deadlines and declared_gates make. It never
// fails for a Config from [Load].
func Policy(c *Config) (*approval.Policy, error) {
	return approval.NewPolicy(approval.PolicyConfig{
		Gates:          policyGates(c),
		Defaults:       c.Terms,
		IgnoreDeclared: c.DeclaredGates == IgnoreDeclared,
	})
}

// UI configures the pages for people, and how they sign in.
type UI struct {
	Enabled         bool          // Defaults to true.
	SessionIdle     time.Duration // after which an unused session ends. Defaults to 1 h.
	SessionLifetime time.Duration // of any session. Defaults to 12 h.
}

// Log configures the log.
type Log struct {
	Level  string // debug, info, warn, error. Defaults to info.
	Format string // auto, json or console. Defaults to auto.
}

// Agent is the operator's part of the agent card.
type Agent struct {
	Name        string // Defaults to a2a-server.
	Description string
	InputModes  []string // media types that parts of messages may have. Defaults to text/plain and application/json.
}

// Card configures the parts of the agent card that do not follow from the server.
type Card struct {
	SecurityForm       SecurityForm
	GRPC               bool     // the card has the interfaces of gRPC. Defaults to true.
	Sign               bool     // with a key in Data
	RequiredExtensions []string // URIs, which requests have to activate
}

// SecurityForm is how the agent card writes its security requirements.
type SecurityForm string

// The values of SecurityForm.
const (
	FormSpec SecurityForm = "spec" // as the specification says
	FormGo   SecurityForm = "go"   // as the Go client reads it. The default.
	FormOmit SecurityForm = "omit" // not at all
)

// Versions configures which versions of A2A are served.
type Versions struct {
	Strict bool // a request that names no version counts as 0.3
	V03    bool // serve 0.3, too. Defaults to true.
}

// Planner selects the planner.
type Planner struct {
	Kind string // direct or llm. Defaults to direct.
	LLM  LLM
}

// LLM configures the planner llm.
type LLM struct {
	URL, Model   string
	Key          Value             // a secret
	Header       map[string]string // templates with secrets
	Networks     []netip.Prefix
	Instructions string // absolute path of the system text. Empty: none.
	Reasoning    bool
	Words        struct{ Rejected, Edited, Feedback string }
	Context      int // tokens of a request
	MaxTokens    int // of an answer; 0: the endpoint decides
	Steps        int
	TaskTokens   int // 0: no limit
	DayTokens    int // of a caller; 0: no limit
}

// DeclaredGates says whether the gates that tools declare ask.
type DeclaredGates string

// The values of DeclaredGates.
const (
	AskDeclared    DeclaredGates = "ask"    // the gates of tools ask, too. The default.
	IgnoreDeclared DeclaredGates = "ignore" // only the gates of the configuration ask
)

// ProviderError says what an error of a program's decider or confirmation provider does.
type ProviderError string

// The values of ProviderError.
const (
	KeepPending ProviderError = "pending" // the client is asked. The default.
	FailCall    ProviderError = "fail"    // the call fails with the error
)

// Reloaded returns c with the tools, secrets, gates and routes of next, which a running server can
// take over, and the names of the keys with other values in next, which it cannot. The caller
// sets the level of its log itself.
func Reloaded(c, next *Config) (merged *Config, restart []string) {
	m := *c
	m.PolicyFiles, m.fileGates = next.PolicyFiles, next.fileGates
	m.Gates, m.Secrets, m.Tools, m.Notify = next.Gates, next.Secrets, next.Tools, next.Notify
	m.ApproveTools, m.NoApproveTools = next.ApproveTools, next.NoApproveTools
	m.origins = next.origins
	before, after := c.keys(), next.keys()
	for i, k := range before {
		if !k.reload && !sameValue(k, after[i]) {
			restart = append(restart, k.name)
		}
	}
	return &m, restart
}

// sameValue reports whether two keys of the same name have the same value. In a list of
// mappings it compares all keys of the entries.
func sameValue(a, b key) bool {
	if a.entries == nil {
		return slices.Equal(a.texts(), b.texts())
	}
	before, _ := a.entries()
	after, _ := b.entries()
	return slices.EqualFunc(before, after, func(a, b []key) bool { return slices.EqualFunc(a, b, sameValue) })
}
