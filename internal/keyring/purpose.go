package keyring

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"time"
)

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

// newSecret returns the secret of a new key: with ES256 the private key, without its curve.
func (p Purpose) newSecret() []byte {
	for {
		secret := make([]byte, secretSize)
		_, _ = rand.Read(secret) // it never fails
		if p.isSecret(secret) {  // nearly always: not every number is a private key
			return secret
		}
	}
}

// isSecret reports whether a secret may belong to a key of p.
func (p Purpose) isSecret(secret []byte) bool {
	if len(secret) != secretSize {
		return false
	}
	if p.terms().algorithm == es256 {
		_, err := private(secret)
		return err == nil
	}
	return true
}

// private returns the private key of a secret.
func private(secret []byte) (*ecdsa.PrivateKey, error) {
	return ecdsa.ParseRawPrivateKey(elliptic.P256(), secret)
}
