package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task/engine"
	"a2a-server/task/internal/event"
	"a2a-server/tool"
)

// watcher is a tool whose work is done elsewhere. Its calls are suspended until it is done.
type watcher struct {
	*fake

	mu      sync.Mutex
	entered int
	looks   []time.Time
	waits   []tool.Waiting
	done    bool
	failing error // of looks
	hang    bool  // looks do not return in time
	panics  bool  // looks panic
}

func newWatcher(name string, waits ...tool.Waiting) *watcher {
	w := &watcher{waits: waits}
	w.fake = &fake{name: name, schema: map[string]any{"type": "object"}}
	w.call = func(tool.Context, map[string]any) (map[string]any, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.entered++; w.done {
			return map[string]any{"done": true}, nil
		}
		return nil, &tool.Suspension{Wake: time.Now().Add(2 * time.Second), State: json.RawMessage(`{"job":1}`), Waits: w.waits, Watch: true}
	}
	return w
}

func (w *watcher) Watch(ctx tool.Context, state json.RawMessage) ([]tool.Waiting, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if string(state) != `{"job":1}` || ctx.FunctionCallID() == "" {
		return nil, fmt.Errorf("the state is %s", state)
	}
	w.looks = append(w.looks, time.Now())
	switch {
	case w.panics:
		panic("a look")
	case w.hang:
		w.mu.Unlock()
		<-ctx.Done()
		w.mu.Lock()
		return nil, ctx.Err()
	case w.done || w.failing != nil:
		return nil, w.failing
	case len(w.waits) == 0:
		return nil, tool.ErrUnchanged
	}
	return w.waits, nil
}

func (w *watcher) did() (entered, looks int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.entered, len(w.looks)
}

func (w *watcher) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func finance(id string) tool.Waiting {
	return tool.Waiting{ID: "bank/" + id, Agent: "bank", WaitsFor: "finance", Since: time.Now()}
}

// statuses returns the public statuses of a task: each with its time and its text.
func (w *world) statuses(id a2a.TaskID) (at []time.Time, texts []string) {
	w.t.Helper()
	for _, e := range w.events(id) {
		if e.Kind != event.KindStatus {
			continue
		}
		var s struct {
			StatusUpdate struct {
				Status struct {
					Timestamp time.Time
					State     string
					Message   *struct{ Parts []struct{ Text string } }
				}
			}
		}
		w.must(json.Unmarshal(e.Data, &s))
		text := s.StatusUpdate.Status.State
		if m := s.StatusUpdate.Status.Message; m != nil {
			text, _, _ = strings.Cut(m.Parts[0].Text, ";")
		}
		at, texts = append(at, s.StatusUpdate.Status.Timestamp), append(texts, text)
	}
	return at, texts
}

// A call that waits elsewhere is looked at every three seconds, over restarts, without an entry and
// without a byte in the log; its task says for whom it waits, and goes on once the work is done.
func TestLooks(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		runOnEachDisk(t, fmt.Sprint("restarts ", restarts), func(t *testing.T, w *world) {
			p := newWatcher("bank", finance("1"))
			w.startTools(p)
			id := w.begin(w.calls("bank", args{}))
			synctest.Wait()
			w.wantState(w.get(id), a2a.TaskStateWorking)
			if text := statusText(w.get(id)); !strings.HasPrefix(text, "bank waits for finance; ") {
				t.Fatalf("the task says %q", text)
			}
			before := w.header(id)
			for range 10 {
				pass(3 * time.Second)
				if restarts {
					w.restart()
				}
			}
			if entered, looks := p.did(); entered != 1 || looks < 9 || looks > 20 {
				t.Errorf("it was entered %d times and looked at %d times in 30 s", entered, looks)
			}
			if now := w.header(id); now.Seq != before.Seq || now.Fence != before.Fence {
				t.Errorf("the log has %d events, had %d", now.Seq, before.Seq)
			}
			p.set(func() { p.done = true })
			pass(4 * time.Second)
			w.wantState(w.get(id), a2a.TaskStateCompleted)
			if entered, _ := p.did(); entered != 2 {
				t.Errorf("it was entered %d times", entered)
			}
			w.nothingDue(id)
			if _, texts := w.statuses(id); slices.Contains(texts[len(texts)-1:], "bank waits for finance") {
				t.Errorf("statuses: %q", texts)
			}
		})
	}
}

// Other people to wait for are said, without an entry of the call, and once.
func TestLookFindsOtherPeople(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p := newWatcher("bank", finance("1"))
		w.startTools(p)
		id := w.begin(w.calls("bank", args{}))
		synctest.Wait()
		p.set(func() {
			p.waits = []tool.Waiting{{ID: "bank/1", Agent: "bank", WaitsFor: "two people", Since: time.Now()}}
		})
		pass(10 * time.Second)
		_, texts := w.statuses(id)
		if want := []string{"bank waits for finance", "bank waits for two people"}; !slices.Equal(texts[len(texts)-2:], want) {
			t.Errorf("statuses: %q, want %q at the end", texts, want)
		}
		if entered, _ := p.did(); entered != 1 {
			t.Errorf("it was entered %d times", entered)
		}
	})
}

// A look that fails, panics, or finds the tool gone enters the call, which meets the problem itself; a
// look that hangs says nothing.
func TestLookFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set  func(p *watcher)
		want int // entries after a minute, at least
	}{
		"fails":  {func(p *watcher) { p.failing = errors.New("no") }, 5},
		"panics": {func(p *watcher) { p.panics = true }, 5},
		"hangs":  {func(p *watcher) { p.hang = true }, 1},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			p := newWatcher("bank", finance("1"))
			w.startTools(p)
			id := w.begin(w.calls("bank", args{}))
			synctest.Wait()
			p.set(func() { tt.set(p) })
			pass(time.Minute)
			if entered, looks := p.did(); entered < tt.want || tt.want == 1 && entered > 1 || looks < 4 {
				t.Errorf("it was entered %d times and looked at %d times, want %d entries", entered, looks, tt.want)
			}
			p.set(func() { p.failing, p.panics, p.hang, p.done = nil, false, false, true })
			pass(30 * time.Second)
			w.wantState(w.get(id), a2a.TaskStateCompleted)
		})
	}
}

// Looks of a tool that hangs delay neither those of another tool nor deadlines.
func TestSlowLooksDelayNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		slow, bank := newWatcher("slow", finance("1")), newWatcher("bank", finance("1"))
		slow.hang = true
		nap, naps := sleeper(5*time.Second, 0)
		w.startTools(slow, bank, nap)
		for range 100 {
			w.begin(w.calls("slow", args{}))
		}
		id := w.begin(w.calls("bank", args{}))
		asleep := w.begin(w.calls(nap.Name(), args{}))
		synctest.Wait()
		bank.set(func() { bank.done = true })
		pass(5 * time.Second)
		w.wantState(w.get(id), a2a.TaskStateCompleted)
		pass(5 * time.Second)
		w.wantState(w.get(asleep), a2a.TaskStateCompleted)
		naps.want(t, 2)
		if _, looks := slow.did(); looks > 64 {
			t.Errorf("%d looks hang in ten seconds", looks)
		}
	})
}

// Looks of several tools that hang delay no look of another tool.
func TestLooksOfManySlowToolsDelayNothing(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		bank := newWatcher("bank", finance("1"))
		tools := []tool.Tool{bank}
		for i := range 5 {
			slow := newWatcher(fmt.Sprint("slow", i), finance("1"))
			slow.hang = true
			tools = append(tools, slow)
		}
		w.startTools(tools...)
		for n := range 150 {
			w.begin(w.calls(fmt.Sprint("slow", n%5), args{}))
		}
		id := w.begin(w.calls("bank", args{}))
		synctest.Wait()
		bank.set(func() { bank.done = true })
		pass(5 * time.Second)
		w.wantState(w.get(id), a2a.TaskStateCompleted)
	})
}

// The status of a task changes at most once a second, however many agents begin and end to wait, names
// all of them in the end, and says it beside a call that runs.
func TestStatusOfManyWaits(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var tools []tool.Tool
		var agents []*watcher
		pairs := []any{"hold", args{}}
		for i := range 8 {
			p := newWatcher(fmt.Sprint("a", i), tool.Waiting{ID: fmt.Sprintf("a%d/1", i), Agent: fmt.Sprint("a", i), WaitsFor: "finance", Since: time.Now()})
			agents, tools, pairs = append(agents, p), append(tools, p), append(pairs, p.Name(), args{})
		}
		held := newCounted()
		tools = append(tools, &fake{name: "hold", schema: map[string]any{"type": "object"}, call: held.holds})
		w.startTools(tools...)
		id := w.begin(w.calls(pairs...))
		synctest.Wait()
		pass(4 * time.Second)
		w.wantState(w.get(id), a2a.TaskStateWorking)
		if got := statusText(w.get(id)); !strings.Contains(got, "a0 waits for finance") || !strings.Contains(got, "4 more wait") {
			t.Errorf("beside a running call the task says %q", got)
		}
		for i, p := range agents[:7] {
			p.set(func() { p.done = true })
			pass(time.Duration(i) * 300 * time.Millisecond)
		}
		pass(5 * time.Second)
		if got := statusText(w.get(id)); !strings.HasPrefix(got, "a7 waits for finance; ") {
			t.Errorf("after the others have ended, the task says %q", got)
		}
		held.open()
		agents[7].set(func() { agents[7].done = true })
		pass(5 * time.Second)
		w.wantState(w.get(id), a2a.TaskStateCompleted)
		at, texts := w.statuses(id)
		for i := 2; i < len(at)-1; i++ {
			if at[i].Sub(at[i-1]) < time.Second {
				t.Errorf("%q follows %q after %v", texts[i], texts[i-1], at[i].Sub(at[i-1]))
			}
		}
		t.Logf("%q", texts)
	})
}

// A message to a task that waits elsewhere is kept; a word that sounds like a decision is refused, and
// so is the decision itself.
func TestRemarkWhileItWaitsElsewhere(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p := newWatcher("bank", finance("1"))
		w.startTools(p)
		id := w.begin(w.calls("bank", args{}))
		synctest.Wait()
		got := w.send(w.reply(id, a2a.NewTextPart("it is urgent")))
		w.wantState(got, a2a.TaskStateWorking)
		for _, m := range []*a2a.Message{w.reply(id, a2a.NewTextPart("yes")), w.decision(id, approve("bank/1"))} {
			_, err := w.sendAs(alice, m)
			if _, refused := errors.AsType[*approval.Error](err); !refused {
				t.Errorf("the task takes %v: %v", m.Parts[0], err)
			}
		}
		p.set(func() { p.done = true })
		pass(5 * time.Second)
		w.wantState(w.get(id), a2a.TaskStateCompleted)
	})
}

// A gate that keeps the task from all but its requester and the deciders also keeps from them for whom an
// agent waits.
func TestWaitsAreKeptWithTheTask(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		p := newWatcher("bank", finance("1"))
		policy, err := approval.NewPolicy(approval.PolicyConfig{Gates: []approval.Gate{{Tool: "bank", Terms: approval.Terms{MaskTask: true}}}})
		w.must(err)
		w.start(func(cfg *engine.Config) {
			cfg.Tools, cfg.Policy = tool.NewRegistry(tool.NewToolset("test", p)), policy
		})
		id := w.begun(alice, w.calls("bank", args{}))
		w.approves(id)
		synctest.Wait()
		w.wantState(w.get(id), a2a.TaskStateWorking)
		for _, e := range w.events(id) {
			if e.Public && strings.Contains(string(e.Data), "finance") {
				t.Errorf("an event of kind %s says %s", e.Kind, e.Data)
			}
		}
		p.set(func() { p.done = true })
		pass(5 * time.Second)
		w.wantState(w.get(id), a2a.TaskStateCompleted)
	})
}
