package agentcard

import (
	"fmt"
	"slices"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval/dialect"
)

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

// ExtensionURIs returns the URIs of the card's extensions, and of those that it requires.
func (c *Card) ExtensionURIs() (known, required []string) {
	for _, e := range c.extensions() {
		known = append(known, e.URI)
		if e.Required {
			required = append(required, e.URI)
		}
	}
	return known, required
}
