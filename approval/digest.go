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
// strict decode of the arguments: other Go values may collide, or fail. restored are the ids of
// the restorations from a backup that the task has been through: a digest that was shown before
// one, or after its backup was taken, is another.
func Digest(agent, tool, definition string, args map[string]any, restored ...string) (string, error) {
	return digest(map[string]any{}, agent, tool, definition, args, restored)
}

// OutcomeDigest is [Digest] for an approval of [KindOutcome]: it binds the question to the
// call and to the attempt whose outcome is unknown. It covers the kind and the attempt too, so
// that it differs from the digest of the call and of any other attempt: the approver of the
// call has not seen this question.
//
// Questions of earlier servers have the digest of their call. An answer is compared with the
// stored digest, so these can still be answered.
func OutcomeDigest(agent, tool, definition string, args map[string]any, attempt int, restored ...string) (string, error) {
	return digest(map[string]any{"kind": string(KindOutcome), "attempt": attempt}, agent, tool, definition, args, restored)
}

// digest returns the digest of what, to which it adds the call.
func digest(what map[string]any, agent, tool, definition string, args map[string]any, restored []string) (string, error) {
	if args == nil {
		args = map[string]any{}
	}
	if len(restored) > 0 {
		what["restored"] = restored
	}
	what["v"], what["agent"], what["tool"], what["schema"], what["args"] = digestVersion, agent, tool, definition, args
	text, err := strictjson.Canonical(what)
	if err != nil {
		return "", fmt.Errorf("digest the call of tool %q: %w", tool, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
