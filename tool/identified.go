package tool

import (
	"crypto/sha256"
	"encoding/hex"
)

// Identified is a tool whose definition does not identify its implementation, such as a tool
// of another server: two servers may define a tool alike. It is looked up with [As].
type Identified interface {
	// Identity returns a text that identifies the implementation, without secrets; equal texts
	// mean the same implementation. An approval is valid only for the identity that it was
	// given for. "" adds nothing to the definition.
	Identity() string
}

// identityOf returns the identity of t, "" if it has none.
func identityOf(t Tool) string {
	if i, ok := As[Identified](t); ok {
		return i.Identity()
	}
	return ""
}

// identified returns the digest that an approval is valid for: of the definition, or for a
// tool with an identity, of both.
func identified(definition, identity string) string {
	if identity == "" {
		return definition
	}
	sum := sha256.Sum256([]byte(definition + "\x00" + identity)) // the first part is of a fixed length
	return hex.EncodeToString(sum[:])
}
