package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"a2a-server/approval"
	"a2a-server/internal/visible"
)

// question asks a tool's question on the terminal. An empty line is no answer.
func (d *desk) question(ctx context.Context, a *approval.Approval) (approval.Answer, error) {
	var schema struct {
		Enum  []string
		Items struct{ Enum []string }
	}
	// A schema of another form is shown as it is.
	_ = json.Unmarshal(a.Schema, &schema)
	prompt, read := "Your answer (an empty line is none):", textAnswer
	switch {
	case a.AskKind == "auth":
		prompt, read = "Done? [y/N]", doneAnswer
	case len(a.Schema) == 0:
	case len(schema.Enum) > 0:
		if err := d.list(schema.Enum); err != nil {
			return approval.Answer{}, err
		}
		prompt, read = "Number (an empty line is no answer):", oneOf(schema.Enum)
	case len(schema.Items.Enum) > 0:
		if err := d.list(schema.Items.Enum); err != nil {
			return approval.Answer{}, err
		}
		prompt, read = "Numbers, separated by commas (an empty line is no answer):", someOf(schema.Items.Enum)
	default:
		if err := d.note("  the answer has to fit " + visible.Line(string(a.Schema))); err != nil {
			return approval.Answer{}, err
		}
		prompt, read = "Your answer, as JSON on one line (an empty line is none):", jsonAnswer
	}
	for {
		line, err := d.ask(ctx, prompt)
		if err != nil {
			return approval.Answer{}, err
		}
		if line == "" {
			return approval.Answer{Verb: approval.Reject}, nil
		}
		response, problem := read(line)
		if problem == nil && response == nil {
			return approval.Answer{Verb: approval.Reject}, nil
		}
		if problem == nil {
			return approval.Answer{Verb: approval.Respond, Response: response}, nil
		}
		if err := d.note(problem.Error()); err != nil {
			return approval.Answer{}, err
		}
	}
}

// list prints choices with their numbers.
func (d *desk) list(choices []string) error {
	for i, c := range choices {
		if err := d.note(fmt.Sprintf("  %d %s", i+1, visible.Line(c))); err != nil {
			return err
		}
	}
	return nil
}

func textAnswer(line string) (json.RawMessage, error) { return encoded(line), nil }

func jsonAnswer(line string) (json.RawMessage, error) {
	if !json.Valid([]byte(line)) {
		return nil, fmt.Errorf("That is not JSON.") //nolint:revive,staticcheck // a sentence for the person at the terminal
	}
	return json.RawMessage(line), nil
}

// doneAnswer reads whether something was done elsewhere; nil: no.
func doneAnswer(line string) (json.RawMessage, error) {
	switch strings.ToLower(line) {
	case "y", "yes":
		return json.RawMessage("true"), nil
	}
	return nil, nil
}

// number returns the choice that a text names by its number.
func number(choices []string, text string) (string, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 1 || n > len(choices) {
		return "", fmt.Errorf("Write a number from 1 to %d.", len(choices)) //nolint:revive,staticcheck // likewise
	}
	return choices[n-1], nil
}

// oneOf returns a function that reads the number of a choice.
func oneOf(choices []string) func(string) (json.RawMessage, error) {
	return func(line string) (json.RawMessage, error) {
		chosen, err := number(choices, line)
		if err != nil {
			return nil, err
		}
		return encoded(chosen), nil
	}
}

// someOf returns a function that reads the numbers of choices.
func someOf(choices []string) func(string) (json.RawMessage, error) {
	return func(line string) (json.RawMessage, error) {
		var all []string
		for text := range strings.SplitSeq(line, ",") {
			chosen, err := number(choices, text)
			if err != nil {
				return nil, err
			}
			all = append(all, chosen)
		}
		return json.Marshal(all)
	}
}
