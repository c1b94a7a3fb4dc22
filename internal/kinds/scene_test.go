//go:build unix

package kinds_test

import (
	"fmt"
	"slices"
	"strings"
)

// what a client wants of the gated call that it makes.
type wish string

const (
	approves wish = "approve"
	edits    wish = "edit"
	rejects  wish = "reject"
	cancels  wish = "cancel"
	waits    wish = "wait" // until its deadline has passed
)

// scene is one call of a tool of one kind, and what its client wants.
type scene struct {
	kind kind
	wish wish
}

func (s scene) name() string { return s.kind.name + "-" + string(s.wish) }

// tool is the tool that the scene calls. The gate of the other one has a deadline.
func (s scene) tool() string {
	if s.wish == waits {
		return s.kind.tool + "_soon"
	}
	return s.kind.tool
}

// args are the arguments of the call.
func (s scene) args(amount int) map[string]any {
	args := map[string]any{"scene": s.name(), "amount": amount}
	if s.kind.body {
		return map[string]any{"body": args}
	}
	return args
}

const (
	asked  = 1  // the amount in the arguments that are sent
	edited = 99 // the amount that an edit sets
)

// amount is what may be paid, if anything may.
func (s scene) amount() int {
	if s.wish == edits {
		return edited
	}
	return asked
}

// mayRun reports whether the call may run at all.
func (s scene) mayRun() bool { return s.wish == approves || s.wish == edits }

// scenes are all scenes of the kinds that are tested.
func scenes() []scene {
	var all []scene
	for _, kind := range kinds() {
		for _, w := range kind.wishes() {
			all = append(all, scene{kind, w})
		}
	}
	return all
}

// payment is one effect: what a tool did for a scene.
type payment struct {
	Scene  string `json:"scene"`
	Amount int    `json:"amount"`
}

func (p payment) line() string { return fmt.Sprintf("%s %d\n", p.Scene, p.Amount) }

// payments reads the lines that tools have written.
func payments(text string) ([]payment, error) {
	var all []payment
	for line := range strings.Lines(text) {
		var p payment
		if _, err := fmt.Sscanf(line, "%s %d\n", &p.Scene, &p.Amount); err != nil {
			return nil, fmt.Errorf("ledger line %q: %w", line, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// kind is a kind of tool.
type kind struct {
	name string
	tool string // its name; there is another one with "_soon" after it
	body bool   // its arguments are those of a request's body
	// without lists what cannot be wished of it.
	without []wish
}

func (k kind) wishes() []wish {
	all := []wish{approves, edits, rejects, cancels, waits}
	return slices.DeleteFunc(all, func(w wish) bool { return slices.Contains(k.without, w) })
}
