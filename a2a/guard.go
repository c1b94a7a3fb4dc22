package a2a

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Guard refuses requests that a browser was tricked into making: requests from pages of a
// foreign origin, and requests to a name that is not the server's (DNS rebinding).
// [Server] applies its own Guard; Wrap protects other routes next to it.
type Guard struct {
	// Hosts are the names, without port, that a request may use. Empty: any,
	// which is safe unless every browser on the machine can reach the server.
	Hosts []string
	// Origins are the origins, as "https://example.com:8443", whose pages may call.
	// A request without Origin does not come from another page, and is allowed.
	Origins []string
	// Proxies are the addresses of proxies whose X-Forwarded-Host and X-Forwarded-Proto
	// are trusted. From any other address these headers are ignored.
	Proxies []netip.Prefix
}

// Wrap returns h behind the guard. Its answers have the headers of every answer. A refused
// request gets 403 (PERMISSION_DENIED) and does not reach h.
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
		return errForbidden.saying("this server does not accept that Host: use one of its own names, or add the name to allowed_hosts; behind a proxy, set public_url to the URL that clients use")
	}
	origin := r.Header["Origin"]
	if len(origin) > 0 && (len(origin) > 1 || !slices.Contains(g.Origins, origin[0])) {
		return errForbidden.saying("pages from this Origin may not call this server: add it to allowed_origins")
	}
	// What a page loads without CORS, such as an <img>, has no Origin.
	if site := r.Header["Sec-Fetch-Site"]; len(site) > 0 && len(origin) == 0 && slices.Contains(site, "cross-site") && !public(r) {
		return errForbidden.saying("pages from other sites may not call this server: add their origin to allowed_origins, and let them ask for CORS")
	}
	return nil
}

// public reports whether a request is for something that any page may link to.
func public(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.URL.Path == "/" || r.URL.Path == cardPath)
}

// hostname returns the name in a Host header, in lower case; an IPv6 address in
// brackets, as in a URL.
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
