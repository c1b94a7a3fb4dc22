package oidc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// The limits of keys.
const (
	maxSameID = 4    // keys with the same id that are tried
	minRSA    = 2048 // bits (RFC 7518, section 3.3)
	maxRSA    = 8192 // bits: verification with larger keys takes too long
)

// key is a public key that an issuer signs with.
type key struct {
	public    crypto.PublicKey
	algorithm string // the only algorithm of the key; empty: all algorithms of its type
}

// signs reports whether a signature of an algorithm can be by the key. A key is never used as
// if it were of another type.
func (k key) signs(algorithm string) bool {
	if k.algorithm != "" && k.algorithm != algorithm {
		return false
	}
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		return algorithm == map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[public.Params().BitSize]
	case ed25519.PublicKey:
		return algorithm == "EdDSA"
	}
	return false
}

// readKeys returns the keys of a JWK set (RFC 7517, section 5) by their ids. Keys that
// cannot have signed a token are skipped, each with its reason.
func readKeys(raw []byte) (keys map[string][]key, skipped []error, err error) {
	if err := strictjson.Validate(raw); err != nil {
		return nil, nil, fmt.Errorf("not a key set: %w", err)
	}
	var set struct {
		Keys *[]json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, nil, fmt.Errorf("not a key set: %w", err)
	}
	if set.Keys == nil {
		return nil, nil, errors.New("not a key set: the list of keys is missing")
	}
	keys = map[string][]key{}
	for n, raw := range *set.Keys {
		id, k, err := readKey(raw)
		if err == nil && len(keys[id]) == maxSameID {
			err = fmt.Errorf("more than %d keys have this id", maxSameID)
		}
		if err != nil {
			skipped = append(skipped, fmt.Errorf("key %d (%s): %w", n+1, visible.Quote(id, 80), err))
			continue
		}
		keys[id] = append(keys[id], k)
	}
	return keys, skipped, nil
}

// readKey returns a key and its id.
func readKey(raw []byte) (string, key, error) {
	var is struct {
		ID        string   `json:"kid"`
		Type      string   `json:"kty"`
		Use       string   `json:"use"`
		Ops       []string `json:"key_ops"`
		Algorithm string   `json:"alg"`
	}
	if err := json.Unmarshal(raw, &is); err != nil {
		return "", key{}, err
	}
	switch {
	case is.ID == "":
		return "", key{}, errors.New("it has no id")
	case is.Use != "" && is.Use != "sig":
		return is.ID, key{}, errors.New("it is not for signatures")
	case is.Ops != nil && !slices.Contains(is.Ops, "verify"):
		return is.ID, key{}, errors.New("it is not for verifying")
	case is.Type != "RSA" && is.Type != "EC" && is.Type != "OKP":
		return is.ID, key{}, errors.New("its type is not supported")
	}
	var jwk jose.JSONWebKey
	if err := json.Unmarshal(raw, &jwk); err != nil {
		return is.ID, key{}, err
	}
	if !jwk.Valid() || !jwk.IsPublic() {
		return is.ID, key{}, errors.New("it is not a valid public key")
	}
	k := key{public: jwk.Key, algorithm: is.Algorithm}
	if public, ok := jwk.Key.(*rsa.PublicKey); ok && (public.N.BitLen() < minRSA || public.N.BitLen() > maxRSA) {
		return is.ID, key{}, fmt.Errorf("it has %d bits, and %d to %d are accepted", public.N.BitLen(), minRSA, maxRSA)
	}
	if !slices.ContainsFunc(algorithms(), k.signs) {
		return is.ID, key{}, errors.New("it is for no supported algorithm")
	}
	return is.ID, k, nil
}
