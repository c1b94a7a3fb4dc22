package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// Four calls are decided at once, each by somebody of its own, while a fifth runs:
// three that only read, whose starts cost nothing, and one with effects. Every
// decision counts, every effect happens once, and every task comes to its end.
func TestDecisionsWhileSiblingRuns(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		tasks := 300
		if testing.Short() {
			tasks = 40
		}
		c := &crowd{world: w, doors: map[string]chan struct{}{}, entered: map[string]chan struct{}{}}
		w.tools.extra = []tool.Tool{
			&fake{name: "look", gated: true, is: tool.Annotations{ReadOnly: true}, call: func(ctx tool.Context, a map[string]any) (map[string]any, error) {
				w.tools.ran(ctx, "look", a)
				return map[string]any{"seen": a}, nil
			}},
			&fake{name: "hold", call: c.hold},
		}
		w.start()
		var messages []*a2a.Message
		for range tasks {
			messages = append(messages, w.calls("hold", args{}, "look", args{"n": 1}, "transfer", args{"amount": 1, "to": "x"}, "look", args{"n": 2}, "look", args{"n": 3}))
		}
		const lanes, enough = 8, 10
		var wg sync.WaitGroup
		var mu sync.Mutex
		var bad []error
		played := 0
		for lane := range lanes {
			wg.Go(func() {
				for i := lane; i < len(messages); i += lanes {
					mu.Lock()
					stop := len(bad) >= enough
					mu.Unlock()
					if stop {
						return
					}
					err := c.play(messages[i])
					mu.Lock()
					played++
					if err != nil {
						bad = append(bad, err)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for _, err := range bad {
			t.Error(err)
		}
		if len(bad) > 0 {
			t.Errorf("%d of %d tasks went wrong", len(bad), played)
		}
	})
}

// crowd is a world in which many tasks have a call that holds at once.
type crowd struct {
	*world
	mu             sync.Mutex
	doors, entered map[string]chan struct{} // by task
}

// door returns the channel in m for a task.
func (c *crowd) door(m map[string]chan struct{}, id string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m[id] == nil {
		m[id] = make(chan struct{})
	}
	return m[id]
}

// hold is a tool that runs until its task's door is open.
func (c *crowd) hold(ctx tool.Context, _ map[string]any) (map[string]any, error) {
	close(c.door(c.entered, ctx.TaskID()))
	select {
	case <-c.door(c.doors, ctx.TaskID()):
		return map[string]any{"held": true}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// play brings one task to its end.
func (c *crowd) play(m *a2a.Message) error {
	sent, err := c.engine.Send(c.ctx(), engine.Send{By: alice, Message: m})
	if err != nil {
		return fmt.Errorf("Send() = %w", err)
	}
	id := a2a.TaskID(sent.Task.String())
	open := sync.OnceFunc(func() { close(c.door(c.doors, string(id))) })
	defer open()
	if !within(patience, c.door(c.entered, string(id))) {
		return fmt.Errorf("task %s: the call that nobody has to approve did not start", id)
	}
	pending := c.waiting(id)
	if len(pending) != 4 {
		return fmt.Errorf("task %s: %d approvals are pending, want 4", id, len(pending))
	}
	c.mu.Lock()
	byMessage := []*a2a.Message{c.decision(id, approve(pending[0].ID)), c.decision(id, approve(pending[1].ID))}
	c.mu.Unlock()
	errs := make([]error, len(pending))
	now := make(chan struct{})
	var wg sync.WaitGroup
	for i := range pending {
		wg.Go(func() {
			<-now
			if i < len(byMessage) {
				_, errs[i] = c.engine.Send(c.ctx(), engine.Send{By: alice, Message: byMessage[i]})
			} else {
				errs[i] = c.decide(alice, id, approval.Answer{ID: pending[i].ID, Verb: approval.Approve})
			}
		})
	}
	close(now)
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("task %s: the approval of %s was refused: %w", id, pending[i].Call, err)
		}
	}
	open()
	if !c.rested(id) {
		return fmt.Errorf("task %s is at work forever, with %d pending approvals", id, c.header(id).Pending)
	}
	return c.examine(id)
}

// examine compares the end of a task with the ledger.
func (c *crowd) examine(id a2a.TaskID) error {
	v, err := c.engine.Get(c.ctx(), alice, string(id))
	if err != nil {
		return err
	}
	got, err := v.Task(task.ViewOptions{HistoryLength: -1})
	if err != nil {
		return err
	}
	runs := map[string]int{}
	c.tools.mu.Lock()
	for key, n := range c.tools.runs {
		if call, ok := strings.CutPrefix(key, string(id)+" "); ok {
			call, _, _ = strings.Cut(call, " ")
			runs[call] += n
		}
	}
	c.tools.mu.Unlock()
	problems := []string{}
	if got.Status.State != a2a.TaskStateCompleted {
		problems = append(problems, fmt.Sprintf("state = %s, %q", got.Status.State, statusText(got)))
	}
	for _, call := range []string{"c1.2", "c1.3", "c1.4", "c1.5"} {
		if runs[call] != 1 {
			problems = append(problems, fmt.Sprintf("%s ran %d times, want 1", call, runs[call]))
		}
		if artifact(got, call) == nil {
			problems = append(problems, call+" has no result")
		}
	}
	if h := c.header(id); h.Pending != 0 || len(c.waiting(id)) != 0 {
		problems = append(problems, fmt.Sprintf("%d approvals are pending", h.Pending))
	}
	for _, a := range c.asked(id) {
		if a.State != approval.Approved {
			problems = append(problems, fmt.Sprintf("the acknowledged approval of %s is %s", a.Call, a.State))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("task %s: %s", id, strings.Join(problems, "; "))
	}
	return nil
}
