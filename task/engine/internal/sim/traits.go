package sim

import "a2a-server/tool"

// Effect is a tool's declaration about repeating a call.
type Effect int

// The effects.
const (
	ReadOnly   Effect = iota // changes nothing
	Idempotent               // may be repeated
	Once                     // neither: must not run twice
)

var effectNames = [...]string{"readonly", "idempotent", "once"}

// Form is how a tool runs.
type Form int

// The forms.
const (
	Plain      Form = iota // called, and returns
	Streaming              // yields pieces
	Suspending             // pauses for questions, confirmations and timers
	Long                   // takes its time, can be canceled by the id of its call
	Keeping                // keeps its progress while it runs
	Sharing                // sets some of the state of its context
	Asking                 // asks while it runs, and waits for the answers

	forms
)

var formNames = [...]string{"plain", "streaming", "suspending", "long", "keeping", "sharing", "asking"}

// String returns the name of a form, which is that of the toolset of its tools.
func (f Form) String() string { return formNames[f] }

// Traits are the declarations of a tool.
type Traits struct {
	Gated  bool
	Effect Effect
	Form   Form
}

// AllTraits returns every combination, the simplest first.
func AllTraits() []Traits {
	var all []Traits
	for form := range forms {
		for effect := ReadOnly; effect <= Once; effect++ {
			all = append(all, Traits{false, effect, form}, Traits{true, effect, form})
		}
	}
	return all
}

// Name is the name of the tool, which says it all.
func (t Traits) Name() string {
	name := effectNames[t.Effect] + "_" + formNames[t.Form]
	if t.Gated {
		name = "gated_" + name
	}
	return name
}

// Annotations are the annotations of a tool with these traits.
func (t Traits) Annotations() tool.Annotations {
	return tool.Annotations{ReadOnly: t.Effect == ReadOnly, Idempotent: t.Effect == Idempotent}
}
