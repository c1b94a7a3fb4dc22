package card

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"a2a-server/internal/keyring"
	"a2a-server/internal/strictjson"
)

// KeysPath is where clients find the public keys of the card's signatures, below the
// base URL.
const KeysPath = "/.well-known/agent-card-keys.json"

// maxSigned is how many cards with their signatures are kept. Each set of skills, tenant
// and version that callers see has its own card.
const maxSigned = 256

// signer signs agent cards (§8.4). It is safe for concurrent use.
type signer struct {
	keys *keyring.Signer
	url  string // of the public keys

	mu   sync.Mutex
	id   string // of the key that signed the cards in done
	done map[[sha256.Size]byte][]sdk.AgentCardSignature
}

// newSigner returns the signer of a card with a URL.
func newSigner(keys *keyring.Signer, url string) (*signer, error) {
	if url == "" {
		return nil, errors.New("a2a: a card is signed with the URL of its keys, so it needs a URL")
	}
	return &signer{keys: keys, url: url + KeysPath}, nil
}

// signed returns a card, a JSON object, with its signatures, if cards are signed. spec returns the card
// with its requirements in the form of the specification, which the signatures cover in any form.
//
// The signatures cover the members that a reader of A2A 1.0 has of the card, not its bytes:
// members of other versions are for readers of those versions. Empty values are not covered,
// as the SDKs for Python and JavaScript verify it. If the specification's form differs,
// because an empty message says something, a second signature covers that form. A reader needs
// only one signature that fits.
func (c *Cards) signed(card []byte, spec func() ([]byte, error)) ([]byte, error) {
	if c.signer == nil {
		return card, nil
	}
	all, err := c.signer.sign(card, spec)
	if err != nil {
		return nil, fmt.Errorf("sign the agent card: %w", err)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("sign the agent card: %w", err)
	}
	out := append(bytes.TrimSuffix(bytes.Clone(card), []byte("}")), `,"signatures":`...)
	return append(append(out, text...), '}'), nil
}

// sign returns the signatures of a card, as [Cards.signed] has them. They are the same for the same card until the key
// changes.
func (c *signer) sign(card []byte, spec func() ([]byte, error)) ([]sdk.AgentCardSignature, error) {
	id := c.keys.KeyID()
	sum := sha256.Sum256(card)
	c.mu.Lock()
	if c.id != id || len(c.done) >= maxSigned {
		c.id, c.done = id, map[[sha256.Size]byte][]sdk.AgentCardSignature{}
	}
	all := c.done[sum]
	c.mu.Unlock()
	if all != nil {
		return all, nil
	}
	text, err := spec()
	if err != nil {
		return nil, err
	}
	payloads, err := payloads(text)
	if err != nil {
		return nil, err
	}
	for _, payload := range payloads {
		sig, err := c.keys.Sign(payload, map[string]string{"typ": "JOSE", "jku": c.url})
		if err != nil {
			return nil, err
		}
		all = append(all, sdk.AgentCardSignature{Protected: sig.Protected, Signature: sig.Value})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id == id { // otherwise the key has changed meanwhile
		c.done[sum] = all
	}
	return all, nil
}

// payloads returns the payloads of a card's signatures: the canonical form (RFC 8785) of
// the card without empty values, and that of the specification (§8.4.1) if it differs.
func payloads(card []byte) ([][]byte, error) {
	// protojson drops the members of 0.3, and knows which defaults were set (§8.4.1).
	var pb a2apb.AgentCard
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(card, &pb); err != nil {
		return nil, err
	}
	pb.Signatures = nil
	whole, err := protojson.Marshal(&pb)
	if err != nil {
		return nil, err
	}
	var known any
	if err := json.Unmarshal(whole, &known); err != nil {
		return nil, err
	}
	var payloads [][]byte
	for _, form := range []any{withoutEmpty(known), known} {
		canonical, err := strictjson.Canonical(form)
		if err != nil {
			return nil, err
		}
		if len(payloads) == 0 || !bytes.Equal(payloads[0], canonical) {
			payloads = append(payloads, canonical)
		}
	}
	return payloads, nil
}

// withoutEmpty returns a JSON value without the texts, lists and objects in it that are
// empty, or become so; nil: nothing is left.
func withoutEmpty(value any) any {
	switch v := value.(type) {
	case string:
		if v == "" {
			return nil
		}
	case []any:
		var left []any
		for _, item := range v {
			if item = withoutEmpty(item); item != nil {
				left = append(left, item)
			}
		}
		if len(left) == 0 {
			return nil
		}
		return left
	case map[string]any:
		left := map[string]any{}
		for name, item := range v {
			if item = withoutEmpty(item); item != nil {
				left[name] = item
			}
		}
		if len(left) == 0 {
			return nil
		}
		return left
	}
	return value
}
