package condition

import (
	"sync"

	"cel.dev/cel-go/cel"
)

// maxKept is how many conditions on deciders are kept.
const maxKept = 1000

// deciderEnvironment returns the part of CEL that conditions on deciders may use.
var deciderEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	e, err := environment()
	if err != nil {
		return nil, err
	}
	return e.Extend(cel.Variable("decider.subject", cel.StringType), cel.Variable("decider.tenant", cel.StringType), cel.Variable("decider.roles", cel.ListType(cel.StringType)))
})

// deciderNames are the variables of conditions on deciders, as messages list them.
const deciderNames = "decider.subject, decider.tenant, decider.roles, " + names

// kept returns the conditions on deciders that were compiled last: approvals have only the text.
var kept = sync.OnceValue(func() *keeper { return &keeper{byText: map[string]*Condition{}} })

type keeper struct {
	mu     sync.Mutex
	byText map[string]*Condition
}

// CompileDecider is [Compile] for a condition on a decider. A text that it was given before is not
// compiled again.
func CompileDecider(text string) (*Condition, error) {
	k := kept()
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.byText[text]; c != nil {
		return c, nil
	}
	c, err := compile(text, deciderEnvironment, deciderNames)
	if err != nil {
		return nil, err
	}
	if len(k.byText) >= maxKept {
		clear(k.byText)
	}
	k.byText[text] = c
	return c, nil
}
