package a2aserver

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"a2a-server/a2a"
	"a2a-server/approval/api"
	"a2a-server/approval/web"
	"a2a-server/auth"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
)

// pages returns the handler of the pages for people. It shares everything that limits and
// authenticates requests with the protocol.
func (s *Server) pages(protocol *a2a.Server, guard httpd.Guard) http.Handler {
	requests, streams := protocol.Requests()
	prefix := ""
	if u, err := url.Parse(s.config.PublicURL); err == nil {
		prefix = strings.TrimSuffix(u.Path, "/")
	}
	return web.New(web.Config{
		Service: s.approvals, Door: s.door(requests, guard, streams), Prefix: prefix, PublicURL: s.url,
		Identify: func(w http.ResponseWriter, r *http.Request) (api.Caller, web.Session, bool) {
			by, err := requests.Principal(w, r)
			if err != nil {
				wrong := api.Problem(err)
				if refused, is := errors.AsType[*httpd.Error](err); is && len(refused.Challenges) > 0 {
					w.Header()["Www-Authenticate"] = slices.Clone(refused.Challenges)
				}
				web.Refuse(w, wrong)
				return api.Caller{}, web.Session{}, false
			}
			return api.Caller{By: by, Renew: requests.Renews(r)}, web.Session{Method: signedIn(by)}, true
		},
		Sender: sender{s.engine}, Tools: s.toolsOf,
		Health: func() error {
			if why := s.health.unready(); why != "" {
				return errors.New(why)
			}
			return nil
		},
		Agent: s.config.Agent.Name, Version: Version(), Log: s.log, Now: s.clock(),
	})
}

// signedIn says how a caller has proved who it is.
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
			t.Asks = "each call is asked about"
		}
		out = append(out, t)
	}
	return out
}

// sender sends the messages of the pages.
type sender struct{ engine *engine.Engine }

// Send implements [web.Sender].
func (s sender) Send(ctx context.Context, c api.Caller, m web.Said) (task, answer string, err error) {
	if err := c.By.May(auth.Create); err != nil {
		return "", "", err
	}
	sent, err := s.engine.Send(ctx, engine.Send{By: c.By, Renew: c.Renew, Message: &sdk.Message{
		ID: uuid.NewString(), Role: sdk.MessageRoleUser, TaskID: sdk.TaskID(m.Task), ContextID: m.Context, Parts: sdk.ContentParts{sdk.NewTextPart(m.Text)},
	}})
	switch {
	case err != nil:
		return "", "", err
	case sent.Direct == nil:
		return sent.Task.String(), "", nil
	}
	var text strings.Builder
	for _, p := range sent.Direct.Parts {
		text.WriteString(p.Text())
	}
	return "", text.String(), nil
}
