package a2a

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

	base     baseURL
	tenants  tenants
	versions versions
	signer   *cardSigner // nil: cards are not signed
}

func newCards(cfg Config, base baseURL, named tenants, served versions) (*cards, error) {
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

// now returns the operator's part of the card with its current skills.
func (c *cards) now() Card {
	card := c.card
	if c.skills != nil {
		card.Skills = c.skills()
	}
	return card
}

// changes reports whether the card may change while the server runs, within a second too.
func (c *cards) changes() bool { return c.skills != nil || c.signer != nil }

// public returns the card for the client of a request.
func (c *cards) public(r *http.Request) ([]byte, error) {
	now := c.now()
	encode := now.encode
	if c.versions.wantsUnion(r) {
		encode = now.encodeUnion
	}
	text, err := encode(now.build(c.base.of(r), c.extended))
	if err == nil {
		text, err = c.signed(text)
	}
	if err != nil {
		return nil, fmt.Errorf("agent card: %w", err)
	}
	return text, nil
}

// ofCaller returns the extended card for the caller of a request.
func (c *cards) ofCaller(ctx context.Context, r operationRequest) ([]byte, error) {
	asked := r.request
	if r.toHTTP != nil {
		asked = r.toHTTP(asked)
	}
	of := c.card
	var err error
	if of.Skills, err = c.skillsOf(ctx, r.by); err != nil {
		return nil, fmt.Errorf("skills of the extended agent card: %w", err)
	}
	card := of.build(c.base.of(asked), true /* extended */)
	if c.tenants.inPath(r.by.Tenant) { // "" is not
		for _, i := range card.SupportedInterfaces {
			i.Tenant = r.by.Tenant
		}
	}
	if r.toHTTP != nil && of.SecurityForm != SecurityOmit {
		of.SecurityForm = SecuritySpec // protobuf has no other form
	}
	encode := of.encode
	if r.v03 {
		encode = of.encodeUnion
	}
	text, err := encode(card)
	if err == nil {
		text, err = c.signed(text)
	}
	return text, err
}
