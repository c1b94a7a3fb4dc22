package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/display"
	"a2a-server/internal/visible"
)

// question asks a tool's question on the terminal. An empty line is no answer.
func (d *prompter) question(ctx context.Context, a *client.Approval) (client.Decision, error) {
	var schema struct {
		Enum  []string
		Items struct{ Enum []string }
	}
	// A schema of another form is shown as it is.
	_ = json.Unmarshal(a.Schema, &schema)
	prompt, read := "Your answer (an empty line is none):", textAnswer
	var choices []string
	switch {
	case a.Question == "auth":
		prompt, read = "Done? [y/N]", doneAnswer
	case len(a.Schema) == 0:
	case len(schema.Enum) > 0:
		choices = schema.Enum
		prompt, read = "Number (an empty line is no answer):", func(line string) (json.RawMessage, error) {
			chosen, err := numbered(choices, line)
			if err != nil {
				return nil, err
			}
			return display.JSONString(chosen[0]), nil
		}
	case len(schema.Items.Enum) > 0:
		choices = schema.Items.Enum
		prompt, read = "Numbers, separated by commas (an empty line is no answer):", func(line string) (json.RawMessage, error) {
			chosen, err := numbered(choices, strings.Split(line, ",")...)
			if err != nil {
				return nil, err
			}
			return json.Marshal(chosen)
		}
	default:
		d.note("  the answer has to fit " + visible.Line(string(a.Schema)))
		prompt, read = "Your answer, as JSON on one line (an empty line is none):", jsonAnswer
	}
	for i, c := range choices {
		d.note(fmt.Sprintf("  %d %s", i+1, visible.Line(c)))
	}
	response, err := d.read(ctx, prompt, func(line string) (json.RawMessage, error) {
		if line == "" {
			return nil, nil
		}
		return read(line)
	})
	switch {
	case err != nil:
		return client.Decision{}, err
	case response == nil:
		return client.Decision{Decision: client.Reject}, nil
	}
	return client.Decision{Decision: client.Respond, Response: response}, nil
}

func textAnswer(line string) (json.RawMessage, error) { return display.JSONString(line), nil }

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

// numbered returns the choices that texts name by their numbers.
func numbered(choices []string, texts ...string) ([]string, error) {
	var all []string
	for _, text := range texts {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > len(choices) {
			return nil, fmt.Errorf("Write a number from 1 to %d.", len(choices)) //nolint:revive,staticcheck // likewise
		}
		all = append(all, choices[n-1])
	}
	return all, nil
}
