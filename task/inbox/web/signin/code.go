package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/oauth2"

	"a2a-server/auth"
	"a2a-server/auth/oidc"
	"a2a-server/internal/httpd"
	"a2a-server/internal/visible"
	"a2a-server/store"
)

const (
	flowTime     = 10 * time.Minute // for a person to sign in at the issuer
	exchangeTime = 15 * time.Second
)

// flow is a sign-in that has begun. It is kept in a cookie of its browser, so that no other
// browser can end it, and unfinished sign-ins take no memory of the server.
type flow struct {
	Issuer   string       `json:"issuer"`
	State    string       `json:"state"`
	Nonce    string       `json:"nonce"`
	Verifier string       `json:"verifier"` // of PKCE (RFC 7636)
	Next     string       `json:"next"`
	Begun    store.Millis `json:"begun"`
}

// start sends a browser to an issuer.
func (s *SignIn) start(w http.ResponseWriter, r *http.Request) {
	if s.impossible(w, r) {
		return
	}
	next := Local(r.URL.Query().Get("next"))
	i := s.issuer(r.URL.Query().Get("issuer"))
	if i == nil || s.cfg.Base == "" {
		s.choose(w, r, http.StatusNotFound, "That sign-in is not available: choose another way.", next)
		return
	}
	f := flow{Issuer: i.Name, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: next, Begun: store.MillisOf(s.cfg.Now())}
	text, _ := json.Marshal(&f) // texts and a number
	ctx, cancel := context.WithTimeout(r.Context(), exchangeTime)
	defer cancel()
	of, _, err := s.client(ctx, i)
	if err != nil {
		s.cfg.Log.Error().Err(err).Str("issuer", i.Name).Msg("sign-in at an issuer is not available")
		s.choose(w, r, http.StatusServiceUnavailable, "Sign-in at "+i.Name+" is not available now: try again later. The server's log has the reason.", next)
		return
	}
	s.set(w, r, flowCookie, base64.RawURLEncoding.EncodeToString(text), flowTime)
	w.Header().Set("Location", of.AuthCodeURL(f.State, oauth2.S256ChallengeOption(f.Verifier), oauth2.SetAuthURLParam("nonce", f.Nonce)))
	w.WriteHeader(http.StatusSeeOther)
}

// client returns the OAuth client that this server is at an issuer.
func (s *SignIn) client(ctx context.Context, i *Issuer) (*oauth2.Config, oidc.CodeFlow, error) {
	at, err := s.cfg.OIDC.CodeFlow(ctx, i.Name)
	if err != nil {
		return nil, at, err
	}
	c := &oauth2.Config{
		ClientID: i.ClientID, RedirectURL: s.cfg.Base + callbackPath, Scopes: append([]string{"openid"}, i.Scopes...),
		Endpoint: oauth2.Endpoint{AuthURL: at.Authorization, TokenURL: at.Token, AuthStyle: oauth2.AuthStyleInParams},
	}
	if i.Secret == nil {
		return c, at, nil
	}
	if !at.Post {
		c.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	}
	c.ClientSecret, err = i.Secret(ctx)
	return c, at, err
}

// callback takes a browser back from an issuer.
func (s *SignIn) callback(w http.ResponseWriter, r *http.Request) {
	if s.impossible(w, r) {
		return
	}
	f, known := s.flow(r)
	s.clear(w, r, flowCookie)
	q := r.URL.Query()
	state := q["state"]
	if !known || len(state) != 1 || subtle.ConstantTimeCompare([]byte(state[0]), []byte(f.State)) != 1 {
		s.choose(w, r, http.StatusBadRequest, "This sign-in was not begun in this browser, has ended already, or took longer than 10 minutes: begin again.", Pages)
		return
	}
	i := s.issuer(f.Issuer)
	switch code := q["code"]; {
	case i == nil:
		s.choose(w, r, http.StatusBadRequest, "The issuer is no longer configured: choose another way.", f.Next)
	case q.Get("error") != "":
		s.choose(w, r, http.StatusForbidden, "The issuer did not sign you in: "+visible.Clip(q.Get("error")+" "+q.Get("error_description"), 200), f.Next)
	case len(code) != 1 || code[0] == "":
		s.choose(w, r, http.StatusBadRequest, "The issuer's answer has no code: begin again.", f.Next)
	default:
		by, err := s.cfg.Requests.PrincipalBy(w, r, auth.Func(func(ctx context.Context, _ *auth.Credentials) (auth.Principal, error) {
			ctx, cancel := context.WithTimeout(ctx, exchangeTime)
			defer cancel()
			return s.exchange(ctx, i, &f, code[0], q["iss"])
		}))
		if err != nil {
			s.failed(w, r, err, f.Next)
			return
		}
		s.enter(w, r, session{By: by, Way: wayOIDC, Issuer: i.Name, Mark: i.Mark}, f.Next)
	}
}

// flow returns the sign-in that the browser of a request has begun.
func (s *SignIn) flow(r *http.Request) (f flow, known bool) {
	values := s.cookies(httpd.CredentialsOf(r), flowCookie)
	if len(values) != 1 {
		return f, false
	}
	text, err := base64.RawURLEncoding.DecodeString(values[0])
	if err != nil || json.Unmarshal(text, &f) != nil || f.State == "" || f.Nonce == "" || f.Verifier == "" {
		return f, false
	}
	f.Next = Local(f.Next)
	age := store.MillisOf(s.cfg.Now()) - f.Begun
	return f, age >= 0 && age <= store.Millis(flowTime.Milliseconds())
}

// exchange returns the principal of a code. An [*auth.Error] is the fault of the sender of the
// code.
func (s *SignIn) exchange(ctx context.Context, i *Issuer, f *flow, code string, names []string) (auth.Principal, error) {
	client, at, err := s.client(ctx, i)
	if err != nil {
		return auth.Principal{}, err
	}
	if at.NamesItself || len(names) > 0 { // RFC 9207
		if len(names) != 1 || names[0] != at.Issuer {
			return auth.Principal{}, &auth.Error{Description: "the response comes from another issuer: begin again"}
		}
	}
	token, err := client.Exchange(context.WithValue(ctx, oauth2.HTTPClient, at.Client), code, oauth2.VerifierOption(f.Verifier))
	if refused, is := errors.AsType[*oauth2.RetrieveError](err); is {
		if refused.ErrorCode == "invalid_grant" {
			return auth.Principal{}, &auth.Error{Description: "the issuer rejected the code: begin again"}
		}
		return auth.Principal{}, fmt.Errorf("sign in at %s: the token endpoint answers %s %s: check client_id and client_secret", i.Name, refused.Response.Status, visible.Clip(refused.ErrorCode+" "+refused.ErrorDescription, 200))
	}
	if err != nil {
		return auth.Principal{}, fmt.Errorf("sign in at %s: %w", i.Name, err)
	}
	id, _ := token.Extra("id_token").(string)
	by, err := s.cfg.OIDC.SignIn(ctx, i.Name, oidc.SignIn{ClientID: i.ClientID, Nonce: f.Nonce, IDToken: id, AccessToken: token.AccessToken, ByAccess: i.ByAccess})
	if err != nil {
		return auth.Principal{}, err
	}
	return s.cfg.Complete(ctx, by), nil
}
