package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// errSilence is what a tool returns whose request was sent and not answered.
var errSilence = fmt.Errorf("POST /payments: connection reset: %w", tool.ErrOutcomeUnknown)

// A call whose tool does not know what came of it is not failed: a person is asked, and
// reads what the tool says. If a repetition would do no harm, the call fails as after a
// timeout. In no case is it run again by itself.
func TestToolThatDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, is := range []tool.Annotations{
		{}, {ReadOnly: true}, {Idempotent: true}, {Destructive: true}, {Idempotent: true, Destructive: true},
	} {
		for _, verb := range []approval.Verb{approval.Approve, approval.Respond, approval.Reject} {
			t.Run(fmt.Sprintf("%+v %s", is, verb), func(t *testing.T) {
				t.Parallel()
				eachDisk(t, func(t *testing.T, w *world) {
					pay := newKeeper("pay", func(_ tool.Context, n int) (map[string]any, error) {
						if n == 1 {
							return nil, errSilence
						}
						return map[string]any{"paid": n}, nil
					})
					pay.is = is
					seen := newWitness()
					w.cfg.Planner = seen
					w.tools.extra = []tool.Tool{pay}
					w.start()
					id := w.begin(w.calls("pay", args{}))
					synctest.Wait()
					if is.ReadOnly || is.Idempotent {
						w.wantState(w.get(id), a2a.TaskStateFailed)
						if r := w.mustResult(seen, id, "c1.1"); r.Outcome != task.OutcomeError || !strings.Contains(r.Error, "connection reset") {
							t.Errorf("the planner was told %s, %q", r.Outcome, r.Error)
						}
						pay.want(t, visit{call: "c1.1"})
						return
					}
					got := w.get(id)
					w.wantState(got, a2a.TaskStateInputRequired)
					a := w.onlyOne(id)
					if a.Kind != approval.KindOutcome || !strings.Contains(a.Hint, "POST /payments: connection reset.") {
						t.Errorf("a person is asked about the %s: %q", a.Kind, a.Hint)
					}
					if !strings.Contains(statusText(got), "POST /payments: connection reset") {
						t.Errorf("the question does not say what the tool says: %s", statusText(got))
					}
					w.restart() // nobody forgets it
					answer := approval.Answer{ID: a.ID, Verb: verb}
					if verb == approval.Respond {
						answer.Response = []byte(`"paid"`)
					}
					if err := w.decide(bob, id, answer); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					w.ended(id)
					want := map[approval.Verb]task.Outcome{approval.Approve: task.OutcomeOK, approval.Respond: task.OutcomeResponded, approval.Reject: task.OutcomeUnknown}[verb]
					if r := w.mustResult(seen, id, "c1.1"); r.Outcome != want {
						t.Errorf("the call ended %s, want %s", r.Outcome, want)
					}
					if n := len(pay.seen()); n != 1 && verb != approval.Approve || n > 2 {
						t.Errorf("the tool was entered %d times", n)
					}
				})
			})
		}
	}
}

// unknownError says that it wraps tool.ErrOutcomeUnknown, and panics when it is asked
// what it says.
type unknownError struct{}

func (unknownError) Error() string          { panic("no words") }
func (unknownError) Is(target error) bool   { return target == tool.ErrOutcomeUnknown }
func (unknownError) Unwrap() error          { return nil }
func (unknownError) As(target any) (_ bool) { return false }

// Whatever else a tool says or does, a call whose outcome it does not know is unknown: the
// doubt goes to a person.
func TestDoubtComesFirst(t *testing.T) {
	t.Parallel()
	ask := &tool.Suspension{Asks: []tool.Ask{{Kind: tool.AskQuestion, Hint: "which one?"}}, Wake: time.Unix(0, 0)}
	for name, run := range map[string]func(ctx tool.Context) error{
		"and is suspended":       func(tool.Context) error { return errors.Join(ask, errSilence) },
		"and was rejected":       func(tool.Context) error { return errors.Join(tool.ErrConfirmationRejected, errSilence) },
		"and asks by the way":    func(ctx tool.Context) error { _ = tool.RequestConfirmation(ctx, "really?", nil); return errSilence },
		"and has kept something": func(ctx tool.Context) error { return errors.Join(tool.Checkpoint(ctx, []byte(`1`)), errSilence) },
		"and its error panics":   func(tool.Context) error { return unknownError{} },
		"and publishes too much": func(ctx tool.Context) error {
			for range 20 {
				_, _ = ctx.Artifacts().Save(ctx, "page", agent.Part{Text: strings.Repeat("x", 1000)})
			}
			return errSilence
		},
		"and was told to end": func(ctx tool.Context) error { <-ctx.Done(); return errSilence },
		"and hides it": func(tool.Context) error {
			return fmt.Errorf("first\u202e line\nsecond\x00 line: %w", tool.ErrOutcomeUnknown)
		},
		"and says nothing": func(tool.Context) error { return tool.ErrOutcomeUnknown },
		"and says too much": func(tool.Context) error {
			return fmt.Errorf("%s: %w", strings.Repeat("a very long story ", 100_000), tool.ErrOutcomeUnknown)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				w.tools.extra = []tool.Tool{newKeeper("pay", func(ctx tool.Context, _ int) (map[string]any, error) { return nil, run(ctx) })}
				w.cfg.Limits = task.Limits{Output: 10_000, ToolTimeout: time.Second}
				w.start()
				id := w.begin(w.calls("pay", args{}))
				time.Sleep(time.Minute)
				synctest.Wait()
				w.wantState(w.get(id), a2a.TaskStateInputRequired)
				a := w.onlyOne(id)
				if a.Kind != approval.KindOutcome || len(a.Hint) > 20_000 || strings.ContainsAny(a.Hint, "\u202e\x00") {
					t.Errorf("a person is asked about the %s: %.400q", a.Kind, a.Hint)
				}
			})
		})
	}
}

// A result that nobody waits for any more, and that nobody knows, is recorded as what it
// is, also if the tool's error does not say so itself.
func TestLateResultThatIsUnknown(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"says it": errSilence, "does not say it": &quiet{errSilence}} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				runs := newCounted()
				t.Cleanup(runs.open)
				w.tools.extra = []tool.Tool{newKeeper("pay", func(tool.Context, int) (map[string]any, error) {
					runs.hold()
					return nil, err
				})}
				w.start()
				id := w.begin(w.calls("pay", args{}))
				synctest.Wait()
				if err := w.engine.Cancel(w.ctx(), alice, mustID(id)); err != nil {
					t.Fatal(err)
				}
				before := w.header(id)
				runs.open()
				synctest.Wait()
				after := w.header(id)
				w.wantState(w.get(id), a2a.TaskStateCanceled)
				if after.Fence != before.Fence || after.Pub != before.Pub || after.Pending != 0 {
					t.Errorf("the task was %+v, and is %+v", before, after)
				}
				said := ""
				for _, e := range w.audits(id) {
					if e.What == approval.AuditLate {
						said = e.Reason
					}
				}
				if !strings.Contains(said, tool.ErrOutcomeUnknown.Error()) || !strings.Contains(said, "connection reset") {
					t.Errorf("the late result is recorded as %q", said)
				}
			})
		})
	}
}

// quiet wraps an error without its text.
type quiet struct{ err error }

func (*quiet) Error() string   { return "connection reset" }
func (q *quiet) Unwrap() error { return q.err }

// hasty is a tool with a time limit of its own.
type hasty struct {
	*keeper
	limit func() time.Duration
}

func (h *hasty) Timeout() time.Duration { return h.limit() }

// guarded wraps a tool.
type guarded struct{ tool.Tool }

func (g *guarded) Unwrap() tool.Tool { return g.Tool }

// A tool may have more or less time than others. One that says nothing useful has as much.
func TestToolWithATimeLimitOfItsOwn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limit func() time.Duration
		want  time.Duration
	}{
		"less":     {func() time.Duration { return time.Second }, time.Second},
		"more":     {func() time.Duration { return time.Hour }, time.Hour},
		"none":     {func() time.Duration { return 0 }, time.Minute},
		"negative": {func() time.Duration { return -time.Hour }, time.Minute},
		"panics":   {func() time.Duration { panic("no time") }, time.Minute},
	} {
		for _, wrapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s wrapped %t", name, wrapped), func(t *testing.T) {
				inMemory(t, func(t *testing.T, w *world) {
					var took time.Duration
					var h tool.Tool = &hasty{limit: tc.limit, keeper: newKeeper("slow", func(ctx tool.Context, _ int) (map[string]any, error) {
						begun := time.Now()
						<-ctx.Done()
						took = time.Since(begun)
						return nil, ctx.Err()
					})}
					if wrapped {
						h = &guarded{h}
					}
					w.tools.extra = []tool.Tool{h}
					w.cfg.Limits = task.Limits{ToolTimeout: time.Minute}
					w.start()
					id := w.begin(w.calls("slow", args{}))
					synctest.Wait()
					time.Sleep(2 * time.Hour)
					synctest.Wait()
					w.wantState(w.get(id), a2a.TaskStateFailed)
					if took != tc.want {
						t.Errorf("the tool was told to end after %v, want %v", took, tc.want)
					}
				})
			})
		}
	}
}
