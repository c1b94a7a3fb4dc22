package card

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2a/agentcard"
)

// schemeOf returns a scheme in the SDK's type.
func schemeOf(s *agentcard.SecurityScheme) sdk.SecurityScheme {
	switch s.Kind {
	case agentcard.SchemeAPIKey:
		return sdk.APIKeySecurityScheme{Description: s.Description, Location: sdk.APIKeySecuritySchemeLocationHeader, Name: s.Header}
	case agentcard.SchemeHTTP:
		return sdk.HTTPAuthSecurityScheme{Description: s.Description, Scheme: s.Scheme, BearerFormat: s.Format}
	case agentcard.SchemeOpenID:
		return sdk.OpenIDConnectSecurityScheme{Description: s.Description, OpenIDConnectURL: s.URL}
	case agentcard.SchemeMTLS:
		return sdk.MutualTLSSecurityScheme{Description: s.Description}
	}
	return nil
}

// checkSecurity refuses schemes that the card cannot say.
func (c *card) checkSecurity() error {
	seen := map[string]bool{}
	for i := range c.Security {
		s := &c.Security[i]
		switch {
		case s.Name == "" || seen[s.Name]:
			return fmt.Errorf("a2a: the security scheme %q of the card has no name of its own: give each one", s.Name)
		case schemeOf(s) == nil:
			return fmt.Errorf("a2a: the security scheme %q of the card has no kind", s.Name)
		case strings.TrimSpace(s.Description) == "":
			return fmt.Errorf("a2a: the security scheme %q of the card has no description, without which some clients drop it", s.Name)
		}
		seen[s.Name] = true
	}
	switch c.SecurityForm {
	case "", agentcard.SecuritySpec, agentcard.SecurityGo, agentcard.SecurityOmit:
		return nil
	}
	return fmt.Errorf("a2a: %q is not a form of security requirements: use spec, go or omit", c.SecurityForm)
}

// specList is a list of scopes as ProtoJSON writes it.
type specList struct {
	List []string `json:"list"`
}

// specRequirement is a security requirement as ProtoJSON writes it.
type specRequirement struct {
	Schemes map[string]specList `json:"schemes"`
}

// alternatives returns the ways to authenticate: the names of the schemes that each needs.
func alternatives(schemes []agentcard.SecurityScheme) (all [][]string) {
	var also []string
	for i := range schemes {
		if schemes[i].Also {
			also = append(also, schemes[i].Name)
		}
	}
	for i := range schemes {
		if !schemes[i].Also {
			all = append(all, append([]string{schemes[i].Name}, also...))
		}
	}
	return all
}

// OpenAPI returns security schemes by name, and the requirements of requests, in the form of OpenAPI and
// A2A 0.3.
func OpenAPI(security []agentcard.SecurityScheme) (schemes map[string]map[string]any, requirements []map[string][]string) {
	schemes = map[string]map[string]any{}
	for i := range security {
		s := &security[i]
		out := map[string]any{"description": s.Description}
		switch s.Kind {
		case agentcard.SchemeAPIKey:
			out["type"], out["in"], out["name"] = "apiKey", "header", s.Header
		case agentcard.SchemeHTTP:
			out["type"], out["scheme"] = "http", s.Scheme
			if s.Format != "" {
				out["bearerFormat"] = s.Format
			}
		case agentcard.SchemeOpenID:
			out["type"], out["openIdConnectUrl"] = "openIdConnect", s.URL
		case agentcard.SchemeMTLS:
			out["type"] = "mutualTLS"
		}
		schemes[s.Name] = out
	}
	for _, names := range alternatives(security) {
		needs := map[string][]string{}
		for _, name := range names {
			needs[name] = []string{}
		}
		requirements = append(requirements, needs)
	}
	return schemes, requirements
}

// secured returns card with its security, and the requirements as ProtoJSON writes them.
func (c *card) secured(card *sdk.AgentCard) (*sdk.AgentCard, []specRequirement) {
	if len(c.Security) == 0 || c.SecurityForm == agentcard.SecurityOmit {
		return card, nil
	}
	with := *card
	with.SecuritySchemes = sdk.NamedSecuritySchemes{}
	for i := range c.Security {
		with.SecuritySchemes[sdk.SecuritySchemeName(c.Security[i].Name)] = schemeOf(&c.Security[i])
	}
	var spec []specRequirement
	for _, names := range alternatives(c.Security) {
		theirs, ours := sdk.SecurityRequirements{}, map[string]specList{}
		for _, name := range names {
			theirs[sdk.SecuritySchemeName(name)], ours[name] = sdk.SecuritySchemeScopes{}, specList{[]string{}}
		}
		with.SecurityRequirements, spec = append(with.SecurityRequirements, theirs), append(spec, specRequirement{ours})
	}
	return &with, spec
}

// encode returns a card as JSON, with its security in the configured form.
func (c *card) encode(card *sdk.AgentCard) ([]byte, error) {
	card, spec := c.secured(card)
	if len(spec) == 0 || c.SecurityForm != agentcard.SecuritySpec {
		return json.Marshal(card)
	}
	return json.Marshal(&struct {
		*sdk.AgentCard
		SecurityRequirements []specRequirement `json:"securityRequirements"`
	}{card, spec})
}
