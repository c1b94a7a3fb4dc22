package a2aserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"a2a-server/a2a"
	"a2a-server/approval/dialect"
	"a2a-server/auth"
	"a2a-server/internal/app/config"
	"a2a-server/internal/httpd"
	"a2a-server/internal/toolset"
	"a2a-server/task/engine"
	"a2a-server/task/inbox/api"
	"a2a-server/task/inbox/web"
	"a2a-server/task/inbox/web/signin"
	"a2a-server/tool"
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
		Sender: sender{s.engine}, Tools: s.toolsOf, PlainWords: s.plainWords(),
		Policy: policyOf{&s.tools},
		Health: func() error {
			if why := s.health.Unready(); why != "" {
				return errors.New(why)
			}
			return nil
		},
		Documents: documentation(), Demo: s.demo(),
		Agent: s.config.Agent.Name, Version: Version(), Log: s.log, Now: s.given.Now,
	}
	s.makeSignIn(protocol, guard, web.SignIn(c))
	if s.authenticator != nil {
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
	return s.given.Planner == nil && s.config.Planner.Kind == "llm"
}

// pagesPath returns where browsers at the base URL are sent; "": there are no pages.
func (s *Server) pagesPath() string {
	if !s.config.UI.Enabled {
		return ""
	}
	return web.Path + "/"
}

// policyOf are the gates that are in force, for their page.
type policyOf struct{ now *toolset.Current }

// Rules implements [web.Policy].
func (p policyOf) Rules(tool string) []web.Rule { return p.now.Load().Rules(tool) }

// Explain implements [web.Policy].
func (p policyOf) Explain(ctx context.Context, of, args string, by auth.Principal) (string, error) {
	decoded, err := tool.DecodeArgs([]byte(args))
	if err != nil {
		return "", err
	}
	e, err := p.now.Load().Explain(ctx, toolset.TrialCall{Tool: of, Args: decoded, By: by})
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
	skills := s.catalog.Known()
	if s.authenticator != nil {
		if own, err := s.catalog.ListOf(ctx, by); err == nil {
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
func (s *Server) makeSignIn(protocol *a2a.Server, guard httpd.Guard, render func(http.ResponseWriter, *http.Request, int, signin.Page)) {
	requests, _ := protocol.Requests()
	c := signin.Config{
		Server: s.config.Agent.Name, Requests: requests, Guard: s.pageGuard(guard), Authenticator: s.authenticator,
		Keys: s.apiKeys, OIDC: s.issuers, Complete: s.completed,
		Store: s.store.handle, Base: s.pageURL(), Idle: s.config.UI.SessionIdle, Lifetime: s.config.UI.SessionLifetime,
		Render: render, Log: s.log, Now: s.given.Now,
	}
	for i := range s.config.Auth.OIDC {
		if o := &s.config.Auth.OIDC[i]; o.ClientID != "" {
			c.Issuers = append(c.Issuers, s.signInIssuer(o))
		}
	}
	if s.config.Auth.MTLS.Given() {
		c.Other = append(c.Other, "A client certificate of an authority that the operator names needs no sign-in.")
	}
	if s.config.Auth.Proxy.Header != "" {
		c.Other = append(c.Other, "Whoever comes through the proxy that authenticates callers needs no sign-in: use its URL.")
	}
	if s.given.Authenticator != nil {
		c.Other = append(c.Other, "This server authenticates its callers by what their requests bring along.")
	}
	s.signin = signin.New(c)
}

// complete returns p with the defaults of the configuration and what the server knows of its person.
func (s *Server) complete(ctx context.Context, p auth.Principal) (auth.Principal, error) {
	p, err := completed(p, &s.config.Auth)
	if err != nil {
		return p, err
	}
	return s.persons.Complete(ctx, p)
}

// completed is complete for a sign-in to the pages, which shows a person: a caller who is no person of
// auth.people for certain is nobody.
func (s *Server) completed(ctx context.Context, p auth.Principal) auth.Principal {
	p, err := s.complete(ctx, p)
	if err != nil {
		s.log.Warn().Err(err).Msg("a caller cannot sign in")
		return auth.Principal{}
	}
	s.persons.Remember(ctx, p)
	return p
}

// signInIssuer returns an issuer as the pages know it.
func (s *Server) signInIssuer(o *config.OIDC) signin.Issuer {
	i := signin.Issuer{Name: o.Name, ClientID: o.ClientID, Scopes: o.Scopes, ByAccess: o.SignInToken == config.ByAccess, Mark: issuerMark(o, &s.config.Auth)}
	if name := o.ClientSecret.Secret; name != "" {
		i.Secret = func(context.Context) (string, error) { return s.tools.Load().Secret(name) }
	}
	return i
}

// issuerMark returns a text that changes with every setting that identifies the callers of an
// issuer, or gives them rights.
func issuerMark(o *config.OIDC, conf *config.Auth) string {
	text, err := json.Marshal([]any{o.Issuer, o.ClientID, o.Audiences, o.SignInToken, o.Subject, o.Person, o.Tenant, o.Roles, conf.Tenant, conf.DefaultRoles, conf.People})
	if err != nil {
		panic("the configuration of an issuer cannot be written: " + err.Error()) // it was read from YAML
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// pageURL returns the URL at which browsers reach the server; "": only they know.
func (s *Server) pageURL() string {
	if at := s.Addr(); s.config.PublicURL != "" || at != nil && loopback(at) {
		return baseURL(s.config, at)
	}
	return ""
}

// pageGuard returns the guard of the pages: they may call the server that they are from, and
// links may lead to them. The pages of allowed_origins may not: they would act with the
// credentials that a person's browser sends by itself.
func (s *Server) pageGuard(g httpd.Guard) httpd.Guard {
	g.Own, g.Pages, g.Origins, g.ReadOrigins = true, signin.Pages, nil, nil
	if u, err := url.Parse(s.config.PublicURL); err == nil && u.Host != "" {
		g.Origins = []string{u.Scheme + "://" + u.Host}
	}
	return g
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

// message returns the message of a user with a text, which decides nothing: the pages have buttons
// for that. task or context may be "".
func message(task, context, text string) *sdk.Message {
	return &sdk.Message{
		ID: uuid.NewString(), Role: sdk.MessageRoleUser, TaskID: sdk.TaskID(task), ContextID: context, Parts: sdk.ContentParts{sdk.NewTextPart(text)},
		Metadata: map[string]any{dialect.RemarkKey: true},
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
