package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"a2a-server/internal/strictjson"
)

// digestVersion changes when what a digest covers does.
const digestVersion = 1

// Digest returns what binds an approval to a call: the lower-case hex SHA-256 of the
// canonical JSON (RFC 8785) of the agent, the tool, definition (the digest of the
// tool's definition), and args. The order of keys in args does not matter; all else
// does. Nil args are an empty object. args are what a strict decode of the arguments
// made: other Go values may not be told apart, or fail.
func Digest(agent, tool, definition string, args map[string]any) (string, error) {
	if args == nil {
		args = map[string]any{}
	}
	text, err := strictjson.Canonical(map[string]any{
		"v":      digestVersion,
		"agent":  agent,
		"tool":   tool,
		"schema": definition,
		"args":   args,
	})
	if err != nil {
		return "", fmt.Errorf("digest the call of tool %q: %w", tool, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
