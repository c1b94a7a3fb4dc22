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
	"math/big"
	"strings"

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
func (s *Signer) KeyID() (string, error) {
	jwk, err := s.current()[0].jwk()
	if err != nil {
		return "", err
	}
	return jwk.KeyID, nil
}

// Sign signs payload with the key in use, with these fields in the protected header in
// addition to alg and kid. The same key, payload and header make the same signature (RFC
// 6979), so that a repeated signature does not look new.
func (s *Signer) Sign(payload []byte, header map[string]string) (Signature, error) {
	jwk, err := s.current()[0].jwk()
	if err != nil {
		return Signature{}, err
	}
	key := &deterministic{jwk}
	options := &jose.SignerOptions{}
	for name, value := range header {
		options.WithHeader(jose.HeaderKey(name), value)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, options)
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

// deterministic signs with a private key. It implements [jose.OpaqueSigner].
type deterministic struct{ jwk jose.JSONWebKey }

// Public returns the public key.
func (d *deterministic) Public() *jose.JSONWebKey {
	public := d.jwk.Public()
	return &public
}

// Algs returns the only algorithm.
func (d *deterministic) Algs() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.ES256}
}

// SignPayload returns the signature in the form of RFC 7518: both numbers in a row.
func (d *deterministic) SignPayload(payload []byte, _ jose.SignatureAlgorithm) ([]byte, error) {
	private, ok := d.jwk.Key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("not a key of ECDSA")
	}
	sum := sha256.Sum256(payload)
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
