package keyring

import "time"

// Purpose is the use of a key. No key has two purposes.
type Purpose string

// The purposes. Their names are the names of their files.
const (
	// AgentCard is the agent card, which a [Signer] signs.
	AgentCard Purpose = "agent-card"
	// PushSecrets are the tokens and credentials that webhooks want to see, which a [Sealer]
	// seals.
	PushSecrets Purpose = "push-secrets"
	// PushTokens are the tokens by which webhooks recognize this server, which a [Signer]
	// signs.
	PushTokens Purpose = "push-tokens"
)

// Purposes returns all purposes.
func Purposes() []Purpose { return []Purpose{AgentCard, PushSecrets, PushTokens} }

// The algorithms of keys, for signatures (RFC 7518) and for sealing.
const (
	es256     = "ES256"
	aes256GCM = "AES-256-GCM"
)

// terms are what the keys of a purpose have in common.
type terms struct {
	algorithm string
	overlap   time.Duration // for which a replaced key is accepted
	lost      string        // says what a new key costs if the old key is lost
}

func (p Purpose) terms() terms {
	switch p {
	case AgentCard:
		return terms{es256, Overlap, "clients that keep the public key of the agent card have to get it again"}
	case PushSecrets: // a sealed secret is in the store for as long as its task needs it
		return terms{aes256GCM, SealOverlap, "push notifications whose config has a token or credentials stop until it is created again"}
	case PushTokens:
		return terms{es256, Overlap, "receivers of push notifications have to get the public key again"}
	}
	return terms{}
}
