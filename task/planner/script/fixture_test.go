package script_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/task"
	"a2a-server/task/planner/script"
	"a2a-server/tool"
)

// load reads scenarios that must be right.
func load(t *testing.T, text string) *script.Planner {
	t.Helper()
	p, err := script.Load(strings.NewReader(text), "script.yaml")
	if err != nil {
		t.Fatalf("Load() = %v, want no error", err)
	}
	return p
}

// conformance is the planner of testdata/conformance.yaml.
func conformance(t *testing.T) *script.Planner {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "conformance.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return load(t, string(text))
}

func message(id string, texts ...string) *a2a.Message {
	m := &a2a.Message{ID: id, ContextID: "ctx1", Role: a2a.MessageRoleUser}
	for _, s := range texts {
		m.Parts = append(m.Parts, a2a.NewTextPart(s))
	}
	return m
}

// run plays one task as the engine would: what was planned is done, and remembered.
type run struct {
	t        testing.TB
	planner  *script.Planner
	progress *task.Progress
	steps    []*task.Step
	direct   *a2a.Message // the answer of Accept
	err      error
}

func newRun(t testing.TB, p *script.Planner, m *a2a.Message) *run {
	return &run{t: t, planner: p, progress: &task.Progress{Task: "t1", Context: "ctx1", Messages: []task.PlannerMessage{{Message: m}}}}
}

// accept reports whether there is a task.
func (r *run) accept() bool {
	r.t.Helper()
	r.direct, r.err = r.planner.Accept(nil, &task.Request{Message: r.progress.Messages[0].Message})
	return r.direct == nil && r.err == nil
}

// next plans a step, and reports whether the task continues after it without an answer
// to wait for. It plans twice, and the second plan must be the same.
func (r *run) next() bool {
	r.t.Helper()
	step, err := r.planner.Plan(r.t.Context(), r.progress)
	again, errAgain := r.planner.Plan(r.t.Context(), r.progress)
	if diff := cmp.Diff(step, again); diff != "" || (err == nil) != (errAgain == nil) {
		r.t.Errorf("Plan() again is not the same, %v and %v (-first +again):\n%s", err, errAgain, diff)
	}
	if err != nil {
		r.err = err
		return false
	}
	if _, err := json.Marshal(step); err != nil {
		r.t.Errorf("the step is not JSON: %v", err)
	}
	r.steps = append(r.steps, step)
	done := task.DoneStep{State: step.State}
	for _, c := range step.Calls {
		done.Calls = append(done.Calls, task.Result{Call: tool.ToolCall{Name: c.Tool}, Outcome: task.OutcomeOK})
	}
	r.progress.Steps = append(r.progress.Steps, done)
	return step.End == nil
}

func (r *run) last() *task.Step { return r.steps[len(r.steps)-1] }

// answer answers the last step's ask.
func (r *run) answer(m *a2a.Message) {
	r.progress.Steps[len(r.progress.Steps)-1].Asked = true
	r.progress.Messages = append(r.progress.Messages, task.PlannerMessage{Message: m, After: len(r.progress.Steps)})
}

// play plays a task until it ends, fails or breaks. The answers are given to the
// asks in their order.
func play(t *testing.T, p *script.Planner, m *a2a.Message, answers ...*a2a.Message) *run {
	t.Helper()
	r := newRun(t, p, m)
	if !r.accept() {
		return r
	}
	for r.next() {
		if len(r.steps) > 100 {
			t.Fatal("the scenario does not end")
		}
		if r.last().Ask == nil {
			continue
		}
		if len(answers) == 0 {
			t.Fatal("the scenario asks more often than there are answers")
		}
		r.answer(answers[0])
		answers = answers[1:]
	}
	return r
}
