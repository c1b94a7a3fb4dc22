package a2a

import (
	"net/http"
	"slices"
	"strings"

	"a2a-server/a2a/dialect"
)

const extensionsHeader = "A2A-Extensions"

// known are the URIs of the extensions that we speak.
func known() []string {
	var uris []string
	for _, e := range dialect.Extensions() {
		uris = append(uris, e.URI)
	}
	return uris
}

// activate says in the answer which of the extensions that a client asked for are
// active (§4.6, §3.2.6): those that we speak. Every dialect is always spoken, so
// that is all that asking changes. The header is a list, in one line or several.
func (s *Server) activate(w http.ResponseWriter, r *http.Request) {
	asked := r.Header[http.CanonicalHeaderKey(extensionsHeader)]
	if len(asked) == 0 {
		return
	}
	var active []string
	for _, line := range asked {
		for uri := range strings.SplitSeq(line, ",") {
			if uri = strings.TrimSpace(uri); slices.Contains(s.extensions, uri) && !slices.Contains(active, uri) {
				active = append(active, uri)
			}
		}
	}
	if len(active) > 0 {
		w.Header().Set(extensionsHeader, strings.Join(active, ", "))
	}
}
