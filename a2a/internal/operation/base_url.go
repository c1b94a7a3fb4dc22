package operation

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"a2a-server/internal/httpd"
)

// BaseURL is the URL of the interfaces.
type BaseURL struct {
	Card  string      // the URL of the card; "": it depends on the request
	Guard httpd.Guard // which hosts are the server's
}

// Of returns the URL by which the client of a request reaches the interfaces: the card's or,
// without it, a URL made from the host of the request. That host counts only if the guard
// lists it; otherwise the URL has the address and scheme of the connection.
func (b BaseURL) Of(r *http.Request) string {
	if b.Card != "" {
		return b.Card
	}
	scheme, host := b.Guard.Asked(r)
	if name := httpd.Hostname(host); slices.Contains(b.Guard.Hosts, name) {
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

// Vary tells caches on which headers a response with the base URL depends.
func (b BaseURL) Vary(h http.Header) {
	if b.Card != "" {
		return
	}
	h.Add("Vary", "Host")
	if len(b.Guard.Proxies) > 0 {
		h.Add("Vary", "X-Forwarded-Host, X-Forwarded-Proto")
	}
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0 && text[0] != '0'
}
