package a2a

import (
	"net/http"
	"slices"
	"strings"

	"a2a-server/a2a/dialect"
)

const extensionsHeader = "A2A-Extensions"

// known returns the URIs of the extensions that we support.
func known() []string {
	var uris []string
	for _, e := range dialect.Extensions() {
		uris = append(uris, e.URI)
	}
	return uris
}

// activate lists in the answer which of the requested extensions are active (§4.6,
// §3.2.6): those that we support. All dialects are always active, so requesting one
// changes nothing else. The header is a list, on one line or several.
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
