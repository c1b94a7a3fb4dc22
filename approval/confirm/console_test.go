package confirm_test

import (
	"bufio"
	stdcontext "context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"a2a-server/approval/confirm"
)

// The consoles have no default answer: an empty line, or any other, asks again.
func TestConsoles(t *testing.T) {
	t.Parallel()
	c := confirm.Call{
		ToolName: "transfer", Description: "Pays\x1b[2J", Hint: "above 5", Payload: map[string]any{"rate": 2.0},
		Params: map[string]any{"amount": 7.0, "to": "bob\u202e", "tags": []any{"a"}},
	}
	for _, tt := range []struct {
		name, lines string
		fixed       bool
		want        confirm.UIResult
		err         bool
	}{
		{name: "confirm", lines: "y\n", want: confirm.UIResult{Action: confirm.Confirm}},
		{name: "word", lines: " YES \r\n", want: confirm.UIResult{Action: confirm.Confirm}},
		{name: "no default", lines: "\n\nok\nyy\nn\nbecause\n", want: confirm.UIResult{Action: confirm.Reject, Feedback: "because"}},
		{name: "no feedback", lines: "no\n\n", want: confirm.UIResult{Action: confirm.Reject}},
		{name: "modify", lines: "m\n5\n\n\"x\"\n", want: confirm.UIResult{Action: confirm.Modify, NewToolParams: map[string]any{"amount": 5.0, "tags": []any{"a"}, "to": `"x"`}}},
		{name: "modify, no JSON", lines: "m\nfive\n1e400\n9\n[]\n\n", want: confirm.UIResult{Action: confirm.Modify, NewToolParams: map[string]any{"amount": 9.0, "tags": []any{}, "to": "bob\u202e"}}},
		{name: "nothing to modify", lines: "m\ny\n", fixed: true, want: confirm.UIResult{Action: confirm.Confirm}},
		{name: "end", lines: "", err: true},
		{name: "end of the line", lines: "y", err: true},
		{name: "end of the feedback", lines: "n\nbeca", err: true},
		{name: "end of the arguments", lines: "m\n5\n", err: true},
		{name: "too long", lines: strings.Repeat("y", 70<<10) + "\ny\n", err: true},
	} {
		for name, console := range map[string]func(io.Reader, io.Writer) confirm.UI{"simple": confirm.SimpleConsole, "rich": confirm.RichConsole} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				t.Parallel()
				call := c
				call.NoModify = tt.fixed
				var out strings.Builder
				got, err := console(strings.NewReader(tt.lines), &out).GetUserConfirmation(t.Context(), call)
				if (err != nil) != tt.err {
					t.Fatalf("error = %v", err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" && !tt.err {
					t.Errorf("(-want +got):\n%s", diff)
				}
				for _, shown := range []string{"transfer", `Pays\u001b[2J`, "above 5", `{"rate":2}`, "amount:", `"bob\u202e"`, `["a"]`} {
					if !strings.Contains(out.String(), shown) {
						t.Errorf("%s is not shown:\n%s", shown, out.String())
					}
				}
			})
		}
	}
}

// A line that was begun for a question that has ended does not answer the next one.
func TestConsoleDropsLinesOfEndedQuestions(t *testing.T) {
	t.Parallel()
	in, keys := io.Pipe()
	screen, out := io.Pipe()
	defer keys.Close()
	shown := bufio.NewReader(screen)
	until := func(text string) {
		t.Helper()
		for seen := ""; !strings.HasSuffix(seen, text); {
			b, err := shown.ReadByte()
			if err != nil {
				t.Fatal(err)
			}
			seen += string(b)
		}
	}
	write := func(line string) {
		t.Helper()
		if _, err := io.WriteString(keys, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	ui := confirm.SimpleConsole(in, out)
	type answer struct {
		r   confirm.UIResult
		err error
	}
	ask := func(ctx context) chan answer {
		got := make(chan answer, 1)
		go func() {
			r, err := ui.GetUserConfirmation(ctx, transfer(7))
			got <- answer{r, err}
		}()
		return got
	}
	ctx, cancel := stdcontext.WithCancelCause(t.Context())
	first := ask(ctx)
	until("(modify): ")
	second := ask(t.Context()) // waits for the first
	cancel(errFull)
	until("not open any more.\n")
	if a := <-first; !errors.Is(a.err, errFull) {
		t.Errorf("the ended question = %v, want the cause of its context", a)
	}
	until("(modify): ")
	write("y")
	until("write it again.\nRun it? y (confirm), n (reject), m (modify): ")
	write("n")
	until("(optional): ")
	write("")
	if a := <-second; a.err != nil || a.r.Action != confirm.Reject {
		t.Errorf("the second question = %v, want a rejection", a)
	}
}
