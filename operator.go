package a2aserver

import (
	"context"
	"crypto/tls"
	"io"
	"net/netip"

	"a2a-server/a2a/agentcard"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/auth/apikey"
	"a2a-server/auth/oidc"
	"a2a-server/internal/catalog"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/inbox/web/signin"
	"a2a-server/task/notify"
	"a2a-server/tool"
)

// An Operator makes the parts of a server from a configuration outside of the program. Package yamlconfig has an
// operator that reads files. Its methods are called one at a time, Parts first.
type Operator interface {
	// Parts makes the parts that last until a restart. It starts and writes nothing. c is the program's Config, with
	// a log and a clock. addresses returns the addresses of the server's ports, which no part may reach; nil: the
	// parts are only checked.
	Parts(c *Config, addresses func() []netip.AddrPort) (*Parts, error)
	// Offer makes the parts that a reload replaces.
	Offer() (*Offer, error)
	// Reload is Offer with the changes of the configuration since. restart has the names of changed settings that
	// need a restart. After an error the last Offer stays in force.
	Reload() (next *Offer, restart []string, err error)
	// ReloadKeys reads the API keys again, also while another method runs.
	ReloadKeys() error
	// Check returns why New would refuse the offer, as far as that is known without starting anything.
	Check() (warnings []string, err error)
}

// Parts are the parts of a server that last until a restart. The zero Parts are a server without an [Operator].
type Parts struct {
	Authentication Authentication
	Certificates   *tls.Config               // of all ports; nil: no TLS
	Planner        task.Planner              // nil: the direct planner
	Metrics        Metrics                   // the port of metrics
	Admin          *Socket                   // nil: only the server's own user administers it
	Background     func(ctx context.Context) // runs until ctx ends; nil: nothing does
	Reach          Reach                     // nil: not all callers are known
	Warnings       []string                  // for the log
}

// An Offer has the tools, gates and routes of a server until a reload replaces it.
type Offer struct {
	Tools    []tool.Toolset // in addition to the program's
	All      []tool.Toolset // Tools without their limits to some callers
	Policy   *approval.Policy
	Routes   []notify.Route
	Servers  []ToolServer // held open by Tools; a server that stays is the same in the next Offer
	Reserved []string     // names of entries of Tools for some callers only, for the log
	Defaults bool         // Tools are there because the configuration has none
	LogLevel string       // see [Log]

	Complete func(auth.Principal) auth.Principal        // see [catalog.Tools]
	Origin   func(gate int) catalog.Origin              // of a gate of Policy
	Text     func(approval.Gate, approval.Terms) string // a gate, for people

	InForce  func()                                                     // called when the Offer replaces another; nil: nothing
	Start    func() error                                               // starts the work of Tools beside their calls; nil: nothing
	Await    func(ctx context.Context) (late bool)                      // until Servers have listed their tools; nil: there are none
	Problems func(listed catalog.Listed) (warnings []string, err error) // with Tools and Policy, once they are listed; nil: none
	Warnings []string                                                   // for the log
}

// Authentication is how callers are authenticated. With its zero value all callers are anonymous.
type Authentication struct {
	Authenticator auth.Authenticator         // nil: none
	Schemes       []agentcard.SecurityScheme // of the card
	Keys          *apikey.Authenticator      // nil: there are no API keys
	OIDC          *oidc.Authenticator        // nil: there are no issuers
	Issuers       []signin.Issuer            // of OIDC, for signing in
	Other         []string                   // sentences about other ways to sign in
	Delegated     bool                       // services, and agents with the token of a person, may decide approvals
	People        auth.People                // subjects of a person
	// Complete adds the operator's defaults to a caller: tenant, roles, person. Nil: nothing.
	Complete func(auth.Principal) (auth.Principal, error)
	// Current returns a stored principal as the operator names them now, such as the holder of an API key. Without
	// named they are as they were last seen. An [auth.WithdrawnError] says that they have lost their name.
	Current func(was auth.Principal) (by auth.Principal, named bool, err error)
}

// Metrics is the port of the metrics.
type Metrics struct {
	Listen string                 // "": there is none
	Token  func() (string, error) // of scrapers; nil: none
}

// A Socket is the Unix socket of the local users who administer a server.
type Socket struct {
	Path  string
	Group int                // may connect, too; 0: none
	Users auth.Authenticator // of the local users
	Check func() error       // returns why the socket could not be made
}

// Reach counts the stored tasks that no caller may see.
type Reach interface {
	Add(h *store.Header)
	Warnings() []string
}

// A ToolServer holds something open for its tools, such as a process or an index.
type ToolServer interface {
	io.Closer
	// Busy reports whether a call runs.
	Busy() bool
}
