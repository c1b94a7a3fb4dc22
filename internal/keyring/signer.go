package keyring

import (
	"crypto"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// Signer signs with ES256 (RFC 7518, section 3.4). It is safe for concurrent use.
type Signer struct{ *ring }

// Signature is a JSON Web Signature without what it signs (RFC 7515, appendix F). Both parts
// are in base64url.
type Signature struct {
	Protected string // the protected header: alg, kid, and what the caller of Sign has given
	Value     string // the signature
}

// KeyID returns the id of the key in use, its thumbprint (RFC 7638). It changes with
// [Rotate].
func (s *Signer) KeyID() (string, error) {
	jwk, err := s.current()[0].jwk()
	if err != nil {
		return "", err
	}
	return jwk.KeyID, nil
}

// Sign signs payload with the key in use, with these fields in the protected header in
// addition to alg and kid. Two signatures of the same payload differ.
func (s *Signer) Sign(payload []byte, header map[string]string) (Signature, error) {
	jwk, err := s.current()[0].jwk()
	if err != nil {
		return Signature{}, err
	}
	options := &jose.SignerOptions{}
	for name, value := range header {
		options.WithHeader(jose.HeaderKey(name), value)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jwk}, options)
	if err != nil {
		return Signature{}, fmt.Errorf("key %s: %w", jwk.KeyID, err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return Signature{}, fmt.Errorf("sign with key %s: %w", jwk.KeyID, err)
	}
	compact, err := signed.DetachedCompactSerialize()
	if err != nil {
		return Signature{}, fmt.Errorf("sign with key %s: %w", jwk.KeyID, err)
	}
	protected, value, _ := strings.Cut(compact, "..")
	return Signature{protected, value}, nil
}

// KeySet returns the public keys as a JWK Set (RFC 7517): the one in use first, then those
// before it for [Overlap].
func (s *Signer) KeySet() ([]byte, error) {
	set, now := jose.JSONWebKeySet{}, s.cfg.Now()
	for i, k := range s.current() {
		if i > 0 && k.ended(now) {
			continue
		}
		jwk, err := k.jwk()
		if err != nil {
			return nil, err
		}
		set.Keys = append(set.Keys, jwk.Public())
	}
	return json.Marshal(set)
}

// jwk returns the private key as a JSON Web Key.
func (k *key) jwk() (jose.JSONWebKey, error) {
	private, err := private(k.Secret)
	if err != nil {
		return jose.JSONWebKey{}, fmt.Errorf("key %s: %w", k.ID, err)
	}
	jwk := jose.JSONWebKey{Key: private, Algorithm: es256, Use: "sig"}
	sum, err := jwk.Thumbprint(crypto.SHA256)
	if err != nil {
		return jose.JSONWebKey{}, fmt.Errorf("key %s: %w", k.ID, err)
	}
	jwk.KeyID = base64.RawURLEncoding.EncodeToString(sum)
	return jwk, nil
}
