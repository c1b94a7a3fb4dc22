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

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/internal/catalog"
	"a2a-server/internal/httpd"
	"a2a-server/task/engine"
	"a2a-server/task/inbox/api"
	"a2a-server/task/inbox/web"
	"a2a-server/task/inbox/web/signin"
	"a2a-server/tool"
)

// pages returns the handler of the pages for people, which share everything that limits and
// authenticates requests with the protocol; nil: the configuration has none.
func (s *Server) pages(requests *httpd.Frontend, streams *httpd.Shares, guard httpd.Guard) http.Handler {
	if !s.settings.UI.Enabled {
		return nil
	}
	prefix := ""
	if u, err := url.Parse(s.settings.PublicURL); err == nil {
		prefix = strings.TrimSuffix(u.Path, "/")
	}
	c := web.Config{
		Service: s.approvals, Door: s.door(requests, s.pageGuard(guard), streams), Prefix: prefix, PublicURL: s.url,
		Send: sender{s.engine.Send}.Send, Tools: s.toolsOf, PlainWords: s.plainWords(),
		Rules: policyOf{&s.tools.current}.Rules, Explain: policyOf{&s.tools.current}.Explain,
		Health: func() error {
			if why := s.health.Unready(); why != "" {
				return errors.New(why)
			}
			return nil
		},
		Documents: documentation(), Demo: s.demo(),
		Agent: s.settings.Agent.Name, Version: version(), Log: s.log, Now: s.given.Now,
	}
	s.makeSignIn(requests, guard, web.SignIn(c))
	if s.Authenticator != nil {
		c.SignOut = signin.OutPath
	}
	c.Identify = func(w http.ResponseWriter, r *http.Request) (api.Caller, string, bool) {
		by, ok := s.signin.Identify(w, r)
		return by, signedIn(by.By), ok
	}
	return web.New(c)
}

// plainWords reports whether a language model reads the messages.
func (s *Server) plainWords() bool {
	return s.given.Planner == nil && !s.tools.direct
}

// pagesPath returns where browsers at the base URL are sent; "": there are no pages.
func (s *Server) pagesPath() string {
	if !s.settings.UI.Enabled {
		return ""
	}
	return web.Path + "/"
}

// policyOf are the gates that are in force, for their page.
type policyOf struct{ now *current }

// Rules returns the gates about a tool.
func (p policyOf) Rules(tool string) []web.Rule { return p.now.Load().Rules(tool) }

// Explain says what the gates do with a call.
func (p policyOf) Explain(ctx context.Context, of, args string, by auth.Principal) (string, error) {
	decoded, err := tool.DecodeArgs([]byte(args))
	if err != nil {
		return "", err
	}
	e, err := p.now.Load().Explain(ctx, catalog.TrialCall{Tool: of, Args: decoded, By: by})
	if err != nil {
		return "", err
	}
	return e.Text(), nil
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
	skills := s.tools.catalog.Known()
	if s.Authenticator != nil {
		if own, err := s.tools.catalog.ListOf(ctx, by); err == nil {
			skills = own
		}
	}
	for _, k := range skills {
		t := web.Tool{Name: k.ID, Description: k.Description}
		if slices.Contains(k.Tags, "needs approval") {
			t.Asks = "a person decides each call"
		}
		if len(k.Examples) > 0 {
			t.Example = k.Examples[0]
		}
		out = append(out, t)
	}
	return out
}

// makeSignIn makes the sign-in of people for the pages.
func (s *Server) makeSignIn(requests *httpd.Frontend, guard httpd.Guard, render func(http.ResponseWriter, *http.Request, int, signin.Page)) {
	c := signin.Config{
		Requests: requests, Guard: s.pageGuard(guard), Authenticator: s.Authenticator,
		Keys: s.Keys, OIDC: s.OIDC, Issuers: s.Issuers, Other: s.Other, Complete: s.signsIn,
		Store: s.store.handle, Base: s.pageURL(), Idle: s.settings.UI.SessionIdle, Lifetime: s.settings.UI.SessionLifetime,
		Render: render, Log: s.log, Now: s.given.Now,
	}
	if s.given.Authenticator != nil {
		c.Other = append(slices.Clip(c.Other), "This server authenticates its callers by what their requests bring along.")
	}
	s.signin = signin.New(c)
}

// complete returns p with what the operator gives callers and what the server knows of their person.
func (s *Server) complete(ctx context.Context, p auth.Principal) (_ auth.Principal, err error) {
	if s.Complete != nil {
		if p, err = s.Complete(p); err != nil {
			return p, err
		}
	}
	return s.persons.Complete(ctx, p)
}

// signsIn is complete for a sign-in to the pages, which shows a person: a caller who is no person of
// auth.people for certain is nobody.
func (s *Server) signsIn(ctx context.Context, p auth.Principal) auth.Principal {
	p, err := s.complete(ctx, p)
	if err != nil {
		s.log.Warn().Err(err).Msg("a caller cannot sign in")
		return auth.Principal{}
	}
	s.persons.Remember(ctx, p)
	return p
}

// pageURL returns the URL at which browsers reach the server; "": only they know.
func (s *Server) pageURL() string {
	if at := s.Addr(); s.settings.PublicURL != "" || at != nil && loopback(at) {
		return s.baseURL(at)
	}
	return ""
}

// pageGuard returns the guard of the pages: they may call the server that they are from, and
// links may lead to them. The pages of allowed_origins may not: they would act with the
// credentials that a person's browser sends by itself.
func (s *Server) pageGuard(g httpd.Guard) httpd.Guard {
	g.Own, g.Pages, g.Origins, g.ReadOrigins = true, signin.Pages, nil, nil
	if u, err := url.Parse(s.settings.PublicURL); err == nil && u.Host != "" {
		g.Origins = []string{u.Scheme + "://" + u.Host}
	}
	return g
}

// sender sends the messages of the pages.
type sender struct {
	send func(context.Context, engine.Send) (*engine.Sent, error)
}

// Send sends a message of the pages.
func (s sender) Send(ctx context.Context, c api.Caller, m web.Message) (task, answer string, err error) {
	if err := c.By.May(auth.Create); err != nil {
		return "", "", err
	}
	sent, err := s.send(ctx, engine.Send{By: c.By, Renew: c.Renew, Message: message(m.Task, m.Context, m.Text)})
	switch {
	case err != nil:
		return "", "", err
	case sent.Direct == nil:
		return sent.Task.String(), "", nil
	}
	return "", textOf(sent.Direct), nil
}

// message returns the message of a user with a text, which decides nothing: the pages have buttons
// for that. task or context may be "".
func message(task, context, text string) *sdk.Message {
	return &sdk.Message{
		ID: uuid.NewString(), Role: sdk.MessageRoleUser, TaskID: sdk.TaskID(task), ContextID: context, Parts: sdk.ContentParts{sdk.NewTextPart(text)},
		Metadata: map[string]any{approval.RemarkKey: true},
	}
}

// textOf returns the text in the parts of a message; "" for nil.
func textOf(m *sdk.Message) string {
	var text strings.Builder
	if m != nil {
		for _, p := range m.Parts {
			text.WriteString(p.Text())
		}
	}
	return text.String()
}
