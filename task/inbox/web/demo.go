package web

import (
	"net/http"
	"strings"

	"a2a-server/auth"
	"a2a-server/task/inbox/api"
	"a2a-server/task/inbox/web/signin"
)

// Demo makes the pages a demo: a person alone sees how two work together. Callers are
// [auth.Anonymous], and a cookie makes them [auth.Persona] while they look at approvals and decide;
// the page to talk to the agent still talks as the requester. It is for a server without
// authentication that only this machine reaches: anybody who has the pages may be the persona.
type Demo struct{ Samples []Sample }

// A Sample is a message to the agent that one click sends.
type Sample struct {
	Text  string
	About string // a sentence: how its call is approved
}

// samples returns the samples of d; none for nil.
func (d *Demo) samples() []Sample {
	if d == nil {
		return nil
	}
	return d.Samples
}

// personaCookie begins the name of the cookie by which the person at the pages of a demo is the persona. The rest
// is random at each start: cookies know no ports, and a new demo begins with the requester.
const personaCookie = "a2a-persona-"

// caller returns the caller of a visit: c, or in a demo the persona if the browser has its cookie.
func (p *pages) caller(c api.Caller, r *http.Request) api.Caller {
	if p.cfg.Demo == nil || !c.By.IsAnonymous() {
		return c
	}
	if k, err := r.Cookie(p.persona); err != nil || k.Value != auth.Persona().Subject {
		return c
	}
	return api.Caller{By: auth.Persona(), Anonymous: true}
}

// switchPersona makes the person at the pages of a demo the persona, or themselves again.
func (v *visit) switchPersona() error {
	if v.cfg.Demo == nil || !v.requester.By.IsAnonymous() {
		return notFound("this server is no demo")
	}
	k := &http.Cookie{Name: v.pages.persona, Path: v.cfg.Prefix + Path, HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: -1}
	if as := v.r.PostForm.Get("as"); as == auth.Persona().Subject {
		k.Value, k.MaxAge = as, 0 // until the browser is closed
	}
	http.SetCookie(v.w, k)
	return v.seeOther(strings.TrimPrefix(signin.Local(Path+v.r.PostForm.Get("back")), Path))
}

// personaSwitch is the form that makes the person at the pages of a demo somebody else.
type personaSwitch struct {
	On   bool   // they are the persona
	Name string // of the persona
	Back string // path and query of the page where they are, below that of the pages
}

// persona returns the switch for a page; nil: the pages are no demo.
func (v *visit) personaSwitch() *personaSwitch {
	if v.cfg.Demo == nil || !v.requester.By.IsAnonymous() {
		return nil
	}
	back := strings.TrimPrefix(v.self, v.link("")) + "?" + v.query.Encode()
	return &personaSwitch{On: v.By.IsPersona(), Name: auth.Persona().Subject, Back: back}
}
