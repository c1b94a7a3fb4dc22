package a2aserver

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a/agentcard"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/catalog"
	"a2a-server/internal/inside"
	"a2a-server/internal/lists"
	"a2a-server/internal/logs"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Config configures a [Server]. Its zero value is a server without tools on
// 127.0.0.1:8080, with its data in ./data. ReadConfig of package yamlconfig reads a Config from the operator's files.
type Config struct {
	Settings *Settings // nil: DefaultSettings
	// Operator makes parts from a configuration outside of the program, in addition to the fields below; nil: none.
	Operator Operator

	// Tools are the tools that tasks may call, in addition to the operator's; names must be unique. They are
	// listed for the card as auth.Anonymous: toolsets of package tool once, others also later. New fails if a toolset
	// of package tool fails, or two tools have the same name. Any other toolset that fails, or takes more than 5 s, is
	// a warning.
	Tools   []tool.Toolset
	Planner task.Planner // nil: the operator's, or direct.New

	// Decider decides approvals before the client is asked: see engine.Config.Decider.
	// [task.ProviderDecider] makes one of a function that only approves and rejects. The setting
	// ProviderError names the effect of its errors.
	Decider task.Decider
	// ToolDeciders has deciders of single tools, such as the agents to which a task may be handed over,
	// by name: see engine.Config.ToolDeciders.
	ToolDeciders map[string]task.Decider
	Hooks        []task.Hook      // run before the policy, in order, on each planned call
	Policy       *approval.Policy // nil: the operator's, or a policy without gates

	// AfterHooks see the result of each call whose tool has run, and may change or withhold it
	// before the planner and the client see it; ErrorHooks see each failure. See
	// [task.AfterHook].
	AfterHooks, ErrorHooks []task.AfterHook

	// Memory is the memory that tools search with SearchMemory; nil: the caller's ended tasks of the
	// same context, the newest first up to 1 MiB of text.
	Memory agent.Memory

	// Presenter shows approvals to clients and reads their answers; nil: all known
	// dialects.
	Presenter task.Presenter

	// Authenticator authenticates requests; nil: the operator's does or, without that, every caller is auth.Anonymous,
	// and New refuses an address that other machines can reach, unless InsecureNoAuth is set. An operator who
	// authenticates callers, too, is refused: it would be unclear which of the two applies. A program that wants both
	// joins them by auth.First.
	Authenticator auth.Authenticator

	// Extensions are extensions of A2A that the program's own parts implement. The agent card
	// lists them after those of the server, and requests activate them. The setting
	// Card.RequiredExtensions may require them.
	Extensions []agentcard.Extension

	// Store keeps the tasks; nil: the store that Settings name. The Server does not
	// close it, and nothing else may use it. The server's own keys are then in memory, so that
	// a restart ends the tokens of pages.
	Store store.Handle

	// Init makes an empty store if the configured file is missing from a data folder that had
	// a store. Without Init, New refuses such a folder: its tasks are somewhere else, or lost.
	Init bool

	// NoListen opens no port: requests come through [Server.Handler], in the caller's own
	// HTTP server, which is then responsible for timeouts and connections.
	NoListen bool

	// Log is the server's log. Defaults to the standard error, as the setting Log says; zerolog.Nop() discards
	// everything.
	Log zerolog.Logger

	// Now and Host are the clock of tasks and credentials: of deadlines, timers and timeouts
	// of calls, and of expiry. They are for tests, such as those of package a2aservertest;
	// nil: the system's.
	Now  func() time.Time
	Host engine.Host

	// CrashPoint is called at the crash points of packages engine and boltstore; it is for
	// tests that kill the process there.
	CrashPoint func(point string)

	// Inside is for the commands and the tests of this module; its type is internal.
	Inside inside.Options
}

// ErrConfig says that a configuration is valid by itself, but not with the things that it
// names, such as a file of instructions.
var ErrConfig = errors.New("the configuration cannot be used")

// complete sets the defaults.
func (c *Config) complete() {
	if c.Settings == nil {
		c.Settings = DefaultSettings()
	}
	if c.Operator == nil {
		c.Operator = nobody{}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if reflect.ValueOf(c.Log).IsZero() {
		log := logs.New(c.Settings.Log.Level, c.Settings.Log.Format, os.Stderr)
		c.Log, c.Inside.LogLevel = log.Logger, log.SetLevel
	}
}

// nobody is the operator of a server that a program configures alone.
type nobody struct{}

func (nobody) Parts(c *Config, _ func() []netip.AddrPort) (*Parts, error) {
	return &Parts{Authentication: Authentication{Authenticator: c.Authenticator, Current: func(auth.Principal) (auth.Principal, bool, error) {
		return auth.Principal{}, false, &auth.WithdrawnError{Why: "they cannot be authenticated here any more"}
	}}}, nil
}

func (nobody) Offer() (*Offer, error)              { return &Offer{}, nil }
func (nobody) Reload() (*Offer, []string, error)   { return &Offer{}, nil, nil }
func (nobody) ReloadKeys() error                   { return nil }
func (nobody) Check() (warnings []string, _ error) { return nil, nil }

// tools returns the tools and gates of an offer together with the program's.
func (c *Config) tools(o *Offer, examples bool) *catalog.Tools {
	t := &catalog.Tools{
		Registry: tool.NewRegistry(slices.Concat(c.Tools, o.Tools)...), Policy: c.Policy, Agent: c.Settings.Agent.Name, Examples: examples,
		Complete: o.Complete, Text: o.Text,
	}
	if t.Policy == nil {
		t.Policy, t.Origin = o.Policy, o.Origin
	}
	if t.Policy == nil {
		t.Policy, _ = approval.NewPolicy(approval.PolicyConfig{Defaults: approval.Terms{ // without gates it cannot fail
			Expires: approvalTime, OnExpiry: approval.ExpiryRejects, WaitingState: approval.WaitsWorking,
		}})
	}
	return t
}

// approvalTime is how long approvals are pending without an operator.
const approvalTime = 7 * 24 * time.Hour

// problems returns the problems with listed tools and the gates.
func (c *Config) problems(o *Offer, listed catalog.Listed, p *approval.Policy) (warnings []string, _ error) {
	if o.Problems != nil {
		return o.Problems(listed)
	}
	errs := lists.Map(listed.Crowded(p), func(err error) error { return fmt.Errorf("%w: %w", ErrConfig, err) })
	for _, u := range listed.Unmatched(p) {
		text := fmt.Sprintf("gate %d of the policy: %s", u.Gate, u.Text)
		if u.Sure {
			errs = append(errs, fmt.Errorf("%w: %s", ErrConfig, text))
		} else if !listed.Late {
			warnings = append(warnings, text)
		}
	}
	return warnings, errors.Join(errs...)
}

// warn logs warnings.
func warn(log zerolog.Logger, warnings []string) {
	for _, w := range warnings {
		log.Warn().Msg(w)
	}
}

// card returns the agent card, apart from skills, security and the address of gRPC.
func (c *Config) card(direct bool) (agentcard.Card, error) {
	s := c.Settings
	card := agentcard.Card{
		Name: s.Agent.Name, Description: s.Agent.Description, Version: version(), URL: s.PublicURL,
		InputModes: s.Agent.InputModes, SecurityForm: agentcard.SecurityForm(s.Card.SecurityForm),
		Extensions: c.Extensions, RequiredExtensions: s.Card.RequiredExtensions,
	}
	if card.Description == "" && direct {
		card.Description = `Runs tools, and asks a person before it runs those that need approval. Call a tool with a text, /tool key=value, or a data part, {"tool": "name", "args": {…}}; each skill has an example.`
	}
	if err := card.CheckExtensions(); err != nil {
		return agentcard.Card{}, fmt.Errorf("%w: card.required_extensions: %w", ErrConfig, err)
	}
	return card, nil
}
