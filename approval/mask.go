package approval

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"a2a-server/internal/sight"
	"a2a-server/internal/strictjson"
	"a2a-server/tool"
)

// Masked replaces each value of the arguments that Terms.Mask names.
const Masked = "•••"

// maskedArguments returns the arguments as lists, mails and logs show them: with [Masked] in each
// place of Terms.Mask. Deciders see Args.
func (a *Approval) maskedArguments() json.RawMessage { return MaskJSON(a.Args, a.Terms.Mask) }

// Hides reports whether the gates of a mask arguments, or keep its task.
func (a *Approval) Hides() bool { return a.Masks() || a.Kept }

// Masks reports whether the gates of a itself mask anything: who may not decide a does not see its task whole.
func (a *Approval) Masks() bool { return len(a.Terms.Mask) > 0 || a.Terms.MaskTask }

// For returns a copy of a for a reader. Where a hides anything, it has no digest, and the arguments of
// the call and of an edit are masked, unless the sight shows them. What a running tool asks and is
// answered may repeat arguments in other words, and is masked whole; where the task is kept, so is the
// answer, and the question about an outcome does not say why it is unknown. The copy shares the rest with a.
func (a *Approval) For(s sight.Sight) *Approval {
	seen := *a
	if !a.Hides() {
		return &seen
	}
	if s.Digest != sight.Whole {
		seen.Digest = ""
	}
	if s.Arguments != sight.Whole {
		seen.Args = a.maskedArguments()
	}
	if a.Kind == KindOutcome && a.Kept && s.Kept != sight.Whole { // why it is unknown, the tool may have said
		seen.Hint = OutcomeHint(a.Tool, tool.ErrMasked.Error())
	}
	asks := a.AskKind != "" && s.Question != sight.Whole
	if asks {
		seen.Hint, seen.Schema = Masked, nil
		maskWhole(&seen.Payload)
	}
	if a.Resolution == nil {
		return &seen
	}
	r := *a.Resolution
	seen.Resolution = &r
	if s.Arguments != sight.Whole {
		r.Args = MaskJSON(r.Args, a.Terms.Mask)
	}
	if asks {
		maskWhole(&r.Args, &r.Payload)
	}
	switch {
	case asks, (a.Terms.MaskTask || a.Kept) && s.Kept != sight.Whole:
		maskWhole(&r.Response)
	case s.Conversation != sight.Whole:
		r.Response = MaskJSON(r.Response, a.Terms.Mask)
	}
	return &seen
}

// maskWhole masks values that are there.
func maskWhole(all ...*json.RawMessage) {
	for _, raw := range all {
		if len(*raw) > 0 {
			*raw = json.RawMessage(`"` + Masked + `"`)
		}
	}
}

// Redact returns the error of a program or a tool about a for logs, audit and questions:
// [tool.ErrMasked] where its gates mask anything.
func (a *Approval) Redact(err error) error {
	if err != nil && a.Hides() {
		return tool.ErrMasked
	}
	return err
}

// Mask returns what gates mask in calls of the tool of a name, as in [Terms]. Every gate about the tool
// counts, also if it is not about a call: so a call is masked the same whether it is asked about, denied,
// refused, edited, or started by a grant.
func (p *Policy) Mask(name string) (mask []string, keepsTask bool) {
	if p == nil {
		return nil, false
	}
	mask, keepsTask = Union(p.defaults.Mask, p.also), p.defaults.MaskTask || p.keepsAll
	exact, others := p.index.of(name)
	for _, g := range slices.Concat(exact, others) {
		if len(g.Terms.Mask) > 0 {
			mask = Union(mask, g.Terms.Mask)
		}
		keepsTask = keepsTask || g.Terms.MaskTask
	}
	return mask, keepsTask
}

// Masking returns a policy that says what p says, and masks these places, too, or keeps the task: a reload
// does not show what was masked before.
func (p *Policy) Masking(mask []string, keepsTask bool) *Policy {
	if p == nil || len(mask) == 0 && !keepsTask {
		return p
	}
	more := *p
	more.also, more.keepsAll = mask, keepsTask
	return &more
}

// MaskArgs is [MaskJSON] for the arguments of a call. It returns nothing of what is no object: no place in it
// can be named.
func MaskArgs(raw json.RawMessage, mask []string) json.RawMessage {
	if len(mask) > 0 {
		if _, err := strictjson.DecodeObject(raw); err != nil {
			return json.RawMessage(`"` + Masked + `"`)
		}
	}
	return MaskJSON(raw, mask)
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
		v = replaceAt(v, splitPointer(pointer), tool.Masked{})
	}
	return v
}

// replaceAt returns v with another value at path, if there is a value, in new objects and arrays along the
// way. The step * leads to every member or element.
func replaceAt(v any, path []string, with any) any {
	if len(path) == 0 {
		return with
	}
	step, rest := path[0], path[1:]
	switch at := v.(type) {
	case map[string]any:
		next := maps.Clone(at)
		for name, value := range at {
			if step == "*" || step == name {
				next[name] = replaceAt(value, rest, with)
			}
		}
		return next
	case []any:
		next := slices.Clone(at)
		for i, value := range at {
			if step == "*" || step == strconv.Itoa(i) {
				next[i] = replaceAt(value, rest, with)
			}
		}
		return next
	}
	return v
}

// FindMasked returns the place of a value of arguments that is [Masked], any of several, as a JSON pointer:
// it came from a list or a message, and stands for a value that was not shown. ok is false if there is none.
func FindMasked(v any) (at string, ok bool) {
	switch v := v.(type) {
	case string:
		return "", v == Masked
	case map[string]any:
		for name, value := range v {
			if at, ok := FindMasked(value); ok {
				return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name) + at, true
			}
		}
	case []any:
		for i := range v {
			if at, ok := FindMasked(v[i]); ok {
				return "/" + strconv.Itoa(i) + at, true
			}
		}
	}
	return "", false
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
