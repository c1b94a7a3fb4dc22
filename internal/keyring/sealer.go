package keyring

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// The errors of [Sealer.Open]. They reveal nothing about the sealed secret.
var (
	// ErrKeyMissing says that the key is not known: it was lost, or ended.
	ErrKeyMissing = errors.New("the key that sealed it is missing")
	// ErrNotSealed says that the bytes were changed, or sealed for another place.
	ErrNotSealed = errors.New("it was changed, or sealed for another place")
)

// sealVersion is the first byte of a sealed secret.
const sealVersion = 1

// Sealer seals secrets of clients with AES-256-GCM and random nonces, for at most 2^32 secrets
// with the same key. It is safe for concurrent use.
type Sealer struct{ *ring }

// Seal returns a secret so that only [Sealer.Open] with the same bound can read it. bound says
// where the secret belongs, such as the ids of a task and a config, and is not part of the
// result: sealed bytes that are moved elsewhere do not open.
func (s *Sealer) Seal(secret, bound []byte) ([]byte, error) {
	k := &s.current()[0]
	head, err := hex.AppendDecode([]byte{sealVersion}, []byte(k.ID))
	if err != nil {
		return nil, fmt.Errorf("seal a secret: %w", err)
	}
	return k.aead.Seal(head, nil, secret, slices.Concat(head, bound)), nil
}

// Open returns the secret of [Sealer.Seal]. The error wraps [ErrKeyMissing] or [ErrNotSealed].
func (s *Sealer) Open(sealed, bound []byte) ([]byte, error) {
	if len(sealed) < 1+idSize || sealed[0] != sealVersion {
		return nil, fmt.Errorf("open a sealed secret: %w", ErrNotSealed)
	}
	head := sealed[:1+idSize]
	k := s.find(head[1:])
	if k == nil {
		return nil, fmt.Errorf("open a sealed secret: %w: restore %s.json in the folder keys, or have the secret set again", ErrKeyMissing, s.purpose)
	}
	secret, err := k.aead.Open(nil, nil, sealed[len(head):], slices.Concat(head, bound))
	if err != nil {
		return nil, fmt.Errorf("open a sealed secret: %w", ErrNotSealed)
	}
	return secret, nil
}
