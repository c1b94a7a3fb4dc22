package operation

import (
	"context"
	"fmt"
	"net/http"

	"a2a-server/auth"
)

// cards makes the agent card of a server for its clients. It is safe for concurrent use.
type cards struct {
	card     Card // with the skills of the configuration
	skills   func() []Skill
	skillsOf func(context.Context, auth.Principal) ([]Skill, error)
	extended bool // authenticated callers get a card of their own

	base     BaseURL
	tenants  tenants
	versions versions
	signer   *cardSigner // nil: cards are not signed
}

func newCards(cfg Config, base BaseURL, named tenants, served versions) (*cards, error) {
	c := &cards{
		card: cfg.Card, skills: cfg.Skills, skillsOf: cfg.SkillsOf, extended: cfg.Authenticator != nil && cfg.SkillsOf != nil,
		base: base, tenants: named, versions: served,
	}
	if cfg.CardKeys == nil {
		return c, nil
	}
	var err error
	c.signer, err = newCardSigner(cfg.CardKeys, cfg.Card.URL)
	return c, err
}

// Now returns the operator's part of the card with its current skills.
func (c *cards) Now() Card {
	card := c.card
	if c.skills != nil {
		card.Skills = c.skills()
	}
	return card
}

// Changes reports whether the card may change while the server runs, within a second too.
func (c *cards) Changes() bool { return c.skills != nil || c.signer != nil }

// Public returns the card for the client of a request.
func (c *cards) Public(r *http.Request) ([]byte, error) {
	now := c.Now()
	encode := now.encode
	if c.versions.wantsUnion(r) {
		encode = now.encodeUnion
	}
	text, err := encode(now.Build(c.base.Of(r), c.extended))
	if err == nil {
		text, err = c.signed(text)
	}
	if err != nil {
		return nil, fmt.Errorf("agent card: %w", err)
	}
	return text, nil
}

// ofCaller returns the extended card for the caller of a request.
func (c *cards) ofCaller(ctx context.Context, r Request) ([]byte, error) {
	asked := r.HTTP
	if r.ToHTTP != nil {
		asked = r.ToHTTP(asked)
	}
	of := c.card
	var err error
	if of.Skills, err = c.skillsOf(ctx, r.By); err != nil {
		return nil, fmt.Errorf("skills of the extended agent card: %w", err)
	}
	card := of.Build(c.base.Of(asked), true /* extended */)
	if c.tenants.inPath(r.By.Tenant) { // "" is not
		for _, i := range card.SupportedInterfaces {
			i.Tenant = r.By.Tenant
		}
	}
	if r.ToHTTP != nil && of.SecurityForm != SecurityOmit {
		of.SecurityForm = SecuritySpec // protobuf has no other form
	}
	encode := of.encode
	if r.V03 {
		encode = of.encodeUnion
	}
	text, err := encode(card)
	if err == nil {
		text, err = c.signed(text)
	}
	return text, err
}
