package a2a

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"a2a-server/internal/httpd"
)

// base returns the URL by which the client of a request reaches the interfaces: the card's or,
// without it, a URL made from the host of the request. That host counts only if the guard
// lists it; otherwise the URL has the address and scheme of the connection.
func (s *Server) base(r *http.Request) string {
	if s.cfg.Card.URL != "" {
		return s.cfg.Card.URL
	}
	scheme, host := s.cfg.Guard.Asked(r)
	if name := httpd.Hostname(host); slices.Contains(s.cfg.Guard.Hosts, name) {
		switch port := host[len(name):]; {
		case port == "" || port == ":":
			return scheme + "://" + name
		case isPort(port[1:]):
			return scheme + "://" + name + port
		}
	}
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		u := url.URL{Scheme: httpd.SchemeOf(r), Host: addr.String()}
		return u.String()
	}
	return httpd.SchemeOf(r) + "://localhost"
}

// vary tells caches on which headers an answer with the base URL depends.
func (s *Server) vary(h http.Header) {
	if s.cfg.Card.URL != "" {
		return
	}
	h.Add("Vary", "Host")
	if len(s.cfg.Guard.Proxies) > 0 {
		h.Add("Vary", "X-Forwarded-Host, X-Forwarded-Proto")
	}
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0 && text[0] != '0'
}
