package app

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"a2a-server/client"
	"a2a-server/cmd/a2a-server/internal/tasks"
	"a2a-server/internal/terminal"
	"a2a-server/internal/visible"
)

// Styles of ANSI terminals (ECMA-48 SGR).
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// styled returns a text in a style. The text must have no other control characters.
func styled(style, text string) string { return "\x1b[" + style + "m" + text + "\x1b[0m" }

// board is the end of a terminal's screen in the rich form: a line for each call that runs,
// and a line for the state of the task. The lines are redrawn in place. A nil board shows
// nothing.
type board struct {
	to    io.Writer
	state string // of the task, as in A2A; "": not known
	calls []runningCall
	drawn int // lines on the screen
}

// runningCall is a call on a board.
type runningCall struct{ id, tool, stands string }

// call returns the call with an id, which it adds.
func (b *board) call(id, tool string) *runningCall {
	i := slices.IndexFunc(b.calls, func(c runningCall) bool { return c.id == id })
	if i < 0 {
		i = len(b.calls)
		b.calls = append(b.calls, runningCall{id: id, tool: tool, stands: "running"})
	}
	return &b.calls[i]
}

// rejected is the state of a call that its person has rejected.
const rejected = "rejected"

// decided notes a decision about a call.
func (b *board) decided(a *client.Approval, decision client.DecisionType) {
	switch {
	case decision == client.Approve, decision == client.Edit:
		b.call(a.Call, a.Tool)
	case decision == client.Reject && a.Kind == client.KindCall:
		b.call(a.Call, a.Tool).stands = rejected
	}
}

// chunk notes a chunk of the result of a call. For the last chunk it removes the call, and
// returns the line with its end.
func (b *board) chunk(id, tool string, last bool, problem string) string {
	c := *b.call(id, tool)
	if !last {
		return ""
	}
	b.calls = slices.DeleteFunc(b.calls, func(one runningCall) bool { return one.id == id })
	mark, style, stands := "✓", green, "done"
	switch {
	case problem != "":
		mark, style, stands = "✗", red, "failed: "+problem
	case c.stands == rejected:
		mark, style, stands = "✗", red, rejected
	}
	return styled(style, mark) + " " + visible.Line(c.tool+" "+c.id) + "  " + styled(style, visible.Line(stands))
}

// draw replaces the lines on the screen. The cursor must be at the beginning of a line.
func (b *board) draw() error {
	const most = 8 // of the calls, so that all lines fit on the screen
	var lines []string
	for _, c := range b.calls[max(0, len(b.calls)-most):] {
		lines = append(lines, styled(cyan, "▸")+" "+b.cut(c.tool+" "+c.id+"  "+c.stands))
	}
	if b.state != "" {
		lines = append(lines, styled(stateStyle(b.state), "● "+b.cut(tasks.ShortState(b.state))))
	}
	text := b.erasing()
	if b.drawn = len(lines); b.drawn > 0 {
		text += strings.Join(lines, "\n") + "\n"
	}
	_, err := io.WriteString(b.to, text)
	return err
}

// cut returns a text that takes a single row of the screen, after its mark.
func (b *board) cut(text string) string {
	const mark, more = 3, 2
	width := terminal.Columns(b.to) - mark - more - 1
	text = visible.Line(text)
	if end := terminal.Fit(text, width); end < len(text) {
		return text[:end] + "…"
	}
	return text
}

// erasing returns the control sequence that removes the lines from the screen.
func (b *board) erasing() string {
	if b.drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\r\x1b[J", b.drawn)
}

func stateStyle(state string) string {
	switch {
	case waits(state):
		return yellow
	case tasks.ShortState(state) == "completed":
		return green
	case tasks.Ended(state):
		return red
	}
	return cyan
}

// aboveBoard writes to a terminal that has a board, which it removes first.
type aboveBoard struct {
	io.Writer
	board *board
}

// Write writes p in place of the board.
func (a aboveBoard) Write(p []byte) (int, error) {
	if erasing := a.board.erasing(); erasing != "" {
		a.board.drawn = 0
		if _, err := io.WriteString(a.board.to, erasing); err != nil {
			return 0, err
		}
	}
	return a.Writer.Write(p)
}

// Fd returns the descriptor of the terminal, or an invalid descriptor if the writer is not a
// file.
func (a aboveBoard) Fd() uintptr {
	if file, ok := a.Writer.(interface{ Fd() uintptr }); ok {
		return file.Fd()
	}
	return ^uintptr(0)
}

// framed returns facts in a frame with a title.
func framed(title, text string) string {
	var b strings.Builder
	b.WriteString(styled(yellow, "╭─ ") + styled(bold, title) + "\n")
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if name, value, found := strings.Cut(line, " "); found && name != "" {
			line = styled(bold, name) + " " + value
		}
		b.WriteString(styled(yellow, "│ ") + line + "\n")
	}
	b.WriteString(styled(yellow, "╰─") + "\n")
	return b.String()
}
