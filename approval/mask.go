package approval

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"a2a-server/auth/sight"
	"a2a-server/internal/strictjson"
	"a2a-server/tool"
)

// Masked replaces each value of the arguments that Terms.Mask names.
const Masked = "•••"

// MaskedArgs returns the arguments as lists, mails and logs show them: with [Masked] in each
// place of Terms.Mask. Deciders see Args.
func (a *Approval) MaskedArgs() json.RawMessage { return MaskJSON(a.Args, a.Terms.Mask) }

// Hides reports whether the gates of a mask arguments, or keep its task.
func (a *Approval) Hides() bool { return len(a.Terms.Mask) > 0 || a.Terms.MaskTask }

// For returns a copy of a for a reader: without the digest and with the arguments of the call and of an
// edit masked, where the sight says so. The hint and payload of a question of a running tool, which may
// repeat arguments in other words, are masked whole. It shares the rest with a.
func (a *Approval) For(s sight.Sight) *Approval {
	seen := *a
	if len(a.Terms.Mask) == 0 {
		return &seen
	}
	if s.Digest != sight.Whole {
		seen.Digest = ""
	}
	if s.Arguments != sight.Whole {
		seen.Args = a.MaskedArgs()
		if a.Resolution != nil {
			r := *a.Resolution
			r.Args = MaskJSON(r.Args, a.Terms.Mask)
			seen.Resolution = &r
		}
	}
	if s.Question != sight.Whole && a.AskKind != "" {
		seen.Hint = Masked
		if len(a.Payload) > 0 {
			seen.Payload = json.RawMessage(`"` + Masked + `"`)
		}
	}
	return &seen
}

// ErrMasked stands for an error of code outside the server that may repeat masked arguments, in any form.
var ErrMasked = errors.New("the details are left out, because gates of the tool mask arguments")

// Redact returns the error of a program or a tool about a for logs, audit and questions:
// [ErrMasked] where a masks arguments.
func (a *Approval) Redact(err error) error {
	if err != nil && len(a.Terms.Mask) > 0 {
		return ErrMasked
	}
	return err
}

// Masks reports whether any gate about the tool of a name masks arguments, of whatever calls.
func (p *Policy) Masks(name string) bool {
	if p == nil {
		return false
	}
	exact, others := p.index.of(name)
	return len(p.defaults.Mask) > 0 || slices.ContainsFunc(slices.Concat(exact, others), func(g *gate) bool { return len(g.Terms.Mask) > 0 })
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
		return tool.Masked{}
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

// FindMasked returns the place of a value of arguments that is [Masked], as a JSON pointer: it came from a
// list or a message, and stands for a value that was not shown. ok is false if there is none.
func FindMasked(v any) (at string, ok bool) {
	switch v := v.(type) {
	case string:
		return "", v == Masked
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if at, ok := FindMasked(v[name]); ok {
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
