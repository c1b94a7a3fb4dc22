package a2a

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a/agentcard"
	"a2a-server/a2a/internal/card"
	"a2a-server/a2a/internal/operation"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/internal/keyring"
)

// Config configures a [Server].
type Config struct {
	Engine operation.Engine // required

	// Authenticator identifies callers; nil: every caller is auth.Anonymous.
	Authenticator auth.Authenticator

	// Incarnation is the store's. Event ids of another incarnation are ignored.
	Incarnation uint64

	Card agentcard.Card // the operator's part of the agent card

	// Skills returns the skills of the card, for each request; nil: Card.Skills. It must be
	// quick, and the slice is not changed.
	Skills func() []agentcard.Skill

	// SkillsOf returns the skills of the extended agent card, which are the skills that a
	// caller may use. It is called only with an Authenticator; nil: there is no extended card.
	SkillsOf func(ctx context.Context, by auth.Principal) ([]agentcard.Skill, error)

	// Push says which webhooks clients may set for their tasks, for an Engine that has push
	// notifications, too; nil: the server has none.
	Push *Push

	// CardKeys signs the agent card and the extended card; the public keys are served at
	// [card.KeysPath]. It needs Card.URL. Nil: the cards are not signed.
	CardKeys *keyring.Signer

	Health string      // path of a health probe, named at the base URL; "": none
	Pages  string      // path of pages for people, where browsers at the base URL are sent; "": there are none
	Guard  httpd.Guard // where requests may come from
	Rates  httpd.Rates // how often

	// OnlyV1 switches A2A 0.3 off: its methods and paths, and its members of the agent card.
	OnlyV1 bool

	// StrictVersions treats a request that names no version of A2A as 0.3, as §3.6.2 says,
	// and refuses it if its method or path is of 1.0. Otherwise such a request has the
	// version of its method or path.
	StrictVersions bool

	MaxBody      int64         // bytes of a request. Defaults to 4 MiB.
	Bodies       int           // bytes of all large requests in progress. Defaults to 256 MiB, at least 4 × MaxBody.
	Streams      int           // open at once. Defaults to 10,000.
	Waiting      int           // sends that wait for their task at the same time. Defaults to 10,000.
	Beat         time.Duration // from a write to an idle stream, or to a send that waits, to the next. Defaults to 3 s.
	Heartbeat    time.Duration // between checks of the credential of a long request, and between pings over gRPC. Defaults to 15 s.
	WriteTimeout time.Duration // for each write to a stream. Defaults to 30 s.
	ReadRate     int           // bytes a second at which a client must read a response, measured over 10 s. Defaults to 64 KiB.

	// StreamsPerCaller and WaitingPerCaller are a caller's share of Streams and Waiting. They
	// default to a quarter.
	StreamsPerCaller, WaitingPerCaller int

	// Requested is called with the name of the operation of each request that a caller may make,
	// and Failed with the reason of each error that a client gets; nil: not.
	Requested func(operation string)
	Failed    func(reason string)

	Log zerolog.Logger
	Now func() time.Time // Defaults to time.Now.
}

// withDefaults returns c with the defaults of its zero fields.
func (c Config) withDefaults() Config {
	c.MaxBody, c.Bodies = positive(c.MaxBody, 4<<20), positive(c.Bodies, 256<<20)
	c.Streams, c.Waiting = positive(c.Streams, 10_000), positive(c.Waiting, 10_000)
	c.Beat, c.Heartbeat = positive(c.Beat, 3*time.Second), positive(c.Heartbeat, 15*time.Second)
	c.WriteTimeout = positive(c.WriteTimeout, 30*time.Second)
	c.ReadRate = positive(c.ReadRate, 64<<10)
	if len(c.Card.InputModes) == 0 {
		c.Card.InputModes = []string{"text/plain", "application/json"}
	}
	if c.Requested == nil {
		c.Requested = func(string) {}
	}
	if c.Failed == nil {
		c.Failed = func(string) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Guard.Linked = []string{"/", card.Path}
	return c
}

// positive returns given, or usual if given is not positive.
func positive[N int | int64 | time.Duration](given, usual N) N {
	if given > 0 {
		return given
	}
	return usual
}

// Push says which webhooks clients may set.
type Push = operation.Push
