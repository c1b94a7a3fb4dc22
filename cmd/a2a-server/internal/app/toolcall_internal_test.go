package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"a2a-server/cmd/a2a-server/internal/cli"
	"a2a-server/cmd/a2a-server/internal/config"
	"a2a-server/cmd/a2a-server/internal/operator"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// callAs calls a tool as a person who writes lines, and returns what they see and how often pay ran. pay
// has to be approved, who asks through the planner, held asks while it runs, and back takes that back.
func callAs(t *testing.T, name, lines string, screen io.Writer) (paid int, err error) {
	t.Helper()
	type none struct{}
	pay := functiontool.Must(functiontool.New(functiontool.Config{Name: "pay", Description: "pays", RequireApproval: true},
		func(tool.Context, none) (string, error) { paid++; return "paid", nil }))
	who := functiontool.Must(functiontool.New(functiontool.Config{Name: "who", Description: "asks"},
		func(ctx tool.Context, _ none) (string, error) {
			ctx.Actions().RequireInput, ctx.Actions().InputPrompt = true, "pay now?"
			return "", nil
		}))
	held := functiontool.Must(functiontool.New(functiontool.Config{Name: "held", Description: "asks"},
		func(ctx tool.Context, _ none) (string, error) {
			answer, err := tool.AskAndWait(ctx, tool.Question{Kind: tool.AskQuestion, Hint: "who?"})
			return "told " + string(answer.Response), err
		}))
	back := functiontool.Must(functiontool.New(functiontool.Config{Name: "back", Description: "asks, and takes it back"},
		func(ctx tool.Context, _ none) (string, error) {
			waits, stop := context.WithCancel(ctx)
			time.AfterFunc(0, stop)
			_, _ = tool.AskAndWait(waits, tool.Question{Kind: tool.AskQuestion, Hint: "who?"})
			return "went on", nil
		}))
	source := config.Source{Flags: map[string]string{"data": t.TempDir()}}
	conf, err := config.Load(source)
	if err != nil {
		t.Fatal(err)
	}
	c, by := operator.Configure(source, conf)
	c.Tools, c.Log = []tool.Toolset{tool.NewToolset("mine", pay, who, held, back)}, zerolog.Nop()
	p := &cli.Program{Stdin: strings.NewReader(lines), Stdout: screen, Stderr: screen}
	d := newPrompter(p)
	d.person = true
	err = call(t.Context(), p, d, c, by, name, "/"+name)
	return paid, err
}

// Questions of the planner and of a running tool are asked, and answer no approval.
func TestCallAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, lines string
		code, paid  int
		screen      string
	}{
		"approved":     {tool: "pay", lines: "y\n", paid: 1, screen: "paid"},
		"input":        {tool: "who", lines: "/pay\ny\n", paid: 1, screen: "pay now?"},
		"input, no":    {tool: "who", lines: "/pay\nn\n", code: cli.ExitRefused, screen: "pay now?"},
		"input, none":  {tool: "who", lines: "\n", code: cli.ExitRefused, screen: "pay now?"},
		"input, ended": {tool: "who", code: cli.ExitRefused, screen: "pay now?"},
		"taken back":   {tool: "back", lines: "me\n", screen: "went on"},
		"held":         {tool: "held", lines: "me\n", screen: "told \"me\""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var screen bytes.Buffer
			paid, err := callAs(t, c.tool, c.lines, &screen)
			code := 0
			if err != nil {
				code = cli.CodeOf(err)
			}
			if code != c.code || paid != c.paid || !strings.Contains(screen.String(), c.screen) {
				t.Errorf("it ends with %v, and has paid %d times, want the code %d and %d:\n%s", err, paid, c.code, c.paid, screen.String())
			}
		})
	}
}

// A call whose approval cannot be shown is canceled.
func TestCallWithoutScreen(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	read, write := io.Pipe()
	_ = read.CloseWithError(full)
	if paid, err := callAs(t, "pay", "y\n", write); paid != 0 || !errors.Is(err, full) || errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v, and has paid %d times", err, paid)
	}
}
