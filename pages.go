package a2aserver

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"a2a-server/a2a"
	"a2a-server/approval/api"
	"a2a-server/approval/web"
	"a2a-server/approval/web/signin"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// pages returns the handler of the pages for people, which share everything that limits and
// authenticates requests with the protocol; nil: the configuration has none.
func (s *Server) pages(protocol *a2a.Server, guard httpd.Guard) http.Handler {
	if !s.config.UI.Enabled {
		return nil
	}
	requests, streams := protocol.Requests()
	prefix := ""
	if u, err := url.Parse(s.config.PublicURL); err == nil {
		prefix = strings.TrimSuffix(u.Path, "/")
	}
	c := web.Config{
		Service: s.approvals, Door: s.door(requests, s.pageGuard(guard), streams), Prefix: prefix, PublicURL: s.url,
		Sender: sender{s.engine}, Tools: s.toolsOf,
		Gate: func(gate, tool string) (web.Gate, bool) { return s.now.Load().gateText(gate, tool) },
		Health: func() error {
			if why := s.health.unready(); why != "" {
				return errors.New(why)
			}
			return nil
		},
		Agent: s.config.Agent.Name, Version: Version(), Log: s.log, Now: s.given.Now,
	}
	s.makeSignIn(protocol, guard, web.SignIn(c))
	if s.authenticator != nil {
		c.SignOut = signin.OutPath
	}
	c.Identify = func(w http.ResponseWriter, r *http.Request) (api.Caller, web.Session, bool) {
		by, ok := s.signin.Identify(w, r)
		return by, web.Session{Method: signedIn(by.By)}, ok
	}
	return web.New(c)
}

// pagesPath returns where browsers at the base URL are sent; "": there are no pages.
func (s *Server) pagesPath() string {
	if !s.config.UI.Enabled {
		return ""
	}
	return web.Path + "/"
}

// signedIn returns how a caller has authenticated.
func signedIn(by auth.Principal) string {
	switch by.Method {
	case "":
		return ""
	case "none":
		return "this server has no authentication"
	}
	return "authenticated by " + by.Method
}

// toolsOf lists the tools of a caller for the pages.
func (s *Server) toolsOf(ctx context.Context, by auth.Principal) []web.Tool {
	var out []web.Tool
	skills := s.catalog.known()
	if s.authenticator != nil {
		if own, err := s.catalog.listOf(ctx, by); err == nil {
			skills = own
		}
	}
	for _, k := range skills {
		t := web.Tool{Name: k.ID, Description: k.Description}
		if slices.Contains(k.Tags, "needs approval") {
			t.Asks = "a person decides each call"
		}
		out = append(out, t)
	}
	return out
}

// sender sends the messages of the pages.
type sender struct{ engine *engine.Engine }

// Send implements [web.Sender].
func (s sender) Send(ctx context.Context, c api.Caller, m web.Message) (task, answer string, err error) {
	if err := c.By.May(auth.Create); err != nil {
		return "", "", err
	}
	sent, err := s.engine.Send(ctx, engine.Send{By: c.By, Renew: c.Renew, Message: message(m.Task, m.Context, m.Text)})
	switch {
	case err != nil:
		return "", "", err
	case sent.Direct == nil:
		return sent.Task.String(), "", nil
	}
	return "", textOf(sent.Direct), nil
}
