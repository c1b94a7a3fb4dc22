package confirm_test

import (
	stdcontext "context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"a2a-server/approval/confirm"
)

type context = stdcontext.Context

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errFull = errors.New("the memory is full")

// remembers is a Memory that may fail.
type remembers struct {
	confirmed bool
	err       error
}

func (r *remembers) Confirmed(context, [32]byte) (bool, error) { return r.confirmed, r.err }
func (r *remembers) Confirm(context, [32]byte) error           { return r.err }

func transfer(amount float64) confirm.Call {
	return confirm.Call{
		ToolName: "transfer", Params: map[string]any{"amount": amount, "to": "bob"},
		Requester: "alice", Context: "ctx", Definition: "d1",
	}
}

// AskOnce asks again about everything that differs from the call that was confirmed, and about
// what was not confirmed.
func TestAskOnce(t *testing.T) {
	t.Parallel()
	changed := func(change func(*confirm.Call)) confirm.Call {
		c := transfer(7)
		change(&c)
		return c
	}
	for _, tt := range []struct {
		name   string
		answer confirm.UIResult
		then   confirm.Call
		asks   bool
	}{
		{"the same", confirm.UIResult{Action: confirm.Confirm}, transfer(7), false},
		{"another call id", confirm.UIResult{Action: confirm.Confirm}, changed(func(c *confirm.Call) { c.ToolCallID = "c2.1" }), false},
		{"rejected", confirm.UIResult{Action: confirm.Reject}, transfer(7), true},
		{"modified", confirm.UIResult{Action: confirm.Modify, NewToolParams: map[string]any{"amount": 5.0}}, transfer(7), true},
		{"modified to it", confirm.UIResult{Action: confirm.Modify, NewToolParams: map[string]any{"amount": 5.0}}, changed(func(c *confirm.Call) { c.Params = map[string]any{"amount": 5.0} }), true},
		{"other arguments", confirm.UIResult{Action: confirm.Confirm}, transfer(8), true},
		{"another tool", confirm.UIResult{Action: confirm.Confirm}, changed(func(c *confirm.Call) { c.ToolName = "refund" }), true},
		{"another requester", confirm.UIResult{Action: confirm.Confirm}, changed(func(c *confirm.Call) { c.Requester = "mallory" }), true},
		{"another context", confirm.UIResult{Action: confirm.Confirm}, changed(func(c *confirm.Call) { c.Context = "else" }), true},
		{"another definition", confirm.UIResult{Action: confirm.Confirm}, changed(func(c *confirm.Call) { c.Definition = "d2" }), true},
		{"the running tool asks", confirm.UIResult{Action: confirm.Confirm}, changed(func(c *confirm.Call) { c.Question = true }), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ui := &said{answers: []confirm.UIResult{tt.answer}}
			s := confirm.BlockingStrategy{Policy: confirm.AskOnce(nil), UI: ui}
			for _, c := range []confirm.Call{transfer(7), tt.then} {
				if _, err := s.Run(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			if asked := len(ui.asked) == 2; asked != tt.asks {
				t.Errorf("the second call is asked about: %t, want %t", asked, tt.asks)
			}
		})
	}
}

// The memory of AskOnce has the newest 10,000 confirmations.
func TestAskOnceForgetsTheOldest(t *testing.T) {
	t.Parallel()
	ui := &said{answers: []confirm.UIResult{{Action: confirm.Confirm}}}
	s := confirm.BlockingStrategy{Policy: confirm.AskOnce(nil), UI: ui}
	run := func(from, to int) int {
		ui.asked = nil
		for i := from; i < to; i++ {
			if _, err := s.Run(t.Context(), confirm.Call{ToolName: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		return len(ui.asked)
	}
	if n := run(0, 10_001); n != 10_001 {
		t.Errorf("asked %d times about 10,001 calls", n)
	}
	if n := run(1, 10_001); n != 0 {
		t.Errorf("asked again about %d of the newest 10,000 calls", n)
	}
	if n := run(0, 1); n != 1 {
		t.Errorf("asked %d times about the forgotten call, want once", n)
	}
}

// Nothing runs when a policy, its memory or a UI fails.
func TestFailuresDecideNothing(t *testing.T) {
	t.Parallel()
	yes := &said{answers: []confirm.UIResult{{Action: confirm.Confirm}}}
	for name, s := range map[string]*confirm.BlockingStrategy{
		"memory": {Policy: confirm.AskOnce(&remembers{err: errFull}), UI: yes},
		"UI":     {Policy: confirm.AlwaysAsk(), UI: confirm.SimpleConsole(strings.NewReader(""), &strings.Builder{})},
		"no UI":  {Policy: confirm.NeverAsk()},
	} {
		if d, err := s.Run(t.Context(), transfer(7)); err == nil || d.Execute {
			t.Errorf("%s: Run = %v, %v, want an error", name, d, err)
		}
	}
}

// An answer that is none is asked for again, and never runs the call.
func TestUnknownActionsAskAgain(t *testing.T) {
	t.Parallel()
	later, empty := confirm.UIResult{Action: "later"}, confirm.UIResult{Action: confirm.Modify}
	ui := &said{answers: []confirm.UIResult{later, empty, {}, {Action: "Confirm"}, {Action: confirm.Reject, Feedback: "no"}}}
	s := confirm.BlockingStrategy{Policy: confirm.AlwaysAsk(), UI: ui}
	d, err := s.Run(t.Context(), transfer(7))
	if err != nil || d.Execute || len(ui.asked) != 5 {
		t.Errorf("Run = %v, %v after %d questions, want a rejection after 5", d, err, len(ui.asked))
	}
	s.UI = &said{answers: []confirm.UIResult{later}}
	if _, err := s.Run(t.Context(), transfer(7)); err == nil || !strings.Contains(err.Error(), `"later"`) {
		t.Errorf("error = %v, want one that names the answer", err)
	}
	fixed := transfer(7)
	fixed.NoModify = true
	s.UI = &said{answers: []confirm.UIResult{{Action: confirm.Modify, NewToolParams: map[string]any{}}}}
	if d, err := s.Run(t.Context(), fixed); err == nil {
		t.Errorf("Run = %v, want an error: the call cannot be modified", d)
	}
	ctx, cancel := stdcontext.WithCancelCause(t.Context())
	cancel(errFull)
	if _, err := s.Run(ctx, transfer(7)); !errors.Is(err, errFull) {
		t.Errorf("error = %v, want the cause of the context", err)
	}
}

// named is a strategy of a program.
type named struct {
	confirm.Strategy
	name string
}

func (n named) Run(_ context, c confirm.Call) (confirm.Decision, error) {
	note := n.name + ": " + fmt.Sprint(c.Values["channel"])
	return confirm.Decision{ToolName: c.ToolName, Feedback: &note}, nil
}

// The strategy of a tool is its own, else that of its group, else that of all.
func TestStrategies(t *testing.T) {
	t.Parallel()
	one, group, all := named{name: "one"}, named{name: "group"}, named{name: "all"}
	s, err := confirm.NewStrategies(confirm.Entry{Tools: []string{confirm.Any}, Strategy: all},
		confirm.Entry{Tools: []string{"read", "write"}, Strategy: group}, confirm.Entry{Tools: []string{"write"}, Strategy: one})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]confirm.Strategy{"write": one, "read": group, "list": all, "*": all} {
		if got := s.For(name); got != want {
			t.Errorf("For(%q) = %v, want %v", name, got, want)
		}
	}
	if s, err = confirm.NewStrategies(confirm.Entry{Tools: []string{"write"}, Strategy: one}); err != nil || s.For("read") != nil {
		t.Errorf("For of a tool without strategy = %v, %v, want nil", s.For("read"), err)
	}
	for _, wrong := range [][]confirm.Entry{
		{{Strategy: one}}, {{Tools: []string{"a"}}}, {{Tools: []string{""}, Strategy: one}},
		{{Tools: []string{"a"}, Strategy: one}, {Tools: []string{"a"}, Strategy: group}},
		{{Tools: []string{"a", "a"}, Strategy: one}},
	} {
		if _, err := confirm.NewStrategies(wrong...); err == nil {
			t.Errorf("NewStrategies(%v): no error", wrong)
		}
	}
}

// Templates are filled at once: a value brings in no placeholder.
func TestTemplates(t *testing.T) {
	t.Parallel()
	s := confirm.BlockingStrategy{
		Policy: confirm.AlwaysAsk(), UI: &said{answers: []confirm.UIResult{{Action: confirm.Reject, Feedback: "{tool_name}"}}},
		Templates: confirm.Templates{Reject: "{{no}} {tool_name}!", Feedback: "({feedback})"},
	}
	d, err := s.Run(t.Context(), confirm.Call{ToolName: "{feedback}"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("{no} {feedback}! ({tool_name})", *d.Feedback); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
