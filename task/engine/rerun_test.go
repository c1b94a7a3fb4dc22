package engine_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/tool"
	"a2a-server/tool/agent"
	"a2a-server/tool/toolconfirmation"
)

// paid is a tool that takes a payload.
type paid struct{ fake }

func (p *paid) TakesPayload() bool { return true }

// Who says "run it again" is asked about the run that was approved. What its approver
// gave the tool is part of that.
func TestRunAgainKeepsThePayload(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var got []any
		runs := newCounted()
		t.Cleanup(runs.open)
		p := &paid{fake{name: "pay", gated: true}}
		p.call = func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			mu.Lock()
			if c := tool.Confirmation(ctx); c != nil {
				got = append(got, c.Payload)
			} else {
				got = append(got, nil)
			}
			mu.Unlock()
			if runs.enter(ctx) == 1 {
				runs.hold()
			}
			return map[string]any{}, nil
		}
		w.tools.extra = []tool.Tool{p}
		w.cfg.Limits = task.Limits{ToolTimeout: time.Minute}
		w.start()
		id := w.begin(w.calls("pay", args{}))
		synctest.Wait()
		if err := w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve, Payload: []byte(`{"limit":5}`)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if err := w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		mu.Lock()
		defer mu.Unlock()
		if len(got) != 2 || got[0] == nil || got[1] == nil {
			t.Errorf("the tool was run with the payloads %v: the second run has lost what was approved", got)
		}
	})
}

// A call that stands in the middle continues with the arguments that it began with: like
// what it asks while it runs, it cannot be edited.
func TestEditOfASuspendedCall(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var got []any
		var gated atomic.Bool
		g := &argGate{fake: fake{name: "pay"}, gate: gated.Load}
		g.call = func(ctx tool.Context, a map[string]any) (map[string]any, error) {
			got = append(got, a["amount"])
			if _, ok := tool.Resumed(ctx); ok {
				return map[string]any{}, nil
			}
			return nil, &tool.Suspension{Wake: time.Now().Add(time.Hour), State: []byte(`"half of it is paid"`)}
		}
		w.tools.extra = []tool.Tool{g}
		w.start()
		id := w.begin(w.calls("pay", args{"amount": 1}))
		synctest.Wait()
		gated.Store(true)
		time.Sleep(2 * time.Hour)
		a := w.onlyOne(id)
		err := w.decide(bob, id, approval.Answer{ID: a.ID, Verb: approval.Edit, Args: []byte(`{"amount":1000}`)})
		synctest.Wait()
		if err == nil {
			t.Errorf("a suspended call was edited: it began and continued with the amounts %v", got)
		}
	})
}

type argGate struct {
	fake
	gate func() bool
}

func (g *argGate) Gate(agent.ReadonlyContext, map[string]any) (bool, string, error) {
	return g.gate(), "", nil
}

// A call of a tool that has changed is approved again. What the approver of the earlier tool
// gave is not given to the new one.
func TestPayloadIsOfTheNewestApproval(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var got []any
		p := &paid{fake{name: "pay", gated: true}}
		p.call = func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			c := tool.Confirmation(ctx)
			if c == nil {
				c = &toolconfirmation.ToolConfirmation{}
			}
			got = append(got, c.Payload)
			if len(got) < 3 {
				return nil, &tool.Suspension{Wake: time.Now().Add(time.Hour)}
			}
			return map[string]any{}, nil
		}
		w.tools.extra = []tool.Tool{p}
		w.start()
		id := w.begin(w.calls("pay", args{}))
		for i, payload := range []json.RawMessage{[]byte(`{"limit":5}`), nil, []byte(`{"limit":7}`)} {
			synctest.Wait()
			if err := w.decide(bob, id, approval.Answer{ID: w.onlyOne(id).ID, Verb: approval.Approve, Payload: payload}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			w.stop()
			p.schema = map[string]any{"type": "object", "description": fmt.Sprint("version ", i+2)}
			w.restart()
			time.Sleep(2 * time.Hour)
		}
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		want := []any{map[string]any{"limit": 5.0}, nil, map[string]any{"limit": 7.0}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the tool was run with the payloads (-want +got):\n%s", diff)
		}
	})
}
