package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"a2a-server/internal/strictjson"
)

// digestVersion changes with the inputs of a digest.
const digestVersion = 1

// Digest binds an approval to a call: the lower-case hex SHA-256 of the canonical JSON (RFC
// 8785) of the agent, the tool, definition (the digest of the tool's definition), and args.
// The order of keys in args does not matter. Nil args are an empty object. args come from a
// strict decode of the arguments: other Go values may collide, or fail.
func Digest(agent, tool, definition string, args map[string]any) (string, error) {
	return digest(tool, map[string]any{
		"v":      digestVersion,
		"agent":  agent,
		"tool":   tool,
		"schema": definition,
		"args":   object(args),
	})
}

// OutcomeDigest is [Digest] for an approval of [KindOutcome]: it binds the question to the
// call and to the attempt whose outcome is unknown. It covers the kind and the attempt too, so
// that it differs from the digest of the call and of any other attempt: the approver of the
// call has not seen this question.
//
// Questions of earlier servers have the digest of their call. An answer is compared with the
// stored digest, so these can still be answered.
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
