package card

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2a/agentcard"
	"a2a-server/auth"
	"a2a-server/internal/keyring"
)

// Config configures [Cards].
type Config struct {
	Card   agentcard.Card
	Pushes bool // the server sends push notifications

	// Skills returns the skills of the card, for each client; nil: Card.Skills.
	Skills func() []agentcard.Skill
	// SkillsOf returns the skills of the extended card; nil: there is none.
	SkillsOf func(context.Context, auth.Principal) ([]agentcard.Skill, error)
	// Keys signs the cards. It needs Card.URL. Nil: they are not signed.
	Keys *keyring.Signer
}

// Cards makes the agent card of a server for its clients. It is safe for concurrent use.
type Cards struct {
	cfg    Config
	signer *signer // nil: cards are not signed
}

// Form is the form of a card for a client.
type Form struct {
	BaseURL  string // by which the client reaches the interfaces
	Tenant   string // of the interfaces; "": none
	Union    bool   // it has the members of A2A 0.3, too
	Protobuf bool   // it becomes protobuf, which has one form of security requirements
}

// New returns the cards of a server. It is an error if the card cannot be made.
func New(cfg Config) (*Cards, error) {
	c := &Cards{cfg: cfg}
	if err := errors.Join(c.with(nil).checkSecurity(), cfg.Card.CheckExtensions()); err != nil {
		return nil, err
	}
	if cfg.Keys == nil {
		return c, nil
	}
	var err error
	c.signer, err = newSigner(cfg.Keys, cfg.Card.URL)
	return c, err
}

// with returns the operator's part of the card with skills.
func (c *Cards) with(skills []agentcard.Skill) *card {
	made := &card{c.cfg.Card, c.cfg.Pushes}
	made.Skills = skills
	return made
}

// now is with for the skills of all clients.
func (c *Cards) now() *card {
	if c.cfg.Skills == nil {
		return c.with(c.cfg.Card.Skills)
	}
	return c.with(c.cfg.Skills())
}

// Now returns the card with its current skills, without the URL of its interfaces.
func (c *Cards) Now() *sdk.AgentCard { return c.now().build("", false /* extended */) }

// Changes reports whether the card may change while the server runs, within a second too.
func (c *Cards) Changes() bool { return c.cfg.Skills != nil || c.signer != nil }

// HasExtended reports whether there is an extended card.
func (c *Cards) HasExtended() bool { return c.cfg.SkillsOf != nil }

// Public returns the card for all clients.
func (c *Cards) Public(f Form) ([]byte, error) {
	text, err := c.write(c.now(), f, c.HasExtended())
	if err != nil {
		return nil, fmt.Errorf("agent card: %w", err)
	}
	return text, nil
}

// Extended returns the card with the skills that a caller may use (§3.1.11).
func (c *Cards) Extended(ctx context.Context, by auth.Principal, f Form) ([]byte, error) {
	skills, err := c.cfg.SkillsOf(ctx, by)
	if err != nil {
		return nil, fmt.Errorf("skills of the extended agent card: %w", err)
	}
	return c.write(c.with(skills), f, true /* extended */)
}

// write returns a card with its signatures.
func (c *Cards) write(card *card, f Form, extended bool) ([]byte, error) {
	made := card.build(f.BaseURL, extended)
	for _, i := range made.SupportedInterfaces {
		i.Tenant = f.Tenant
	}
	if f.Protobuf && card.SecurityForm != agentcard.SecurityOmit {
		card.SecurityForm = agentcard.SecuritySpec // protobuf has no other form
	}
	encode := func() ([]byte, error) {
		if f.Union {
			return card.encodeUnion(made, f.Protobuf)
		}
		return card.encode(made)
	}
	text, err := encode()
	if err != nil {
		return nil, err
	}
	return c.signed(text, func() ([]byte, error) {
		if card.SecurityForm != agentcard.SecurityOmit {
			card.SecurityForm = agentcard.SecuritySpec
		}
		return encode()
	})
}
