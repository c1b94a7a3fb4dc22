package confirm

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"a2a-server/internal/visible"
)

// The types of the serialized forms are Haystack's classes. Version 3 has them below
// haystack.hooks.human_in_the_loop, which is written, and version 2 below
// haystack.human_in_the_loop, which is read too, as are short names.
const (
	inHaystack2 = "haystack.human_in_the_loop."
	inHaystack3 = "haystack.hooks.human_in_the_loop."

	typeAlwaysAsk = inHaystack3 + "policies.AlwaysAskPolicy"
	typeNeverAsk  = inHaystack3 + "policies.NeverAskPolicy"
	typeAskOnce   = inHaystack3 + "policies.AskOncePolicy"
	typeSimple    = inHaystack3 + "user_interfaces.SimpleConsoleUI"
	typeRich      = inHaystack3 + "user_interfaces.RichConsoleUI"
	typeBlocking  = inHaystack3 + "strategies.BlockingConfirmationStrategy"
	typeHook      = inHaystack3 + "hooks.ConfirmationHook"
)

// classes are the classes of short names, which are read in their place.
var classes = map[string]string{
	"always_ask": typeAlwaysAsk, "never_ask": typeNeverAsk, "ask_once": typeAskOnce,
	"simple_console": typeSimple, "rich_console": typeRich, "blocking": typeBlocking, "hook": typeHook,
}

func class(kind string) string { return cmp.Or(classes[kind], kind) }

// form returns a serialized form.
func form(kind string, parameters map[string]any) map[string]any {
	return map[string]any{"type": kind, "init_parameters": params(parameters)}
}

// Kinds are what serialized forms are made from, beside the types of this package, which they may
// replace. The functions are called with init_parameters, by type.
type Kinds struct {
	Policies   map[string]func(parameters map[string]any) (Policy, error)
	UIs        map[string]func(parameters map[string]any) (UI, error)
	Strategies map[string]func(parameters map[string]any) (Strategy, error)

	Memory Memory    // of each AskOnce; nil: each has its own
	In     io.Reader // of consoles. Defaults to os.Stdin.
	Out    io.Writer // of consoles. Defaults to os.Stdout.
}

// StrategyFromMap reads a serialized strategy: Haystack's BlockingConfirmationStrategy, or a type of
// k.Strategies. Unknown types and members are errors.
func StrategyFromMap(m map[string]any, k Kinds) (Strategy, error) { return k.reader().strategy(m) }

// PolicyFromMap reads a serialized policy: one of Haystack's, or a type of k.Policies.
func PolicyFromMap(m map[string]any, k Kinds) (Policy, error) { return k.reader().policy(m) }

// StrategiesFromMap reads serialized strategies: Haystack's ConfirmationHook. All consoles in it
// share k.In.
func StrategiesFromMap(m map[string]any, k Kinds) (*Strategies, error) {
	r := k.reader()
	kind, d, err := parts(m, "a hook")
	if err != nil {
		return nil, err
	}
	if class(kind) != typeHook {
		return nil, unknownType("hook", kind)
	}
	d.only("confirmation_strategies")
	all := read[map[string]any](d, "confirmation_strategies", true)
	if err := d.err(); err != nil {
		return nil, err
	}
	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(all)) {
		tools, err := toolsOf(name)
		if err != nil {
			return nil, err
		}
		object, _ := all[name].(map[string]any)
		s, err := r.strategy(object)
		if err != nil {
			return nil, fmt.Errorf("strategy of %s: %w", visible.Quote(name, maxName), err)
		}
		entries = append(entries, Entry{tools, s})
	}
	return NewStrategies(entries...)
}

// reader makes values of serialized forms.
type reader struct {
	Kinds
	screen *screen // shared by the consoles
}

func (k Kinds) reader() *reader {
	if k.In == nil {
		k.In = os.Stdin
	}
	if k.Out == nil {
		k.Out = os.Stdout
	}
	return &reader{k, newScreen(k.In, k.Out)}
}

// parts returns the type of a serialized form, in the spelling of version 3 if it is Haystack's,
// and a decoder of its parameters.
func parts(m map[string]any, what string) (string, *decoder, error) {
	d := &decoder{what: what, object: m}
	d.only("type", "init_parameters")
	kind, parameters := read[string](d, "type", true), read[map[string]any](d, "init_parameters", false)
	if rest, old := strings.CutPrefix(kind, inHaystack2); old {
		kind = inHaystack3 + rest
	}
	return kind, &decoder{what: what, object: parameters}, d.err()
}

func unknownType(what, kind string) error {
	return fmt.Errorf("the %s type %s is unknown: add a function for it to Kinds", what, visible.Quote(kind, maxName))
}

func (r *reader) policy(m map[string]any) (Policy, error) {
	kind, d, err := parts(m, "a policy")
	if err != nil {
		return nil, err
	}
	if own := r.Policies[kind]; own != nil {
		return own(d.object)
	}
	d.only()
	switch class(kind) {
	case typeAlwaysAsk:
		return AlwaysAsk(), d.err()
	case typeNeverAsk:
		return NeverAsk(), d.err()
	case typeAskOnce:
		return AskOnce(r.Memory), d.err()
	}
	return nil, unknownType("policy", kind)
}

func (r *reader) ui(m map[string]any) (UI, error) {
	kind, d, err := parts(m, "a UI")
	if err != nil {
		return nil, err
	}
	if own := r.UIs[kind]; own != nil {
		return own(d.object)
	}
	switch kind = class(kind); kind {
	case typeSimple:
		d.only()
	case typeRich:
		if d.only("console"); d.object["console"] != nil {
			d.bad("console cannot be read: leave it null, and set Kinds.In and Kinds.Out")
		}
	default:
		return nil, unknownType("UI", kind)
	}
	return &console{screen: r.screen, rich: kind == typeRich}, d.err()
}

func (r *reader) strategy(m map[string]any) (Strategy, error) {
	kind, d, err := parts(m, "a strategy")
	if err != nil {
		return nil, err
	}
	if own := r.Strategies[kind]; own != nil {
		return own(d.object)
	}
	if class(kind) != typeBlocking {
		return nil, unknownType("strategy", kind)
	}
	d.only("confirmation_policy", "confirmation_ui", "reject_template", "modify_template", "user_feedback_template")
	policy, ui := read[map[string]any](d, "confirmation_policy", true), read[map[string]any](d, "confirmation_ui", true)
	s := &BlockingStrategy{Templates: Templates{
		read[string](d, "reject_template", false), read[string](d, "modify_template", false), read[string](d, "user_feedback_template", false),
	}}
	if err := d.err(); err != nil {
		return nil, err
	}
	if s.Policy, err = r.policy(policy); err != nil {
		return nil, err
	}
	if s.UI, err = r.ui(ui); err != nil {
		return nil, err
	}
	return s, nil
}
