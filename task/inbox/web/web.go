package web

import (
	"context"
	"crypto/rand"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/auth"
	"a2a-server/client"
	"a2a-server/internal/httpd"
	"a2a-server/internal/visible"
	"a2a-server/task/inbox/api"
)

// Path is where the pages are, below the base URL.
const Path = "/ui"

// requestTime bounds every request but streams.
const requestTime = time.Minute

// Tool is a tool as the page about the server lists it.
type Tool struct {
	Name, Description string
	Asks              string // the gates before it runs, in words; "": none
	Example           string // a message that calls it; "": messages do not name tools
}

// Message is a message to the agent.
type Message struct {
	Text    string
	Task    string // id of the task that it continues; "": a new task
	Context string // of a new task; "": a new conversation
}

// Config configures the pages. All fields are required but those whose comment says otherwise. The
// guard of Door lets in the pages of its Origins, which may send forms, and links from anywhere,
// which prepare no decision.
type Config struct {
	Service *api.Service
	Door    api.Door
	// Identify returns the caller of a request, and in words how it has authenticated. It has answered
	// the request if ok is false.
	Identify  func(w http.ResponseWriter, r *http.Request) (c api.Caller, method string, ok bool)
	Prefix    string // path of the base URL, without a slash at its end
	PublicURL string // base URL for commands to copy; "": this server, as text
	SignOut   string // path to post to, below the base URL; "": there is no signing out
	// Send sends a message to the agent, in the name of a caller, which decides no approval. It returns
	// the task that the message created or continued, or the text of an answer without a task. Its
	// errors are mapped by [api.Problem].
	Send func(ctx context.Context, c api.Caller, m Message) (task, answer string, err error)
	// Tools lists the tools of a caller.
	Tools func(context.Context, auth.Principal) []Tool
	// PlainWords: messages need no form, because a language model reads them.
	PlainWords bool
	// Rules returns the gates about a tool, or all for "", with their names and texts.
	Rules func(tool string) []Rule
	// Explain says in words what the gates do with a call, which is not made. args is JSON.
	Explain func(ctx context.Context, tool, args string, by auth.Principal) (string, error)
	Health  func() error // why the server is not ready
	// Documents are the documents of this version, Markdown files.
	Documents fs.FS
	// Demo makes the pages a demo. Nil: they are none.
	Demo           *Demo
	Agent, Version string
	Log            zerolog.Logger
	Now            func() time.Time
}

type pages struct {
	cfg       Config
	mux       *http.ServeMux
	templates map[string]*template.Template // by page
	persona   string                        // name of the cookie of a demo
}

// visit is a request of a known caller, and its answer.
type visit struct {
	*pages
	api.Caller            // who reads and decides
	requester  api.Caller // whose tasks the pages show: the same, but in a demo never the persona
	method     string     // how the caller has authenticated
	w          http.ResponseWriter
	r          *http.Request
	sameOrigin bool // a page of this server has led here
	texts
}

// New returns the handler of the pages at [Path]. Requests arrive with paths relative to the
// base URL.
func New(c Config) http.Handler {
	p := &pages{cfg: c, mux: http.NewServeMux(), templates: parse(c.Prefix + Path), persona: personaCookie + rand.Text()[:8]}
	get := func(path string, action auth.Action, run func(*visit) error) { p.route("GET", path, action, run) }
	post := func(path string, action auth.Action, run func(*visit) error) { p.route("POST", path, action, run) }
	shown := func(run func(*visit, *client.ApprovalDetail) error) func(*visit) error {
		return func(v *visit) error {
			d, err := v.detail(v.r.PathValue("id"))
			if err != nil {
				return err
			}
			return run(v, d)
		}
	}
	get("/{$}", 0, (*visit).inbox)
	get("/approvals/{id}", auth.Review, shown((*visit).approval))
	get("/approvals/{id}/row", auth.Review, shown((*visit).row))
	get("/approvals/{id}/edit", auth.Review, shown((*visit).edit))
	post("/approvals/{id}/edit", auth.Decide, shown((*visit).checkEdit))
	post("/approvals/{id}/decision", auth.Decide, shown((*visit).decide))
	post("/approvals/{id}/extension", auth.Decide, (*visit).extend)
	post("/approvals/{id}/anew", auth.Decide, (*visit).askAnew)
	get("/batch", auth.Decide, showBatch)
	post("/batch", auth.Decide, decideBatch)
	get("/batch/results", auth.Review, showResults)
	get("/tasks", auth.List, (*visit).tasks)
	get("/tasks/{id}", auth.Read, (*visit).task)
	get("/tasks/{id}/raw", auth.Read, (*visit).rawTask)
	get("/tasks/{id}/prompts/{step}", auth.Read, showPrompt)
	post("/tasks/{id}/cancel", auth.Cancel, (*visit).cancelTask)
	post("/tasks/{id}/calls/{call}/cancel", auth.Cancel, (*visit).cancelCall)
	get("/history", 0, showHistory)
	get("/grants", auth.Review, showGrants)
	post("/grants/{id}/revoke", auth.Decide, revokeGrant)
	get("/about", 0, showAbout)
	get("/docs/{name}", 0, showDocument)
	get("/policy", 0, readPolicy)
	post("/policy", 0, explainCall)
	get("/try", auth.Create, (*visit).try)
	post("/try", auth.Create, (*visit).send)
	post("/persona", 0, (*visit).switchPersona)
	p.mux.HandleFunc("GET "+Path+"/events", func(w http.ResponseWriter, r *http.Request) {
		if v := p.known(w, r); v != nil {
			if err := v.events(); err != nil {
				v.fail(v.problem(err, ""))
			}
		}
	})
	p.mux.HandleFunc("GET "+Path+"/static/{hash}/{file}", p.static)
	p.mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) { p.redirect(w, "/") })
	p.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if v := p.known(w, r); v != nil {
			v.fail(notFound("there is no page at this address, or it takes another method"))
		}
	})
	return http.HandlerFunc(p.serve)
}

func notFound(detail string) *client.Error {
	return &client.Error{Status: http.StatusNotFound, Reason: client.ReasonNotFound, Title: "There is nothing here", Detail: detail}
}

func invalid(status int, title, detail string) *client.Error {
	return &client.Error{Status: status, Reason: client.ReasonInvalid, Title: title, Detail: detail}
}

// serve checks where a request comes from before anything else.
func (p *pages) serve(w http.ResponseWriter, r *http.Request) {
	httpd.Begin(w, r)
	defer httpd.End(w, r, p.cfg.Log)
	if wrong := p.cfg.Door.Guard.Check(r); wrong != nil {
		refuse(w, api.Problem(wrong))
		return
	}
	p.mux.ServeHTTP(w, r)
}

// route adds a page. An action of 0 is for every caller.
func (p *pages) route(method, path string, action auth.Action, run func(*visit) error) {
	p.mux.HandleFunc(method+" "+Path+path, func(w http.ResponseWriter, r *http.Request) {
		v := p.known(w, r)
		if v == nil {
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), requestTime)
		defer cancel()
		v.r = r.WithContext(ctx)
		var err error
		if action != 0 {
			err = v.By.May(action)
		}
		if err == nil && method == "POST" {
			err = v.readForm()
		}
		if err == nil {
			err = run(v)
		}
		if err != nil {
			v.fail(v.problem(err, r.PathValue("id")))
		}
	})
}

// known returns the visit of a request with a known caller; nil: it is answered.
func (p *pages) known(w http.ResponseWriter, r *http.Request) *visit {
	c, method, ok := p.cfg.Identify(w, r)
	if !ok {
		return nil
	}
	v := &visit{pages: p, Caller: p.caller(c, r), requester: c, method: method, w: w, r: r, sameOrigin: p.isSameOrigin(r), texts: textsOf(r, p.cfg.Prefix, p.cfg.Now())}
	if !v.sameOrigin {
		for _, prepared := range []string{"do", "text", "context"} {
			v.query.Del(prepared)
		}
	}
	return v
}

// isSameOrigin reports whether a page of this server has led to r. A link from elsewhere, a mail or a
// bookmark shows what it names, but prepares nothing: the person opens a panel and writes a
// message. Browsers that send no Sec-Fetch-Site, such as all browsers without TLS, send the Referer.
func (p *pages) isSameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	from, err := url.Parse(r.Header.Get("Referer"))
	if err != nil {
		return false
	}
	scheme, host := p.cfg.Door.Guard.Asked(r)
	origin := from.Scheme + "://" + from.Host
	return origin == scheme+"://"+host || slices.Contains(p.cfg.Door.Guard.Origins, origin)
}

func (v *visit) ctx() context.Context { return v.r.Context() }

// problem returns the problem of an error, with the approval that it is about.
func (v *visit) problem(err error, id string) *client.Error {
	return v.cfg.Service.Explain(v.ctx(), v.Caller, err, id)
}

// maxForm is how many bytes a form may have: arguments of 128 KiB, escaped.
const maxForm = 1 << 20

// readForm reads the form of a request. Large forms count towards the memory of large
// requests.
func (v *visit) readForm() error {
	if n := v.r.ContentLength; n < 0 || n > httpd.FreeBody {
		give, err := v.cfg.Door.Requests.Reserve(v.By, maxForm)
		if err != nil {
			return err
		}
		context.AfterFunc(v.r.Context(), give)
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm)
	if err := v.r.ParseForm(); err != nil {
		return invalid(http.StatusBadRequest, "The form cannot be read", "it is damaged, or larger than 1 MiB: go back, and send it again")
	}
	httpd.BodyRead(v.w, v.r)
	return nil
}

// link returns the address of a page.
func (p *pages) link(path string) string { return p.cfg.Prefix + Path + path }

// redirect sends a browser to a page, after a POST or from an address that has none.
func (p *pages) redirect(w http.ResponseWriter, path string) {
	w.Header().Set("Location", p.link(path))
	secure(w, "")
	w.WriteHeader(http.StatusSeeOther)
}

// seeOther is redirect after a change.
func (v *visit) seeOther(path string) error {
	v.redirect(v.w, path)
	return nil
}

// secure sets the headers of every page.
func secure(w http.ResponseWriter, nonce string) {
	script := "'none'"
	if nonce != "" {
		script = "'nonce-" + nonce + "'"
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src "+script+"; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// frame is the common part of all pages, around the content of each.
type frame struct {
	Title, Here, Nonce, UI, Static string
	Agent, Version                 string
	User, Identity                 string // "": no caller is known
	Roles, Method                  string
	SignOut                        string
	Tasks, Try, Policy             bool           // whether the caller may open these pages
	Pending                        string         // approvals; "": not known
	Live                           string         // query of the events that the page follows
	Persona                        *personaSwitch // nil: the pages are no demo
	Now                            int64          // ms
	Main                           any
}

// show answers with a page.
func (v *visit) show(status int, name, title, live string, main any) error {
	by := v.By
	f := frame{
		Title: title, Here: name, Agent: v.cfg.Agent, Version: v.cfg.Version, User: by.Subject, Identity: by.Subject,
		Roles: strings.Join(by.Roles, ", "), Method: v.method, Tasks: by.May(auth.List) == nil, Try: by.May(auth.Create) == nil, Policy: seesPolicy(v), Live: live, Persona: v.personaSwitch(), Main: main,
	}
	if by.Tenant != "" {
		f.Identity = by.Tenant + ":" + by.Subject
	}
	if v.cfg.SignOut != "" {
		f.SignOut = v.cfg.Prefix + v.cfg.SignOut
	}
	f.Pending = v.pending()
	return v.render(v.w, v.r, status, name, &f)
}

// maxCounted is how many pending approvals the navigation counts up to.
const maxCounted = 100

// pending returns how many approvals are pending, in words; "" if the caller may not see them.
func (v *visit) pending() string {
	n, more, err := v.cfg.Service.Pending(v.ctx(), v.Caller, maxCounted)
	switch {
	case err != nil:
		return ""
	case more:
		return fmt.Sprintf("%d+", n)
	}
	return fmt.Sprint(n)
}

// refuse answers a request without a known caller with an error page.
func refuse(w http.ResponseWriter, wrong *client.Error) {
	secure(w, "")
	httpd.Bound(w)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(wrong.Status)
	_, _ = fmt.Fprintf(w, "%s\n\n%s\n", wrong.Title, visible.ClipText(wrong.Detail, 3000)) // the client is gone if it fails
}

// fail answers with an error page.
func (v *visit) fail(wrong *client.Error) {
	_ = v.show(wrong.Status, "error", wrong.Title, "", wrong) // likewise
}
