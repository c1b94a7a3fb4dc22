package direct

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"a2a-server/internal/suggest"
	"a2a-server/task"
	"a2a-server/tool"
)

// readText returns the call in a text that begins with a slash. Any other text is not a
// call.
func readText(s string, tools []tool.Tool) ([]task.PlannedCall, error) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "/") {
		return nil, nil
	}
	name, rest := s[1:], ""
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 {
		name, rest = name[:i], strings.TrimSpace(name[i:])
	}
	for _, t := range tools {
		if t.Name() != name {
			continue
		}
		args, err := textArgs(rest, signatureOf(tool.ToDefinition(t).Parameters))
		if err != nil {
			return nil, fmt.Errorf("/%s: %w", name, err)
		}
		return []task.PlannedCall{{Tool: name, Args: args}}, nil
	}
	names := make([]string, 0, len(tools))
	for _, t := range tools {
		names = append(names, t.Name())
	}
	return nil, fmt.Errorf("unknown tool %+q%s", clip(name, 100), suggest.DidYouMean(name, "", names))
}

// textArgs returns the arguments after the name of a tool.
func textArgs(s string, sig signature) (json.RawMessage, error) {
	if s == "" {
		return json.RawMessage("{}"), nil
	}
	sole, isSole := sig.soleString()
	if s[0] == '{' {
		if json.Valid([]byte(s)) {
			return json.RawMessage(s), nil
		}
		if !isSole {
			var v any
			return nil, fmt.Errorf("the arguments are not valid JSON: %w", json.Unmarshal([]byte(s), &v))
		}
	} else if pairs, err := readPairs(s); err == nil && (!isSole || sig.knows(pairs)) {
		return pairs.encode(sig)
	} else if !isSole {
		return nil, err
	}
	return task.EncodeArgs(map[string]any{sole: s})
}

// pair is a key=value.
type pair struct {
	key   string
	value string // as written
}

type pairs []pair

// maxPairs is how many pairs a text may have.
const maxPairs = 1024

// readPairs reads key=value pairs, separated by spaces. Keys must be unique.
func readPairs(s string) (pairs, error) {
	var all pairs
	seen := map[string]bool{}
	for s != "" {
		if len(all) == maxPairs {
			return nil, fmt.Errorf("more than %d arguments", maxPairs)
		}
		i := strings.IndexFunc(s, func(r rune) bool { return r == '=' || r == '"' || unicode.IsSpace(r) })
		if i <= 0 || s[i] != '=' {
			return nil, fmt.Errorf("expected key=value at %q; a value with blanks needs quotes", clip(s, 40))
		}
		p := pair{key: s[:i]}
		if seen[p.key] {
			return nil, fmt.Errorf("%q is given twice", clip(p.key, 100))
		}
		seen[p.key] = true
		var err error
		if p.value, s, err = cutValue(s[i+1:]); err != nil {
			return nil, fmt.Errorf("the value of %q %w", clip(p.key, 100), err)
		}
		all = append(all, p)
		s = strings.TrimLeftFunc(s, unicode.IsSpace)
	}
	return all, nil
}

// cutValue cuts the value off the beginning of s: a JSON string, array or object, or else
// everything before the next space.
func cutValue(s string) (value, rest string, err error) {
	if s != "" && strings.ContainsRune(`"[{`, rune(s[0])) {
		d := json.NewDecoder(strings.NewReader(s))
		var raw json.RawMessage
		if d.Decode(&raw) == nil {
			n := int(d.InputOffset())
			if n == len(s) || strings.IndexFunc(s[n:], unicode.IsSpace) == 0 {
				return s[:n], s[n:], nil
			}
		}
		if s[0] == '"' {
			return "", "", errors.New("is not one quoted JSON string; a quote or a backslash inside needs a backslash before it")
		}
	}
	if i := strings.IndexFunc(s, unicode.IsSpace); i >= 0 {
		return s[:i], s[i:], nil
	}
	return s, "", nil
}

// encode returns the pairs as an object. An argument of type string in the schema stays a
// string.
func (all pairs) encode(sig signature) (json.RawMessage, error) {
	members := make(map[string]any, len(all))
	for _, p := range all {
		members[p.key] = p.read(sig.isString(p.key))
	}
	return task.EncodeArgs(members)
}

// read returns the value of a pair: JSON as it is, unless the argument is a string, or else a string.
func (p pair) read(isString bool) any {
	if (!isString || strings.HasPrefix(p.value, `"`)) && json.Valid([]byte(p.value)) {
		return json.RawMessage(p.value)
	}
	return p.value
}

// clip returns at most n bytes of s, cut at a character, and marked when cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
