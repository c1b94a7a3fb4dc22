package confirm

import (
	"context"
	"fmt"
)

// Policy says whether a person has to be asked about a call. It is safe for concurrent use.
type Policy interface {
	// ShouldAsk reports whether to ask. An error means that nothing is decided.
	ShouldAsk(ctx context.Context, c Call) (bool, error)
	// ToMap returns the serialized form: "type", and "init_parameters" for its [Kinds].
	ToMap() map[string]any
}

// Learner is a [Policy] that learns from answers.
type Learner interface {
	Policy
	// UpdateAfterConfirmation is told of a valid answer about c, before anything runs. An error
	// means that nothing is decided.
	UpdateAfterConfirmation(ctx context.Context, c Call, r UIResult) error
}

type always struct{}

// AlwaysAsk returns the policy that asks about every call.
func AlwaysAsk() Policy { return always{} }

func (always) ShouldAsk(context.Context, Call) (bool, error) { return true, nil }
func (always) ToMap() map[string]any                         { return form(typeAlwaysAsk, nil) }

type never struct{}

// NeverAsk returns the policy that lets every call run.
func NeverAsk() Policy { return never{} }

func (never) ShouldAsk(context.Context, Call) (bool, error) { return false, nil }
func (never) ToMap() map[string]any                         { return form(typeNeverAsk, nil) }

type once struct{ memory Memory }

// AskOnce returns the policy that asks until a call has been confirmed once, unmodified. The
// confirmation covers the same arguments to the same definition of the tool, on the same terms, for
// the same requester in the same context. The question of a running tool is asked each time.
//
// Nil is a memory of this process with the newest 10,000 confirmations.
func AskOnce(m Memory) Policy {
	if m == nil {
		m = &recent{known: map[[32]byte]bool{}}
	}
	return once{m}
}

func (p once) ShouldAsk(ctx context.Context, c Call) (bool, error) {
	if c.Question {
		return true, nil
	}
	key, err := c.key()
	if err != nil {
		return false, err
	}
	known, err := p.memory.Confirmed(ctx, key)
	if err != nil {
		return false, fmt.Errorf("look up earlier confirmations of %q: %w", c.ToolName, err)
	}
	return !known, nil
}

func (p once) UpdateAfterConfirmation(ctx context.Context, c Call, r UIResult) error {
	if r.Action != Confirm || c.Question {
		return nil
	}
	key, err := c.key()
	if err != nil {
		return err
	}
	if err := p.memory.Confirm(ctx, key); err != nil {
		return fmt.Errorf("remember the confirmation of %q: %w", c.ToolName, err)
	}
	return nil
}

func (once) ToMap() map[string]any { return form(typeAskOnce, nil) } // as in Haystack, without its memory
