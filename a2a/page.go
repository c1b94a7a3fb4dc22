package a2a

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"a2a-server/auth"
	"a2a-server/internal/visible"
	"a2a-server/task/engine"
)

// Of the page at the base URL.
const (
	protocolDocs = "https://a2a-protocol.org/latest/specification/"
	typeHTML     = "text/html"
)

// maxCounted is how many pending approvals the page counts up to.
const maxCounted = 100

// pageStyle is the only resource of the page: it has no script and no image, and loads
// nothing.
const pageStyle = `:root{color-scheme:light dark}
body{font:1rem/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}
h1{margin-bottom:0}
small,.tags{opacity:.7}
dt{font-weight:600;margin-top:.6rem}
dd{margin:0}`

const pageText = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Name}}</title>
<style>{{.Style}}</style>
<h1>{{.Name}}</h1>
<p><small>version {{.Version}}, A2A {{.Protocol}}</small></p>
<p>{{.Description}}</p>
<ul>
<li><a href="{{.Card}}">Agent card</a>: what clients read first</li>
{{with .Health}}<li><a href="{{.}}">Health</a>: whether this server accepts requests</li>
{{end}}<li><a href="{{.Docs}}">A2A</a>: the protocol, for client developers</li>
</ul>
{{with .Inside}}<h2>Approvals</h2>
<p>{{.Pending}}</p>
<h2>Tools</h2>
{{if .Tools}}<dl>
{{range .Tools}}<dt>{{.Name}}</dt><dd>{{.Description}}{{range .Tags}} <span class="tags">· {{.}}</span>{{end}}</dd>
{{end}}</dl>
{{else}}<p>none</p>
{{end}}{{end}}</html>
`

// page is what a browser is shown at the base URL.
type page struct {
	Name        string       `json:"name"`
	Description string       `json:"description"`
	Version     string       `json:"version"`
	Protocol    string       `json:"protocolVersion"`
	Card        string       `json:"agentCard"`
	Health      string       `json:"health,omitempty"`
	Docs        string       `json:"documentation"`
	Inside      *inside      `json:"-"`
	Style       template.CSS `json:"-"`
}

// inside is shown only to callers who may review approvals.
type inside struct {
	Pending string
	Tools   []Skill
}

// pages renders the page at the base URL.
type pages struct {
	template *template.Template
	policy   string // Content-Security-Policy
}

func newPages() (pages, error) {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return pages{}, fmt.Errorf("a2a: the page: %w", err)
	}
	style := sha256.Sum256([]byte(pageStyle))
	return pages{t, "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}, nil
}

// front serves GET at the base URL: a page for a browser, and for any other client JSON
// that says where the card is. Everybody may see that; [inside] is only for callers who may
// review approvals.
func (s *Server) front(c echo.Context) error {
	r, h := c.Request(), c.Response().Header()
	base, now := s.base(r), s.cardNow()
	card := now.build("", false /* extended */)
	p := page{
		Name: visible.Line(card.Name), Description: visible.Line(card.Description), Version: visible.Line(card.Version), Protocol: version,
		Card: base + cardPath, Docs: protocolDocs, Style: pageStyle,
	}
	if s.cfg.Health != "" {
		p.Health = base + s.cfg.Health
	}
	h.Add("Vary", "Accept")
	s.vary(h)
	accept := r.Header["Accept"]
	if quality(accept, typeHTML) <= quality(accept, typeJSON) {
		body, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("front: %w", err)
		}
		return s.requests.Answer(c.Response(), typeJSON, body)
	}
	p.Inside = s.inside(c.Response(), r, now.Skills)
	var body bytes.Buffer
	if err := s.pages.template.Execute(&body, p); err != nil {
		return fmt.Errorf("front: %w", err)
	}
	h.Set("Content-Security-Policy", s.pages.policy)
	h.Set("Referrer-Policy", "no-referrer")
	return s.requests.Answer(c.Response(), typeHTML+"; charset=utf-8", body.Bytes())
}

// inside returns what only callers who may review approvals see, or nil when the caller of
// r is not one.
func (s *Server) inside(w http.ResponseWriter, r *http.Request, tools []Skill) *inside {
	by, err := s.requests.Principal(w, r)
	if err != nil || by.May(auth.Review) != nil {
		return nil
	}
	in := &inside{Pending: "They cannot be counted at the moment."}
	for _, k := range tools {
		k.Name, k.Description = visible.Line(k.Name), visible.Line(k.Description)
		in.Tools = append(in.Tools, k)
	}
	switch list, err := s.cfg.Engine.Approvals().List(r.Context(), by, engine.ApprovalQuery{Limit: maxCounted}); {
	case err != nil:
		s.cfg.Log.Warn().Err(err).Msg("pending approvals cannot be counted")
	case list.Next != "":
		in.Pending = strconv.Itoa(maxCounted) + " or more are waiting for a decision."
	case len(list.Approvals)+list.Damaged == 0:
		in.Pending = "None are waiting for a decision."
	default:
		in.Pending = strconv.Itoa(len(list.Approvals)+list.Damaged) + " waiting for a decision."
	}
	return in
}
