package card

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/a2a/internal/wire"
)

// oldVersion is the protocolVersion of an agent card of A2A 0.3.
const oldVersion = "0.3.0"

// oldInterface is an interface as A2A 0.3 has it.
type oldInterface struct {
	Transport sdk.TransportProtocol `json:"transport"`
	URL       string                `json:"url"`
}

// encodeUnion is encode for clients of both versions. It leaves the members of 1.0 unchanged,
// but for the interfaces of 0.3 at the end of the list, and adds the members that 0.3 has in other
// places. protobuf has another form of security requirements.
func (c *card) encodeUnion(made *sdk.AgentCard, protobuf bool) ([]byte, error) {
	with := *made
	with.SupportedInterfaces = slices.Clone(made.SupportedInterfaces)
	var interfaces []oldInterface
	for _, i := range made.SupportedInterfaces {
		old := sdk.NewAgentInterface(i.URL, i.ProtocolBinding)
		old.ProtocolVersion = wire.OldVersion
		with.SupportedInterfaces = append(with.SupportedInterfaces, old)
		interfaces = append(interfaces, oldInterface{i.ProtocolBinding, i.URL})
	}
	text, err := c.encode(&with)
	if err != nil {
		return nil, err
	}
	var now map[string]json.RawMessage
	var nested struct {
		Capabilities    map[string]json.RawMessage
		SecuritySchemes map[string]map[string]json.RawMessage
	}
	if err := errors.Join(json.Unmarshal(text, &now), json.Unmarshal(text, &nested)); err != nil {
		return nil, fmt.Errorf("agent card for A2A 0.3: %w", err)
	}
	all := map[string]any{}
	for name, value := range now {
		all[name] = value
	}
	all["url"], all["preferredTransport"], all["additionalInterfaces"] = made.SupportedInterfaces[0].URL, made.SupportedInterfaces[0].ProtocolBinding, interfaces
	all["protocolVersion"], all["supportsAuthenticatedExtendedCard"] = oldVersion, made.Capabilities.ExtendedAgentCard
	nested.Capabilities["stateTransitionHistory"] = json.RawMessage("false") // there is no such history in 1.0
	all["capabilities"] = nested.Capabilities
	if len(nested.SecuritySchemes) > 0 {
		schemes, requirements := OpenAPI(c.Security)
		for name, scheme := range nested.SecuritySchemes {
			for member, value := range scheme {
				schemes[name][member] = value
			}
		}
		all["securitySchemes"], all["security"] = schemes, requirements
		if protobuf {
			all["security"] = now["securityRequirements"]
		}
	}
	return json.Marshal(all)
}
