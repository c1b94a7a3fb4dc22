package operation

import (
	"net/http"
	"slices"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2a/internal/wire"
)

// The headers in which a request names extensions: of A2A 1.0, and of 0.3. Both are read in
// either version.
const (
	ExtensionsHeader    = "A2A-Extensions"
	OldExtensionsHeader = "X-A2A-Extensions"
)

// extensionsKeys are these headers as keys of an http.Header.
var extensionsKeys = [...]string{http.CanonicalHeaderKey(ExtensionsHeader), http.CanonicalHeaderKey(OldExtensionsHeader)}

// extensions are the URIs of the card's extensions.
type extensions struct{ known, required []string }

func extensionsOf(card []sdk.AgentExtension) (x extensions) {
	for _, e := range card {
		x.known = append(x.known, e.URI)
		if e.Required {
			x.required = append(x.required, e.URI)
		}
	}
	return x
}

// active returns the requested extensions that are active: those of the card, in the requested
// order (§4.6, §3.2.6). Other extensions are ignored. asked are the values of the header or of
// the metadata: each may be a list. URIs are compared byte for byte.
//
// A binding lists the active extensions in every response, errors included.
func (x extensions) active(asked []string) []string {
	var active []string
	for _, line := range asked {
		for uri := range strings.SplitSeq(line, ",") {
			if uri = strings.TrimSpace(uri); slices.Contains(x.known, uri) && !slices.Contains(active, uri) {
				active = append(active, uri)
			}
		}
	}
	return active
}

// check refuses a request that does not activate an extension which the card requires
// (§4.6.1, ExtensionSupportRequiredError). Every binding and version has to call it before
// the operation begins.
func (x extensions) check(active []string) error {
	for _, uri := range x.required {
		if !slices.Contains(active, uri) {
			w := wire.ErrNeedsExtension.Saying("the agent requires the extension " + uri + ": implement it, and name it in " + ExtensionsHeader)
			w.Metadata = map[string]string{"requiredExtensions": strings.Join(x.required, ", ")}
			return w
		}
	}
	return nil
}

// Activate lists the active extensions that r names in the response to r, in the header that
// named them, and returns them. It is for responses of any kind: call it before the first error.
func (s *Service) Activate(w http.ResponseWriter, r *http.Request) (active []string) {
	for _, name := range extensionsKeys {
		asked := r.Header[name]
		if len(asked) == 0 {
			continue
		}
		if named := s.extensions.active(asked); len(named) > 0 {
			w.Header().Set(name, strings.Join(named, ", "))
			active = append(active, named...)
		}
	}
	return active
}
