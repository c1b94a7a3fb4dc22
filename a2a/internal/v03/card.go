package v03

import (
	"encoding/json"
	"errors"
	"fmt"
)

// CardVersion is the protocolVersion of an agent card of 0.3.
const CardVersion = "0.3.0"

// UnionCard returns an agent card of 1.0 together with the fields that 0.3 has in other
// places, for the clients of both: the interfaces whose protocolVersion is 0.3, security, the
// type of each security scheme, and so on. A card without such an interface is an error.
func UnionCard(card []byte) ([]byte, error) {
	var in struct {
		Capabilities        map[string]json.RawMessage            `json:"capabilities"`
		SecuritySchemes     map[string]map[string]json.RawMessage `json:"securitySchemes"`
		SupportedInterfaces []struct {
			URL             string `json:"url"`
			ProtocolBinding string `json:"protocolBinding"`
			ProtocolVersion string `json:"protocolVersion"`
		} `json:"supportedInterfaces"`
		SecurityRequirements []struct {
			Schemes map[string]scopes `json:"schemes"`
		} `json:"securityRequirements"`
	}
	all := map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(card, &in), json.Unmarshal(card, &all)); err != nil {
		return nil, fmt.Errorf("agent card for A2A 0.3: %w", err)
	}
	type additional struct {
		Transport string `json:"transport"`
		URL       string `json:"url"`
	}
	var interfaces []additional
	for _, i := range in.SupportedInterfaces {
		if i.ProtocolVersion == "0.3" {
			interfaces = append(interfaces, additional{i.ProtocolBinding, i.URL})
		}
	}
	if len(interfaces) == 0 {
		return nil, errors.New("agent card for A2A 0.3: none of its interfaces has the protocolVersion 0.3")
	}
	old := map[string]any{
		"url": interfaces[0].URL, "preferredTransport": interfaces[0].Transport, "additionalInterfaces": interfaces, "protocolVersion": CardVersion,
		"supportsAuthenticatedExtendedCard": string(in.Capabilities["extendedAgentCard"]) == "true",
	}
	if in.Capabilities == nil {
		in.Capabilities = map[string]json.RawMessage{}
	}
	in.Capabilities["stateTransitionHistory"] = json.RawMessage("false") // there is no such history in 1.0
	old["capabilities"] = in.Capabilities
	if len(in.SecurityRequirements) > 0 {
		var security []map[string]scopes
		for _, r := range in.SecurityRequirements {
			security = append(security, r.Schemes)
		}
		old["security"] = security
	}
	if len(in.SecuritySchemes) > 0 {
		schemes := map[string]any{}
		for name, scheme := range in.SecuritySchemes {
			with, err := typed(scheme)
			if err != nil {
				return nil, fmt.Errorf("agent card for A2A 0.3: security scheme %q: %w", name, err)
			}
			schemes[name] = with
		}
		old["securitySchemes"] = schemes
	}
	for name, value := range old {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("agent card for A2A 0.3: %w", err)
		}
		all[name] = text
	}
	return json.Marshal(all)
}

// scopes are the scopes of a scheme in a requirement. 1.0 has them in an object; the Go SDK
// for 1.0 and 0.3 has a plain list.
type scopes []string

// UnmarshalJSON implements json.Unmarshaler.
func (s *scopes) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '{' {
		var object struct {
			List []string `json:"list"`
		}
		err := json.Unmarshal(raw, &object)
		*s = append(scopes{}, object.List...) // never null
		return err
	}
	var list []string
	err := json.Unmarshal(raw, &list)
	*s = append(scopes{}, list...)
	return err
}

// schemeTypes are the types of security schemes in 0.3, by their member in 1.0.
var schemeTypes = map[string]string{
	"apiKeySecurityScheme": "apiKey", "httpAuthSecurityScheme": "http", "oauth2SecurityScheme": "oauth2",
	"openIdConnectSecurityScheme": "openIdConnect", "mtlsSecurityScheme": "mutualTLS",
}

// typed returns a security scheme of 1.0, an object with a single member, with the members of
// 0.3 added: a type, and the members of the inner object.
func typed(scheme map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	with := map[string]json.RawMessage{}
	for member, value := range scheme {
		kind, ok := schemeTypes[member]
		if !ok {
			return nil, fmt.Errorf("unknown kind of security scheme %s", member)
		}
		if err := json.Unmarshal(value, &with); err != nil {
			return nil, err
		}
		if at, ok := with["location"]; ok {
			with["in"] = at
			delete(with, "location")
		}
		with["type"] = json.RawMessage(`"` + kind + `"`)
		with[member] = value
	}
	return with, nil
}
