package confirm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"a2a-server/internal/app/terminal"
)

// maxLine is the longest line that a console reads, in bytes.
const maxLine = 64 << 10

// lines reads lines, each after its prompt. Only one question is open at a time, between begin and
// the function that it returns.
type lines struct {
	from io.Reader
	in   *bufio.Reader // of from
	out  io.Writer

	open    chan struct{} // has an element while a question is open
	reading chan line     // of a read that has not been taken; nil: there is none
	stale   bool          // the read was begun for an earlier question
}

// line is a line without its end, or why there is none.
type line struct {
	text string
	err  error
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{from: in, in: bufio.NewReaderSize(in, maxLine), out: out, open: make(chan struct{}, 1)}
}

// begin waits until no other question is open. On a terminal it drops what was typed before.
func (l *lines) begin(ctx context.Context) (done func(), err error) {
	select {
	case l.open <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if l.stale = l.reading != nil; !l.stale && terminal.Discard(l.from) == nil {
		_, _ = l.in.Discard(l.in.Buffered()) // that many are there
	}
	return func() { <-l.open }, nil
}

// ask writes a prompt and returns the next line, without blanks around it. A line that may have
// been written for an earlier question is dropped, and asked for again.
func (l *lines) ask(ctx context.Context, prompt string) (string, error) {
	for {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if _, err := io.WriteString(l.out, prompt); err != nil {
			return "", err
		}
		if l.reading == nil {
			read := make(chan line, 1)
			l.reading = read
			go func() { read <- l.next() }() // a read cannot be interrupted: it ends with the line
		}
		select {
		case got := <-l.reading:
			l.reading = nil
			if got.err != nil || !l.stale {
				return got.text, got.err
			}
			l.stale = false
			if _, err := io.WriteString(l.out, "That line may belong to the question before; write it again.\n"); err != nil {
				return "", err
			}
		case <-ctx.Done():
			_, _ = io.WriteString(l.out, "\nThe question is not open any more.\n") // nothing depends on it
			return "", context.Cause(ctx)
		}
	}
}

func (l *lines) next() line {
	raw, err := l.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return line{err: fmt.Errorf("a line has more than %d bytes", maxLine)}
	case errors.Is(err, io.EOF): // also in the middle of a line, which may be only its beginning
		return line{err: io.ErrUnexpectedEOF}
	}
	return line{strings.TrimSpace(string(raw)), err}
}
