package a2a_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/a2a"
	"a2a-server/a2a/agentcard"
	"a2a-server/a2a/operation"
	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/approval/dialect"
	"a2a-server/internal/httpd"
	"a2a-server/store"
	"a2a-server/store/memstore"
	"a2a-server/task/engine"
	"a2a-server/task/planner/direct"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/functiontool"
)

type (
	wireText struct {
		Text string `json:"text"`
	}
	wireNothing struct{}
)

// wireTools are the tools of the wire cases; each stands for one thing that can
// happen to a call.
func wireTools(h store.Handle) []tool.Tool {
	readOnly := tool.Annotations{ReadOnly: true}
	tools := []tool.Tool{
		functiontool.Must(functiontool.New(functiontool.Config{Name: "echo", Description: "gives its text back", Annotations: readOnly},
			func(_ tool.Context, a wireText) (string, error) { return a.Text, nil })),
		functiontool.Must(functiontool.NewStreaming(functiontool.Config{Name: "stream", Description: "gives n pieces", Annotations: readOnly},
			func(ctx tool.Context, c chunks) iter.Seq2[*tool.Result, error] {
				return func(yield func(*tool.Result, error) bool) {
					for i := range c.N {
						piece := fmt.Sprint("piece ", i)
						if !yield(&tool.Result{Content: piece, Streaming: true}, nil) || !stored(ctx, h, piece) {
							return
						}
					}
				}
			})),
		functiontool.Must(functiontool.New(functiontool.Config{Name: "fail", Description: "returns an error"},
			func(tool.Context, wireNothing) (string, error) { return "", errors.New("the disk is full") })),
		functiontool.Must(functiontool.New(functiontool.Config{Name: "boom", Description: "panics"},
			func(tool.Context, wireNothing) (string, error) { panic("out of range") })),
		functiontool.Must(functiontool.New(functiontool.Config{Name: "hold", Description: "works until it is canceled"},
			func(ctx tool.Context, _ wireNothing) (string, error) {
				<-ctx.Done()
				return "", context.Cause(ctx)
			})),
		functiontool.Must(functiontool.New(functiontool.Config{Name: "transfer", Description: "moves money", RequireApproval: true},
			func(_ tool.Context, m money) (string, error) { return fmt.Sprintf("%v to %s", m.Amount, m.To), nil })),
	}
	for _, x := range [][2]string{
		{"wipe", "needs somebody else's approval"}, {"deploy", "needs approval within an hour"}, {"shred", "is denied by policy"},
	} {
		tools = append(tools, functiontool.Must(functiontool.New(functiontool.Config{Name: x[0], Description: x[1]},
			func(_ tool.Context, a wireText) (string, error) { return a.Text, nil })))
	}
	return tools
}

// stored waits until the log of ctx's task holds text. The engine appends the pieces
// of a stream when it gets to it; a tool that waits for each of them gives the same
// log every time.
func stored(ctx tool.Context, h store.Handle, text string) bool {
	id, _ := store.ParseTaskID(ctx.TaskID())
	wake, stop := h.Watch(store.System(), id)
	defer stop()
	for {
		v, err := h.Read(ctx, store.System(), id, store.After(0), store.Limit{})
		if err == nil && slices.ContainsFunc(v.Events, func(e store.Event) bool { return bytes.Contains(e.Data, []byte(text)) }) {
			return true
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return false
		}
	}
}

func wirePolicy(t testing.TB) *approval.Policy {
	t.Helper()
	says := func(text string) approval.Predicate {
		return func(_ agent.ReadonlyContext, _ tool.Tool, args map[string]any) (bool, error) {
			return args["text"] == text, nil
		}
	}
	p, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{
		{Name: "vault", Tool: "wipe", When: says("vault"), Terms: approval.Terms{FourEyes: true, Destructive: true, WaitingState: approval.WaitsAuth}},
		{Name: "production", Tool: "deploy", When: says("production"), Terms: approval.Terms{Destructive: true}},
		{Name: "gate:wipe", Tool: "wipe", When: says("disk"), Terms: approval.Terms{FourEyes: true, Destructive: true, WaitingState: approval.WaitsInput}},
		{Name: "safe", Tool: "wipe", When: says("safe"), Terms: approval.Terms{FourEyes: true}},
		{Tool: "deploy", Terms: approval.Terms{Expires: time.Hour}},
		{Tool: "shred", Action: approval.ActionDeny},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wireChange changes how a server of a case is set up.
type wireChange func(*engine.Config, *operation.Config)

// usual is the change to a server with the clock and the ids of the system, whose callers are
// anonymous.
func usual(e *engine.Config, c *operation.Config) {
	e.Now, e.NewID, e.Planner = nil, nil, direct.New(direct.Config{})
	c.Now, c.Authenticator, c.Guard, c.MaxBody, c.Card = nil, nil, httpd.Guard{}, 0, agentcard.Card{}
}

// wireServer is a server whose answers are the same in every run: its clock stands
// still until a case moves it, and its ids are counted.
type wireServer struct {
	engine  *engine.Engine
	handler *a2a.Server
	clock   atomic.Int64 // since the epoch, in ns
	stop    func()       // stops the engine
}

func startWireServer(t testing.TB, log zerolog.Logger, changes ...wireChange) *wireServer {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	s := &wireServer{}
	s.clock.Store(time.Date(2026, time.January, 2, 3, 4, 5, 678_000_000, time.UTC).UnixNano())
	now := func() time.Time { return time.Unix(0, s.clock.Load()).UTC() }
	db := memstore.New()
	h, err := db.Handle()
	must(err)
	var tasks, messages atomic.Uint64
	message := func() string { return fmt.Sprintf("from-agent-%d", messages.Add(1)) }
	engineConfig := engine.Config{
		Store: h, Tools: tool.NewRegistry(tool.NewToolset("wire", wireTools(h)...)), Policy: wirePolicy(t), Log: log, Now: now,
		Planner: direct.New(direct.Config{NewID: message}), Presenter: dialect.New(dialect.Config{Keywords: true, NewID: message}),
		NewID: func() store.TaskID {
			id := store.TaskID{0x01, 0x9b, 0x7c, 0, 0, 0, 0x70, 0, 0x80}
			binary.BigEndian.PutUint32(id[12:], uint32(tasks.Add(1)))
			return id
		},
	}
	protocol := operation.Config{
		Authenticator: auth.Func(wireAuthenticate), Log: log, Now: now, MaxBody: 512 << 10,
		Card:  agentcard.Card{URL: "https://agent.example/a2a", Skills: []agentcard.Skill{{ID: "transfer", Description: "moves money"}}},
		Guard: httpd.Guard{Hosts: []string{"127.0.0.1"}, Origins: []string{"https://inbox.example"}},
	}
	for _, change := range changes {
		change(&engineConfig, &protocol)
	}
	engine, err := engine.New(engineConfig)
	must(err)
	s.engine, protocol.Engine = engine, engine
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = db.Close()
	})
	s.handler, err = a2a.New(protocol)
	must(err)
	return s
}

// wireAuthenticate believes whoever says who he is, unless he says "nobody".
func wireAuthenticate(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
	name, ok := strings.CutPrefix(strings.Join(c.Header("Authorization"), ""), "Bearer ")
	switch {
	case !ok:
		return auth.Anonymous(), nil
	case name == "nobody":
		return auth.Principal{}, &auth.Error{Code: "invalid_token", Description: "this token is not known"}
	}
	return auth.Principal{Subject: name, Roles: []string{auth.RoleRequester}, Method: "bearer"}, nil
}

// listen serves over real HTTP on a port of its own.
func (s *wireServer) listen(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(s.handler)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}
