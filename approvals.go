package a2aserver

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"a2a-server/a2a"
	"a2a-server/approval/api"
	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/adminsocket"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// makeAPI makes the approvals API.
func (s *Server) makeAPI() {
	s.approvals = api.New(api.Config{
		Engine: s.engine, Webhooks: s.webhookPage, Revoked: s.authentication.revoked, Incarnation: s.store.incarnation,
		Agent: s.config.Agent.Name, Version: Version(), Log: s.log, Now: s.clock(),
	})
}

// clock returns the given clock, or the system's.
func (s *Server) clock() func() time.Time {
	if s.given.Now != nil {
		return s.given.Now
	}
	return time.Now
}

// approvalsAPI returns the handler of the approvals API on the network. It shares everything
// that limits and authenticates requests with the protocol.
func (s *Server) approvalsAPI(protocol *a2a.Server, guard httpd.Guard) http.Handler {
	requests, streams := protocol.Requests()
	return api.Handler(s.approvals, s.door(requests, guard, streams))
}

func (s *Server) door(requests *httpd.Frontend, guard httpd.Guard, streams *httpd.Shares) api.Door {
	limits := s.limits()
	return api.Door{
		Requests: requests, Guard: guard, Streams: streams,
		Heartbeat: cmp.Or(limits.Heartbeat, 15*time.Second), WriteTimeout: cmp.Or(limits.WriteTimeout, 30*time.Second),
	}
}

// Limits of the admin socket.
const (
	socketBody    = 1 << 20
	socketStreams = 100
)

// socketAPI returns the handler of the approvals API on the admin socket, for the users that
// known knows.
func (s *Server) socketAPI(known auth.Authenticator) http.Handler {
	guard := httpd.Guard{Hosts: []string{adminsocket.Host}}
	same := func(a, b auth.Principal, action auth.Action) bool {
		return engine.ScopeFor(a, action) == engine.ScopeFor(b, action)
	}
	requests := httpd.New(httpd.Config{
		Authenticator: known, Guard: guard, MaxBody: socketBody, Bodies: 16 * socketBody, Media: []string{"application/json"},
		ReadRate: 64 << 10, Recheck: 15 * time.Second, Same: same, Log: s.log, Now: s.clock(),
	})
	return api.Handler(s.approvals, s.door(requests, guard, httpd.NewShares("streams are open", socketStreams, socketStreams)))
}

// webhookPage lists webhooks as the approvals API shows them.
func (s *Server) webhookPage(ctx context.Context, by auth.Principal, q client.WebhookQuery) (client.WebhookPage, error) {
	page, err := s.webhooks(ctx, by, adminsocket.Query{Task: q.Task, State: q.State, Principal: q.Principal, Limit: q.Limit, Cursor: q.Cursor, Anonymous: q.Anonymous})
	if err != nil {
		return client.WebhookPage{}, err
	}
	out := client.WebhookPage{Items: []client.Webhook{}, Next: page.Next, Off: page.Off}
	for i := range page.Webhooks {
		w := &page.Webhooks[i]
		one := client.Webhook{ID: w.ID, Task: w.Task, Number: w.Number, Owner: w.Owner, Set: w.Set, Host: w.Host, State: w.State, Tries: w.Tries, Next: w.Next, Error: w.Error, Lag: w.Lag}
		if w.SetBy != nil {
			one.SetBy = &client.Principal{Tenant: w.SetBy.Tenant, Subject: w.SetBy.Subject, Person: w.SetBy.Person, Kind: string(w.SetBy.Kind), Roles: w.SetBy.Roles, Through: w.SetBy.Chain, Method: w.SetBy.Method}
		}
		out.Items = append(out.Items, one)
	}
	return out, nil
}
