package tool

import (
	"crypto/sha256"
	"encoding/hex"
)

// Identified is a tool whose definition does not say what runs, such as a tool of another
// server: two servers may define a tool alike. It is looked up with [As].
type Identified interface {
	// Identity says what runs, without secrets: equal texts stand for the same. An approval
	// is valid only for the identity that it was given for. "" adds nothing to the
	// definition.
	Identity() string
}

// identityOf returns the identity of t, "" if it has none.
func identityOf(t Tool) string {
	if i, ok := As[Identified](t); ok {
		return i.Identity()
	}
	return ""
}

// identified returns what an approval is valid for: the digest of a definition, or, of a
// tool with an identity, a digest of both.
func identified(definition, identity string) string {
	if identity == "" {
		return definition
	}
	sum := sha256.Sum256([]byte(definition + "\x00" + identity)) // the first part is of a fixed length
	return hex.EncodeToString(sum[:])
}
