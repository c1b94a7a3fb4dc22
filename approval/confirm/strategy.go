package confirm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"a2a-server/internal/strictjson"
	"a2a-server/internal/visible"
)

// Strategy decides calls of a tool. It is safe for concurrent use.
type Strategy interface {
	// Run decides a call. It may take as long as it needs; ctx ends when the decision is not
	// needed any more. An error means that nothing is decided. Haystack's run_async is Run in a
	// goroutine.
	Run(ctx context.Context, c Call) (Decision, error)
	// ToMap returns the serialized form: "type", and "init_parameters" for its [Kinds].
	ToMap() map[string]any
}

// UI asks a person. It is safe for concurrent use.
type UI interface {
	// GetUserConfirmation asks about a call and waits for the answer. It returns an error without
	// one, also when ctx ends.
	GetUserConfirmation(ctx context.Context, c Call) (UIResult, error)
	// ToMap returns the serialized form: "type", and "init_parameters" for its [Kinds].
	ToMap() map[string]any
}

// Templates are the texts of a [Decision]'s feedback. {tool_name}, {final_tool_params} and
// {feedback} are replaced, {{ and }} are braces.
type Templates struct {
	Reject   string // of a rejection; has {tool_name}
	Modify   string // of a modification; has {tool_name} and {final_tool_params}, as JSON
	Feedback string // added with the person's feedback; has {feedback}
}

// The defaults of [Templates], the words that models know from Haystack.
const (
	defaultReject   = "Tool execution for '{tool_name}' was rejected by the user."
	defaultModify   = "The parameters for tool '{tool_name}' were updated by the user to:\n{final_tool_params}"
	defaultFeedback = "With user feedback: {feedback}"
)

func (t Templates) withDefaults() Templates {
	return Templates{cmp.Or(t.Reject, defaultReject), cmp.Or(t.Modify, defaultModify), cmp.Or(t.Feedback, defaultFeedback)}
}

// BlockingStrategy asks a person with its UI, if its policy says so, and waits for the answer.
type BlockingStrategy struct {
	Policy    Policy    // required
	UI        UI        // required
	Templates Templates // an empty text means its default
}

// maxAnswers is how often a UI is asked about a call until it gives an answer.
const maxAnswers = 10

// Run implements [Strategy]. An answer that is none of this package's actions, or [Modify] without
// arguments, is asked for again, ten times at most.
func (s *BlockingStrategy) Run(ctx context.Context, c Call) (Decision, error) {
	decision, answer, err := s.ask(ctx, c)
	if err != nil || answer.Action == Confirm {
		return decision, err
	}
	final, err := text(decision.FinalToolParams)
	if err != nil {
		return Decision{}, err
	}
	t := s.Templates.withDefaults()
	feedback := fill(map[string]string{Reject: t.Reject, Modify: t.Modify}[answer.Action], "tool_name", c.ToolName, "final_tool_params", final)
	if answer.Feedback != "" {
		feedback += " " + fill(t.Feedback, "feedback", answer.Feedback)
	}
	decision.Feedback = &feedback
	return decision, nil
}

// ask decides a call without the feedback of the decision. A call that the policy lets run counts
// as confirmed.
func (s *BlockingStrategy) ask(ctx context.Context, c Call) (Decision, UIResult, error) {
	if s.Policy == nil || s.UI == nil {
		return Decision{}, UIResult{}, errors.New("a blocking strategy needs a policy and a UI")
	}
	decision := Decision{ToolName: c.ToolName, Execute: true, FinalToolParams: params(c.Params)}
	if c.ToolCallID != "" {
		decision.ToolCallID = &c.ToolCallID
	}
	switch ask, err := s.Policy.ShouldAsk(ctx, c); {
	case err != nil:
		return Decision{}, UIResult{}, err
	case !ask:
		return decision, UIResult{Action: Confirm}, nil
	}
	answer, err := s.answer(ctx, c)
	if err != nil {
		return Decision{}, UIResult{}, err
	}
	if learner, ok := s.Policy.(Learner); ok {
		if err := learner.UpdateAfterConfirmation(ctx, c, answer); err != nil {
			return Decision{}, UIResult{}, err
		}
	}
	switch answer.Action {
	case Reject:
		decision.Execute, decision.FinalToolParams = false, nil
	case Modify:
		decision.FinalToolParams = answer.NewToolParams
	}
	return decision, answer, nil
}

// answer asks until there is a valid answer.
func (s *BlockingStrategy) answer(ctx context.Context, c Call) (UIResult, error) {
	var last UIResult
	for range maxAnswers {
		shown := c
		shown.Params = strictjson.Clone(c.Params) // a UI may change its own
		var err error
		if last, err = s.UI.GetUserConfirmation(ctx, shown); err != nil {
			return UIResult{}, fmt.Errorf("ask about %s: %w", visible.Quote(c.ToolName, maxName), err)
		}
		if ctx.Err() != nil { // the approval may have been decided meanwhile
			return UIResult{}, context.Cause(ctx)
		}
		if last.Action == Confirm || last.Action == Reject || last.Action == Modify && last.NewToolParams != nil && !c.NoModify {
			return last, nil
		}
	}
	return UIResult{}, fmt.Errorf("the UI has answered %s about %s, the last of %d answers that are none: it has to confirm, reject, or modify with arguments",
		visible.Quote(last.Action, maxName), visible.Quote(c.ToolName, maxName), maxAnswers)
}

// ToMap implements [Strategy].
func (s *BlockingStrategy) ToMap() map[string]any {
	t := s.Templates.withDefaults()
	return form(typeBlocking, map[string]any{
		"confirmation_policy": s.Policy.ToMap(), "confirmation_ui": s.UI.ToMap(),
		"reject_template": t.Reject, "modify_template": t.Modify, "user_feedback_template": t.Feedback,
	})
}

// fill fills placeholders into a template, all at once: a value cannot bring in another.
func fill(template string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		pairs[i] = "{" + pairs[i] + "}"
	}
	return strings.NewReplacer(append([]string{"{{", "{", "}}", "}"}, pairs...)...).Replace(template)
}

// text returns a value as JSON on one line.
func text(v any) (string, error) {
	raw, err := strictjson.Plain(v)
	if err != nil {
		return "", fmt.Errorf("write the arguments: %w", err)
	}
	return string(raw), nil
}
