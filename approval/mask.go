package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"a2a-server/internal/strictjson"
)

// Masked replaces each value of the arguments that Terms.Mask names.
const Masked = "•••"

// MaskedArgs returns the arguments as lists, mails and logs show them: with [Masked] in each
// place of Terms.Mask. Deciders see Args.
func (a *Approval) MaskedArgs() json.RawMessage { return MaskJSON(a.Args, a.Terms.Mask) }

// Listed returns a copy of a for lists, mails and logs, with the arguments of the call and of
// an edit masked. A question of a running tool of which anything is masked is without its payload
// and the tool's hint: either may repeat the masked values in another form. It shares the rest
// with a.
func (a *Approval) Listed() *Approval {
	listed := *a
	listed.Args = a.MaskedArgs()
	if a.AskKind != "" && len(a.Terms.Mask) > 0 {
		listed.Payload = nil
		listed.Hint = fmt.Sprintf("The tool %s asks. Its question is shown to those who may decide it.", quote(a.Tool))
	}
	if a.Resolution != nil {
		r := *a.Resolution
		r.Args = MaskJSON(r.Args, a.Terms.Mask)
		listed.Resolution = &r
	}
	return &listed
}

// MaskJSON returns raw with [Masked] in each place of mask, as in Terms.Mask. It returns
// nothing of JSON that it cannot read.
func MaskJSON(raw json.RawMessage, mask []string) json.RawMessage {
	if len(mask) == 0 || len(raw) == 0 {
		return raw
	}
	v, err := strictjson.Decode(raw)
	if err == nil {
		if out, err := strictjson.Canonical(masked(v, mask)); err == nil {
			return out
		}
	}
	return json.RawMessage(`"` + Masked + `"`)
}

// maskedArgs returns args with the places masked. It changes nothing in args.
func maskedArgs(args map[string]any, mask []string) map[string]any {
	shown, _ := masked(args, mask).(map[string]any)
	return shown
}

// masked returns v with the places masked, in new objects and arrays along the way.
func masked(v any, mask []string) any {
	for _, pointer := range mask {
		v = maskAt(v, splitPointer(pointer))
	}
	return v
}

// maskAt masks the value at path below v. The step * leads to every member or element.
func maskAt(v any, path []string) any {
	if len(path) == 0 {
		return Masked
	}
	step, rest := path[0], path[1:]
	switch at := v.(type) {
	case map[string]any:
		next := maps.Clone(at)
		for name, value := range at {
			if step == "*" || step == name {
				next[name] = maskAt(value, rest)
			}
		}
		return next
	case []any:
		next := slices.Clone(at)
		for i, value := range at {
			if step == "*" || step == strconv.Itoa(i) {
				next[i] = maskAt(value, rest)
			}
		}
		return next
	}
	return v
}

// CheckMask returns an error if pointer cannot stand in Terms.Mask.
func CheckMask(pointer string) error {
	if !strings.HasPrefix(pointer, "/") {
		return errors.New("is not a JSON pointer; write / and the name of an argument, such as /card/number, or /* for all arguments")
	}
	for at := 0; at < len(pointer); at++ {
		if pointer[at] == '~' && (at+1 == len(pointer) || pointer[at+1] != '0' && pointer[at+1] != '1') {
			return errors.New("is not a JSON pointer; write ~0 for ~, and ~1 for a / in a name")
		}
	}
	return nil
}

// CheckNotify returns an error if name cannot stand in Terms.Notify.
func CheckNotify(name string) error {
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") != "" {
		return errors.New("is not a valid name to notify; use letters, digits, dots, dashes and underscores")
	}
	return nil
}

// Union returns the texts of both lists, sorted, each once; nil if there are none.
func Union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
