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
	// PageTokens are the tokens with which clients ask for the next page of a list. They
	// have codes, of a [MAC].
	PageTokens Purpose = "page-tokens"
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
func Purposes() []Purpose { return []Purpose{PageTokens, AgentCard, PushSecrets, PushTokens} }

// lost says what a new key costs if the old key is lost.
func (p Purpose) lost() string {
	switch p {
	case PageTokens:
		return "lists that clients are paging through have to begin again"
	case AgentCard:
		return "clients that keep the public key of the agent card have to get it again"
	case PushSecrets:
		return "push notifications whose config has a token or credentials stop until it is created again"
	case PushTokens:
		return "receivers of push notifications have to get the public key again"
	}
	return "codes and signatures of the old keys are not accepted"
}

// The algorithms of keys, for codes, for signatures (RFC 7518), and for sealing.
const (
	hmacSHA256 = "HMAC-SHA256"
	es256      = "ES256"
	aes256GCM  = "AES-256-GCM"
)

// algorithm returns the algorithm of the keys of p.
func (p Purpose) algorithm() string {
	switch p {
	case AgentCard, PushTokens:
		return es256
	case PushSecrets:
		return aes256GCM
	case PageTokens:
	}
	return hmacSHA256
}

// overlap returns for how long a replaced key is accepted. A sealed secret is in the store for
// as long as its task needs it.
func (p Purpose) overlap() time.Duration {
	if p == PushSecrets {
		return SealOverlap
	}
	return Overlap
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
	if p.algorithm() == es256 {
		_, err := private(secret)
		return err == nil
	}
	return true
}

// private returns the private key of a secret.
func private(secret []byte) (*ecdsa.PrivateKey, error) {
	return ecdsa.ParseRawPrivateKey(elliptic.P256(), secret)
}
