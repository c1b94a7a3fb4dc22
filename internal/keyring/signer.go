package keyring

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"

	"github.com/go-jose/go-jose/v4"
)

// Signer signs with ES256 (RFC 7518, section 3.4). It is safe for concurrent use.
type Signer struct{ *ring }

// Signature is a JSON Web Signature with a detached payload (RFC 7515, appendix F). Both parts
// are in base64url.
type Signature struct {
	Protected string // the protected header: alg, kid, and the fields given to Sign
	Value     string // the signature
}

// KeyID returns the id of the key in use, its thumbprint (RFC 7638). It changes with
// [Rotate].
func (s *Signer) KeyID() string { return s.current()[0].jwk.KeyID }

// Sign signs payload with the key in use, with these fields in the protected header in
// addition to alg and kid. The same key, payload and header make the same signature (RFC
// 6979), so that a repeated signature does not look new.
func (s *Signer) Sign(payload []byte, header map[string]string) (Signature, error) {
	jwk := &s.current()[0].jwk
	fields := map[string]string{}
	maps.Copy(fields, header)
	fields["alg"], fields["kid"] = es256, jwk.KeyID
	protected, err := json.Marshal(fields)
	if err != nil {
		return Signature{}, fmt.Errorf("sign with key %s: %w", jwk.KeyID, err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	value, err := signES256(jwk.Key, encode(protected)+"."+encode(payload))
	if err != nil {
		return Signature{}, fmt.Errorf("sign with key %s: %w", jwk.KeyID, err)
	}
	return Signature{encode(protected), encode(value)}, nil
}

// signES256 returns the signature of a text in the form of RFC 7518: both numbers in a row.
// The signers of go-jose are not deterministic.
func signES256(key any, text string) ([]byte, error) {
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("not a key of ECDSA")
	}
	sum := sha256.Sum256([]byte(text))
	der, err := private.Sign(nil /* deterministic */, sum[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	var rs struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &rs); err != nil {
		return nil, err
	}
	out := make([]byte, 2*secretSize)
	rs.R.FillBytes(out[:secretSize])
	rs.S.FillBytes(out[secretSize:])
	return out, nil
}

// KeySet returns the public keys as a JWK Set (RFC 7517): the key in use first, then earlier
// keys for [Overlap].
func (s *Signer) KeySet() ([]byte, error) {
	set, now := jose.JSONWebKeySet{}, s.cfg.Now()
	for i, k := range s.current() {
		if i == 0 || !k.ended(now) {
			set.Keys = append(set.Keys, k.jwk.Public())
		}
	}
	return json.Marshal(set)
}
