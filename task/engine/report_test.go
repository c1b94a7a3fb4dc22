package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// reported is a status update that says how far a call is.
type reported struct {
	CallID, Tool, Message string
	Done, Total           float64

	state a2a.TaskState
	at    time.Time
	said  bool // it has a message
	size  int
}

// reports returns the reports of a task, and where the newest of its events is.
func (w *world) reports(id a2a.TaskID) (all []reported) {
	w.t.Helper()
	for from := uint64(0); ; {
		p, err := w.store.Read(w.ctx(), store.System(), mustID(id), store.After(from), store.Limit{Events: 1000})
		w.must(err)
		for _, e := range p.Events {
			from = e.Seq
			var r struct {
				StatusUpdate *struct {
					Status struct {
						State     a2a.TaskState
						Timestamp time.Time
						Message   json.RawMessage
					}
					Metadata map[string]json.RawMessage
				}
			}
			if !e.Public {
				continue
			}
			w.must(json.Unmarshal(e.Data, &r))
			if r.StatusUpdate == nil || r.StatusUpdate.Metadata[task.ProgressKey] == nil {
				continue
			}
			x := reported{state: r.StatusUpdate.Status.State, at: r.StatusUpdate.Status.Timestamp, said: r.StatusUpdate.Status.Message != nil, size: len(e.Data)}
			w.must(json.Unmarshal(r.StatusUpdate.Metadata[task.ProgressKey], &x))
			all = append(all, x)
		}
		if !p.More {
			return all
		}
	}
}

// working is a tool that does something for a while.
func working(do func(ctx tool.Context)) *fake {
	return &fake{name: "work", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
		do(ctx)
		return map[string]any{}, nil
	}}
}

// reporting runs a tool that reports, in a bubble, and returns what it has reported.
func reporting(t *testing.T, do func(ctx tool.Context), change ...func(*engine.Config)) (w *world, id a2a.TaskID, all []reported) {
	t.Helper()
	w = newMemory(t)
	w.tools.extra = []tool.Tool{working(do)}
	w.start(func(c *engine.Config) {
		c.Limits.ToolTimeout = 100 * time.Hour
		for _, f := range change {
			f(c)
		}
	})
	id = w.begin(w.calls("work", args{}))
	for limit := time.Now().Add(100 * time.Hour); w.header(id).Phase != store.Final && time.Now().Before(limit); {
		time.Sleep(time.Minute)
	}
	all = w.reports(id)
	return w, id, all
}

// A report is a working update with metadata and no message; the task has the newest one
// until its next status.
func TestReport(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		hold := make(chan struct{})
		w.startTools(working(func(ctx tool.Context) {
			tool.Report(ctx, tool.Progress{Done: 1})
			time.Sleep(time.Second)
			tool.Report(ctx, tool.Progress{Done: 2.5, Total: 10, Message: "half\x00 <way>\nthere"})
			<-hold
		}))
		id := w.begin(w.calls("work", args{}))
		pass(time.Minute)
		got, before := w.get(id), w.header(id)
		meta, _ := json.Marshal(got.Metadata[task.ProgressKey])
		want := `{"callId":"c1.1","done":2.5,"message":"half\\u0000 \u003cway\u003e\nthere","tool":"work","total":10}`
		if string(meta) != want || got.Status.State != a2a.TaskStateWorking || got.Metadata["https://google.github.io/adk-docs/a2a/a2a-extension/"] != true {
			t.Errorf("the metadata of the task is %s, %v; want %s", meta, got.Metadata, want)
		}
		if !got.Status.Timestamp.Equal(before.StatusTime.Time()) {
			t.Errorf("the status is of %v, for lists of %v", got.Status.Timestamp, before.StatusTime.Time())
		}
		close(hold)
		synctest.Wait()
		all := w.reports(id)
		if len(all) != 2 || all[0].Done != 1 || all[0].Total != 0 || all[0].CallID != "c1.1" || all[0].Tool != "work" {
			t.Errorf("reports = %+v", all)
		}
		for _, r := range all {
			if r.said || r.state != a2a.TaskStateWorking {
				t.Errorf("a report has state %s, a message: %t", r.state, r.said)
			}
		}
		got = w.get(id)
		if got.Status.State != a2a.TaskStateCompleted || got.Metadata[task.ProgressKey] != nil {
			t.Errorf("at its end the task is %s with metadata %v", got.Status.State, got.Metadata)
		}
	})
}

// At most four reports a second are published, the newest of those that came; after a
// while fewer. What is not published costs nothing.
func TestReportsAreLimited(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		every    time.Duration
		n        int
		min, max int
	}{
		{"a million at once", 0, 1_000_000, 1, 2},
		{"often, for 10 s", time.Millisecond, 10_000, 39, 41},
		{"often, for an hour", 50 * time.Millisecond, 72_000, 1100, 1300},
		{"now and then", time.Second, 50, 50, 50},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, id, all := reporting(t, func(ctx tool.Context) {
					for i := range tc.n {
						tool.Report(ctx, tool.Progress{Done: float64(i), Total: float64(tc.n), Message: "at work"})
						if tc.every > 0 {
							time.Sleep(tc.every)
						}
					}
					time.Sleep(time.Minute)
				})
				if len(all) < tc.min || len(all) > tc.max {
					t.Errorf("%d reports are published, want %d to %d", len(all), tc.min, tc.max)
				}
				for i := 1; i < len(all); i++ {
					if gap := all[i].at.Sub(all[i-1].at); gap < 250*time.Millisecond || all[i].Done <= all[i-1].Done {
						t.Fatalf("report %d of %v comes %v after %v", i, all[i].Done, gap, all[i-1].Done)
					}
				}
				if last := all[len(all)-1]; last.Done != float64(tc.n-1) {
					t.Errorf("the last report is of %v, want the newest, %d", last.Done, tc.n-1)
				}
				if n := w.header(id).Bytes; n > 1<<20 {
					t.Errorf("the log has %d bytes", n)
				}
			})
		})
	}
}

// Reports that are not numbers are ignored, and a long message is cut.
func TestOddReports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		messages := []string{strings.Repeat("é", 5000), strings.Repeat("\x01", 1000), "\xff\xfe", strings.Repeat("x", 1024)}
		_, _, all := reporting(t, func(ctx tool.Context) {
			for _, n := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				tool.Report(ctx, tool.Progress{Done: n})
				tool.Report(ctx, tool.Progress{Total: n})
			}
			for _, m := range messages {
				tool.Report(ctx, tool.Progress{Done: -1, Total: math.MaxFloat64, Message: m})
				time.Sleep(time.Second)
			}
			for _, n := range []float64{1, 2, math.NaN()} { // the last takes the place of none that waits
				tool.Report(ctx, tool.Progress{Done: n, Message: fmt.Sprint(n)})
			}
			time.Sleep(time.Second)
		})
		var got []string
		for _, r := range all {
			if got = append(got, r.Message); len(r.Message) > 1024 {
				t.Errorf("a message has %d bytes", len(r.Message))
			}
		}
		want := []string{strings.Repeat("é", 510) + "…", strings.Repeat(`\u0001`, 170) + "\\…", "\ufffd\ufffd", messages[3], "1", "2"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("messages (-want +got):\n%s", diff)
		}
	})
}

// Reports never fill a log: they count as output of their call, of which they take a
// small part, and do not fail it.
func TestReportsFillNoLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 100_000
		w, id, all := reporting(t, func(ctx tool.Context) {
			for i := range 1000 {
				tool.Report(ctx, tool.Progress{Done: float64(i), Message: strings.Repeat("x", 1000)})
				time.Sleep(time.Second)
			}
		}, func(c *engine.Config) { c.Limits.Output = limit })
		total := 0
		for _, r := range all {
			total += r.size
		}
		if total == 0 || total > limit/16 {
			t.Errorf("reports take %d bytes of %d", total, limit)
		}
		if s := w.get(id).Status.State; s != a2a.TaskStateCompleted {
			t.Errorf("the task is %s", s)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a log that is full
		w, id, all := reporting(t, func(ctx tool.Context) {
			for i := range 1000 {
				tool.Report(ctx, tool.Progress{Done: float64(i), Message: strings.Repeat("x", 1000)})
				time.Sleep(time.Second)
			}
		}, func(c *engine.Config) { c.Limits.Event, c.Limits.Task = 80<<10, 200<<10 })
		if s := w.get(id).Status.State; s != a2a.TaskStateCompleted || len(all) == 0 || w.header(id).Bytes > 100<<10 {
			t.Errorf("the task is %s after %d reports, its log has %d bytes", s, len(all), w.header(id).Bytes)
		}
	})
}

// A report leaves the status as it is: a message of the task's status remains, and a call
// that has ended, pauses or was canceled reports nothing.
func TestReportLeavesTheStatus(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		hold, late := make(chan struct{}), make(chan struct{})
		w.startTools(working(func(ctx tool.Context) {
			<-hold
			tool.Report(ctx, tool.Progress{Done: 1})
			<-ctx.Done()
			tool.Report(ctx, tool.Progress{Done: 2})
			go func() {
				<-late
				tool.Report(ctx, tool.Progress{Done: 3})
			}()
		}))
		id := w.begun(alice, w.calls("transfer", args{"amount": 1, "to": "bob"}, "work", args{}))
		before := w.get(id)
		if len(w.pending(before)) != 1 || before.Status.State != a2a.TaskStateWorking {
			t.Fatalf("the task is %s and asks for %v", before.Status.State, w.pending(before))
		}
		close(hold)
		synctest.Wait()
		got := w.get(id)
		if len(w.pending(got)) != 1 || got.Metadata[task.ProgressKey] == nil || len(got.History) != len(before.History) {
			t.Errorf("after a report the task asks for %v, with metadata %v and a history of %d", w.pending(got), got.Metadata, len(got.History))
		}
		w.cancel(id)
		time.Sleep(time.Minute)
		close(late)
		time.Sleep(time.Minute)
		if all := w.reports(id); len(all) != 1 {
			t.Errorf("reports = %+v, want only that of the running call", all)
		}
		if s := w.get(id).Status.State; s != a2a.TaskStateCanceled {
			t.Errorf("the task is %s", s)
		}
	})
}

// A report conflicts with nothing that others write, and what a turn folds is what the
// log says.
func TestReportsBesideChunks(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.startTools(&streamer{fake: fake{name: "run"}, stream: func(ctx tool.Context, _ map[string]any, yield func(*tool.Result, error) bool) {
			for i := range 200 {
				tool.Report(ctx, tool.Progress{Done: float64(i)})
				if !yield(piece(strings.Repeat("x", 4000)), nil) {
					return
				}
			}
			yield(nil, errors.New("broken"))
		}})
		got := w.ended(w.begin(w.calls("run", args{}, "stream", args{"n": 20})))
		if len(w.reports(got.ID)) == 0 || len(got.Artifacts) != 2 || len(got.Artifacts[0].Parts)+len(got.Artifacts[1].Parts) < 220 {
			t.Errorf("%d reports, artifacts %d", len(w.reports(got.ID)), len(got.Artifacts))
		}
		w.readable(got.ID)
	})
}

// A tool that looks after its work while its question is open reports nothing: the task
// waits for input meanwhile, and is not said to be working.
func TestReportWhileTheTaskWaits(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		looks := 0
		w.startTools(&fake{name: "work", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
			if again, ok := tool.Resumed(ctx); ok && len(again.Answers) > 0 {
				tool.Report(ctx, tool.Progress{Done: 1})
				return map[string]any{}, nil
			} else if ok {
				looks++
				tool.Report(ctx, tool.Progress{Done: 0.5})
			}
			return nil, &tool.Suspension{Asks: []tool.Question{{ID: "q", Kind: tool.AskQuestion, Hint: "?"}}, Wake: time.Now().Add(time.Minute)}
		}})
		id := w.begin(w.calls("work", args{}))
		time.Sleep(3*time.Minute + time.Second)
		if all := w.reports(id); looks != 3 || len(all) != 0 {
			t.Errorf("the tool has looked %d times and reported %+v, want 3 times and nothing", looks, all)
		}
		w.wantState(w.get(id), a2a.TaskStateInputRequired)
		w.wantState(w.send(w.decision(id, respond(w.onlyOne(id).ID))), a2a.TaskStateCompleted)
		if all := w.reports(id); len(all) != 1 {
			t.Errorf("the task has reported %+v, want one report of the call that runs on with its answer", all)
		}
	})
}
