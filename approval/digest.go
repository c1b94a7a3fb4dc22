package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"a2a-server/internal/strictjson"
	"a2a-server/tool"
)

// digestVersion changes with the inputs of a digest.
const digestVersion = 1

// Digest returns the digest of a call: the lower-case hex SHA-256 of the canonical JSON (RFC
// 8785) of the agent, the tool, definition (the digest of the tool's definition), and args.
// The order of keys in args does not matter. Nil args are an empty object. args come from a
// strict decode of the arguments: other Go values may collide, or fail. restored are the ids of
// the restorations from a backup that the task has been through: a digest that was shown before
// one, or after its backup was taken, is another.
func Digest(agent, tool, definition string, args map[string]any, restored ...string) (string, error) {
	return digest(map[string]any{}, agent, tool, definition, args, restored)
}

// QuestionDigest binds what a asks to a call. It is [Digest] if a gate asks whether the first attempt
// of the call may run: equal calls have equal digests, which grants and lists look for. Any other
// question shows more than the call, and its digest covers that: the kind, the kind of the tool's
// question, the attempt, the hint, the payload and the schema. The payload of a question that comes
// through agents has the digest of the agent's own question.
func (a *Approval) QuestionDigest(agent, tool, definition string, args map[string]any, restored ...string) (string, error) {
	what := map[string]any{}
	if a.Kind != KindCall || a.Ask != "" || a.Attempt > 0 {
		what["kind"], what["ask"], what["attempt"], what["hint"] = string(a.Kind), a.AskKind, a.Attempt, a.Hint
		for name, raw := range map[string]json.RawMessage{"payload": a.Payload, "answer": a.Schema} {
			if len(raw) == 0 {
				continue
			}
			v, err := strictjson.Decode(raw)
			if err != nil {
				return "", fmt.Errorf("digest the %s of a question of tool %q: %w", name, tool, err)
			}
			what[name] = v
		}
	}
	return digest(what, agent, tool, definition, args, restored)
}

// IsBound reports whether the digest of a is that of what a shows. It is not if another version of the
// server has asked; then a must be asked again, and decides nothing.
func (a *Approval) IsBound(restored ...string) bool {
	args, err := tool.DecodeArgs(a.Args)
	if err != nil {
		return false
	}
	digest, err := a.QuestionDigest(a.Agent, a.Tool, a.Definition, args, restored...)
	return err == nil && digest == a.Digest
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
