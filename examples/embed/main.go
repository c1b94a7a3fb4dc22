// Command embed is a web server with pages of its own and an agent at /agent, for callers
// with an API key.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	a2aserver "a2a-server"
	"a2a-server/auth"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// keys has the owner of each API key. Real keys do not belong in source code.
type keys map[string]string

// Authenticate implements auth.Authenticator.
func (k keys) Authenticate(_ context.Context, c *auth.Credentials) (auth.Principal, error) {
	given := c.Header("X-API-Key")
	if len(given) == 0 {
		return auth.Principal{}, auth.ErrNone
	}
	if name, ok := k[given[0]]; ok && len(given) == 1 {
		return auth.Principal{Subject: name, Roles: []string{auth.RoleRequester}, Method: "key"}, nil
	}
	return auth.Principal{}, &auth.Error{Scheme: "ApiKey", Code: "invalid_token", Description: "unknown API key: ask the operator for one"}
}

func newAgent(c a2aserver.Config) (*a2aserver.Server, error) {
	whoami := functiontool.Must(functiontool.New(functiontool.Config{Name: "whoami", Description: "Says hello"},
		func(tool.Context, struct{}) (string, error) { return "hello", nil }))
	c.NoListen, c.Authenticator = true, keys{"k-alice": "alice", "k-bob": "bob"}
	c.Tools = []tool.Toolset{tool.NewToolset("demo", whoami)}
	return a2aserver.New(c)
}

func routes(agent *a2aserver.Server) http.Handler {
	mux := http.NewServeMux()
	a2a := http.StripPrefix("/agent", agent.Handler())
	mux.Handle("/agent", a2a) // the URL on the card, for JSON-RPC
	mux.Handle("/agent/", a2a)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("our own page\n")) })
	return mux
}

func run(ctx context.Context) error {
	settings := a2aserver.DefaultSettings()
	settings.PublicURL = "http://localhost:8080/agent"
	agent, err := newAgent(a2aserver.Config{Settings: settings}) //nolint:contextcheck // ctx is for Run, not for New
	if err != nil {
		return err
	}
	web := &http.Server{Addr: "127.0.0.1:8080", Handler: routes(agent), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.ListenAndServe() }()
	err = agent.Run(ctx) // when it returns, its streams have ended
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, web.Shutdown(rest))
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err) //nolint:gocritic // nothing to clean up
	}
}
