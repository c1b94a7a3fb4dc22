package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// longestLine is how many bytes a terminal passes on of a line. It drops the rest, so a
	// line of that length may be only the beginning.
	longestLine = 4095
	// MaxRead is more than a terminal returns at once.
	MaxRead = 64 << 10
)

// Keyboard reads lines from a terminal, each after a prompt. It drops lines written before the
// prompt, which are no answers.
type Keyboard struct {
	From    io.Reader
	To      io.Writer     // the screen
	wanted  chan struct{} // nil: nothing was read yet
	written chan written
}

// written is a line without its end, or why there is none.
type written struct {
	line string
	err  error
}

// Ask returns the line that the person writes after a prompt. The error is [io.EOF] if the
// input has ended.
func (k *Keyboard) Ask(ctx context.Context, prompt string) (string, error) {
	for {
		line, err := k.Line(ctx, prompt+" ")
		switch {
		case errors.Is(err, io.EOF):
			return "", err
		case err != nil && ctx.Err() != nil:
			_, _ = io.WriteString(k.To, "\n") // after the prompt; nothing depends on it
			return "", err
		case err != nil:
			return "", fmt.Errorf("ask on the terminal: %w", err)
		case len(line) < longestLine:
			return line, nil
		}
		if _, err := fmt.Fprintln(k.To, "That line is too long for a terminal, which has cut it off."); err != nil {
			return "", err
		}
	}
}

// Line returns the next line that is written after the prompt.
func (k *Keyboard) Line(ctx context.Context, prompt string) (string, error) {
	if err := Discard(k.From); err != nil {
		return "", fmt.Errorf("discard input from before the question: %w", err)
	}
	if _, err := io.WriteString(k.To, prompt); err != nil {
		return "", err
	}
	if k.wanted == nil {
		k.wanted, k.written = make(chan struct{}), make(chan written)
		go func() { // it ends with the process, because reading cannot be interrupted
			for range k.wanted {
				k.written <- readLine(k.From)
			}
		}()
	}
	k.wanted <- struct{}{}
	select {
	case w := <-k.written:
		return w.line, w.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// readLine returns the next line, and drops the input read after its end. Input without an end
// of line is an error.
func readLine(from io.Reader) written {
	var line []byte
	buffer := make([]byte, MaxRead)
	for len(line) <= MaxRead {
		n, err := from.Read(buffer)
		if end := bytes.IndexAny(buffer[:n], "\r\n"); end >= 0 {
			return written{line: strings.TrimSpace(string(append(line, buffer[:end]...)))}
		}
		line = append(line, buffer[:n]...)
		if err != nil {
			return written{err: err}
		}
	}
	return written{err: fmt.Errorf("a line has more than %d bytes", MaxRead)}
}

// Discard makes a terminal drop its unread input. It returns an error for any other input.
func Discard(from io.Reader) error {
	file, ok := from.(interface{ Fd() uintptr })
	if !ok {
		return fmt.Errorf("%T is no terminal", from)
	}
	return discard(file.Fd())
}
