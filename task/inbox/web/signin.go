package web

import (
	"net/http"

	"a2a-server/task/inbox/web/signin"
)

// signInPage is the page for signing in, with the name of the server.
type signInPage struct {
	signin.Page
	Server string
}

// SignIn returns the function that renders the page for signing in, for [signin.Config]. It
// uses only the texts, the door and the log of c.
func SignIn(c Config) func(http.ResponseWriter, *http.Request, int, signin.Page) {
	p := &pages{cfg: c, templates: parse(c.Prefix + Path)}
	return func(w http.ResponseWriter, r *http.Request, status int, page signin.Page) {
		_ = p.render(w, r, status, "signin", &frame{Title: "Sign in", Here: "signin", Agent: c.Agent, Version: c.Version, Main: signInPage{page, c.Agent}}) // it has logged why
	}
}
