package engine_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
	"a2a-server/tool/agent"
)

// Finding E16: messages that come at once make no more tasks of one context wait than
// limits.parked says.
func TestParkedTasksAreBounded(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		const limit, messages = 20, 200
		w.cfg.Limits.Parked = limit
		w.start()
		all := make([]*a2a.Message, messages)
		for i := range all {
			all[i] = w.calls("transfer", args{"amount": 1, "to": "x"})
			all[i].ContextID = "crowded"
		}
		begin := make(chan struct{})
		var group sync.WaitGroup
		sents, errs := make([]*engine.Sent, messages), make([]error, messages)
		for i, m := range all {
			group.Go(func() {
				<-begin
				sents[i], errs[i] = w.sendAs(alice, m)
			})
		}
		close(begin)
		group.Wait()
		var taken []*engine.Sent
		var again *a2a.Message
		for i, err := range errs {
			if err == nil {
				taken, again = append(taken, sents[i]), all[i]
				continue
			}
			if wrong, ok := errors.AsType[*task.InvalidError](err); !ok || wrong.Field != "message.contextId" {
				t.Fatalf("Send() = %v, want an InvalidError about message.contextId", err)
			}
		}
		if len(taken) != limit {
			t.Fatalf("%d tasks were made, want %d", len(taken), limit)
		}
		for _, sent := range taken {
			w.wantState(w.await(sent), a2a.TaskStateInputRequired)
		}
		// What was sent before has its answer; another caller, and another context, their
		// room; and so has this one, when one of its tasks has ended.
		if sent, err := w.sendAs(alice, again); err != nil || !sent.Duplicate {
			t.Errorf("a message that was sent before = %+v, %v, want the task that it made", sent, err)
		}
		one := func(by auth.Principal, contextID string) error {
			m := w.calls("transfer", args{"amount": 1, "to": "x"})
			m.ContextID = contextID
			_, err := w.sendAs(by, m)
			return err
		}
		if err := errors.Join(one(bob, "crowded"), one(alice, "empty")); err != nil {
			t.Errorf("messages to contexts with room: %v", err)
		}
		w.must(w.engine.Cancel(w.ctx(), alice, taken[0].Task))
		if err := one(alice, "crowded"); err != nil {
			t.Errorf("a message after a task of its context has ended = %v, want nil", err)
		}
		if err := one(alice, "crowded"); err == nil {
			t.Errorf("a message beyond %d tasks that wait = nil, want an error", limit)
		}
	})
}

// Beyond limits.disk_per_caller a caller makes no more tasks, however many he asks for
// at once; what he has begun continues, and others are not concerned.
func TestDiskOfACaller(t *testing.T) {
	eachDisk(t, func(t *testing.T, w *world) {
		const limit, messages = 200_000, 60
		var log safeBuffer
		bound := func(c *engine.Config) {
			c.Limits.DiskPerCaller = limit
			c.Log = zerolog.New(&log)
		}
		w.start(bound)
		waits := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}))
		text := noise(5000)
		full := fill(t, w, alice, messages, text)
		if !full.Caller || full.Limit != limit {
			t.Errorf("a message too many = %+v, want that the caller's tasks may use %d bytes", full, limit)
		}
		for _, want := range []string{"limits.disk_per_caller", "raised"} {
			if !strings.Contains(full.Error(), want) {
				t.Errorf("the error says %q, want %q in it", full.Error(), want)
			}
		}
		if n := strings.Count(log.String(), `"limit_bytes":200000`); n != 1 {
			t.Errorf("the log says %d times that the limit is near, want once", n)
		}
		if _, err := w.sendAs(bob, w.calls("echo", args{"text": text})); err != nil {
			t.Errorf("a message of another caller = %v, want nil", err)
		}
		more := w.reply(waits.ID, a2a.NewTextPart(text))
		w.wantState(w.send(more), a2a.TaskStateInputRequired)
		if err := w.decide(alice, waits.ID, approval.Decision{ID: w.onlyOne(waits.ID).ID, Type: approval.Approve}); err != nil {
			t.Errorf("a decision beyond the limit = %v, want nil", err)
		}
		w.wantState(w.ended(waits.ID), a2a.TaskStateCompleted)
		w.restart(bound)
		if _, err := w.sendAs(alice, w.calls("echo", args{"text": text})); !isFull(err) {
			t.Errorf("a message after a restart = %v, want a DiskError", err)
		}
	})
}

// A task that grows to the limit of its caller is told in the log, too.
func TestDiskOfATaskThatGrows(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var log safeBuffer
		w.start(func(c *engine.Config) {
			c.Limits.DiskPerCaller = 200_000
			c.Log = zerolog.New(&log)
		})
		waits := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}))
		for range 4 {
			w.wantState(w.send(w.reply(waits.ID, a2a.NewTextPart(noise(60_000)))), a2a.TaskStateInputRequired)
		}
		if _, err := w.sendAs(alice, w.calls("echo", args{"text": "x"})); !isFull(err) {
			t.Fatalf("a message beyond the limit = %v, want a DiskError", err)
		}
		if n := strings.Count(log.String(), `"limit_bytes":200000`); n != 1 {
			t.Errorf("the log says %d times that the limit is reached, want once", n)
		}
	})
}

// Beyond limits.disk nobody makes a task.
func TestDiskOfAll(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start(func(c *engine.Config) { c.Limits.Disk = 400_000 })
		waits := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}))
		if full := fill(t, w, alice, 100, noise(5000)); full.Caller || !strings.Contains(full.Error(), "limits.disk ") {
			t.Errorf("a message too many = %+v: %v, want that the store is full", full, full)
		}
		if _, err := w.sendAs(bob, w.calls("echo", args{"text": noise(300_000)})); !isFull(err) {
			t.Errorf("a message of another caller = %v, want a DiskError", err)
		}
		if err := w.decide(alice, waits.ID, approval.Decision{ID: w.onlyOne(waits.ID).ID, Type: approval.Approve}); err != nil {
			t.Errorf("a decision beyond the limit = %v, want nil", err)
		}
		w.wantState(w.ended(waits.ID), a2a.TaskStateCompleted)
	})
}

// noise returns a text of n characters that compression does not make much smaller.
func noise(n int) string {
	random := rand.NewChaCha8([32]byte{})
	raw := make([]byte, (n+1)/2)
	_, _ = random.Read(raw) // it never fails
	return hex.EncodeToString(raw)[:n]
}

func isFull(err error) bool {
	_, full := errors.AsType[*engine.DiskError](err)
	return full
}

// fill sends messages at once, of which some have to be taken and some refused, and
// returns a refusal. What a task uses after its create it may use beyond the limit.
func fill(t *testing.T, w *world, by auth.Principal, messages int, text string) *engine.DiskError {
	t.Helper()
	all := make([]*a2a.Message, messages)
	for i := range all {
		all[i] = w.calls("echo", args{"text": text})
	}
	sents, errs := make([]*engine.Sent, messages), make([]error, messages)
	var group sync.WaitGroup
	for i, m := range all {
		group.Go(func() { sents[i], errs[i] = w.sendAs(by, m) })
	}
	group.Wait()
	var refused *engine.DiskError
	taken := 0
	for i, err := range errs {
		switch full, is := errors.AsType[*engine.DiskError](err); {
		case is:
			refused = full
		case err != nil:
			t.Fatalf("Send() = %v, want nil or a DiskError", err)
		default:
			taken++
			w.wantState(w.await(sents[i]), a2a.TaskStateCompleted)
		}
	}
	if refused == nil || taken == 0 {
		t.Fatalf("%d of %d messages were taken, want some of them", taken, messages)
	}
	return refused
}

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
	m := w.reply(id, a2a.NewTextPart(strings.Repeat("x", size)))
	return m
}

// bounded checks that a log is within its limit.
func (w *world) bounded(t *testing.T, id a2a.TaskID) {
	t.Helper()
	if n := w.header(id).Bytes; n > fullMost {
		t.Errorf("the log has %d KiB, want at most %d", n>>10, fullMost>>10)
	}
}

// A tool that saves one artifact after the other is told when the log is full. The
// task comes to its end, whether the tool minds or not, and has room for a result.
func TestFullLogRefusesArtifacts(t *testing.T) {
	t.Parallel()
	for _, minds := range []bool{true, false} {
		for _, same := range []bool{true, false} {
			runInMemory(t, fmt.Sprintf("minds %t same %t", minds, same), func(t *testing.T, w *world) {
				var refused atomic.Int32
				w.cfg.Limits = fullLimits()
				w.startTools(&fake{name: "save", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
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
					return map[string]any{"receipt": strings.Repeat("r", 180_000)}, nil
				}})
				id := w.begin(w.calls("save", args{}))
				got := w.ended(id)
				if refused.Load() == 0 {
					t.Error("60 artifacts of 50 kB were saved, want a refusal")
				}
				if minds {
					w.wantState(got, a2a.TaskStateFailed)
				} else if w.wantState(got, a2a.TaskStateCompleted); artifact(got, "c1.1") == nil {
					t.Error("the result is lost")
				}
				w.bounded(t, id)
			})
		}
	}
}

// A call that is approved when the log is nearly full does not start, or its result is
// kept: nothing happens that nobody can tell of.
func TestFullLogLosesNoResult(t *testing.T) {
	t.Parallel()
	for _, room := range []int{300_000, 100_000, 10_000, 0} {
		for _, size := range []int{100, 150_000} {
			runInMemory(t, fmt.Sprintf("room for %d, result of %d", room, size), func(t *testing.T, w *world) { nearlyFull(t, w, room, size) })
		}
	}
}

func nearlyFull(t *testing.T, w *world, room, size int) {
	runs := newCounted()
	w.cfg.Limits = fullLimits()
	w.startTools(&fake{name: "pay", gated: true, call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
		runs.enter(ctx)
		return map[string]any{"receipt": strings.Repeat("r", size)}, nil
	}})
	got := w.send(w.calls("pay", args{}))
	question := w.pending(got)[0]
	const around = 5000 // what comes with a remark
	for {
		left := fullTask - room - int(w.header(got.ID).Bytes) - around
		if left <= 0 {
			break
		}
		if _, err := w.sendAs(alice, w.remark(got.ID, min(left, 60_000))); err != nil {
			break
		}
	}
	_, err := w.sendAs(alice, w.decision(got.ID, approve(question)))
	w.rest(got.ID)
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
