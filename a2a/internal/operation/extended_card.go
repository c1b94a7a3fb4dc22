package operation

import (
	"context"
	"net/http"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"a2a-server/a2a/internal/card"
	"a2a-server/a2a/internal/wire"
)

// extendedCard returns the card with the skills that the caller may use (§3.1.11).
func (s *Service) extendedCard(ctx context.Context, c Request, in Input, b []byte) ([]byte, error) {
	if _, err := decode(ctx, s, c.By, in, reads[a2apb.GetExtendedAgentCardRequest](nil)); err != nil {
		return nil, err
	}
	if !s.Cards.HasExtended() {
		none := wire.ErrUnsupported
		if c.V03 { // it has no other error for it
			none = wire.ErrNoExtendedCard
		}
		return nil, none.Saying("this agent has no extended agent card")
	}
	asked := c.HTTP
	if c.ToHTTP != nil {
		asked = c.ToHTTP(asked)
	}
	form := card.Form{BaseURL: s.Base.Of(asked), Union: c.V03, Protobuf: c.ToHTTP != nil}
	if s.Tenants.inPath(c.By.Tenant) { // "" is not
		form.Tenant = c.By.Tenant
	}
	text, err := s.Cards.Extended(ctx, c.By, form)
	return append(b, text...), err
}

// SetPrivate sets the headers of a response that only its caller may see, and may keep. Every
// response to an authenticated caller already varies with Authorization.
func (s *Service) SetPrivate(h http.Header) {
	s.Base.Vary(h)
	for _, scheme := range s.Security {
		if scheme.Header != "" && scheme.Header != "Authorization" {
			h.Add("Vary", scheme.Header)
		}
	}
	h.Set("Cache-Control", "private, no-cache")
}
