package a2a

import (
	"net/http"
	"slices"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	v03 "a2a-server/a2a/v03"
)

// wantsUnion reports whether a request for the card gets the card for clients of both
// versions: unless 0.3 is off, or the request names 1.0.
func (s *Server) wantsUnion(r *http.Request) bool {
	return !s.cfg.OnlyV1 && !slices.ContainsFunc(askedVersions(r), func(v string) bool { return is(v, version) })
}

// encodeUnion is encode for clients of both versions. It leaves the members of 1.0 unchanged,
// but for the interfaces of 0.3 at the end of the list.
func (c *Card) encodeUnion(card *sdk.AgentCard) ([]byte, error) {
	with := *card
	with.SupportedInterfaces = slices.Clone(card.SupportedInterfaces)
	for _, i := range card.SupportedInterfaces {
		old := sdk.NewAgentInterface(i.URL, i.ProtocolBinding)
		old.ProtocolVersion = oldVersion
		with.SupportedInterfaces = append(with.SupportedInterfaces, old)
	}
	text, err := c.encode(&with)
	if err != nil {
		return nil, err
	}
	return v03.UnionCard(text)
}
