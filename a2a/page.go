package a2a

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"a2a-server/a2a/internal/binding"
	"a2a-server/a2a/internal/card"
	"a2a-server/a2a/internal/wire"
	"a2a-server/internal/visible"
)

// Of the response at the base URL.
const (
	protocolDocs = "https://a2a-protocol.org/latest/specification/"
	typeHTML     = "text/html"
)

// page is the response for programs at the base URL.
type page struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Version     string `json:"version"`
	Protocol    string `json:"protocolVersion"`
	Card        string `json:"agentCard"`
	Health      string `json:"health,omitempty"`
	Docs        string `json:"documentation"`
}

// front serves GET at the base URL, without authentication: a browser is sent to the pages for
// people, and any other client gets JSON with the URL of the card.
func (s *Server) front(c echo.Context) error {
	r, h := c.Request(), c.Response().Header()
	h.Add("Vary", "Accept")
	s.service.Base.Vary(h)
	if accept := r.Header["Accept"]; s.cfg.Pages != "" && binding.Quality(accept, typeHTML) > binding.Quality(accept, wire.TypeJSON) {
		h.Set("Location", s.prefix+s.cfg.Pages)
		h.Set("Referrer-Policy", "no-referrer")
		c.Response().WriteHeader(http.StatusSeeOther)
		return nil
	}
	base, now := s.service.Base.Of(r), s.service.Cards.Now()
	p := page{
		Name: visible.Line(now.Name), Description: visible.Line(now.Description), Version: visible.Line(now.Version), Protocol: wire.Version,
		Card: base + card.Path, Docs: protocolDocs,
	}
	if s.cfg.Health != "" {
		p.Health = base + s.cfg.Health
	}
	body, _ := json.Marshal(p) // it has strings only
	return s.service.Requests.Answer(c.Response(), http.StatusOK, wire.TypeJSON, body)
}
