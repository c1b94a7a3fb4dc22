package signin

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"a2a-server/internal/httpd"
)

// Page is the content of the page for signing in. All texts are plain text.
type Page struct {
	Problem string   // why signing in is impossible; then there is no way below
	Message string   // a notice; "": none
	Next    string   // path of the page that the person wants to see, for the field next of the forms
	Action  string   // path that the form with the field key is posted to; "": there are no API keys
	Issuers []Link   // at which to sign in
	Other   []string // sentences about other ways
	On      string   // path of a link to continue at; "": none
}

// Link is a link of a page.
type Link struct{ Title, URL string }

// choose answers with all ways to sign in.
func (s *SignIn) choose(w http.ResponseWriter, r *http.Request, status int, message, next string) {
	if s.impossible(w, r) {
		return
	}
	p := Page{Message: message, Next: next, Other: s.cfg.Other}
	if s.cfg.Keys != nil {
		p.Action = s.prefix + Path
	}
	for _, i := range s.cfg.Issuers {
		if s.cfg.Base == "" {
			p.Other = append(p.Other[:len(p.Other):len(p.Other)], "To sign in at "+i.Name+", the operator sets public_url.")
			continue
		}
		q := url.Values{"issuer": {i.Name}, "next": {next}}
		p.Issuers = append(p.Issuers, Link{Title: i.Name, URL: s.cfg.Base + startPath + "?" + q.Encode()})
	}
	s.page(w, r, status, p)
}

// impossible answers a request whose connection is not safe for a sign-in, and reports whether
// it has.
func (s *SignIn) impossible(w http.ResponseWriter, r *http.Request) bool {
	why := s.unsafe(r)
	if why != "" {
		s.page(w, r, http.StatusForbidden, Page{Problem: why, Other: s.cfg.Other})
	}
	return why != ""
}

// wrong returns err if it is an error of the Frontend, and a 500 for any other error.
func (s *SignIn) wrong(err error) *httpd.Error {
	if wrong, is := errors.AsType[*httpd.Error](err); is {
		return wrong
	}
	s.cfg.Log.Error().Err(err).Msg("a sign-in failed")
	return &httpd.Error{Status: http.StatusInternalServerError, Message: "The server has failed: its log has the reason."}
}

// failed answers with an error of the Frontend.
func (s *SignIn) failed(w http.ResponseWriter, r *http.Request, err error, next string) {
	wrong := s.wrong(err)
	if wrong.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(wrong.After))
	}
	switch wrong.Status {
	case http.StatusUnauthorized:
		w.Header()["Www-Authenticate"] = append([]string{}, wrong.Challenges...)
		s.choose(w, r, wrong.Status, "You are not signed in: "+wrong.Error()+".", next)
	case http.StatusForbidden:
		s.page(w, r, wrong.Status, Page{Problem: wrong.Error()})
	default:
		s.page(w, r, wrong.Status, Page{Problem: wrong.Error(), On: s.prefix + next})
	}
}

// page answers with a page.
func (s *SignIn) page(w http.ResponseWriter, r *http.Request, status int, p Page) {
	if p.Problem == "" && p.Action == "" && len(p.Issuers) == 0 && p.Next != "" && status == http.StatusOK {
		p.On = s.prefix + p.Next
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	httpd.Bound(w)
	s.cfg.Render(w, r, status, p)
}
