package operation

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2a/dialect"
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

// Extension is an extension of the agent card (§4.4.4) that the program around the server
// implements, such as its planner.
type Extension struct {
	URI         string // its name: unique, on one line, without spaces and commas
	Description string
}

// extensions returns the extensions of the card: every dialect, all of which are always
// active, and those of the program.
func (c *Card) extensions() []sdk.AgentExtension {
	all := dialect.Extensions()
	for _, e := range c.Extensions {
		all = append(all, sdk.AgentExtension{URI: e.URI, Description: e.Description})
	}
	for i := range all {
		all[i].Required = slices.Contains(c.RequiredExtensions, all[i].URI)
	}
	return all
}

// CheckExtensions returns an error if an extension of the card cannot be requested, or a
// required extension is not in the card.
func (c *Card) CheckExtensions() error {
	var known []string
	for _, e := range c.extensions() {
		switch {
		case e.URI == "" || strings.ContainsFunc(e.URI, func(r rune) bool { return r <= ' ' || r == ',' || r >= 0x7f }):
			return fmt.Errorf("a2a: %q cannot name an extension: use a URI", e.URI)
		case slices.Contains(known, e.URI):
			return fmt.Errorf("a2a: the card has the extension %s twice", e.URI)
		}
		known = append(known, e.URI)
	}
	for _, uri := range c.RequiredExtensions {
		if !slices.Contains(known, uri) {
			return fmt.Errorf("a2a: the required extension %q is not in the card: use one of %s", uri, strings.Join(known, ", "))
		}
	}
	return nil
}

// extensions are the URIs of the card's extensions.
type extensions struct {
	known, required []string
}

func (c *Card) extensionURIs() extensions {
	var x extensions
	for _, e := range c.extensions() {
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
// A binding lists the active extensions in every answer, errors included.
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

// Activate lists the active extensions that r names in the answer to r, in the header that
// named them, and returns them. It is for answers of any kind: call it before the first error.
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
