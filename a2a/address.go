package a2a

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"a2a-server/auth"
)

// The headers in which a proxy reports its client's request. Forwarded (RFC 7239) is not
// read: a proxy that does not know it passes on what its client sent.
const (
	forwardedFor   = "X-Forwarded-For"
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
	return err == nil && g.isProxy(plain(from.Addr()))
}

// isProxy reports whether an address is one of the proxies.
func (g Guard) isProxy(addr netip.Addr) bool {
	return slices.ContainsFunc(g.Proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// plain returns the one form of an address.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// client returns the address that a request comes from: its peer's or, as long as that is a
// proxy, the one that the proxy names. What somebody else has written into the header does
// not count. It is invalid if the peer is unknown.
func (g Guard) client(c *auth.Credentials) netip.Addr {
	addr := plain(c.Remote.Addr())
	if !addr.IsValid() || !g.isProxy(addr) {
		return addr
	}
	named := strings.Split(strings.Join(c.Header(forwardedFor), ","), ",")
	for _, text := range slices.Backward(named) {
		text = strings.TrimSpace(text)
		next, err := netip.ParseAddr(strings.Trim(text, "[]"))
		if err != nil {
			at, err := netip.ParseAddrPort(text)
			if err != nil {
				break
			}
			next = at.Addr()
		}
		if addr = plain(next); !g.isProxy(addr) {
			break
		}
	}
	return addr
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
