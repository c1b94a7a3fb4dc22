package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/internal/record"
	"a2a-server/task/internal/rules"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// repeated sends a message again, and checks that it finds its task.
func (w *world) repeated(m *a2a.Message, id a2a.TaskID) {
	w.t.Helper()
	sent, err := w.sendAs(alice, m)
	if err != nil || !sent.Duplicate || sent.Task.String() != string(id) {
		w.t.Fatalf("Send() again = %+v, %v, want the duplicate of %s", sent, err, id)
	}
}

// A message finds its task as long as the task waits and until it is forgotten after the end, also after a crash;
// then it creates another task.
func TestMessageFindsItsTask(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		k := w.killer()
		w.start()
		m := w.calls("transfer", args{"amount": 1, "to": "bob"})
		first := w.send(m)
		pass(3 * time.Hour)
		w.repeated(m, first.ID)
		k.crash()
		pass(25 * time.Hour)
		w.must(w.engine.Tasks().ForgetMessages(w.ctx()))
		w.repeated(m, first.ID)

		// A repeated send waits, and has the result.
		again, err := w.sendAs(alice, m)
		w.must(err)
		w.wantState(w.send(w.decision(first.ID, approve(w.pending(first)[0]))), a2a.TaskStateCompleted)
		w.wantState(w.await(again), a2a.TaskStateCompleted)
		if task, _ := w.streamed(again); task == nil || task.ID != first.ID || task.Status.State != a2a.TaskStateCompleted {
			t.Errorf("the stream of the repeated message begins with %+v, want the completed task", task)
		}

		other := *m
		other.Metadata = map[string]any{"note": "other"}
		if sent, err := w.sendAs(alice, &other); err != nil || sent.Duplicate {
			t.Errorf("Send() of other content = %+v, %v, want a new task", sent, err)
		}
		if sent, err := w.sendAs(bob, m); err != nil || sent.Duplicate {
			t.Errorf("Send() by another caller = %+v, %v, want a new task", sent, err)
		}
		pass(59 * time.Minute)
		k.crash()
		w.must(w.engine.Tasks().ForgetMessages(w.ctx()))
		w.repeated(m, first.ID)
		w.wantRuns("transfer", 1)
		pass(time.Hour)
		w.repeated(m, first.ID)
		w.must(w.engine.Tasks().ForgetMessages(w.ctx()))
		sent, err := w.sendAs(alice, m)
		if err != nil || sent.Duplicate || sent.Task.String() == string(first.ID) {
			t.Fatalf("Send() of a forgotten message = %+v, %v, want a new task", sent, err)
		}
		w.repeated(m, a2a.TaskID(sent.Task.String()))
	})
}

// interposed is a store with a step before its creates, after its look-ups of messages, or before it removes a
// message; nil: none.
type interposed struct {
	store.Handle
	before, after, removes func()
}

func (h interposed) Append(ctx context.Context, b *store.Batch) *store.Commit {
	if b.Creates() && h.before != nil {
		h.before()
	}
	if h.removes != nil && len(b.Rows) == 1 && b.Rows[0].Kind == record.KindMessage && b.Rows[0].Delete {
		h.removes()
	}
	return h.Handle.Append(ctx, b)
}

func (h interposed) Rows(ctx context.Context, s store.Scope, q store.RowQuery) (store.RowPage, error) {
	if q.Kind == record.KindMessage && q.Key != nil && h.after != nil {
		defer h.after()
	}
	return h.Handle.Rows(ctx, s, q)
}

// sendsTwice sends a message twice at once, and checks that both find the same task, which it returns.
func (w *world) sendsTwice(m *a2a.Message) a2a.TaskID {
	w.t.Helper()
	var sends sync.WaitGroup
	var ids [2]string
	for i := range ids {
		sends.Go(func() {
			sent, err := w.sendAs(alice, m)
			if err != nil {
				w.t.Errorf("Send() = %v", err)
				return
			}
			ids[i] = sent.Task.String()
		})
	}
	sends.Wait()
	synctest.Wait()
	if ids[0] != ids[1] {
		w.t.Errorf("the same message made %s and %s", ids[0], ids[1])
	}
	return a2a.TaskID(ids[0])
}

// The same message sent twice at once makes one task, also if its task was deleted before.
func TestSameMessageAtOnce(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		var both sync.WaitGroup
		var creates atomic.Int32
		w.wrap = func(h store.Handle) store.Handle {
			return interposed{h, func() {
				if creates.Add(1) <= 2 {
					both.Done()
					both.Wait()
				}
			}, nil, nil}
		}
		w.start()
		m := w.calls("write", args{"amount": 1, "to": "bob"})
		both.Add(2)
		first := w.sendsTwice(m)
		w.wantRuns("write", 1)
		w.must(w.engine.Tasks().Delete(w.ctx(), alice, string(first)))
		both.Add(2)
		creates.Store(0)
		if second := w.sendsTwice(m); second == first {
			t.Errorf("the message finds %s, which is deleted", first)
		}
		w.wantRuns("write", 2)
	})
}

// A send that has found a deleted task creates none if meanwhile the message was forgotten and sent again: its row
// is then as it was.
func TestMessageForgottenMeanwhile(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		var meanwhile func()
		w.wrap = func(h store.Handle) store.Handle {
			return interposed{h, nil, func() {
				if f := meanwhile; f != nil {
					meanwhile = nil
					f()
				}
			}, nil}
		}
		w.start()
		m := w.calls("write", args{"amount": 1, "to": "bob"})
		w.must(w.engine.Tasks().Delete(w.ctx(), alice, string(w.send(m).ID)))
		var second *engine.Sent
		meanwhile = func() {
			var err error
			w.must(w.engine.Tasks().ForgetMessages(w.ctx()))
			second, err = w.sendAs(alice, m)
			w.must(err)
		}
		third, err := w.sendAs(alice, m)
		w.must(err)
		if second.Duplicate || !third.Duplicate || third.Task != second.Task {
			t.Errorf("the message made %+v, and then %+v", second, third)
		}
		synctest.Wait()
		w.wantRuns("write", 2)
	})
}

// The same holds if the message is being forgotten when the send looks.
func TestMessageSentWhileItIsForgotten(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		var looked, removes func()
		w.wrap = func(h store.Handle) store.Handle {
			run := func(f *func()) func() {
				return func() {
					if step := *f; step != nil {
						*f = nil
						step()
					}
				}
			}
			return interposed{h, nil, run(&looked), run(&removes)}
		}
		w.start()
		m := w.calls("write", args{"amount": 1, "to": "bob"})
		w.must(w.engine.Tasks().Delete(w.ctx(), alice, string(w.send(m).ID)))
		found, removed, ended := make(chan struct{}), make(chan struct{}), make(chan *engine.Sent)
		removes = func() {
			looked = func() {
				close(found)
				<-removed
			}
			go func() {
				sent, err := w.sendAs(alice, m)
				if err != nil {
					t.Errorf("Send() = %v", err)
				}
				ended <- sent
			}()
			<-found
		}
		w.must(w.engine.Tasks().ForgetMessages(w.ctx()))
		second, err := w.sendAs(alice, m)
		w.must(err)
		close(removed)
		third := <-ended
		if second.Duplicate || !third.Duplicate || third.Task != second.Task {
			t.Errorf("the message made %+v, and then %+v", second, third)
		}
		synctest.Wait()
		w.wantRuns("write", 2)
	})
}

// A message that is forgotten between its look-up and its create makes a task, at the first try or the next.
func TestMessageForgottenBeforeItsCreate(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		var before func()
		w.wrap = func(h store.Handle) store.Handle {
			return interposed{h, func() {
				if step := before; step != nil {
					before = nil
					step()
				}
			}, nil, nil}
		}
		w.start()
		m := w.calls("write", args{"amount": 1, "to": "bob"})
		w.must(w.engine.Tasks().Delete(w.ctx(), alice, string(w.send(m).ID)))
		before = func() { w.must(w.engine.Tasks().ForgetMessages(w.ctx())) }
		second, err := w.sendAs(alice, m)
		w.must(err)
		if second.Duplicate {
			t.Errorf("Send() = %+v, want a new task", second)
		}
		w.repeated(m, a2a.TaskID(second.Task.String()))
		synctest.Wait()
		w.wantRuns("write", 2)
	})
}

// A repeated message costs a look-up: no hook runs, and nothing is drafted.
func TestRepeatedMessageIsOnlyLookedUp(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		var hooks, creates atomic.Int32
		w.cfg.Hooks = []task.Hook{func(agent.ReadonlyContext, tool.ToolCall) (task.HookResult, error) {
			hooks.Add(1)
			return task.HookResult{}, nil
		}}
		w.wrap = func(h store.Handle) store.Handle { return interposed{h, func() { creates.Add(1) }, nil, nil} }
		w.start()
		m := w.calls("transfer", args{"amount": 1, "to": "bob"})
		first := w.send(m)
		before := hooks.Load()
		w.repeated(m, first.ID)
		if hooks.Load() != before || before == 0 || creates.Load() != 1 {
			t.Errorf("hooks ran %d times, then %d; %d creates, want one", before, hooks.Load(), creates.Load())
		}
	})
}

// A message that has created a task finds it whatever a new task is refused for.
func TestRefusedMessageFindsItsTask(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		w.cfg.Limits.Parked = 1
		w.start()
		m := w.calls("transfer", args{"amount": 1, "to": "bob"})
		m.ContextID = "talk"
		first := w.send(m)
		other := w.calls("transfer", args{"amount": 2, "to": "bob"})
		other.ContextID = "talk"
		if sent, err := w.sendAs(alice, other); err == nil {
			t.Errorf("Send() of another message = %+v, want that the context is full", sent)
		}
		w.repeated(m, first.ID)
	})
}

// messages returns how many messages the store remembers.
func (w *world) messages() int {
	w.t.Helper()
	page, err := w.store.Rows(w.ctx(), store.System(), store.RowQuery{Kind: record.KindMessage, Limit: 1000})
	w.must(err)
	return len(page.Rows)
}

// ForgetMessages removes the messages of deleted tasks, and of tasks that had ended at the last call, an hour of
// running time ago or longer, whatever the clock says.
func TestForgetMessages(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		var ahead atomic.Int64
		w.cfg.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		w.start()
		forget := func(want int) {
			t.Helper()
			w.must(w.engine.Tasks().ForgetMessages(w.ctx()))
			if n := w.messages(); n != want {
				t.Errorf("%d messages are kept, want %d", n, want)
			}
		}
		waits, _, deleted := w.send(w.calls("transfer", args{"amount": 1, "to": "bob"})), w.send(w.calls("echo", args{})), w.send(w.calls("echo", args{"n": 1}))
		w.must(w.engine.Tasks().Delete(w.ctx(), alice, string(deleted.ID)))
		forget(2)
		ahead.Store(int64(25 * time.Hour))
		pass(time.Hour - time.Second)
		forget(2)
		ahead.Store(int64(-25 * time.Hour))
		pass(time.Second)
		forget(1)
		w.must(w.engine.Tasks().Cancel(w.ctx(), alice, string(waits.ID))) // a day ago, by the clock
		ahead.Store(0)
		pass(time.Hour)
		forget(1)
		pass(time.Hour)
		forget(0)
	})
}

// The first call of a process removes the messages of tasks that ended a day ago, so that processes that run less
// than an hour forget, too.
func TestForgetMessagesAtStart(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		k := w.killer()
		w.start()
		w.send(w.calls("echo", args{}))
		for _, want := range []int{1, 1, 0} {
			pass(12*time.Hour - time.Second)
			k.crash()
			pass(time.Second)
			w.must(w.engine.Tasks().ForgetMessages(w.ctx()))
			if n := w.messages(); n != want {
				t.Errorf("%d messages are kept, want %d", n, want)
			}
		}
	})
}

// A message to an ended task is refused in words that say how it ended, with the beginning of its text, cut
// between runes.
func TestRefusedAtTheEnd(t *testing.T) {
	refused := func(w *world, id a2a.TaskID) *task.StateError {
		w.t.Helper()
		_, err := w.sendAs(alice, w.reply(id, a2a.NewTextPart("and now?")))
		state, is := errors.AsType[*task.StateError](err)
		if !is || !strings.Contains(err.Error(), string(id)) || state.Details()["taskId"] != string(id) {
			w.t.Fatalf("Send() to the ended task = %v, want a StateError with %s", err, id)
		}
		return state
	}
	runInMemory(t, "with a long text", func(t *testing.T, w *world) {
		w.start()
		done := w.send(w.calls("echo", args{"text": "a" + strings.Repeat("é", 3000)}))
		state := refused(w, done.ID)
		text := state.Ended.Text
		if n := len(text); n > rules.MaxEndedText || n < rules.MaxEndedText-5 || !utf8.ValidString(text) || !strings.Contains(state.Error(), text) {
			t.Errorf("the error repeats %d bytes, want the first %d: %q", n, rules.MaxEndedText, state.Error())
		}
		if !strings.Contains(state.Error(), "TASK_STATE_COMPLETED at 20") || state.Details()["taskState"] != "TASK_STATE_COMPLETED" || state.Details()["text"] != text {
			t.Errorf("the error is %q with %v", state.Error(), state.Details())
		}
	})
	runInMemory(t, "canceled by an operator", func(t *testing.T, w *world) {
		w.start()
		got := w.send(w.calls("transfer", args{"amount": 1, "to": "bob"}))
		operator := auth.Principal{Tenant: alice.Tenant, Subject: "olga", Method: "test", Roles: []string{auth.RoleOperator}}
		w.must(w.engine.Tasks().Cancel(w.ctx(), operator, string(got.ID)))
		if state := refused(w, got.ID); !strings.Contains(state.Error(), `TASK_STATE_CANCELED`) || !strings.Contains(state.Error(), `canceled by "olga"`) {
			t.Errorf("the error is %q, want who canceled the task", state.Error())
		}
	})
	runInMemory(t, "canceled by its requester", func(t *testing.T, w *world) {
		w.start()
		got := w.send(w.calls("transfer", args{"amount": 1, "to": "bob"}))
		w.cancel(got.ID)
		if state := refused(w, got.ID); strings.Contains(state.Error(), "by") || state.Details()["endedAt"] == "" {
			t.Errorf("the error is %q with %v", state.Error(), state.Details())
		}
	})
}

// A word of decision with a context alone is refused, and names the tasks of the context that wait for
// decisions; when none waits, it is an ordinary message. So is a remark.
func TestWordWithoutItsTask(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		in := func(text string, by auth.Principal) error {
			m := w.message(a2a.NewTextPart(text))
			m.ContextID = "talk"
			_, err := w.sendAs(by, m)
			return err
		}
		w.must(in("yes", alice))
		ask := func() *a2a.Task {
			m := w.calls("transfer", args{"amount": 1, "to": "bob"})
			m.ContextID = "talk"
			return w.send(m)
		}
		first, second := ask(), ask()
		for _, text := range []string{"yes", "no: wrong", "Approve k7m2qzxd", `"OK."`} {
			err := in(text, alice)
			invalid, is := errors.AsType[*task.InvalidError](err)
			if !is || invalid.Field != "message.taskId" || !strings.Contains(err.Error(), string(first.ID)) || !strings.Contains(err.Error(), string(second.ID)) {
				t.Errorf("Send(%q) = %v, want an error of message.taskId that names %s and %s", text, err, first.ID, second.ID)
			}
		}
		for _, text := range []string{"yes, and list the tools", "what waits?"} {
			w.must(in(text, alice))
		}
		w.must(in("yes", bob)) // the context of this name is another
		remark := w.message(a2a.NewTextPart("no"))
		remark.ContextID, remark.Metadata = "talk", map[string]any{approval.RemarkKey: true}
		if _, err := w.sendAs(alice, remark); err != nil {
			t.Errorf("Send() of a remark = %v", err)
		}
		w.cancel(first.ID)
		if err := in("no", alice); err == nil || strings.Contains(err.Error(), string(first.ID)) {
			t.Errorf("Send() = %v, want an error without %s, which has ended", err, first.ID)
		}
		w.send(w.decision(second.ID, reject(w.pending(second)[0], "")))
		w.must(in("no", alice))
		w.wantRuns("transfer", 0)
	})
}

// A new message in a context refers to the tasks there that have waited and ended since the newest task began,
// and the planner gets how they ended; of other callers, of other contexts and of the next messages it gets none.
func TestPlannerGetsWhatEndedMeanwhile(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		given := make(chan []task.EndedTask, 8)
		w.cfg.Planner = speaker(func(ctx context.Context, at *task.Progress) (*task.Step, error) {
			if text := at.Messages[0].Message.Parts[0].Text(); text == "ask" && len(at.Steps) == 0 {
				return &task.Step{Calls: []task.PlannedCall{{Tool: "transfer", Args: json.RawMessage(`{"amount":1,"to":"bob"}`)}}}, nil
			}
			ended, err := at.Meanwhile(ctx)
			if err != nil {
				return nil, err
			}
			given <- ended
			return ends(at, "done", "")
		})
		k := w.killer()
		w.start()
		send := func(by auth.Principal, in, text string, refers ...a2a.TaskID) *a2a.Task {
			t.Helper()
			m := w.message(a2a.NewTextPart(text))
			m.ContextID, m.ReferenceTasks = in, refers
			sent, err := w.sendAs(by, m)
			w.must(err)
			pass(time.Second)
			answer := w.engine.ReserveRead(by)
			defer answer.Release()
			v, err := answer.Await(w.ctx(), sent)
			w.must(err)
			return w.task(v)
		}
		wantGiven := func(name string, want ...a2a.TaskID) {
			t.Helper()
			var got []a2a.TaskID
			for _, e := range <-given {
				got = append(got, a2a.TaskID(e.ID))
				if e.At.IsZero() || !e.State.Terminal() {
					t.Errorf("%s: Meanwhile has %+v", name, e)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: Meanwhile() = %v, want %v", name, got, want)
			}
		}
		approved, canceled := send(alice, "talk", "ask"), send(alice, "talk", "ask")
		wait := send(alice, "talk", "ask")
		elsewhere := send(alice, "other", "ask")
		foreign := send(bob, "talk", "ask")
		quick := send(alice, "talk", "hello")
		wantGiven("before the ends")
		w.approves(approved.ID)
		pass(time.Second)
		wantGiven("the end of the approved task")
		w.cancel(canceled.ID)
		w.cancel(elsewhere.ID)
		w.must(w.engine.Tasks().Cancel(w.ctx(), bob, string(foreign.ID)))
		k.crash()

		next := send(alice, "talk", "and now?")
		wantGiven("after the ends", approved.ID, canceled.ID)
		if refers := next.History[0].ReferenceTasks; !slices.Equal(refers, []a2a.TaskID{approved.ID, canceled.ID}) {
			t.Errorf("the message refers to %v", refers)
		}
		send(alice, "talk", "and then?")
		wantGiven("after the next message")
		send(alice, "", "of other contexts", quick.ID, wait.ID, foreign.ID, "none", elsewhere.ID)
		wantGiven("the references of the client", quick.ID, elsewhere.ID)
	})
}
