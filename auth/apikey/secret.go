package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

// A key is a2ak_<id>_<secret><check>: 43 random characters of 62, which are 256 bits, and a
// CRC-32 of everything before it in 6 more. Programs that look for leaked secrets can
// recognize a key by its form, and its id identifies the holder.
const (
	prefix    = "a2ak_"
	secretLen = 43
	checkLen  = 6
	maxID     = 64
	maxKey    = len(prefix) + maxID + 1 + secretLen + checkLen
)

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newSecret returns a new key for an id.
func newSecret(id string) string {
	key := append(make([]byte, 0, maxKey), prefix+id+"_"...)
	var random [64]byte
	for end := len(key) + secretLen; len(key) < end; {
		_, _ = rand.Read(random[:]) // it never fails
		for _, b := range random {
			// Of 256 values the last 8 are drawn again: 248 is a multiple of 62.
			if b < 248 && len(key) < end {
				key = append(key, digits[b%62])
			}
		}
	}
	check := checkOf(key)
	return string(append(key, check[:]...))
}

// checkOf returns the last characters of a key that begins with text.
func checkOf(text []byte) (check [checkLen]byte) {
	sum := crc32.ChecksumIEEE(text)
	for i := checkLen - 1; i >= 0; i-- {
		check[i] = digits[sum%62]
		sum /= 62
	}
	return check
}

// parse returns the id in a key, and its hash. ok is false if the text cannot be a key; this
// depends on nothing but the text.
func parse(key string) (id string, sum hash, ok bool) {
	rest, found := strings.CutPrefix(key, prefix)
	if !found || len(key) > maxKey {
		return "", sum, false
	}
	id, secret, found := strings.Cut(rest, "_")
	if !found || !validID(id) || len(secret) != secretLen+checkLen || strings.Trim(secret, digits) != "" {
		return "", sum, false
	}
	raw := []byte(key)
	check := checkOf(raw[:len(raw)-checkLen])
	if string(check[:]) != secret[secretLen:] {
		return "", sum, false
	}
	return id, sha256.Sum256(raw), true
}

// validID reports whether an id is lower-case letters, digits, dots and dashes. Other
// characters would not survive in a key.
func validID(id string) bool {
	for i := range len(id) {
		c := id[i]
		inner := i > 0 && i < len(id)-1 && (c == '-' || c == '.')
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && !inner {
			return false
		}
	}
	return id != "" && len(id) <= maxID
}

// hash is the stored form of a key. A key has 256 random bits, too many to guess however fast
// the hash is; a slow or salted hash would only cost time.
type hash [sha256.Size]byte
