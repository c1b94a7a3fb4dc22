package engine_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
)

func TestApproveRuns(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		got := w.send(w.calls("transfer", args{"amount": 100, "to": "bob"}))
		w.wantState(got, a2a.TaskStateInputRequired)
		if n := w.tools.count("transfer"); n != 0 {
			t.Fatalf("tool ran %d times before it was approved", n)
		}
		ids := w.pending(got)
		if len(ids) != 1 {
			t.Fatalf("pending = %v, want one", ids)
		}
		done := w.send(w.decision(got.ID, approve(ids[0])))
		w.wantState(done, a2a.TaskStateCompleted)
		w.wantRuns("transfer", 1)
		// The question stands before its answer.
		var roles []string
		for _, m := range done.History {
			roles = append(roles, string(m.Role))
		}
		if want := "ROLE_USER ROLE_AGENT ROLE_USER"; strings.Join(roles, " ") != want {
			t.Errorf("history = %v, want %s", roles, want)
		}
		_, err := w.sendAs(alice, w.decision(got.ID, approve(ids[0])))
		var state *task.StateError
		if !errors.As(err, &state) || state.Decided == nil || state.Decided.Reason != approval.ReasonDecided || !strings.Contains(err.Error(), `approved by "alice"`) {
			t.Errorf("the same decision again = %v, want a StateError that says what was decided", err)
		}
	})
}

func TestRejectNeverRuns(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		got := w.send(w.calls("transfer", args{"amount": 100, "to": "bob"}))
		done := w.send(w.decision(got.ID, reject(w.pending(got)[0], "too much")))
		w.wantState(done, a2a.TaskStateCanceled)
		w.wantRuns("transfer", 0)
	})
}

func TestPartialAnswers(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		got := w.send(w.calls("transfer", args{"amount": 1, "to": "a"}, "echo", args{}, "transfer", args{"amount": 2, "to": "b"}))
		w.wantState(got, a2a.TaskStateInputRequired)
		w.wantRuns("echo", 1)
		ids := w.pending(got)
		if len(ids) != 2 {
			t.Fatalf("pending = %v, want two", ids)
		}
		got = w.send(w.decision(got.ID, approve(ids[1])))
		w.wantState(got, a2a.TaskStateInputRequired)
		if left := w.pending(got); len(left) != 1 || left[0] != ids[0] {
			t.Errorf("pending = %v, want %s", left, ids[0])
		}
		got = w.send(w.decision(got.ID, reject(ids[0], "")))
		w.wantState(got, a2a.TaskStateCompleted)
		w.wantRuns("transfer", 1)
	})
}

func TestNoDecisionAsksAgain(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		got := w.send(w.calls("transfer", args{"amount": 1, "to": "a"}))
		m := w.reply(got.ID, a2a.NewTextPart("what is this about"))
		again := w.send(m)
		w.wantState(again, a2a.TaskStateInputRequired)
		if len(w.pending(again)) != 1 {
			t.Error("the question was not asked again")
		}
		m = w.reply(got.ID, a2a.NewTextPart(" Yes "))
		w.wantState(w.send(m), a2a.TaskStateCompleted)
	})
}

func TestStream(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		sent := w.sent(w.calls("stream", args{"n": 3000}))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				rest, err := w.engine.Stream(w.ctx(), alice, sent, func(*engine.StreamStart) error { return nil })
				if err != nil {
					t.Errorf("Stream() = %v", err)
					return
				}
				last, events := uint64(0), 0
				err = rest.Follow(w.ctx(), func(page []engine.Event) error {
					for _, e := range page {
						if e.Pub != last+1 {
							t.Errorf("event %d follows %d", e.Pub, last)
						}
						last = e.Pub
						events++
					}
					return nil
				})
				if err != nil || events < 3003 {
					t.Errorf("Follow() = %v after %d events", err, events)
				}
			})
		}
		wg.Wait()
		got := w.await(sent)
		w.wantState(got, a2a.TaskStateCompleted)
		if n := len(got.Artifacts[0].Parts); n != 3000 {
			t.Errorf("artifact has %d parts, want 3000", n)
		}
	})
}

// streamed reads the stream of an answer to its end, which must be without a gap. It returns
// the task with which the stream begins, and the kinds of the events that follow.
func (w *world) streamed(sent *engine.Sent) (first *a2a.Task, kinds []string) {
	w.t.Helper()
	var seq, pub uint64
	rest, err := w.engine.Stream(w.ctx(), alice, sent, func(s *engine.StreamStart) error {
		first, seq, pub = w.task(s.View), s.Header.Seq, s.Header.Pub
		return nil
	})
	if err != nil {
		w.t.Fatalf("Stream() = %v", err)
	}
	if err := rest.Follow(w.ctx(), func(page []engine.Event) error {
		for _, e := range page {
			if e.Seq <= seq || e.Pub != pub+1 {
				w.t.Errorf("event %d (%d) follows %d (%d)", e.Seq, e.Pub, seq, pub)
			}
			seq, pub = e.Seq, e.Pub
			kind, _, _ := strings.Cut(strings.TrimPrefix(string(e.Data), `{"`), `"`)
			kinds = append(kinds, kind)
		}
		return nil
	}); err != nil {
		w.t.Fatalf("Follow() = %v", err)
	}
	return first, kinds
}

// The stream of an answer begins with the task as the answer left it, also when its reader
// comes so late that the task has ended: whoever reads events only misses nothing.
func TestStreamOfAnAnswer(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		got := w.send(w.calls("transfer", args{"amount": 1, "to": "a"}))
		m := w.decision(got.ID, approve(w.pending(got)[0]))
		sent := w.sent(m)
		w.settled(got.ID, a2a.TaskStateCompleted)
		first, kinds := w.streamed(sent)
		w.wantState(first, a2a.TaskStateWorking)
		if n := len(first.History); n != 3 || first.History[2].ID != m.ID || len(first.Artifacts) > 0 {
			t.Errorf("the stream begins with %d artifacts and the history %v, want the answer as its last message", len(first.Artifacts), first.History)
		}
		if want := []string{"artifactUpdate", "statusUpdate"}; !slices.Equal(kinds, want) {
			t.Errorf("then come %v, want %v", kinds, want)
		}
	})
}

func TestBadCalls(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		for _, tc := range []struct {
			name string
			m    *a2a.Message
			says string
		}{
			{"unknown tool", w.calls("nothing", args{}), "nothing"},
			{"wrong type", w.calls("write", args{"amount": "x", "to": "bob"}), "/amount"},
			{"missing", w.calls("write", args{"amount": 1}), "to"},
			{"panics", w.calls("panic", args{}), "panicked"},
			{"fails", w.calls("fail", args{}), "says no"},
		} {
			got := w.send(tc.m)
			w.wantState(got, a2a.TaskStateFailed)
			if text := statusText(got); !strings.Contains(text, tc.says) {
				t.Errorf("%s: status says %q, want %q in it", tc.name, text, tc.says)
			}
		}
	})
}

func TestCancel(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		parked := w.send(w.calls("transfer", args{"amount": 1, "to": "a"}))
		id, _ := store.ParseTaskID(string(parked.ID))
		for range 2 {
			if err := w.engine.Cancel(w.ctx(), alice, id); err != nil {
				t.Fatalf("Cancel() = %v", err)
			}
		}
		w.wantState(w.get(parked.ID), a2a.TaskStateCanceled)
		running := w.sent(w.calls("stubborn", args{}))
		w.until("the call runs", func() bool { return w.tools.count("stubborn") == 1 })
		if err := w.engine.Cancel(w.ctx(), alice, running.Task); err != nil {
			t.Fatalf("Cancel() = %v", err)
		}
		w.wantState(w.await(running), a2a.TaskStateCanceled)
		w.tools.release()
		w.until("the late result is recorded", func() bool { return w.audit("finished_late") > 0 })
		done := w.send(w.calls("echo", args{}))
		id, _ = store.ParseTaskID(string(done.ID))
		var state *task.StateError
		if err := w.engine.Cancel(w.ctx(), alice, id); !errors.As(err, &state) || !state.NotCancelable {
			t.Errorf("Cancel() of a completed task = %v, want not cancelable", err)
		}
	})
}

// audit counts entries.
func (w *world) audit(what string) int {
	w.t.Helper()
	n := 0
	var after uint64
	for {
		entries, err := w.store.Audit(w.ctx(), after, 1000)
		w.must(err)
		if len(entries) == 0 {
			return n
		}
		for _, e := range entries {
			after = e.N
			if strings.Contains(string(e.Data), `"what":"`+what+`"`) {
				n++
			}
		}
	}
}

// wantAudited checks how many entries there are.
func (w *world) wantAudited(what string, want int) {
	w.t.Helper()
	if n := w.audit(what); n != want {
		w.t.Errorf("%d entries of the audit are %s, want %d", n, what, want)
	}
}

func TestSuspensions(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		w.wantState(w.send(w.calls("sleep", args{})), a2a.TaskStateCompleted)

		got := w.send(w.calls("confirm", args{"x": 1}))
		w.wantState(got, a2a.TaskStateInputRequired)
		if w.tools.count("confirm") != 0 {
			t.Fatal("the tool continued before it was confirmed")
		}
		w.wantState(w.send(w.decision(got.ID, approve(w.pending(got)[0]))), a2a.TaskStateCompleted)
		w.wantRuns("confirm", 1)

		got = w.send(w.calls("confirm", args{"x": 2}))
		w.wantState(w.send(w.decision(got.ID, reject(w.pending(got)[0], ""))), a2a.TaskStateCanceled)
		w.wantRuns("confirm", 1)

		got = w.send(w.calls("question", args{}))
		w.wantState(got, a2a.TaskStateInputRequired)
		answer := map[string]any{"id": w.pending(got)[0], "decision": "respond", "response": "the blue one"}
		w.wantState(w.send(w.decision(got.ID, answer)), a2a.TaskStateCompleted)
	})
}

func TestIdempotentSend(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		m := w.calls("write", args{"amount": 1, "to": "bob"})
		first := w.send(m)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				sent, err := w.sendAs(alice, m)
				if err != nil {
					t.Errorf("Send() = %v", err)
					return
				}
				if sent.Task.String() != string(first.ID) {
					t.Errorf("the same message made task %s, want %s", sent.Task, first.ID)
				}
			})
		}
		wg.Wait()
		w.wantRuns("write", 1)
	})
}
