package terminal

import (
	"bufio"
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
	// MaxRead bounds a line, in bytes. It is more than a terminal returns at once.
	MaxRead = 64 << 10
)

// Keyboard reads lines, each after a prompt. On a terminal it drops lines written before the prompt,
// which are no answers. An input has a single Keyboard, which asks one question at a time.
type Keyboard struct {
	From io.Reader
	To   io.Writer // the screen

	in      *bufio.Reader // of From; nil: nothing was read yet
	reading chan written  // of a read for a prompt that was given up; nil: there is none
}

// written is a line without its end and blanks around it, or the reason for its absence.
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

// Line returns the next line that is written after the prompt. If ctx ends, the prompt is given up: a
// line that may have been begun for it is asked for again by the next prompt.
func (k *Keyboard) Line(ctx context.Context, prompt string) (string, error) {
	stale := k.reading != nil
	if err := k.discard(); err != nil {
		return "", fmt.Errorf("discard input from before the question: %w", err)
	}
	for {
		if _, err := io.WriteString(k.To, prompt); err != nil {
			return "", err
		}
		if k.reading == nil {
			reading := make(chan written, 1)
			k.reading = reading
			go func() { reading <- readLine(k.in) }() // a read cannot be interrupted: it ends with the line
		}
		select {
		case got := <-k.reading:
			k.reading = nil
			if got.err != nil || !stale {
				return got.line, got.err
			}
			stale = false
			if _, err := fmt.Fprintln(k.To, "That line may belong to the question before; write it again."); err != nil {
				return "", err
			}
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// discard makes a terminal drop its unread input.
func (k *Keyboard) discard() error {
	if k.in == nil {
		k.in = bufio.NewReaderSize(k.From, MaxRead)
	}
	file, ok := k.From.(interface{ Fd() uintptr })
	if !ok || !Is(k.From) || k.reading != nil {
		return nil
	}
	_, _ = k.in.Discard(k.in.Buffered()) // that many are there
	return discard(file.Fd())
}

// readLine returns the next line. Input without an end of line is an error.
func readLine(in *bufio.Reader) written {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		err = fmt.Errorf("a line has more than %d bytes", MaxRead)
	}
	return written{strings.TrimSpace(string(line)), err}
}
