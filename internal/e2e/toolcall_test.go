package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	a2aserver "a2a-server"
	"a2a-server/approval"
	"a2a-server/internal/app/toolcall"
	"a2a-server/tool"
	"a2a-server/tool/functiontool"
)

// prompterOf is a prompter that answers with a function.
type prompterOf struct {
	decide func(context.Context, *approval.Approval, error) (approval.Decision, error)
	event  func() error
	seen   strings.Builder // events
}

func (d *prompterOf) Event(e json.RawMessage) error {
	d.seen.Write(e)
	if d.event != nil {
		return d.event()
	}
	return nil
}

func (d *prompterOf) Decide(ctx context.Context, a *approval.Approval, problem error) (approval.Decision, error) {
	return d.decide(ctx, a, problem)
}

// counted is a configuration whose tool pay counts its calls and has to be approved, and
// whose tool who asks the user through the planner.
func counted(t *testing.T) (c a2aserver.Config, paid *int) {
	t.Helper()
	type none struct{}
	paid = new(int)
	pay := functiontool.Must(functiontool.New(functiontool.Config{Name: "pay", Description: "pays", RequireApproval: true},
		func(tool.Context, none) (string, error) { *paid++; return "paid", nil }))
	who := functiontool.Must(functiontool.New(functiontool.Config{Name: "who", Description: "asks"},
		func(ctx tool.Context, _ none) (string, error) {
			ctx.Actions().RequireInput, ctx.Actions().InputPrompt = true, "pay now?"
			return "", nil
		}))
	c, _ = configured(t, "tools: []\n")
	c.Tools = []tool.Toolset{tool.NewToolset("mine", pay, who)}
	return c, paid
}

// A call runs only when the prompter approves it, and nothing thby the prompter does instead lets
// it run.
func TestToolCall(t *testing.T) {
	t.Parallel()
	broken := errors.New("the prompter is broken")
	for name, one := range map[string]struct {
		answer approval.Decision
		err    error // of Decide
		event  error // of Event
		end    toolcall.End
		want   error
		paid   int
	}{
		"approved":           {answer: approval.Decision{Type: approval.Approve}, end: toolcall.End{OK: true}, paid: 1},
		"another's id":       {answer: approval.Decision{ID: "other", Digest: "other", Type: approval.Approve}, end: toolcall.End{OK: true}, paid: 1},
		"rejected":           {answer: approval.Decision{Type: approval.Reject, Reason: "why"}, end: toolcall.End{Refused: true, Text: "pay (c1.1) was rejected: why"}},
		"task canceled":      {answer: approval.Decision{Type: approval.Cancel}, end: toolcall.End{Refused: true, Text: "The task was canceled: a decision canceled the task."}},
		"nobody":             {err: toolcall.ErrNobody, end: toolcall.End{Refused: true}, want: toolcall.ErrNobody},
		"the prompter fails": {err: broken, want: broken},
		"printing it fails":  {event: broken, want: broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, paid := counted(t)
			d := &prompterOf{
				decide: func(context.Context, *approval.Approval, error) (approval.Decision, error) {
					return one.answer, one.err
				},
				event: func() error { return one.event },
			}
			end, err := toolcall.Run(t.Context(), c, "/pay", d)
			if end != one.end || !errors.Is(err, one.want) || one.want == nil && err != nil || *paid != one.paid {
				t.Errorf("it ends with %+v and %v, and has paid %d times; want %+v, %v and %d", end, err, *paid, one.end, one.want, one.paid)
			}
		})
	}
}

// An answer that the server refuses is asked for again, with the reason; whby the prompter was
// shown is what runs.
func TestToolCallRefusedAnswer(t *testing.T) {
	t.Parallel()
	c, paid := counted(t)
	var problems []string
	d := &prompterOf{decide: func(_ context.Context, a *approval.Approval, problem error) (approval.Decision, error) {
		problems = append(problems, fmt.Sprint(problem))
		if problem == nil {
			return approval.Decision{Type: approval.Edit, Args: json.RawMessage(`{"to":"bob"}`)}, nil
		}
		return approval.Decision{Type: approval.Reject}, nil
	}}
	end, err := toolcall.Run(t.Context(), c, "/pay", d)
	if err != nil || !end.Refused || *paid != 0 || len(problems) != 2 || !strings.Contains(problems[1], "/to") {
		t.Errorf("it ends with %+v and %v; it has paid %d times, and the problems were %q", end, err, *paid, problems)
	}
}

// What a planner asks its user is asked by the prompter, and is no approval.
func TestToolCallInput(t *testing.T) {
	t.Parallel()
	for _, answered := range []bool{true, false} {
		c, paid := counted(t)
		asked := ""
		d := &prompterOf{decide: func(_ context.Context, a *approval.Approval, _ error) (approval.Decision, error) {
			switch asked += string(a.Kind) + " " + a.Hint + "; "; {
			case a.Kind == approval.KindCall:
				return approval.Decision{Type: approval.Approve}, nil
			case answered:
				return approval.Decision{Type: approval.Respond, Response: json.RawMessage(`"/pay"`)}, nil
			}
			return approval.Decision{Type: approval.Reject}, nil
		}}
		end, err := toolcall.Run(t.Context(), c, "/who", d)
		if !strings.HasPrefix(asked, "question who: pay now?; ") || *paid > 0 && !strings.Contains(asked, "call ") || answered && err != nil || !answered && !errors.Is(err, toolcall.ErrNobody) {
			t.Errorf("answered %t: it ends with %+v and %v after %q", answered, end, err, asked)
		}
	}
}

// A context that ends cancels the call while somebody is asked, and what is no call is an
// error of its own.
func TestToolCallCanceled(t *testing.T) {
	t.Parallel()
	c, paid := counted(t)
	ctx, cancel := context.WithCancel(t.Context())
	d := &prompterOf{decide: func(ctx context.Context, _ *approval.Approval, _ error) (approval.Decision, error) {
		cancel()
		<-ctx.Done()
		return approval.Decision{}, context.Cause(ctx)
	}}
	end, err := toolcall.Run(ctx, c, "/pay", d)
	if !errors.Is(err, context.Canceled) || end.OK || *paid != 0 {
		t.Errorf("it ends with %+v and %v, and has paid %d times", end, err, *paid)
	}
	if !strings.Contains(d.seen.String(), "TASK_STATE_CANCELED") {
		t.Errorf("the end is not shown: %s", d.seen.String())
	}
	for _, text := range []string{"/nope", "hello", "", "/pay x"} {
		_, err := toolcall.Run(t.Context(), c, text, d)
		var wrong *toolcall.Error
		if text == "" && err == nil || text != "" && !errors.As(err, &wrong) {
			t.Errorf("%q ends with %v", text, err)
		}
	}
}

// A question of a running tool is asked by the prompter. One that the tool has taken back before
// the prompter has looked is asked of nobody, in no form.
func TestToolCallHeld(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{false, true} {
		t.Run(fmt.Sprintf("taken back %t", back), func(t *testing.T) {
			t.Parallel()
			shown, ended := make(chan struct{}), make(chan struct{})
			type none struct{}
			who := functiontool.Must(functiontool.New(functiontool.Config{Name: "who", Description: "asks"}, func(ctx tool.Context, _ none) (string, error) {
				waits, stop := context.WithCancel(ctx)
				defer stop()
				if back {
					go func() {
						<-shown
						stop()
					}()
				}
				answer, err := tool.AskAndWait(waits, tool.Question{Kind: tool.AskQuestion, Hint: "who?"})
				return string(answer.Response) + fmt.Sprint(err), nil
			}))
			c, _ := configured(t, "tools: []\n")
			c.Tools = []tool.Toolset{tool.NewToolset("mine", who)}
			c.Log = zerolog.New(writer(func(line []byte) {
				if strings.Contains(string(line), "approval ended without a decision") {
					close(ended)
				}
			}))
			d, once := &prompterOf{}, sync.Once{}
			d.event = func() error {
				if back && strings.Contains(d.seen.String(), "TASK_STATE_INPUT_REQUIRED") {
					once.Do(func() { close(shown) })
					<-ended
				}
				return nil
			}
			var asked []approval.Approval
			d.decide = func(_ context.Context, a *approval.Approval, _ error) (approval.Decision, error) {
				asked = append(asked, *a)
				return approval.Decision{Type: approval.Respond, Response: json.RawMessage(`"me"`)}, nil
			}
			end, err := toolcall.Run(t.Context(), c, "/who", d)
			if err != nil || !end.OK {
				t.Fatalf("it ends with %+v and %v", end, err)
			}
			switch {
			case back && len(asked) > 0:
				t.Errorf("the prompter was asked %+v", asked)
			case !back && (len(asked) != 1 || !asked[0].Held || !strings.Contains(d.seen.String(), `\"me\"`)):
				t.Errorf("the prompter was asked %+v, and saw %s", asked, d.seen.String())
			}
		})
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}
