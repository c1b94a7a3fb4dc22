package engine_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/rs/zerolog"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task/engine"
)

// lines is a log that can be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) with(what string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), what)
}

// Beyond limits.disk_per_caller a caller makes no more tasks, however many he asks for
// at once; what he has begun continues, and others are not concerned.
func TestDiskOfACaller(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		const limit, messages = 200_000, 60
		log := &lines{}
		bound := func(c *engine.Config) {
			c.Limits.DiskPerCaller = limit
			c.Log = zerolog.New(log)
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
		if n := log.with(`"limit_bytes":200000`); n != 1 {
			t.Errorf("the log says %d times that the limit is near, want once", n)
		}
		if _, err := w.engine.Send(w.ctx(), engine.Send{By: bob, Message: w.calls("echo", args{"text": text})}); err != nil {
			t.Errorf("a message of another caller = %v, want nil", err)
		}
		more := w.message(a2a.NewTextPart(text))
		more.TaskID = waits.ID
		w.wantState(w.send(more), a2a.TaskStateInputRequired)
		if err := w.decide(alice, waits.ID, approval.Answer{ID: w.onlyOne(waits.ID).ID, Verb: approval.Approve}); err != nil {
			t.Errorf("a decision beyond the limit = %v, want nil", err)
		}
		w.wantState(w.ended(waits.ID), a2a.TaskStateCompleted)
		w.restart(bound)
		if _, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.calls("echo", args{"text": text})}); !isFull(err) {
			t.Errorf("a message after a restart = %v, want a DiskError", err)
		}
	})
}

// Beyond limits.disk nobody makes a task.
func TestDiskOfAll(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		w.start(func(c *engine.Config) { c.Limits.Disk = 400_000 })
		waits := w.send(w.calls("transfer", args{"amount": 1, "to": "x"}))
		if full := fill(t, w, alice, 100, noise(5000)); full.Caller || !strings.Contains(full.Error(), "limits.disk ") {
			t.Errorf("a message too many = %+v: %v, want that the store is full", full, full)
		}
		if _, err := w.engine.Send(w.ctx(), engine.Send{By: bob, Message: w.calls("echo", args{"text": noise(300_000)})}); !isFull(err) {
			t.Errorf("a message of another caller = %v, want a DiskError", err)
		}
		if err := w.decide(alice, waits.ID, approval.Answer{ID: w.onlyOne(waits.ID).ID, Verb: approval.Approve}); err != nil {
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
		group.Go(func() { sents[i], errs[i] = w.engine.Send(w.ctx(), engine.Send{By: by, Message: m}) })
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
