package httpd

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Guard refuses requests that a browser was tricked into making: requests from pages of a
// foreign origin, and requests to a name that is not the server's (DNS rebinding). A handler
// calls Check itself; Wrap protects a handler that does not.
type Guard struct {
	// Hosts are the names, without port, that a request may use. Empty: any,
	// which is safe unless every browser on the machine can reach the server.
	Hosts []string
	// Origins are the origins, such as "https://example.com:8443", with pages that may call. A
	// request without Origin does not come from another page, and is allowed.
	Origins []string
	// ReadOrigins are the origins with pages that may only read: GET and HEAD, which change
	// nothing.
	ReadOrigins []string
	// Proxies are the addresses of trusted proxies: X-Forwarded-For, X-Forwarded-Host and
	// X-Forwarded-Proto are ignored from any other address.
	Proxies []netip.Prefix
	// Linked are the paths that any page may link to.
	Linked []string
	// Pages is the path below which pages for people are. Any page, mail or issuer may send a
	// browser's window there (GET), because such a request changes nothing and only the person
	// sees the answer. Empty: there are none.
	Pages string
	// Own lets pages of the server's own origin call.
	Own bool
}

// Wrap returns h behind the guard. Its answers have the headers of every answer. A refused
// request gets 403 (PERMISSION_DENIED) and does not reach h.
func (g Guard) Wrap(h http.Handler, refuse func(http.ResponseWriter, *http.Request, *Error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Begin(w, r)
		defer Finish(w, r)
		if wrong := g.Check(r); wrong != nil {
			refuse(w, r, wrong)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// Check returns why a request is refused: 403, or nil.
func (g Guard) Check(r *http.Request) *Error {
	scheme, host := g.Asked(r)
	if len(g.Hosts) > 0 && !slices.Contains(g.Hosts, Hostname(host)) {
		return forbidden("this server does not accept that Host: use one of its own names, or add the name to allowed_hosts; behind a proxy, set public_url to the URL that clients use")
	}
	origin := r.Header["Origin"]
	trusted := len(origin) == 1 && slices.Contains(g.Origins, origin[0])
	if len(origin) > 0 {
		switch {
		case trusted:
		case len(origin) == 1 && g.Own && origin[0] == scheme+"://"+host:
		case len(origin) == 1 && slices.Contains(g.ReadOrigins, origin[0]):
			if !onlyReads(r) {
				return forbidden("pages from this Origin may only read from this server, with GET of HTTP+JSON: add it to allowed_origins")
			}
		default:
			return forbidden("pages from this Origin may not call this server: add it to allowed_origins, or to read_origins")
		}
	}
	if g.opens(r) && len(origin) == 0 {
		return nil
	}
	for _, site := range r.Header["Sec-Fetch-Site"] {
		switch foreign := site != "same-origin" && site != "none"; {
		// Content that a page loads without CORS, such as an <img>, has no Origin.
		case site == "cross-site" && len(origin) == 0 && !g.public(r), foreign && !trusted && !onlyReads(r) && !ambient(r):
			return forbidden("pages from other sites may not call this server: add their origin to allowed_origins, and let them ask for CORS")
		case foreign && ambient(r):
			return forbidden("pages from other sites may not call this server with credentials that the browser sends by itself, such as a certificate: let them send their own token or key, without the browser's credentials")
		}
	}
	return nil
}

// opens reports whether a browser opens a page for a person in a window of its own.
func (g Guard) opens(r *http.Request) bool {
	return g.Pages != "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		(r.URL.Path == g.Pages || strings.HasPrefix(r.URL.Path, g.Pages+"/")) &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// onlyReads reports whether a request can only read, or asks whether it may (CORS).
func onlyReads(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return true
	case http.MethodOptions:
		return r.Header.Get("Access-Control-Request-Method") == http.MethodGet
	}
	return false
}

// ambient reports whether a request may have a credential that its sender did not put into
// it: a browser sends the certificate of its user with every request, whatever page makes
// it. So do programs that connect browsers to a Unix socket.
func ambient(r *http.Request) bool {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	_, unix := at.(*net.UnixAddr)
	return unix || r.TLS != nil && len(r.TLS.PeerCertificates) > 0
}

// public reports whether a request is for something that any page may link to.
func (g Guard) public(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && slices.Contains(g.Linked, r.URL.Path)
}

// Hostname returns the name in a Host header, in lower case; an IPv6 address in
// brackets, as in a URL.
func Hostname(host string) string {
	host = strings.ToLower(host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		if strings.Contains(name, ":") {
			return "[" + name + "]"
		}
		return name
	}
	return host
}
