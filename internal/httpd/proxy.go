package httpd

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"a2a-server/auth"
)

// The headers in which a proxy reports its client's request. Forwarded (RFC 7239) is not read:
// a proxy that does not know it passes on the header of its client.
const (
	forwardedFor   = "X-Forwarded-For"
	forwardedHost  = "X-Forwarded-Host"
	forwardedProto = "X-Forwarded-Proto"
)

// Asked returns the scheme and the host that the client used: from the request, or from the
// headers of a trusted proxy.
func (g Guard) Asked(r *http.Request) (scheme, host string) {
	scheme, host = SchemeOf(r), r.Host
	if !g.proxied(r) {
		return scheme, host
	}
	if proto := strings.ToLower(nearest(r.Header[forwardedProto])); proto == "http" || proto == "https" {
		scheme = proto
	}
	if forwarded := nearest(r.Header[forwardedHost]); forwarded != "" {
		host = forwarded
	}
	return scheme, host
}

// SchemeOf returns the scheme of the connection itself.
func SchemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// proxied reports whether a request comes from a trusted proxy.
func (g Guard) proxied(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && g.IsProxy(from.Addr())
}

// IsProxy reports whether an address is a trusted proxy.
func (g Guard) IsProxy(addr netip.Addr) bool {
	return slices.ContainsFunc(g.Proxies, func(p netip.Prefix) bool { return p.Contains(plain(addr)) })
}

// plain returns the canonical form of an address.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

// client returns the address that a request comes from: its peer or, for a trusted proxy, the
// address that the proxy names, and so on. Parts of the header before that are ignored. The
// address is invalid if the peer is unknown.
func (g Guard) client(c *auth.Credentials) netip.Addr {
	addr := plain(c.Remote.Addr())
	if !addr.IsValid() || !g.IsProxy(addr) {
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
		if addr = plain(next); !g.IsProxy(addr) {
			break
		}
	}
	return addr
}

// nearest returns the value from the nearest proxy, which is the last: each proxy appends.
func nearest(values []string) string {
	if len(values) == 0 {
		return ""
	}
	list := values[len(values)-1]
	return strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:])
}
