package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"a2a-server/approval"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// A tool that wants to be woken at an odd time has its call woken, or ended; the rest of
// its task continues.
func TestOddWakeTimes(t *testing.T) {
	for name, at := range map[string]time.Time{
		"the epoch": time.Unix(0, 0), "before it": time.Unix(-1, 0), "a moment after nothing": time.Time{}.Add(1), "the year 12000": time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				seen := newWitness()
				w.tools.extra = []tool.Tool{&fake{name: "odd", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
					if _, ok := tool.Resumed(ctx); ok {
						return map[string]any{}, nil
					}
					return nil, &tool.Suspension{Wake: at}
				}}}
				w.start(func(c *engine.Config) { c.Planner = seen })
				id := w.begin(w.calls("odd", args{}, "write", args{"amount": 1, "to": "x"}))
				time.Sleep(time.Hour)
				got := w.get(id)
				if _, ok := seen.result(id, "c1.2"); !ok && got.Status.State.Terminal() {
					t.Errorf("the whole task is %s: %s", got.Status.State, statusText(got))
				}
			})
		})
	}
}

// The audit says who canceled a task.
func TestCancelIsAuditedWithItsPrincipal(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		id := w.begin(w.calls("transfer", args{"amount": 1, "to": "x"}))
		synctest.Wait()
		if err := w.engine.Cancel(w.ctx(), alice, mustID(id)); err != nil {
			t.Fatal(err)
		}
		if a := find(w.audits(id), approval.AuditCanceled); a == nil || a.By.Subject != "alice" {
			t.Errorf("audit of the cancel = %+v, want alice", a)
		}
	})
}

// What a tool has returned before the server stops is recorded, as it is when it returns
// after that.
func TestResultReturnedBeforeStop(t *testing.T) {
	w := newMemory(t)
	first, second := make(chan struct{}), make(chan struct{})
	returned := make(chan struct{})
	in := make(chan struct{})
	out := make(chan struct{})
	var armed atomic.Bool
	w.tools.extra = []tool.Tool{
		&fake{name: "a", call: func(tool.Context, map[string]any) (map[string]any, error) { <-first; return map[string]any{}, nil }},
		&fake{name: "b", call: func(tool.Context, map[string]any) (map[string]any, error) {
			<-second
			defer close(returned)
			return map[string]any{"paid": true}, nil
		}},
	}
	w.start(func(c *engine.Config) {
		c.CrashPoint = func(point string) {
			if point == engine.PointStep && armed.CompareAndSwap(true, false) {
				close(in)
				<-out
			}
		}
	})
	id := w.begin(w.calls("a", args{}, "b", args{}))
	armed.Store(true)
	close(first) // the turn writes what came of a
	<-in
	close(second) // and b returns meanwhile
	<-returned
	time.Sleep(20 * time.Millisecond)
	stopped := make(chan struct{})
	go func() { defer close(stopped); w.engine.Stop(0) }()
	time.Sleep(20 * time.Millisecond)
	close(out)
	<-stopped
	all := w.audits(id)
	ok := false
	for _, a := range all {
		ok = ok || a.Call == "c1.2" && (a.What == approval.AuditFinished || a.What == approval.AuditLate)
	}
	if !ok {
		t.Errorf("b has returned its result before the store was closed, and nothing says so: %+v", all)
	}
}

// old is a store that has a snapshot of an earlier program.
type old struct {
	store.Handle
	snapshot *atomic.Pointer[oldSnapshot]
}

type oldSnapshot struct {
	task store.TaskID
	seq  uint64
	data []byte
}

func (o *old) Read(ctx context.Context, s store.Scope, id store.TaskID, from store.From, l store.Limit) (store.LogPage, error) {
	shot := o.snapshot.Load()
	if _, after := from.Seq(); after || shot == nil || shot.task != id {
		return o.Handle.Read(ctx, s, id, from, l)
	}
	v, err := o.Handle.Read(ctx, s, id, store.After(shot.seq), l)
	v.Snapshot = bytes.Clone(shot.data)
	return v, err
}

// An edit that was acknowledged stands, also when an earlier program has made a
// snapshot after it: that did not put the arguments of the edit into the call.
func TestEditInASnapshotOfVersion1(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var shot atomic.Pointer[oldSnapshot]
		w.wrap = func(h store.Handle) store.Handle { return &old{h, &shot} }
		w.cfg.HoldSiblings = true
		w.start()
		id := w.begin(w.calls("transfer", args{"amount": 1, "to": "x"}, "transfer", args{"amount": 2, "to": "y"}))
		synctest.Wait()
		p := w.waiting(id)
		if err := w.decide(bob, id, approval.Answer{ID: p[0].ID, Verb: approval.Edit, Args: []byte(`{"amount":7,"to":"x"}`)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		v, err := w.store.Read(w.ctx(), store.System(), mustID(id), store.After(0), store.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		f := task.NewFold(mustID(id), v.Header.Context)
		for i := range v.Events {
			if err := f.Apply(&v.Events[i]); err != nil {
				t.Fatal(err)
			}
		}
		data, _, err := f.Encode(task.SnapshotParts{Fold: true})
		if err != nil {
			t.Fatal(err)
		}
		shot.Store(&oldSnapshot{mustID(id), v.Header.Seq, version1(t, data)})
		if err := w.decide(bob, id, approval.Answer{ID: p[1].ID, Verb: approval.Approve}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		shot.Store(nil)
		for _, a := range w.waiting(id) {
			t.Errorf("%s was edited to {amount: 7}, and is asked again: %s %s", p[0].ID, a.ID, a.Args)
		}
		w.tools.mu.Lock()
		defer w.tools.mu.Unlock()
		for run := range w.tools.runs {
			t.Logf("ran %s", run)
		}
		if n := w.tools.total["transfer"]; n != 2 {
			t.Errorf("%d transfers, want 2", n)
		}
	})
}

// version1 makes a snapshot as version 1 had it: the arguments of a call that was edited
// and has not started are in its approval only.
func version1(t *testing.T, data []byte) []byte {
	t.Helper()
	var n int
	if _, err := fmt.Sscanf(string(data[1:11]), "%d", &n); err != nil {
		t.Fatal(err)
	}
	var private struct {
		Owner     json.RawMessage  `json:"owner"`
		Messages  json.RawMessage  `json:"messages,omitempty"`
		Steps     []map[string]any `json:"steps"`
		Approvals json.RawMessage  `json:"approvals,omitempty"`
		State     json.RawMessage  `json:"state,omitempty"`
	}
	if err := json.Unmarshal(data[11:11+n], &private); err != nil {
		t.Fatal(err)
	}
	progress, _ := private.Steps[0]["progress"].([]any)
	call, _ := progress[0].(map[string]any)
	if call["state"] != "decided" {
		t.Fatalf("call = %v, want it decided and held", call)
	}
	call["args"] = map[string]any{"amount": 1, "to": "x"}
	raw, err := json.Marshal(private)
	if err != nil {
		t.Fatal(err)
	}
	out := append([]byte{1}, fmt.Sprintf("%010d", len(raw))...)
	out = append(out, raw...)
	return append(out, data[11+n:]...)
}
