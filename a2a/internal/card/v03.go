package card

import (
	"slices"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	v03 "a2a-server/a2a/internal/v03"
	"a2a-server/a2a/internal/wire"
)

// encodeUnion is encode for clients of both versions. It leaves the members of 1.0 unchanged,
// but for the interfaces of 0.3 at the end of the list.
func (c *card) encodeUnion(card *sdk.AgentCard) ([]byte, error) {
	with := *card
	with.SupportedInterfaces = slices.Clone(card.SupportedInterfaces)
	for _, i := range card.SupportedInterfaces {
		old := sdk.NewAgentInterface(i.URL, i.ProtocolBinding)
		old.ProtocolVersion = wire.OldVersion
		with.SupportedInterfaces = append(with.SupportedInterfaces, old)
	}
	text, err := c.encode(&with)
	if err != nil {
		return nil, err
	}
	return v03.UnionCard(text)
}
