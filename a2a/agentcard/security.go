package agentcard

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// SchemeKind is a kind of credentials that the agent card knows (§4.5).
type SchemeKind uint8

// The kinds.
const (
	SchemeAPIKey SchemeKind = iota + 1 // a key in a header
	SchemeHTTP                         // a scheme of Authorization, such as Bearer
	SchemeOpenID                       // a token of an issuer with a discovery document
	SchemeMTLS                         // a certificate of the client
)

// SecurityScheme is a way for clients to authenticate. A request has to use exactly one of the
// schemes in the card.
type SecurityScheme struct {
	Name        string // in the card, unique there
	Kind        SchemeKind
	Description string // for people; must not be empty, since some clients drop empty schemes
	Also        bool   // needed with each of the other schemes, and no credential by itself
	Header      string // that has the credential. Defaults to Authorization, but not for SchemeAPIKey
	Scheme      string // of Authorization, for SchemeHTTP
	Format      string // of the token, for SchemeHTTP; may be empty
	URL         string // of the discovery document, for SchemeOpenID
}

// sdk returns the scheme in the SDK's type.
func (s *SecurityScheme) sdk() sdk.SecurityScheme {
	switch s.Kind {
	case SchemeAPIKey:
		return sdk.APIKeySecurityScheme{Description: s.Description, Location: sdk.APIKeySecuritySchemeLocationHeader, Name: s.Header}
	case SchemeHTTP:
		return sdk.HTTPAuthSecurityScheme{Description: s.Description, Scheme: s.Scheme, BearerFormat: s.Format}
	case SchemeOpenID:
		return sdk.OpenIDConnectSecurityScheme{Description: s.Description, OpenIDConnectURL: s.URL}
	case SchemeMTLS:
		return sdk.MutualTLSSecurityScheme{Description: s.Description}
	}
	return nil
}

// SecurityForm is how a card writes its security requirements: clients disagree.
type SecurityForm string

// The forms. The SDKs for Python and JavaScript read both spec and go. The Go SDK 2.4.0, its
// command line and ADK for Go refuse a card in the form of the specification; a strict reader
// of ProtoJSON refuses a card in the form of the Go SDK.
const (
	SecuritySpec SecurityForm = "spec" // {"schemes":{"key":{"list":[]}}}
	SecurityGo   SecurityForm = "go"   // {"schemes":{"key":[]}}. The default.
	SecurityOmit SecurityForm = "omit" // neither schemes nor requirements
)

// checkSecurity refuses schemes that the card cannot say.
func (c *Card) checkSecurity() error {
	seen := map[string]bool{}
	for i := range c.Security {
		s := &c.Security[i]
		switch {
		case s.Name == "" || seen[s.Name]:
			return fmt.Errorf("a2a: the security scheme %q of the card has no name of its own: give each one", s.Name)
		case s.sdk() == nil:
			return fmt.Errorf("a2a: the security scheme %q of the card has no kind", s.Name)
		case strings.TrimSpace(s.Description) == "":
			return fmt.Errorf("a2a: the security scheme %q of the card has no description, without which some clients drop it", s.Name)
		}
		seen[s.Name] = true
	}
	switch c.SecurityForm {
	case "", SecuritySpec, SecurityGo, SecurityOmit:
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

// Alternatives returns the ways to authenticate: the names of the schemes that each needs.
func (c *Card) Alternatives() (all [][]string) {
	var also []string
	for i := range c.Security {
		if c.Security[i].Also {
			also = append(also, c.Security[i].Name)
		}
	}
	for i := range c.Security {
		if !c.Security[i].Also {
			all = append(all, append([]string{c.Security[i].Name}, also...))
		}
	}
	return all
}

// secured returns card with its security, and the requirements as ProtoJSON writes them.
func (c *Card) secured(card *sdk.AgentCard) (*sdk.AgentCard, []specRequirement) {
	if len(c.Security) == 0 || c.SecurityForm == SecurityOmit {
		return card, nil
	}
	with := *card
	with.SecuritySchemes = sdk.NamedSecuritySchemes{}
	for i := range c.Security {
		with.SecuritySchemes[sdk.SecuritySchemeName(c.Security[i].Name)] = c.Security[i].sdk()
	}
	var spec []specRequirement
	for _, names := range c.Alternatives() {
		theirs, ours := sdk.SecurityRequirements{}, map[string]specList{}
		for _, name := range names {
			theirs[sdk.SecuritySchemeName(name)], ours[name] = sdk.SecuritySchemeScopes{}, specList{[]string{}}
		}
		with.SecurityRequirements, spec = append(with.SecurityRequirements, theirs), append(spec, specRequirement{ours})
	}
	return &with, spec
}

// encode returns a card as JSON, with its security in the configured form.
func (c *Card) encode(card *sdk.AgentCard) ([]byte, error) {
	card, spec := c.secured(card)
	if len(spec) == 0 || c.SecurityForm != SecuritySpec {
		return json.Marshal(card)
	}
	return json.Marshal(&struct {
		*sdk.AgentCard
		SecurityRequirements []specRequirement `json:"securityRequirements"`
	}{card, spec})
}
