package operation

import (
	"context"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/a2a/agentcard"
	"a2a-server/a2a/internal/card"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// Config configures a [Service]. All fields but Push must be set.
type Config struct {
	Engine      Engine
	Incarnation uint64 // of the store

	Requests *httpd.Frontend // authentication, rate limits, bodies and responses
	Streams  *httpd.Shares   // open streams
	Waiting  *httpd.Shares   // sends that wait for their task

	Cards      *card.Cards
	Base       BaseURL
	InputModes []string                   // of the card
	Security   []agentcard.SecurityScheme // likewise
	Extensions []sdk.AgentExtension       // likewise
	Push       *Push                      // nil: the server has no webhooks
	Health     string                     // path of a health probe; "": none

	OnlyV1, StrictVersions bool

	MaxBody                       int64
	Beat, Heartbeat, WriteTimeout time.Duration
	ReadRate                      int
	Requested, Failed             func(name string)
	Log                           zerolog.Logger
}

// Engine runs tasks for callers. Package engine has it, and describes the methods.
type Engine interface {
	// Process runs work on a request of a size, in turn with other large requests.
	Process(ctx context.Context, by auth.Principal, bytes int, work func() error) error
	// ReserveRead returns the memory for tasks that are read, sent or canceled.
	ReserveRead(by auth.Principal) *engine.ReadReservation
	Send(ctx context.Context, s engine.Send) (*engine.Sent, error)
	Stream(ctx context.Context, by auth.Principal, sent *engine.Sent, begin func(*engine.StreamStart) error) (*engine.Subscription, error)
	Subscribe(by auth.Principal, id engine.ID, n uint64, until engine.Until) *engine.Subscription
	Header(ctx context.Context, by auth.Principal, id engine.ID) (engine.Header, error)

	webhooks
}

// webhooks are the webhooks of tasks.
type webhooks interface {
	SetPush(ctx context.Context, by auth.Principal, id engine.ID, c engine.PushConfig) (engine.PushConfig, error)
	Push(ctx context.Context, by auth.Principal, id engine.ID, config string) (engine.PushConfig, error)
	PushList(ctx context.Context, by auth.Principal, id engine.ID, limit int, token string) (engine.PushPage, error)
	DeletePush(ctx context.Context, by auth.Principal, id engine.ID, config string) error
}
