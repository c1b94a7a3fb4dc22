package card_test

import (
	"encoding/json"
	"strings"
	"testing"

	"a2a-server/a2a/agentcard"
	"a2a-server/a2a/internal/card"
)

// The card says of 0.3 what it says of 1.0, and a scheme without scopes has none: clients of 0.3
// refuse null there.
func TestUnionCard(t *testing.T) {
	t.Parallel()
	cards, err := card.New(card.Config{Card: agentcard.Card{
		GRPC:     ":1",
		Security: []agentcard.SecurityScheme{{Name: "k", Kind: agentcard.SchemeAPIKey, Header: "X", Description: "A key."}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := cards.Public(card.Form{BaseURL: "https://a.example", Union: true})
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		URL                               string
		AdditionalInterfaces              []map[string]string
		SecuritySchemes                   map[string]map[string]any
		SupportsAuthenticatedExtendedCard bool
	}
	if err := json.Unmarshal(got, &parsed); err != nil {
		t.Fatal(err)
	}
	k := parsed.SecuritySchemes["k"]
	if parsed.URL != "https://a.example" || len(parsed.AdditionalInterfaces) != 3 || parsed.SupportsAuthenticatedExtendedCard || k["in"] != "header" || k["type"] != "apiKey" || k["location"] != nil {
		t.Errorf("the card is %s", got)
	}
	if !strings.Contains(string(got), `"security":[{"k":[]}]`) {
		t.Errorf("the requirements are not in the card: %s", got)
	}
}
