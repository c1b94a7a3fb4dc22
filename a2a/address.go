package a2a

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The headers in which a proxy reports its client's request. Forwarded (RFC 7239) is not
// read: a proxy that does not know it passes on what its client sent.
const (
	forwardedHost  = "X-Forwarded-Host"
	forwardedProto = "X-Forwarded-Proto"
)

// asked returns the scheme and the host that the client used: those of the request, or
// those that a trusted proxy reports.
func (g Guard) asked(r *http.Request) (scheme, host string) {
	scheme, host = schemeOf(r), r.Host
	if !g.proxied(r) {
		return scheme, host
	}
	switch proto := strings.ToLower(nearest(r.Header[forwardedProto])); proto {
	case "http", "https":
		scheme = proto
	}
	if forwarded := nearest(r.Header[forwardedHost]); forwarded != "" {
		host = forwarded
	}
	return scheme, host
}

// schemeOf returns the scheme of the connection itself.
func schemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// proxied reports whether a request comes from one of the proxies.
func (g Guard) proxied(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	addr := from.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(g.Proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// nearest returns what the nearest proxy has written: each proxy appends.
func nearest(values []string) string {
	if len(values) == 0 {
		return ""
	}
	list := values[len(values)-1]
	return strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:])
}

// base returns the URL by which the client of a request reaches the interfaces: the card's
// or, when it has none, one made from the host of the request. That host counts only if
// the guard lists it; otherwise the URL has the address and scheme of the connection.
func (s *Server) base(r *http.Request) string {
	if s.cfg.Card.URL != "" {
		return s.cfg.Card.URL
	}
	scheme, host := s.cfg.Guard.asked(r)
	if name := hostname(host); slices.Contains(s.cfg.Guard.Hosts, name) {
		switch port := host[len(name):]; {
		case port == "" || port == ":":
			return scheme + "://" + name
		case isPort(port[1:]):
			return scheme + "://" + name + port
		}
	}
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		u := url.URL{Scheme: schemeOf(r), Host: addr.String()}
		return u.String()
	}
	return schemeOf(r) + "://localhost"
}

// vary tells caches what an answer that contains the base URL depends on.
func (s *Server) vary(h http.Header) {
	if s.cfg.Card.URL != "" {
		return
	}
	h.Add("Vary", "Host")
	if len(s.cfg.Guard.Proxies) > 0 {
		h.Add("Vary", forwardedHost+", "+forwardedProto)
	}
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0 && text[0] != '0'
}
