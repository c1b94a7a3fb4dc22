package engine_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// The limits of the tests of a log that is full. A log may go beyond its limit by one
// event: that which does not fit any more is found out when it is there.
const (
	fullTask  = 1 << 20
	fullEvent = 256 << 10
	fullMost  = fullTask + fullEvent
)

func fullLimits() task.Limits { return task.Limits{Task: fullTask, Event: fullEvent} }

// remark is a follow-up message that is no decision.
func (w *world) remark(id a2a.TaskID, size int) *a2a.Message {
	m := w.message(a2a.NewTextPart(strings.Repeat("x", size)))
	m.TaskID = id
	return m
}

// bounded checks that a log is within its limit.
func (w *world) bounded(t *testing.T, id a2a.TaskID) {
	t.Helper()
	if n := w.header(id).Bytes; n > fullMost {
		t.Errorf("the log has %d KiB, want at most %d", n>>10, fullMost>>10)
	}
}

// Messages that decide nothing fill a log up to its limit. Beyond it they are refused
// before anything is written, and the task can still be decided.
func TestFullLogRefusesRemarks(t *testing.T) {
	t.Parallel()
	for _, verb := range []approval.Verb{approval.Approve, approval.Reject} {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			eachDisk(t, func(t *testing.T, w *world) {
				w.cfg.Limits = fullLimits()
				w.start()
				got := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}))
				id := w.pending(got)[0]
				var err error
				const most = 40
				n := 0
				seq := uint64(0)
				for err == nil && n < most {
					seq = w.header(got.ID).Seq
					_, err = w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.remark(got.ID, 60_000)})
					n++
				}
				w.bounded(t, got.ID)
				if err == nil {
					t.Errorf("%d remarks of 60 kB were taken, want a refusal", n)
				} else if now := w.header(got.ID).Seq; now != seq {
					t.Errorf("a refused remark has written events %d to %d", seq+1, now)
				}
				if n < 5 {
					t.Errorf("remark %d was refused: %v", n, err)
				}
				_, err = w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.decision(got.ID, map[string]any{"id": id, "decision": string(verb)})})
				if err != nil {
					t.Fatalf("to %s is refused: %v", verb, err)
				}
				w.ended(got.ID)
			})
		})
	}
}

// A tool that saves one artifact after the other is told when the log is full. The
// task comes to its end, whether the tool minds or not.
func TestFullLogRefusesArtifacts(t *testing.T) {
	t.Parallel()
	for _, minds := range []bool{true, false} {
		for _, same := range []bool{true, false} {
			t.Run(fmt.Sprintf("minds %t same %t", minds, same), func(t *testing.T) {
				t.Parallel()
				eachDisk(t, func(t *testing.T, w *world) {
					var refused atomic.Int32
					w.tools.extra = []tool.Tool{&fake{name: "save", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
						text := strings.Repeat("x", 50_000)
						for i := range 60 {
							name := "a"
							if !same {
								name = fmt.Sprint(i)
							}
							if _, err := ctx.Artifacts().Save(ctx, name, agent.Part{Text: text}); err != nil {
								refused.Add(1)
								if minds {
									return nil, err
								}
							}
						}
						return map[string]any{"ok": true}, nil
					}}}
					w.cfg.Limits = fullLimits()
					w.start()
					id := w.begin(w.calls("save", args{}))
					got := w.ended(id)
					if refused.Load() == 0 {
						t.Error("60 artifacts of 50 kB were saved, want a refusal")
					}
					if minds {
						w.wantState(got, a2a.TaskStateFailed)
					}
					w.bounded(t, id)
				})
			})
		}
	}
}

// A planner that publishes step by step ends its task when the log is full, asked
// within a batch or outside of one.
func TestFullLogEndsPlanner(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 40_000)
	for name, output := range map[string]func() task.Output{
		"status": func() task.Output {
			return task.Output{Status: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))}
		},
		"artifact": func() task.Output {
			return task.Output{Artifact: &task.ArtifactPiece{ID: "a", Parts: []*a2a.Part{a2a.NewTextPart(text)}}}
		},
	} {
		for _, inline := range []bool{true, false} {
			for _, each := range []int{1, 30} {
				t.Run(fmt.Sprintf("%s inline %t, %d a step", name, inline, each), func(t *testing.T) {
					t.Parallel()
					eachDisk(t, func(t *testing.T, w *world) {
						w.cfg.Limits = fullLimits()
						w.cfg.Planner = &stepper{n: 60 / each, inline: inline, step: func(int) *task.Step {
							s := &task.Step{}
							for range each {
								s.Output = append(s.Output, output())
							}
							return s
						}}
						w.start()
						id := w.begin(w.message(a2a.NewTextPart("go")))
						w.wantState(w.ended(id), a2a.TaskStateFailed)
						w.bounded(t, id)
					})
				})
			}
		}
	}
}

// A call that is approved when the log is nearly full does not start, or its result is
// kept: nothing happens that nobody can tell of.
func TestFullLogLosesNoResult(t *testing.T) {
	t.Parallel()
	for _, room := range []int{300_000, 100_000, 10_000, 0} {
		for _, size := range []int{100, 150_000} {
			t.Run(fmt.Sprintf("room for %d, result of %d", room, size), func(t *testing.T) {
				t.Parallel()
				eachDisk(t, func(t *testing.T, w *world) { nearlyFull(t, w, room, size) })
			})
		}
	}
}

func nearlyFull(t *testing.T, w *world, room, size int) {
	runs := newCounted()
	w.tools.extra = []tool.Tool{&fake{name: "pay", gated: true, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
		runs.enter(ctx)
		return map[string]any{"receipt": strings.Repeat("r", size)}, nil
	}}}
	w.cfg.Limits = fullLimits()
	w.start()
	got := w.send(w.calls("pay", args{}))
	question := w.pending(got)[0]
	const around = 5000 // what comes with a remark
	for {
		left := fullTask - room - int(w.header(got.ID).Bytes) - around
		if left <= 0 {
			break
		}
		if _, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.remark(got.ID, min(left, 60_000))}); err != nil {
			break
		}
	}
	_, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.decision(got.ID, approve(question))})
	if !w.rested(got.ID) {
		t.Fatal("the task is at work forever")
	}
	kept(t, w, got.ID, runs, size, err)
}

// kept checks that a call has not run, or that its result can be told.
func kept(t *testing.T, w *world, id a2a.TaskID, runs *counted, size int, refused error) {
	t.Helper()
	got := w.get(id)
	switch n := runs.count(); n {
	case 0:
		if got.Status.State == a2a.TaskStateCompleted {
			t.Error("the task is completed, and its call has not run")
		}
	case 1:
		if refused != nil {
			t.Errorf("the approval was refused, and the call has run: %v", refused)
		}
		a := artifact(got, "c1.1")
		if a == nil {
			t.Fatalf("the call has run, and its result is lost: the task is %s, %q", got.Status.State, statusText(got))
		}
		result, _ := a.Parts[0].Data().(map[string]any)
		if receipt, _ := result["receipt"].(string); len(receipt) != size {
			t.Errorf("the result has a receipt of %d bytes, want %d", len(receipt), size)
		}
		w.wantState(got, a2a.TaskStateCompleted)
	default:
		t.Errorf("the call ran %d times", n)
	}
}
