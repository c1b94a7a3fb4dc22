package a2a

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Guard refuses requests that a browser was tricked into: those from a page of a
// foreign origin, and those to a name that is not the server's, as DNS rebinding
// makes them. [Server] applies its own; Wrap is for other routes beside it.
type Guard struct {
	// Hosts are the names, without port, that a request may be made to. Empty: any,
	// which is fine where not every browser of the machine can reach the server.
	Hosts []string
	// Origins are the origins, as "https://example.com:8443", whose pages may call.
	// A request without Origin does not come from another page, and passes.
	Origins []string
	// Proxies are where proxies call from that say in X-Forwarded-Host and
	// X-Forwarded-Proto what their clients have asked for. Of anybody else these headers
	// count for nothing.
	Proxies []netip.Prefix
}

// Wrap guards h. Its answers have the headers of every answer.
func (g Guard) Wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin(w, r)
		defer finish(w, r)
		if wrong := g.check(r); wrong != nil {
			writeError(w, r, wrong)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func (g Guard) check(r *http.Request) *wireError {
	if _, host := g.asked(r); len(g.Hosts) > 0 && !slices.Contains(g.Hosts, hostname(host)) {
		return errForbidden.saying("this server does not answer to that Host: call it by a name of its own, or add the name to allowed_hosts; behind a proxy, set public_url to the URL that clients use")
	}
	origin := r.Header["Origin"]
	if len(origin) > 0 && (len(origin) > 1 || !slices.Contains(g.Origins, origin[0])) {
		return errForbidden.saying("pages of this Origin may not call this server: add it to allowed_origins")
	}
	// What a page has its browser fetch without asking, as with <img>, has no Origin.
	if site := r.Header["Sec-Fetch-Site"]; len(site) > 0 && len(origin) == 0 && slices.Contains(site, "cross-site") && !public(r) {
		return errForbidden.saying("pages of other sites may not call this server: add their origin to allowed_origins, and let them ask for CORS")
	}
	return nil
}

// public reports whether a request asks for what anybody may link to.
func public(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.URL.Path == "/" || r.URL.Path == cardPath)
}

// hostname returns the name in a Host header, in lower case: an IPv6 address in its
// brackets, as it is in a URL.
func hostname(host string) string {
	host = strings.ToLower(host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		if strings.Contains(name, ":") {
			return "[" + name + "]"
		}
		return name
	}
	return host
}
