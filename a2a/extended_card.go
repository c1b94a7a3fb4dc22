package a2a

import (
	"context"
	"net/http"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// extendedCard returns the card with the skills that the caller may use (§3.1.11).
func (s *service) extendedCard(ctx context.Context, c operationRequest, in input, b []byte) ([]byte, error) {
	if _, err := decode(ctx, s, c.by, in, reads[a2apb.GetExtendedAgentCardRequest](nil)); err != nil {
		return nil, err
	}
	if !s.cards.extended {
		none := errUnsupported
		if c.v03 { // it has no other error for it
			none = errNoExtendedCard
		}
		return nil, none.saying("this agent has no extended agent card")
	}
	text, err := s.cards.ofCaller(ctx, c)
	return append(b, text...), err
}

// private sets the headers of an answer that only its caller may see, and may keep. Every
// answer to an authenticated caller already varies with Authorization.
func (s *service) private(h http.Header) {
	s.base.vary(h)
	for _, scheme := range s.cfg.Card.Security {
		if scheme.Header != "" && scheme.Header != "Authorization" {
			h.Add("Vary", scheme.Header)
		}
	}
	h.Set("Cache-Control", "private, no-cache")
}
