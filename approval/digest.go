package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"a2a-server/internal/strictjson"
)

// digestVersion changes with what a digest covers.
const digestVersion = 1

// Digest returns what binds an approval to a call: the lower-case hex SHA-256 of the
// canonical JSON (RFC 8785) of the agent, the tool, definition (the digest of the
// tool's definition), and args. The order of keys in args does not matter; all else
// does. Nil args are an empty object. args are what a strict decode of the arguments
// made: other Go values may not be told apart, or fail.
func Digest(agent, tool, definition string, args map[string]any) (string, error) {
	return digest(tool, map[string]any{
		"v":      digestVersion,
		"agent":  agent,
		"tool":   tool,
		"schema": definition,
		"args":   object(args),
	})
}

// OutcomeDigest is [Digest] for an approval of [KindOutcome]: what binds the question
// what came of a call to that call and to the attempt whose outcome is unknown. It
// covers the kind and the attempt too, so that it is never that of the call, nor of
// another attempt: whoever has approved the call has not been shown this question.
//
// Questions of earlier servers have the digest of their call. An answer is compared
// with the digest that was stored, so that those can be answered as they were asked.
func OutcomeDigest(agent, tool, definition string, args map[string]any, attempt int) (string, error) {
	return digest(tool, map[string]any{
		"v":       digestVersion,
		"kind":    string(KindOutcome),
		"attempt": attempt,
		"agent":   agent,
		"tool":    tool,
		"schema":  definition,
		"args":    object(args),
	})
}

func digest(tool string, what map[string]any) (string, error) {
	text, err := strictjson.Canonical(what)
	if err != nil {
		return "", fmt.Errorf("digest the call of tool %q: %w", tool, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// object returns args, never as null.
func object(args map[string]any) map[string]any {
	if args == nil {
		return map[string]any{}
	}
	return args
}
