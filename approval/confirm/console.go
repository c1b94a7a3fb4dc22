package confirm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"a2a-server/internal/strictjson"
	"a2a-server/internal/terminal"
	"a2a-server/internal/visible"
)

// console asks in lines of text.
type console struct {
	*screen
	rich bool
}

// screen is an input and an output that consoles share, for one question at a time.
type screen struct {
	keyboard terminal.Keyboard
	open     chan struct{} // has an element while a question is open
}

func newScreen(in io.Reader, out io.Writer) *screen {
	return &screen{terminal.Keyboard{From: in, To: out}, make(chan struct{}, 1)}
}

// SimpleConsole returns a UI that writes a question to out, and reads its answers from in, a line
// each: y, n with optional feedback, or m with a new value for each argument. An empty line, or any
// other, asks again. When in ends, the error is [io.ErrUnexpectedEOF].
//
// It asks one question at a time. If the context of a question ends, a read of in goes on until the
// next line, which is dropped. So an input has one console; strategies can share it.
func SimpleConsole(in io.Reader, out io.Writer) UI { return &console{screen: newScreen(in, out)} }

// RichConsole is [SimpleConsole] with a colored frame, for terminals.
func RichConsole(in io.Reader, out io.Writer) UI {
	return &console{screen: newScreen(in, out), rich: true}
}

// ToMap implements [UI].
func (c *console) ToMap() map[string]any {
	if c.rich {
		return form(typeRich, map[string]any{"console": nil})
	}
	return form(typeSimple, nil)
}

// GetUserConfirmation implements [UI].
func (c *console) GetUserConfirmation(ctx context.Context, call Call) (UIResult, error) {
	select {
	case c.open <- struct{}{}:
	case <-ctx.Done():
		return UIResult{}, context.Cause(ctx)
	}
	defer func() { <-c.open }()
	if err := c.show(&call); err != nil {
		return UIResult{}, err
	}
	prompt := "Run it? y (confirm), n (reject), m (modify): "
	if call.NoModify {
		prompt = "Run it? y (confirm), n (reject): "
	}
	for {
		line, err := c.ask(ctx, prompt)
		if err != nil {
			return UIResult{}, err
		}
		switch strings.ToLower(line) {
		case "y", "yes":
			return UIResult{Action: Confirm}, nil
		case "n", "no":
			feedback, err := c.ask(ctx, "Feedback (optional): ")
			return UIResult{Action: Reject, Feedback: feedback}, err
		case "m", "modify":
			if !call.NoModify {
				return c.modify(ctx, &call)
			}
		}
	}
}

// ask returns the next line after a prompt.
func (s *screen) ask(ctx context.Context, prompt string) (string, error) {
	line, err := s.keyboard.Line(ctx, prompt)
	switch {
	case errors.Is(err, io.EOF): // also in the middle of a line, which may be only its beginning
		return "", io.ErrUnexpectedEOF
	case err != nil && ctx.Err() != nil:
		_, _ = io.WriteString(s.keyboard.To, "\nThe question is not open any more.\n") // nothing depends on it
	}
	return line, err
}

// show writes a call, with everything that a terminal would not show as an escape.
func (c *console) show(call *Call) error {
	var b strings.Builder
	bar, bold, plain := "", "", ""
	if c.rich {
		bar, bold, plain = "\x1b[33m│\x1b[0m ", "\x1b[1m", "\x1b[0m"
	}
	row := func(name, value string) {
		_, _ = fmt.Fprintf(&b, "%s%s%s%s %s\n", bar, bold, name, plain, visible.Line(value)) // a Builder has no errors
	}
	row("Tool:", call.ToolName)
	if call.Description != "" {
		row("Description:", call.Description)
	}
	if call.Hint != "" {
		row("Why:", call.Hint)
	}
	if call.Payload != nil {
		value, err := text(call.Payload)
		if err != nil {
			return err
		}
		row("Payload:", value)
	}
	row("Arguments:", map[bool]string{true: "none"}[len(call.Params) == 0])
	for _, name := range slices.Sorted(maps.Keys(call.Params)) {
		value, err := text(call.Params[name])
		if err != nil {
			return err
		}
		row("  "+visible.Line(name)+":", value)
	}
	question := "\n--- May this call run? ---\n" + b.String()
	if c.rich {
		question = "\n\x1b[33m╭─ May this call run?\x1b[0m\n" + b.String() + "\x1b[33m╰─\x1b[0m\n"
	}
	_, err := io.WriteString(c.keyboard.To, question)
	return err
}

// modify reads a new value for each argument; an empty line keeps it. Strings are read as they are,
// anything else as JSON.
func (c *console) modify(ctx context.Context, call *Call) (UIResult, error) {
	changed := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(call.Params)) {
		now := call.Params[name]
		shown, err := text(now)
		if err != nil {
			return UIResult{}, err
		}
		_, isText := now.(string)
		for {
			line, err := c.ask(ctx, fmt.Sprintf("%s [%s]: ", visible.Line(name), visible.Line(shown)))
			if err != nil {
				return UIResult{}, err
			}
			if changed[name] = now; line == "" {
				break
			}
			if changed[name] = line; isText {
				break
			}
			if changed[name], err = strictjson.Decode([]byte(line)); err == nil {
				break
			}
			if _, err := fmt.Fprintf(c.keyboard.To, "%s; write JSON\n", visible.Line(err.Error())); err != nil {
				return UIResult{}, err
			}
		}
	}
	return UIResult{Action: Modify, NewToolParams: changed}, nil
}
