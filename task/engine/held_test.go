package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/tool"
)

// curious is a tool that asks and waits, and keeps what it was answered.
type curious struct {
	fake
	mu      sync.Mutex
	answers []tool.Answer
	errs    []error
	runs    int
}

// newCurious returns a curious tool. then, if not nil, decides what it does with the answer.
func newCurious(ask tool.Question, then func(tool.Context, tool.Answer, error) (map[string]any, error)) *curious {
	c := &curious{fake: fake{name: "curious"}}
	c.call = func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
		c.mu.Lock()
		c.runs++
		c.mu.Unlock()
		answer, err := tool.AskAndWait(ctx, ask)
		c.got(answer, err)
		switch {
		case then != nil:
			return then(ctx, answer, err)
		case err != nil:
			return nil, err
		}
		return map[string]any{"state": answer.State, "response": answer.Response}, nil
	}
	return c
}

func (c *curious) got(answer tool.Answer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers, c.errs = append(c.answers, answer), append(c.errs, err)
}

func (c *curious) did() (runs int, answers []tool.Answer, errs []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs, slices.Clone(c.answers), slices.Clone(c.errs)
}

var whichOne = tool.Question{Kind: tool.AskQuestion, Hint: "which one?"}

// kinds are the private events of a task, without the messages.
func (w *world) kinds(id a2a.TaskID) (kinds []string) {
	w.t.Helper()
	for _, e := range w.events(id) {
		if !e.Public && !strings.HasPrefix(e.Kind, "message.") {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// A call that asks and waits holds its task in input-required, in which a blocking message
// returns and a stream ends; it stays one run, which gets the answer.
func TestHeldQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ask    tool.Question
		answer map[string]any
		want   tool.Answer
	}{
		"words": {whichOne, map[string]any{"decision": "respond", "response": "the blue one"},
			tool.Answer{State: tool.AnswerResponded, Response: json.RawMessage(`"the blue one"`)}},
		"rejected": {whichOne, map[string]any{"decision": "reject", "reason": "none"}, tool.Answer{State: tool.AnswerRejected, Reason: "none"}},
		"form": {tool.Question{ID: "a", Kind: tool.AskForm, Hint: "size?", Payload: map[string]any{"in": "cm"}, Schema: map[string]any{"type": "integer"}},
			map[string]any{"decision": "respond", "response": 7}, tool.Answer{State: tool.AnswerResponded, Response: json.RawMessage(`7`)}},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			c := newCurious(tc.ask, nil)
			w.startTools(c)
			got := w.send(w.calls("curious", args{}))
			w.wantState(got, a2a.TaskStateInputRequired)
			a := w.onlyOne(got.ID)
			if !a.Held || a.Kind != approval.KindQuestion || a.Deadline == nil || a.Hint != tc.ask.Hint {
				t.Errorf("approval = %+v, want a held question with a deadline", a)
			}
			if shown := w.pending(got); len(shown) != 1 || shown[0] != a.ID {
				t.Errorf("the task asks for %v, want %s", shown, a.ID)
			}
			if h := w.header(got.ID); h.Phase != store.Live || h.Pending != 1 {
				t.Errorf("header = %+v, want a live task with one pending approval", h)
			}
			w.settled(got.ID, a2a.TaskStateInputRequired) // a stream ends
			answer := maps.Clone(tc.answer)
			answer["id"] = a.ID
			got = w.send(w.decision(got.ID, answer))
			w.wantState(got, a2a.TaskStateCompleted)
			runs, answers, errs := c.did()
			if runs != 1 || len(answers) != 1 || errs[0] != nil {
				t.Fatalf("%d runs got %v, %v; want one answer", runs, answers, errs)
			}
			is := answers[0]
			if is.State != tc.want.State || string(is.Response) != string(tc.want.Response) || is.Reason != tc.want.Reason || is.Ask.Hint != tc.ask.Hint || is.Ask.ID != tc.ask.ID {
				t.Errorf("answer = %+v, want %+v", is, tc.want)
			}
			want := []string{"step.planned.v1", "call.started.v1", "approval.requested.v1", "audit.key.v1", "approval.resolved.v1", "call.finished.v1"}
			if is := w.kinds(got.ID); !slices.Equal(is, want) {
				t.Errorf("log = %v, want %v", is, want)
			}
			if is, want := w.states(got.ID), []string{"WORKING", "INPUT_REQUIRED", "WORKING", "COMPLETED"}; !slices.Equal(is, want) {
				t.Errorf("states = %v, want %v", is, want)
			}
			w.idle(t, got.ID)
		})
	}
}

// An answer that does not fit is refused and changes nothing, as is a text that decides nothing.
func TestHeldQuestionRefusesOtherAnswers(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		c := newCurious(tool.Question{Kind: tool.AskForm, Hint: "size?", Schema: map[string]any{"type": "integer"}}, nil)
		w.startTools(c)
		got := w.send(w.calls("curious", args{}))
		a := w.onlyOne(got.ID)
		for _, answer := range []approval.Decision{
			{ID: a.ID, Type: approval.Respond, Response: json.RawMessage(`"large"`)},
			{ID: a.ID, Type: approval.Approve},
			{ID: a.ID, Type: approval.Respond, Response: json.RawMessage(`7`), Digest: "other"},
		} {
			if err := w.decide(alice, got.ID, answer); err == nil {
				t.Errorf("%+v was accepted", answer)
			}
		}
		m := w.reply(got.ID, a2a.NewTextPart("hello"))
		again := w.send(m)
		w.wantState(again, a2a.TaskStateInputRequired)
		if shown := w.pending(again); len(shown) != 1 || shown[0] != a.ID {
			t.Errorf("the task asks for %v, want %s again", shown, a.ID)
		}
		w.wantState(w.send(w.decision(got.ID, map[string]any{"id": a.ID, "decision": "respond", "response": 7})), a2a.TaskStateCompleted)
		if runs, answers, _ := c.did(); runs != 1 || len(answers) != 1 || answers[0].State != tool.AnswerResponded {
			t.Errorf("%d runs got %v, want one that is responded", runs, answers)
		}
		w.idle(t, got.ID)
	})
}

// A decision that comes before the task is recovered is refused, and closes the question.
func TestHeldQuestionBeforeRecovery(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		k := w.killer()
		w.startTools(newCurious(whichOne, nil))
		got := w.send(w.calls("curious", args{}))
		first := w.onlyOne(got.ID)
		k.die()
		w.stop()
		w.disk.reopen(t)
		// An engine that does not run recovers nothing.
		w.prepare()
		var refused *approval.Error
		if err := w.decide(alice, got.ID, approval.Decision{ID: first.ID, Type: approval.Respond, Response: json.RawMessage(`"x"`)}); !errors.As(err, &refused) || refused.Reason != approval.ReasonConflict {
			t.Errorf("an answer = %v, want a conflict", err)
		}
		if all := w.asked(got.ID); len(all) != 1 || all[0].State != approval.Superseded {
			t.Errorf("approvals = %+v, want one that is superseded", all)
		}
		w.engine.Stop(0)
		_ = w.store.Close()
		w.stop = func() {}
	})
}

// A deadline ends the wait, and says so; a rule that keeps approvals pending does not keep
// a call held.
func TestHeldQuestionExpires(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		terms approval.Terms
		after time.Duration
		state a2a.TaskState
	}{
		"limit":   {approval.Terms{}, time.Hour, a2a.TaskStateCompleted},
		"rule":    {approval.Terms{Expires: time.Minute}, time.Minute, a2a.TaskStateCompleted},
		"longer":  {approval.Terms{Expires: 2 * time.Hour, OnExpiry: approval.ExpiryCancels}, time.Hour, a2a.TaskStateCompleted},
		"kept":    {approval.Terms{Expires: time.Minute, OnExpiry: approval.ExpiryKeeps}, time.Hour, a2a.TaskStateCompleted},
		"cancels": {approval.Terms{Expires: time.Minute, OnExpiry: approval.ExpiryCancels}, time.Minute, a2a.TaskStateCanceled},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.cfg.Policy = defaults(t, tc.terms)
			c := newCurious(whichOne, nil)
			w.startTools(c)
			got := w.send(w.calls("curious", args{}))
			time.Sleep(tc.after - time.Second)
			w.wantState(w.get(got.ID), a2a.TaskStateInputRequired)
			time.Sleep(2 * time.Second)
			w.wantState(w.get(got.ID), tc.state)
			_, answers, errs := c.did()
			if len(answers) != 1 {
				t.Fatalf("answers = %v", answers)
			}
			if tc.state == a2a.TaskStateCanceled {
				if errs[0] == nil {
					t.Errorf("answer = %+v, want an error", answers[0])
				}
			} else if errs[0] != nil || answers[0].State != tool.AnswerExpired {
				t.Errorf("answer = %+v, %v; want expired", answers[0], errs[0])
			}
			w.idle(t, got.ID)
		})
	}
}

// Another process that takes a task over tells nobody here, and the time limit of the tool
// does not run: the question ends all the same, soon after its deadline.
func TestHeldCallIsTakenOver(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		c := newCurious(whichOne, nil)
		w.startTools(c)
		got := w.send(w.calls("curious", args{}))
		w.wantState(got, a2a.TaskStateInputRequired)
		defer w.stop()
		w.startTools(newCurious(whichOne, nil)) // another process
		w.until("the question is closed", func() bool { return w.asked(got.ID)[0].State == approval.Superseded })
		time.Sleep(time.Hour - time.Second)
		if _, _, errs := c.did(); len(errs) > 0 {
			t.Errorf("the tool was told %v before the deadline", errs)
		}
		time.Sleep(3 * time.Second)
		if _, answers, errs := c.did(); len(errs) != 1 || errs[0] == nil {
			t.Errorf("the tool was told %v, %v; want an error", answers, errs)
		}
		w.stop()
	})
}

// The time limit of a tool does not run while its call is held, and continues afterwards.
func TestHeldCallDoesNotTimeOut(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]time.Duration{"in time": 3 * time.Second, "too long": 7 * time.Second} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.cfg.Limits = task.Limits{ToolTimeout: 10 * time.Second, ToolGrace: time.Second}
			c := newCurious(whichOne, nil)
			inner := c.call
			pause := func(ctx context.Context, d time.Duration) error {
				select {
				case <-time.After(d):
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			c.call = func(ctx tool.Context, a map[string]any) (map[string]any, error) {
				if err := pause(ctx, 4*time.Second); err != nil {
					return nil, err
				}
				if _, err := inner(ctx, a); err != nil {
					return nil, err
				}
				return map[string]any{"ok": true}, pause(ctx, work)
			}
			w.startTools(c)
			got := w.send(w.calls("curious", args{}))
			time.Sleep(30 * time.Minute)
			w.wantState(w.get(got.ID), a2a.TaskStateInputRequired)
			began := time.Now()
			got = w.send(w.decision(got.ID, respond(w.onlyOne(got.ID).ID)))
			took := time.Since(began)
			want, length := a2a.TaskStateCompleted, work
			if name == "too long" {
				want, length = a2a.TaskStateInputRequired, 6*time.Second // about the outcome
			}
			w.wantState(got, want)
			if took != length {
				t.Errorf("the call ended after %v, want %v", took, length)
			}
		})
	}
}

// When nobody waits any longer, the question is closed: the tool has given up waiting, or
// has returned.
func TestHeldQuestionIsWithdrawn(t *testing.T) {
	t.Parallel()
	runInMemory(t, "the tool gives up", func(t *testing.T, w *world) {
		door := make(chan struct{})
		c := newCurious(whichOne, nil)
		c.call = func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			short, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			c.got(tool.AskAndWait(short, whichOne))
			<-door
			return map[string]any{}, nil
		}
		w.startTools(c)
		got := w.send(w.calls("curious", args{}))
		a := w.onlyOne(got.ID)
		time.Sleep(2 * time.Minute)
		if _, _, errs := c.did(); len(errs) != 1 || !errors.Is(errs[0], context.DeadlineExceeded) || errors.Is(errs[0], tool.ErrNoAnswer) {
			t.Errorf("AskAndWait() = %v, want the cause of its context", errs)
		}
		w.wantState(w.get(got.ID), a2a.TaskStateWorking)
		w.idle(t, got.ID)
		var refused *approval.Error
		if err := w.decide(alice, got.ID, approval.Decision{ID: a.ID, Type: approval.Reject}); !errors.As(err, &refused) || refused.Reason != approval.ReasonConflict {
			t.Errorf("a late answer = %v, want a conflict", err)
		}
		close(door)
		w.wantState(w.ended(got.ID), a2a.TaskStateCompleted)
	})
	for name, returns := range map[string]error{"the tool returns": nil, "the tool fails": errTool, "unknown": tool.ErrOutcomeUnknown, "suspended": &tool.Suspension{Asks: []tool.Question{whichOne}}} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			c := newCurious(whichOne, nil)
			asked := make(chan struct{})
			c.call = func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
				if _, ok := tool.Resumed(ctx); ok {
					return map[string]any{}, nil
				}
				go func() {
					c.got(tool.AskAndWait(context.WithoutCancel(ctx), whichOne))
					close(asked)
				}()
				time.Sleep(time.Second)
				return map[string]any{}, returns
			}
			w.startTools(c)
			id := w.begun(alice, w.calls("curious", args{}))
			first := w.onlyOne(id)
			time.Sleep(2 * time.Second)
			<-asked
			if _, _, errs := c.did(); errs[0] == nil {
				t.Error("AskAndWait() = nil after its call has ended")
			}
			for _, a := range w.asked(id) {
				if a.ID == first.ID && a.State != approval.Superseded {
					t.Errorf("the question is %s, want superseded", a.State)
				}
			}
			if returns == nil || errors.Is(returns, errTool) {
				w.idle(t, id)
				return
			}
			next := w.onlyOne(id)
			if next.ID == first.ID || next.Held {
				t.Errorf("%+v is pending, want a question that does not hold the call", next)
			}
			w.wantState(w.send(w.decision(id, respond(next.ID))), a2a.TaskStateCompleted)
		})
	}
}

// What cannot be asked is refused, and the call continues without an answer.
func TestHeldQuestionIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ask  tool.Question
		says string
	}{
		"confirm":      {tool.Question{Kind: tool.AskConfirm, Hint: "sure?"}, "confirm"},
		"no kind":      {tool.Question{Hint: "sure?"}, "kind"},
		"no schema":    {tool.Question{Kind: tool.AskForm, Hint: "?"}, "schema"},
		"wrong schema": {tool.Question{Kind: tool.AskForm, Hint: "?", Schema: map[string]any{"type": 7}}, "schema"},
		"no JSON":      {tool.Question{Kind: tool.AskQuestion, Hint: "?", Payload: func() {}}, "JSON"},
		"too large":    {tool.Question{Kind: tool.AskQuestion, Hint: strings.Repeat("x", 2<<20)}, "bytes"},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			c := newCurious(tc.ask, func(tool.Context, tool.Answer, error) (map[string]any, error) { return map[string]any{}, nil })
			w.startTools(c)
			got := w.send(w.calls("curious", args{}))
			w.wantState(got, a2a.TaskStateCompleted)
			if _, _, errs := c.did(); len(errs) != 1 || !errors.Is(errs[0], tool.ErrNoAnswer) || !strings.Contains(errs[0].Error(), tc.says) {
				t.Errorf("AskAndWait() = %v, want an ErrNoAnswer with %q in it", errs, tc.says)
			}
			if all := w.asked(got.ID); len(all) > 0 {
				t.Errorf("approvals = %+v, want none", all)
			}
		})
	}
	runInMemory(t, "two at once, and too many", func(t *testing.T, w *world) {
		c := newCurious(whichOne, nil)
		c.call = func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			first := make(chan error)
			go func() {
				_, err := tool.AskAndWait(ctx, whichOne)
				first <- err
			}()
			time.Sleep(time.Second)
			c.got(tool.AskAndWait(ctx, whichOne))
			if err := <-first; err != nil {
				return nil, err
			}
			for {
				short, cancel := context.WithTimeout(ctx, time.Second)
				_, err := tool.AskAndWait(short, whichOne)
				cancel()
				if errors.Is(err, tool.ErrNoAnswer) || ctx.Err() != nil {
					c.got(tool.Answer{}, err)
					return map[string]any{}, nil //nolint:nilerr // it continues without an answer
				}
			}
		}
		w.startTools(c)
		got := w.send(w.calls("curious", args{}))
		time.Sleep(2 * time.Second)
		w.send(w.decision(got.ID, respond(w.onlyOne(got.ID).ID)))
		time.Sleep(2 * time.Minute)
		w.wantState(w.get(got.ID), a2a.TaskStateCompleted)
		_, _, errs := c.did()
		if len(errs) != 2 || !errors.Is(errs[0], tool.ErrNoAnswer) || !strings.Contains(errs[1].Error(), "limit") {
			t.Errorf("AskAndWait() = %v", errs)
		}
		if n := len(w.asked(got.ID)); n != 64 {
			t.Errorf("%d questions were asked, want 64", n)
		}
		w.idle(t, got.ID)
	})
}

// The number of held calls is bounded, in all and for each caller, and a held task keeps no
// other from running.
func TestHeldCallsAreBounded(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = task.Limits{Turns: 1, Held: 20, HeldPerCaller: 12}
		c := newCurious(whichOne, nil)
		w.startTools(c)
		var ids []a2a.TaskID
		for range 12 {
			got := w.send(w.calls("curious", args{}))
			w.wantState(got, a2a.TaskStateInputRequired)
			ids = append(ids, got.ID)
		}
		if l := w.engine.Load(); l.Turns != 0 {
			t.Errorf("%d turns while all calls are held, want none", l.Turns)
		}
		w.wantState(w.send(w.calls("echo", args{})), a2a.TaskStateCompleted)
		full := w.send(w.calls("curious", args{}))
		w.wantState(full, a2a.TaskStateFailed)
		if _, _, errs := c.did(); len(errs) != 1 || !errors.Is(errs[0], tool.ErrNoAnswer) || !strings.Contains(errs[0].Error(), "12 calls of this caller") {
			t.Errorf("AskAndWait() = %v, want the limit of the caller", errs)
		}
		for _, id := range ids {
			w.wantState(w.send(w.decision(id, respond(w.onlyOne(id).ID))), a2a.TaskStateCompleted)
		}
		w.wantState(w.send(w.calls("curious", args{})), a2a.TaskStateInputRequired)
	})
}

// A shutdown closes the questions first, so that calls end with a known result; a tool that
// then asks again is refused.
func TestShutdownWhileHeld(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		c := newCurious(whichOne, func(ctx tool.Context, _ tool.Answer, err error) (map[string]any, error) {
			_, again := tool.AskAndWait(ctx, whichOne)
			if !errors.Is(err, tool.ErrNoAnswer) || !errors.Is(again, tool.ErrNoAnswer) {
				t.Errorf("AskAndWait() = %v, then %v; want ErrNoAnswer", err, again)
			}
			return map[string]any{"without": "an answer"}, nil
		})
		w.startTools(c)
		got := w.send(w.calls("curious", args{}))
		began := time.Now()
		w.engine.Stop(time.Minute)
		if took := time.Since(began); took > time.Second {
			t.Errorf("the shutdown took %v although the call ended at once", took)
		}
		w.restart()
		synctest.Wait()
		w.wantState(w.get(got.ID), a2a.TaskStateCompleted)
		if all := w.asked(got.ID); len(all) != 1 || all[0].State != approval.Superseded || !strings.Contains(all[0].Resolution.Reason, "shutting down") {
			t.Errorf("approvals = %+v, want one that the shutdown has closed", all)
		}
		if runs, _, _ := c.did(); runs != 1 {
			t.Errorf("%d runs, want 1", runs)
		}
		w.idle(t, got.ID)
	})
}
