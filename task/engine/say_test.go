package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/task/internal/rules"
)

// speaker is a planner that speaks while it plans.
type speaker func(ctx context.Context, at *task.Progress) (*task.Step, error)

func (s speaker) Plan(ctx context.Context, at *task.Progress) (*task.Step, error) { return s(ctx, at) }

// ends returns the last step after texts were said. A text that begins with ! replaces the others.
func ends(at *task.Progress, texts ...string) (*task.Step, error) {
	for _, text := range texts {
		text, again := strings.CutPrefix(text, "!")
		if err := at.Say(text, again); err != nil {
			return nil, err
		}
	}
	return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}}, nil
}

// texts returns the text of each artifact by its id.
func texts(t *a2a.Task) map[string]string {
	all := map[string]string{}
	for _, a := range t.Artifacts {
		text := ""
		for _, p := range a.Parts {
			text += p.Text()
		}
		all[string(a.ID)] = text
	}
	return all
}

// wantTexts checks the artifacts of a task, and that each is complete.
func (w *world) wantTexts(id a2a.TaskID, want map[string]string) {
	w.t.Helper()
	if diff := cmp.Diff(want, texts(w.get(id))); diff != "" {
		w.t.Errorf("artifacts (-want +got):\n%s", diff)
	}
	complete, begun := map[string]bool{}, map[string]bool{}
	for _, p := range w.publishedBy(id) {
		if complete[p.ID] = p.Last; p.Append && !begun[p.ID] {
			w.t.Errorf("artifact %s begins with %+v, which is appended", p.ID, p)
		}
		begun[p.ID] = true
	}
	for id, is := range complete {
		if !is {
			w.t.Errorf("artifact %s is not complete", id)
		}
	}
}

// A planner's text is published while it plans, before its step, in an artifact of the step. Text
// may replace what the same plan has said.
func TestPlannerSpeaks(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Planner = speaker(func(_ context.Context, at *task.Progress) (*task.Step, error) {
			switch len(at.Steps) {
			case 0:
				_, err := ends(at, "I look", " it up")
				return &task.Step{Calls: []task.PlannedCall{{Tool: "echo"}}}, err
			case 1: // nothing to say
				return &task.Step{Calls: []task.PlannedCall{{Tool: "echo"}}}, nil
			case 2:
				synctest.Wait() // what comes next is a chunk of its own
				return ends(at, "wrong", "!", "right", "!now ", "right\xff", "")
			}
			return nil, errors.New("too many steps")
		})
		w.start()
		id := w.begin(w.message(a2a.NewTextPart("go")))
		w.wantState(w.ended(id), a2a.TaskStateCompleted)
		got := texts(w.get(id))
		w.wantTexts(id, map[string]string{"s1": "I look it up", "c1.1": got["c1.1"], "c2.1": got["c2.1"], "s3": "now right\ufffd"})
		said, planned := false, false
		for _, e := range w.events(id) {
			said = said || strings.Contains(string(e.Data), "I look")
			if e.Kind == "step.planned.v1" && !said {
				t.Error("the step is in the log before its text")
			}
			planned = planned || e.Kind == "step.planned.v1"
		}
		if !said || !planned {
			t.Error("the log has no text, or no step")
		}
	})
}

// A plan that a crash ends is asked again, and its text replaces the text of before, also if it
// says nothing. A step that is in the log is not asked for again.
func TestPlanSpeaksAgainAfterACrash(t *testing.T) {
	for name, again := range map[string][]string{"with other text": {"the ", "whole"}, "with none": nil} {
		runOnEachDisk(t, name, func(t *testing.T, w *world) {
			var first, second atomic.Int32
			k := w.killer()
			w.cfg.Planner = speaker(func(ctx context.Context, at *task.Progress) (*task.Step, error) {
				if len(at.Steps) == 0 {
					first.Add(1)
					_, err := ends(at, "done")
					return &task.Step{Calls: []task.PlannedCall{{Tool: "echo"}}}, err
				}
				if second.Add(1) > 1 {
					return ends(at, again...)
				}
				if _, err := ends(at, "the first ", "half"); err != nil {
					return nil, err
				}
				<-ctx.Done()
				return nil, context.Cause(ctx)
			})
			w.start()
			id := w.begin(w.message(a2a.NewTextPart("go")))
			synctest.Wait()
			if got := texts(w.get(id))["s2"]; got != "the first half" {
				t.Errorf("the text is %q while the planner speaks", got)
			}
			k.crash()
			w.wantState(w.ended(id), a2a.TaskStateCompleted)
			w.wantTexts(id, map[string]string{"s1": "done", "c1.1": texts(w.get(id))["c1.1"], "s2": strings.Join(again, "")})
			if first.Load() != 1 || second.Load() != 2 {
				t.Errorf("the steps were asked for %d and %d times, want 1 and 2", first.Load(), second.Load())
			}
		})
	}
}

// A planner whose task is canceled is told so, and publishes nothing more; nor does one whose plan
// is over.
func TestPlannerIsSilenced(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var say func(string, bool) error
		late := make(chan error, 1)
		w.cfg.Planner = speaker(func(ctx context.Context, at *task.Progress) (*task.Step, error) {
			say = at.Say
			if _, err := ends(at, "before"); err != nil {
				return nil, err
			}
			<-ctx.Done()
			synctest.Wait()
			late <- at.Say(" after", false)
			return nil, context.Cause(ctx)
		})
		w.start()
		id := w.begin(w.message(a2a.NewTextPart("go")))
		synctest.Wait()
		w.cancel(id)
		if err := <-late; err == nil {
			t.Error("Say() = nil after the task was canceled")
		}
		if err := say("late", true); err == nil {
			t.Error("Say() = nil after the plan")
		}
		w.wantState(w.ended(id), a2a.TaskStateCanceled)
		if got := texts(w.get(id))["s1"]; got != "before" {
			t.Errorf("the text is %q, want what was said before the cancel", got)
		}
	})
}

// A planner waits for the disk, and text that the log has no room for is refused: the task fails
// and says why, and what was said remains.
func TestPlannerSaysTooMuch(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Limits = task.Limits{Task: 1 << 20, Event: 128 << 10, Window: 8 << 10}
		w.cfg.Planner = speaker(func(_ context.Context, at *task.Progress) (*task.Step, error) {
			for {
				if err := at.Say(strings.Repeat("é", 2<<10), false); err != nil {
					return nil, err
				}
			}
		})
		w.start()
		got := w.ended(w.begin(w.message(a2a.NewTextPart("go"))))
		w.wantState(got, a2a.TaskStateFailed)
		if !strings.Contains(statusText(got), rules.ErrLogFull.Error()) {
			t.Errorf("status = %q, want that the log is full", statusText(got))
		}
		if n := len(texts(got)["s1"]); n < 64<<10 {
			t.Errorf("%d bytes of text remain", n)
		}
	})
}

// With WholeText the last chunk has the whole text.
func TestPlannerSaysTheWhole(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Planner = speaker(func(_ context.Context, at *task.Progress) (*task.Step, error) {
			return ends(at, "no", "!one ", "two")
		})
		w.start(func(c *engine.Config) { c.WholeText = true })
		id := w.begin(w.message(a2a.NewTextPart("go")))
		w.ended(id)
		all := w.publishedBy(id)
		if last := all[len(all)-1]; last.Parts != `[{"text":"one two"}]` || last.Append || !last.Last {
			t.Errorf("the last chunk is %+v, want the whole text", last)
		}
	})
}

// A planner is told of the ended tasks of its context, newest first: of the same caller, and no
// more text than it wants.
func TestPlannerIsToldOfEarlierTasks(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		told := make(chan []task.EarlierTask, 8)
		limit := 1000
		w.cfg.Planner = speaker(func(ctx context.Context, at *task.Progress) (*task.Step, error) {
			earlier, err := at.Earlier(ctx, limit)
			if err != nil {
				return nil, err
			}
			told <- earlier
			return ends(at, "answer to ", at.Messages[0].Message.Parts[0].Text())
		})
		w.start()
		in := func(text string) *a2a.Message {
			m := w.message(a2a.NewTextPart(text))
			m.ContextID = "shared"
			return m
		}
		if sent, err := w.sendAs(bob, in("secret")); err != nil {
			t.Fatal(err)
		} else if _, err := w.engine.Await(w.ctx(), sent); err != nil {
			t.Fatal(err)
		}
		<-told
		ids := map[string]string{}
		for _, text := range []string{"one", "two"} {
			ids[text] = string(w.send(in(text)).ID)
			<-told
			pass(2_000_000) // the order is that of the milliseconds
		}
		w.send(w.message(a2a.NewTextPart("elsewhere")))
		if got := <-told; len(got) != 0 {
			t.Errorf("a task of another context was told of %v", got)
		}
		w.send(in("three"))
		want := []task.EarlierTask{
			{ID: ids["two"], Asked: "two", Answered: "answer to two", Said: true, State: a2a.TaskStateCompleted},
			{ID: ids["one"], Asked: "one", Answered: "answer to one", Said: true, State: a2a.TaskStateCompleted},
		}
		if diff := cmp.Diff(want, <-told); diff != "" {
			t.Errorf("Earlier() (-want +got):\n%s", diff)
		}
		limit = 40
		w.send(in("four"))
		if got := <-told; len(got) != 2 || got[0].Asked != "three" {
			t.Errorf("Earlier(40) = %v, want the two newest", got)
		}
	})
}

// The tokens of a caller count for a day, over its tasks and restarts, and for nobody else.
func TestPlannerIsToldWhatWasSpent(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		told := make(chan int, 8)
		w.cfg.Planner = speaker(func(ctx context.Context, at *task.Progress) (*task.Step, error) {
			spent, err := at.Spent(ctx)
			if told <- spent; err != nil {
				return nil, err
			}
			if len(at.Steps) == 0 {
				return &task.Step{Calls: []task.PlannedCall{{Tool: "echo"}}, Tokens: 10}, nil
			}
			return &task.Step{End: &task.End{State: a2a.TaskStateCompleted}, Tokens: 5}, nil
		})
		w.start()
		want := func(first, second int) {
			t.Helper()
			if a, b := <-told, <-told; a != first || b != second {
				t.Errorf("Spent() = %d and %d, want %d and %d", a, b, first, second)
			}
		}
		w.send(w.message(a2a.NewTextPart("one")))
		want(0, 10)
		w.restart()
		w.send(w.message(a2a.NewTextPart("two")))
		want(15, 25)
		if _, err := w.sendAs(bob, w.message(a2a.NewTextPart("of bob"))); err != nil {
			t.Fatal(err)
		}
		want(0, 10)
		pass(24 * time.Hour)
		w.send(w.message(a2a.NewTextPart("tomorrow")))
		want(0, 10)
	})
}

// A text of any size that is said at the end of a plan comes whole, in chunks between characters,
// even if it is several times as long in an event.
func TestPlannerSaysALot(t *testing.T) {
	for name, tc := range map[string]struct {
		text  string
		event int // limit in bytes; 0: the default
	}{
		"long":    {"x" + strings.Repeat("é", 80<<10), 0},
		"escaped": {strings.Repeat("\x01", 24_000), 128 << 10},
	} {
		runInMemory(t, name, func(t *testing.T, w *world) {
			w.cfg.Limits.Event = tc.event
			w.cfg.Planner = speaker(func(_ context.Context, at *task.Progress) (*task.Step, error) { return ends(at, tc.text) })
			w.start()
			id := w.begin(w.message(a2a.NewTextPart("go")))
			w.wantState(w.ended(id), a2a.TaskStateCompleted)
			w.wantTexts(id, map[string]string{"s1": tc.text})
		})
	}
}

// A word that answers the planner does not decide the call that comes next, though it is the first that is asked
// about: the question has a code.
func TestWordAfterThePlannersQuestion(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Planner = &stepper{n: 2, inline: true, step: func(i int) *task.Step {
			if i == 0 {
				return &task.Step{Ask: &task.InputRequest{Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("Shall I settle with Bob?"))}}
			}
			return &task.Step{Calls: []task.PlannedCall{{Tool: "transfer", Args: json.RawMessage(`{"amount":1,"to":"bob"}`)}}}
		}}
		w.start()
		id := w.begin(w.message(a2a.NewTextPart("settle with Bob")))
		w.rest(id)
		for range 2 {
			_, err := w.sendAs(alice, w.reply(id, a2a.NewTextPart("yes")))
			w.must(err)
			synctest.Wait()
		}
		one := w.onlyOne(id)
		if n := w.tools.count("transfer"); n != 0 || one.Code == "" {
			t.Fatalf("the transfer ran %d times, and the question has the code %q", n, one.Code)
		}
		_, err := w.sendAs(alice, w.reply(id, a2a.NewTextPart("yes "+one.Code)))
		w.must(err)
		w.ended(id)
		if n := w.tools.count("transfer"); n != 1 {
			t.Errorf("the transfer ran %d times", n)
		}
	})
}
