package a2a

import (
	"context"
	"fmt"
	"net/http"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"

	"a2a-server/auth"
)

// hasExtendedCard reports whether authenticated callers get a card of their own.
func (s *Server) hasExtendedCard() bool { return s.cfg.Authenticator != nil && s.cfg.SkillsOf != nil }

// extendedCard returns the card for a caller, with the skills that they may use (§3.1.11).
// base is the URL of the interfaces.
func (s *Server) extendedCard(ctx context.Context, by auth.Principal, base string) (Card, *sdk.AgentCard, error) {
	if !s.hasExtendedCard() {
		return Card{}, nil, noExtendedCard()
	}
	c := s.cfg.Card
	skills, err := s.cfg.SkillsOf(ctx, by)
	if err != nil {
		return Card{}, nil, fmt.Errorf("skills of the extended agent card: %w", err)
	}
	c.Skills = skills
	card := c.build(base, true /* extended */)
	if s.inPath(by.Tenant) { // "" is not
		for _, i := range card.SupportedInterfaces {
			i.Tenant = by.Tenant
		}
	}
	return c, card, nil
}

// answerExtendedCard is the answer function of GetExtendedAgentCard.
func answerExtendedCard(s *Server, ctx context.Context, c call, in input, b []byte) ([]byte, error) { //nolint:revive // the parameters of every answer function
	if _, err := decode(ctx, s, c.by, in, reads(converts(pbconv.FromProtoGetExtendedAgentCardRequest), nil)); err != nil {
		return nil, err
	}
	base := s.cfg.Card.URL
	switch {
	case c.grpc != nil:
		base = s.base(c.grpc.asked(c.request))
	case c.request != nil:
		base = s.base(c.request)
	}
	if c.v03 && !s.hasExtendedCard() { // 0.3 has no other error for it
		return nil, errNoExtendedCard.saying("this agent has no extended agent card")
	}
	of, card, err := s.extendedCard(ctx, c.by, base)
	if err != nil {
		return nil, err
	}
	if c.grpc != nil && of.SecurityForm != SecurityOmit {
		of.SecurityForm = SecuritySpec // protobuf has no other form
	}
	encode := of.encode
	if c.v03 {
		encode = func(card *sdk.AgentCard) ([]byte, error) { return of.encodeUnion(card, base) }
	}
	text, err := encode(card)
	if err == nil {
		text, err = s.signed(text)
	}
	return append(b, text...), err
}

// private sets the headers of an answer that only its caller may see, and may keep. Every
// answer to an authenticated caller already varies with Authorization.
func (s *Server) private(h http.Header) {
	s.vary(h)
	for _, scheme := range s.cfg.Card.Security {
		if scheme.Header != "" && scheme.Header != "Authorization" {
			h.Add("Vary", scheme.Header)
		}
	}
	h.Set("Cache-Control", "private, no-cache")
}
