package a2a

import (
	"context"
	"fmt"
	"net/http"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// hasExtendedCard reports whether authenticated callers get a card of their own.
func (s *Server) hasExtendedCard() bool { return s.cfg.Authenticator != nil && s.cfg.SkillsOf != nil }

// answerExtendedCard is the answer function of GetExtendedAgentCard: the card with the skills that
// the caller may use (§3.1.11).
func answerExtendedCard(s *Server, ctx context.Context, c call, in input, b []byte) ([]byte, error) { //nolint:revive // the parameters of every answer function
	if _, err := decode(ctx, s, c.by, in, reads[a2apb.GetExtendedAgentCardRequest](nil)); err != nil {
		return nil, err
	}
	if !s.hasExtendedCard() {
		none := errUnsupported
		if c.v03 { // it has no other error for it
			none = errNoExtendedCard
		}
		return nil, none.saying("this agent has no extended agent card")
	}
	asked := c.request
	if c.grpc != nil {
		asked = c.grpc.asked(asked)
	}
	of := s.cfg.Card
	var err error
	if of.Skills, err = s.cfg.SkillsOf(ctx, c.by); err != nil {
		return nil, fmt.Errorf("skills of the extended agent card: %w", err)
	}
	card := of.build(s.base(asked), true /* extended */)
	if s.inPath(c.by.Tenant) { // "" is not
		for _, i := range card.SupportedInterfaces {
			i.Tenant = c.by.Tenant
		}
	}
	if c.grpc != nil && of.SecurityForm != SecurityOmit {
		of.SecurityForm = SecuritySpec // protobuf has no other form
	}
	encode := of.encode
	if c.v03 {
		encode = of.encodeUnion
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
