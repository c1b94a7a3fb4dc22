package keyring

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// The sizes of a tag, in bytes: the id of its key, and a truncated HMAC-SHA256.
const (
	idSize  = 4
	macSize = 16
	TagSize = idSize + macSize
)

// MAC makes and checks message authentication codes. It is safe for concurrent use.
type MAC struct{ *ring }

// Tag returns the code of data, of [TagSize] bytes.
func (m *MAC) Tag(data []byte) []byte {
	k := &m.current()[0]
	tag, err := hex.AppendDecode(make([]byte, 0, idSize+sha256.Size), []byte(k.ID))
	if err != nil {
		return nil // never: the id was checked
	}
	return sum(tag, k, data)[:TagSize]
}

// Verify reports whether a tag is the code of data by a key that is in use or was during the
// last day.
func (m *MAC) Verify(data, tag []byte) bool {
	if len(tag) != TagSize {
		return false
	}
	k := m.find(tag[:idSize])
	return k != nil && hmac.Equal(tag[idSize:], sum(nil, k, data)[:macSize])
}

func sum(to []byte, k *key, data []byte) []byte {
	h := hmac.New(sha256.New, k.Secret)
	_, _ = h.Write(data) // it never fails
	return h.Sum(to)
}
