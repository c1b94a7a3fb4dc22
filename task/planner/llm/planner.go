package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"a2a-server/task"
	"a2a-server/task/planner/llm/internal/chat"
)

// Planner asks a model. It is safe for concurrent use. Make one with [New].
type Planner struct {
	config Config
	client *chat.Client
}

var (
	_ task.Planner  = (*Planner)(nil)
	_ task.Prompter = (*Planner)(nil)
)

// New returns a Planner. It connects to nothing. The error says which field of c is invalid.
func New(c Config) (*Planner, error) {
	c = c.withDefaults()
	client, err := c.client()
	if err != nil {
		return nil, fmt.Errorf("planner.llm.%w", err)
	}
	return &Planner{c, client}, nil
}

// Close closes the connections that are not in use.
func (p *Planner) Close() { p.client.Close() }

// state is what the log keeps of a step.
type state struct {
	Version int             `json:"v"`
	Message json.RawMessage `json:"message,omitempty"` // of the assistant; nil: the step is no answer
	Calls   []string        `json:"calls,omitempty"`   // the model's ids of the calls of the step, in their order
	Limit   bool            `json:"limit,omitempty"`   // the step asks whether the model may go on
	To      string          `json:"to,omitempty"`      // the tool of the agent that the task is handed over to
	Waits   int             `json:"waits,omitempty"`   // durable waits in a row, this one included
	Sent    int             `json:"sent,omitempty"`    // bytes of the request
	In      int             `json:"in,omitempty"`      // tokens of the request; 0: the endpoint does not say
	Tokens  int             `json:"tokens,omitempty"`  // tokens of requests and answer
}

const stateVersion = 1

// stateOf returns the state of a step. It is empty for a step of another planner.
func stateOf(s *task.DoneStep) (at state) {
	if json.Unmarshal(s.State, &at) != nil || at.Version != stateVersion {
		return state{}
	}
	return at
}

// Plan returns the model's next step: calls, or the end with the text that it has said. The error
// says why there is none, and is for clients.
func (p *Planner) Plan(ctx context.Context, at *task.Progress) (*task.Step, error) {
	if next := p.wanted(at); next != nil {
		return next, nil
	}
	if stop, err := p.limited(ctx, at); stop != nil || err != nil {
		return stop, err
	}
	c, err := p.conversation(ctx, at)
	if err != nil {
		return nil, err
	}
	body, err := c.encode()
	if err != nil {
		return nil, err
	}
	began := p.config.Now()
	answer, lost, err := p.complete(ctx, at, body)
	if err != nil {
		return p.failed(ctx, at, err, lost)
	}
	took := p.config.Now().Sub(began)
	p.config.Log.Info().Str("task_id", at.Task).Int("step", len(at.Steps)+1).Str("model", clean(answer.Model)).Str("finish", clean(answer.Finish)).Int("calls", len(answer.Calls)).
		Int("input_tokens", answer.Usage.In).Int("output_tokens", answer.Usage.Out).Dur("took_ms", took).Msg("model answered")
	return p.step(at, c, len(body), answer, lost, took)
}

// Prompt implements [task.Prompter].
func (p *Planner) Prompt(ctx context.Context, at *task.Progress, step int) (task.Prompt, error) {
	prompt := task.Prompt{}
	if step >= 1 && step <= len(at.Steps) {
		prompt.Sent = stateOf(&at.Steps[step-1]).Sent
	}
	if prompt.Sent == 0 && step != len(at.Steps)+1 { // the last answer, with which nothing is kept
		return prompt, task.Invalid("step", "is %d, which has no answer of the model: take a step from the task's page", step)
	}
	then := *at
	then.Steps = at.Steps[:step-1]
	then.Messages = nil
	for _, m := range at.Messages {
		if m.After < step {
			then.Messages = append(then.Messages, m)
		}
	}
	c, err := p.conversation(ctx, &then)
	if err != nil {
		return task.Prompt{}, err
	}
	prompt.Request, err = c.encode()
	return prompt, err
}

// maxCalls bounds the calls of an answer: the engine takes no more in a step.
const maxCalls = 64

// step turns an answer into a step. lost are the tokens of tries before. Calls count only in an answer that the model has finished:
// what it leaves unfinished may be another call than it wants.
func (p *Planner) step(at *task.Progress, c *conversation, sent int, answer *chat.Answer, lost int, took time.Duration) (*task.Step, error) {
	next := &task.Step{Output: []task.Output{{Metadata: map[string]any{task.ModelKey: usage(answer, len(at.Steps)+1, took)}}}, Tokens: answer.Usage.In + answer.Usage.Out}
	if next.Tokens == 0 { // the endpoint does not say
		next.Tokens = (sent + len(answer.Message)) / bytesPerToken
	}
	next.Tokens += lost
	if p.config.Reasoning && answer.Reasoning != "" {
		n := strconv.Itoa(len(at.Steps) + 1)
		next.Output = append(next.Output, task.Output{Artifact: &task.ArtifactPiece{ID: "r" + n, Name: "reasoning", Parts: a2a.ContentParts{a2a.NewTextPart(answer.Reasoning)}, Last: true}})
	}
	finished := slices.Contains([]string{"stop", "tool_calls", "function_call"}, answer.Finish)
	switch {
	case len(answer.Calls) > 0 && !finished:
		return p.end(at, next, fmt.Sprintf("The model stopped in the middle of its calls (%s), so none of them has run.", clean(answer.Finish)))
	case len(answer.Calls) > maxCalls:
		return p.end(at, next, fmt.Sprintf("The model wants %d calls at once, and may make at most %d, so none of them has run.", len(answer.Calls), maxCalls))
	case answer.Finish == "length":
		return p.end(at, next, "The answer of the model is cut off at its limit of tokens.")
	case answer.Finish == "content_filter":
		return p.end(at, next, "The answer of the model was withheld by its content filter.")
	case len(answer.Calls) == 0:
		next.End = &task.End{State: a2a.TaskStateCompleted}
		return next, nil
	}
	s := state{Version: stateVersion, Message: answer.Message, Sent: sent, In: answer.Usage.In, Tokens: next.Tokens}
	for _, call := range answer.Calls {
		s.Calls = append(s.Calls, call.ID)
		next.Calls = append(next.Calls, task.PlannedCall{Tool: cmp.Or(c.names[call.Name], call.Name), Args: call.Args})
	}
	next.State = encode(s)
	return next, nil
}

// end ends the task as failed.
func (p *Planner) end(at *task.Progress, s *task.Step, why string) (*task.Step, error) {
	s.End = &task.End{State: a2a.TaskStateFailed, Message: message(at, why)}
	return s, nil
}

// usage is the value of [task.ModelKey].
func usage(a *chat.Answer, step int, took time.Duration) map[string]any {
	u := map[string]any{"step": step, "durationMs": took.Milliseconds(), "finish": clean(a.Finish), "inputTokens": a.Usage.In, "outputTokens": a.Usage.Out}
	if a.Model != "" {
		u["model"] = clean(a.Model)
	}
	if a.Usage.Cached > 0 {
		u["cachedTokens"] = a.Usage.Cached
	}
	return u
}

// limited returns the step in place of an answer when the task has had all the answers or tokens
// that it may have; nil: it may have another.
func (p *Planner) limited(ctx context.Context, at *task.Progress) (*task.Step, error) {
	answers, tokens, after := 0, 0, 0
	if n := len(at.Messages); n > 0 {
		after = at.Messages[n-1].After
	}
	for i := range at.Steps {
		s := stateOf(&at.Steps[i])
		if tokens += s.Tokens; s.Message != nil && i >= after {
			answers++
		}
	}
	last := task.DoneStep{}
	if n := len(at.Steps); n > 0 {
		last = at.Steps[n-1]
	}
	if limit := p.config.TaskTokens; limit > 0 && tokens >= limit {
		return p.end(at, &task.Step{}, fmt.Sprintf("The task has used %d tokens of the model, and may use %d.", tokens, limit))
	}
	if limit := p.config.DayTokens; limit > 0 {
		spent, err := at.Spent(ctx)
		if err != nil {
			return nil, err
		}
		if spent >= limit {
			return p.end(at, &task.Step{}, fmt.Sprintf("You have used %d tokens of the model today, and may use %d. The next day begins at 00:00 UTC.", spent, limit))
		}
	}
	switch {
	case last.Asked && stateOf(&last).Limit && declines(at):
		return &task.Step{End: &task.End{State: a2a.TaskStateCanceled, Message: message(at, "The task was ended as its client wished.")}}, nil
	case answers < p.config.Steps:
		return nil, nil
	}
	return &task.Step{
		Ask:   &task.InputRequest{Message: message(at, fmt.Sprintf("The model has answered %d times and is not done. Reply yes to go on, no to end the task, or say what it should do.", answers))},
		State: encode(state{Version: stateVersion, Limit: true}),
	}, nil
}

// declines reports whether the newest message ends the task.
func declines(at *task.Progress) bool {
	text := strings.ToLower(strings.Trim(textOf(at.Messages[len(at.Messages)-1].Message), " .!\n"))
	return slices.Contains([]string{"no", "n", "stop", "end", "cancel"}, text)
}

// message returns a message to the client. Its id is the same whenever the step is planned.
func message(at *task.Progress, text string) *a2a.Message {
	name := "urn:a2a-server:llm:" + at.Task + ":" + strconv.Itoa(len(at.Steps))
	return &a2a.Message{ID: uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String(), Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
}
