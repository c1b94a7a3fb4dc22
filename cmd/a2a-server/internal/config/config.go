// Package config reads the operator's configuration: a strict YAML file, environment variables
// and flags, each overriding its predecessor. It owns the keys and their defaults, records
// where each value came from, and reports all problems at once. It does not know how the
// server is built.
package config

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	a2aserver "a2a-server"

	"a2a-server/approval"
	"a2a-server/internal/lists"
)

// Config is a complete configuration, with its keys in the order of the reference and of [Show]. [Load] sets
// all defaults and checks all values. The comment of [key] explains the tags.
type Config struct {
	a2aserver.Settings `yaml:",inline"`

	Planner       Planner `yaml:"planner"`
	DeclaredGates string  `yaml:"declared_gates" default:"ask" oneof:"a setting of declared_gates: ask, ignore" doc:"With ignore only configured gates ask, not those that tools declare, except ask tools and request_approval."`

	WaitingState approval.WaitingState `yaml:"waiting_state" default:"working" oneof:"a waiting state: working, auth_required, input_required" doc:"State of a task that waits for a decision that its client may not make; else it is input_required (docs/approvals.md)."`
	Deadlines    Deadlines             `yaml:"deadlines"`

	ApproveTools   []string `yaml:"approve_tools" flag:"yes" reload:"yes" text:"pattern" doc:"Tools whose calls all need approval; * matches any text."`
	NoApproveTools []string `yaml:"no_approve_tools" flag:"yes" reload:"yes" text:"pattern" doc:"Tools that need no approval by the default of their kind. Gates, approve and declarations of a tool still ask."`
	PolicyFiles    []string `yaml:"policy.files" flag:"yes" reload:"yes" fill:"a path" doc:"Files with more gates, in a list gates: (docs/policy.md). All are one policy."`

	TLS   TLS   `yaml:"tls"`
	Auth  Auth  `yaml:"auth"`
	Admin Admin `yaml:"admin"`

	Gates   []approval.Gate   `yaml:"gates" reload:"yes" noun:"gate" example:"- tool: delete_*"` // of this file; [Policy] has all
	Notify  []Route           `yaml:"notify" reload:"yes" noun:"route" example:"- name: ops"`
	Secrets map[string]Secret `yaml:"secrets" reload:"yes" as:"secrets"`
	Tools   Tools             `yaml:",inline"`

	fileGates [][]approval.Gate // of each of PolicyFiles
	origins   map[string]origin // by key; missing for defaults
}

// Given returns the names of the keys that the file, the environment or a flag sets, in their order.
func Given(c *Config) []string { return slices.Sorted(maps.Keys(c.origins)) }

// Policy returns the policy that the gates, the deadlines and declared_gates make. It never
// fails for a Config from [Load].
func Policy(c *Config) (*approval.Policy, error) {
	return approval.NewPolicy(approval.PolicyConfig{
		Gates:          lists.Map(policyGates(c), gateOf),
		Defaults:       c.terms(),
		IgnoreDeclared: c.DeclaredGates == IgnoreDeclared,
	})
}

// terms returns the terms of approvals whose gates set none.
func (c *Config) terms() approval.Terms {
	return approval.Terms{Expires: c.Deadlines.Expires, OnExpiry: c.Deadlines.OnExpiry, WaitingState: c.WaitingState}
}

// Planner selects the planner.
type Planner struct {
	Kind string `yaml:"kind" flag:"yes" default:"direct" oneof:"a planner: direct, llm" doc:"Turns a message into calls: direct runs the calls in it, llm asks a language model."`
	LLM  LLM    `yaml:"llm"`
}

// LLM configures the planner llm. Limits of 0 are none.
type LLM struct {
	URL          string            `yaml:"url" flag:"yes" form:"a URL" text:"endpoint" doc:"Base URL of chat completions."`
	Model        string            `yaml:"model" flag:"yes" text:"name" doc:"Name of the model."`
	Key          Value             `yaml:"key" as:"secret" form:"{secret: NAME}" unset:"requests have no token" doc:"Bearer token."`
	Header       map[string]string `yaml:"header" as:"headers" form:"texts by name" doc:"Further headers."`
	Networks     []netip.Prefix    `yaml:"networks" doc:"Addresses of url that are not public."`
	Instructions string            `yaml:"instructions" text:"path" doc:"System text."`
	Reasoning    bool              `yaml:"reasoning" doc:"Shows reasoning to clients."`
	Words        Words             `yaml:"words"`
	Context      int               `yaml:"context" default:"32000" min:"1000" doc:"Tokens of request and answer."`
	MaxTokens    int               `yaml:"max_tokens" default:"0" doc:"Tokens of an answer."`
	Steps        int               `yaml:"steps" default:"25" min:"1" doc:"Answers before the client is asked."`
	TaskTokens   int               `yaml:"task_tokens" default:"0" doc:"Tokens of a task."`
	DayTokens    int               `yaml:"day_tokens" default:"0" doc:"Tokens of a caller a day (UTC)."`
}

// Words tell the model about decisions.
type Words struct {
	Rejected string `yaml:"rejected" doc:"Text about a rejected call."`
	Edited   string `yaml:"edited" doc:"Text before an edited call."`
	Feedback string `yaml:"feedback" doc:"Text with a reason."`
}

// Deadlines are the deadlines of approvals whose gates set none.
type Deadlines struct {
	Expires  time.Duration     `yaml:"expires" default:"168h" or:"never" doc:"How long an approval may be pending, unless its gate has a time."`
	OnExpiry approval.OnExpiry `yaml:"on_expiry" default:"reject" oneof:"an outcome of a deadline: reject, cancel, keep" doc:"Effect of the deadline: reject the call, cancel the task, or keep waiting."`
}

// IgnoreDeclared is the DeclaredGates of a server in which only the gates of the configuration ask.
const IgnoreDeclared = "ignore"

// reloaded returns the results of [Reload] for a running c, before they are checked.
func reloaded(c, next *Config) (merged *Config, restart []string) {
	m := *c
	m.fileGates, m.Tools.Given, m.origins = next.fileGates, next.Tools.Given, map[string]origin{}
	keys, after := keysOf(&m), keysOf(next)
	for i, k := range keys {
		from := next.origins
		switch {
		case k.tagged("reload"):
			k.field.Set(after[i].field)
		default:
			if from = c.origins; !sameValue(k, after[i]) {
				restart = append(restart, k.name)
			}
		}
		for path, at := range from {
			if name, _, _ := strings.Cut(path, "["); strings.HasPrefix(name+".", k.name+".") {
				m.origins[path] = at
			}
		}
	}
	return &m, restart
}

// sameValue reports whether two keys of the same name have the same value. In a list of
// mappings it compares all keys of the entries.
func sameValue(a, b key) bool {
	if !a.isEntries() {
		return slices.Equal(a.texts(), b.texts())
	}
	before, _ := a.entries()
	after, _ := b.entries()
	return slices.EqualFunc(before, after, func(a, b []key) bool { return slices.EqualFunc(a, b, sameValue) })
}
