package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/auth"
	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

var carol = auth.Principal{Tenant: "acme", Subject: "carol", Roles: []string{auth.RoleRequester}, Method: "test"}

// pours is a tool that streams n chunks of size bytes, and then ends or holds on.
func pours(holds bool) tool.Tool {
	return &streamer{fake: fake{name: "pour"}, stream: func(ctx tool.Context, a map[string]any, yield func(*tool.Result, error) bool) {
		n, _ := a["n"].(float64)
		size, _ := a["size"].(float64)
		text := strings.Repeat("x", int(size))
		for range int(n) {
			if !yield(piece(text), nil) {
				return
			}
		}
		if holds {
			<-ctx.Done()
		}
		yield(&tool.Result{}, nil) // a result, so that the text is not one
	}}
}

// counting is a store that counts the bytes that it hands out.
type counting struct {
	store.Handle
	read atomic.Int64
}

func (s *counting) Read(ctx context.Context, scope store.Scope, id store.TaskID, from store.From, limit store.Limit) (store.LogPage, error) {
	v, err := s.Handle.Read(ctx, scope, id, from, limit)
	n := len(v.Snapshot) + len(v.Bulk)
	for i := range v.Events {
		n += len(v.Events[i].Data)
	}
	s.read.Add(int64(n))
	return v, err
}

// pour makes a task of by with n chunks of size bytes, and waits for its end.
func (w *world) pour(by auth.Principal, n, size int) a2a.TaskID {
	w.t.Helper()
	sent, err := w.sendAs(by, w.calls("pour", args{"n": n, "size": size}))
	if err != nil {
		w.t.Fatalf("Send() = %v", err)
	}
	answer := w.engine.ReserveRead(by)
	defer answer.Release()
	v, err := answer.Await(w.ctx(), sent)
	if err != nil || v.State() != a2a.TaskStateCompleted {
		w.t.Fatalf("Await() = %v, %v; want a completed task", v, err)
	}
	return a2a.TaskID(sent.Task.String())
}

// unread gets a task for answers that nobody releases.
func (w *world) unread(by auth.Principal, id a2a.TaskID) (*engine.ReadReservation, error) {
	a := w.engine.ReserveRead(by)
	_, err := a.Get(w.ctx(), string(id))
	a.Made() // and nobody reads it
	return a, err
}

func wantFull(t *testing.T, err error, own bool) {
	t.Helper()
	var full *engine.AnswersError
	if !errors.As(err, &full) || full.Own != own {
		t.Fatalf("error = %v, want that there is no room for the answer, own %t", err, own)
	}
}

// Answers that nobody reads take no more than there is for answers, one caller's no more
// than half of it, and what they had is there again when they are released.
func TestUnreadAnswersAreBounded(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		const limit = 16 << 20
		w.cfg.Answers = limit
		w.startTools(pours(false /* holds */))
		ids := map[string]a2a.TaskID{}
		for _, by := range []auth.Principal{alice, bob, carol} {
			ids[by.Subject] = w.pour(by, 10, 60<<10) // 600 KiB: 2.4 MiB an answer
		}
		small := w.pour(alice, 1, 100)
		taken := w.engine.Taken()
		if taken != 0 {
			t.Fatalf("%d bytes are taken when no answer is out", taken)
		}
		var answers []*engine.ReadReservation
		for _, c := range []struct {
			by   auth.Principal
			want int
			own  bool // what keeps further ones out
		}{{alice, 3, true}, {bob, 3, true}, {carol, 0, false}} {
			n := 0
			for range 40 {
				a, err := w.unread(c.by, ids[c.by.Subject])
				if w.engine.Taken() > limit {
					t.Fatalf("%d bytes are taken, at most %d are to be", w.engine.Taken(), limit)
				}
				if err != nil {
					wantFull(t, err, c.own)
					continue
				}
				n++
				answers = append(answers, a)
			}
			if n != c.want {
				t.Errorf("%s has %d of 40 answers out, want %d", c.by.Subject, n, c.want)
			}
		}
		// What is small goes all the same, and takes nothing.
		before := w.engine.Taken()
		if _, err := w.unread(alice, small); err != nil || w.engine.Taken() != before {
			t.Errorf("a small task: %v, %d bytes taken for it; want it for nothing", err, w.engine.Taken()-before)
		}
		for _, a := range answers {
			a.Release()
			a.Release()
		}
		if taken := w.engine.Taken(); taken != 0 {
			t.Errorf("%d bytes are taken when all answers have been released", taken)
		}
		if _, err := w.unread(alice, ids["alice"]); err != nil {
			t.Errorf("an answer after that = %v, want nil", err)
		}
	})
}

// A task that is larger than the memory for all answers goes alone.
func TestAnswerLargerThanAllGoesAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newBolt(t))
	w.cfg.Answers = 1 << 20
	w.startTools(pours(false /* holds */))
	large, other := w.pour(alice, 10, 60<<10), w.pour(bob, 2, 40<<10)
	alone, err := w.unread(alice, large)
	if err != nil {
		t.Fatalf("a task of 600 KiB with 1 MiB for answers: %v, want it alone", err)
	}
	_, err = w.unread(bob, other)
	wantFull(t, err, false)
	_, err = w.unread(alice, large)
	wantFull(t, err, true)
	alone.Release()
	first, err := w.unread(bob, other)
	w.must(err)
	_, err = w.unread(alice, large)
	wantFull(t, err, false)
	first.Release()
	if _, err = w.unread(alice, large); err != nil {
		t.Errorf("the large task when nothing else is out = %v, want nil", err)
	}
}

// omitted returns what a task says it lacks.
func omitted(got *a2a.Task) []string {
	var names []string
	list, _ := got.Metadata[task.Omitted].([]any)
	for _, v := range list {
		names = append(names, fmt.Sprint(v))
	}
	return names
}

// What a caller has done is answered although there is no room for the whole task: with
// less of it, which its metadata say.
func TestWhatIsDoneIsAnsweredWithoutRoom(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Answers = 1 << 20
		w.cfg.Planner = &stepper{n: 3, inline: true, step: func(i int) *task.Step {
			switch i {
			case 0:
				return &task.Step{Calls: []task.PlannedCall{{Tool: "pour", Args: json.RawMessage(`{"n":10,"size":61440}`)}}}
			default:
				return &task.Step{Calls: []task.PlannedCall{{Tool: "transfer", Args: json.RawMessage(`{"amount":1,"to":"x"}`)}}}
			}
		}}
		w.startTools(pours(false /* holds */))
		sent := w.sent(w.message(a2a.NewTextPart("go")))
		hog := w.engine.ReserveRead(alice)
		v, err := hog.Await(w.ctx(), sent)
		hog.Made()
		if err != nil || len(omitted(w.task(v))) > 0 || len(w.task(v).Artifacts) == 0 {
			t.Fatalf("Await() with room = %v, want all of the task", err)
		}
		id := sent.Task
		check := func(what string, v *task.View, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s without room = %v, want the task without its artifacts", what, err)
			}
			got := w.task(v)
			if len(got.Artifacts) > 0 || !slices.Contains(omitted(got), "artifacts") || got.ID != a2a.TaskID(id.String()) {
				t.Errorf("%s without room has %d artifacts, and says that it lacks %v", what, len(got.Artifacts), omitted(got))
			}
		}
		_, err = w.unread(alice, a2a.TaskID(id.String()))
		wantFull(t, err, true)
		a := w.engine.ReserveRead(alice)
		again, err := a.Await(w.ctx(), sent)
		check("Await()", again, err)
		if got := w.task(again); got.Status.Message == nil {
			t.Error("the question is missing")
		}
		v, err = a.Accepted(w.ctx(), sent)
		check("Accepted()", v, err)
		a.Made()
		first := 0
		m := w.decision(a2a.TaskID(id.String()), map[string]any{"id": w.pending(w.task(again))[0], "decision": "approve"})
		sent = w.sent(m)
		_, err = w.engine.Stream(w.ctx(), alice, sent, func(s *engine.StreamStart) error {
			first++
			check("Stream()", s.View, nil)
			return nil
		})
		if err != nil || first != 1 {
			t.Fatalf("Stream() = %v, begun %d times", err, first)
		}
		v, err = a.Cancel(w.ctx(), id)
		check("Cancel()", v, err)
		if v.State() != a2a.TaskStateCanceled {
			t.Errorf("state = %s, want canceled", v.State())
		}
		hog.Release()
		a.Release()
		if got := w.get(a2a.TaskID(id.String())); len(got.Artifacts) == 0 || len(omitted(got)) > 0 {
			t.Errorf("with room the task has %d artifacts, and says that it lacks %v", len(got.Artifacts), omitted(got))
		}
		if w.engine.Taken() != 0 {
			t.Errorf("%d bytes are taken at the end", w.engine.Taken())
		}
	})
}

// A list without artifacts reads none, however large its tasks are, also after the
// server was started again.
func TestListReadsNoArtifacts(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		var disk *counting
		w.wrap = func(h store.Handle) store.Handle {
			disk = &counting{Handle: h}
			return disk
		}
		w.startTools(pours(false /* holds */))
		var ids []string
		for i := range 3 {
			ids = append(ids, string(w.pour(alice, 12+i, 60<<10))) // 720 KiB
		}
		for range 2 {
			before := disk.read.Load()
			list, err := w.engine.List(w.ctx(), alice, engine.Query{})
			if err != nil || len(list.Tasks) != len(ids) {
				t.Fatalf("List() = %v, want %d tasks", err, len(ids))
			}
			if n := disk.read.Load() - before; n > 64<<10*int64(len(ids)) {
				t.Errorf("a list of %d tasks without artifacts read %d KiB", len(ids), n>>10)
			}
			for _, v := range list.Tasks {
				got, err := v.Task(task.ViewOptions{HistoryLength: -1, NoArtifacts: true})
				if err != nil || !slices.Contains(ids, string(got.ID)) || got.Status.State != a2a.TaskStateCompleted || len(got.History) == 0 {
					t.Errorf("a task of the list = %v, %v; want it completed, with its history", got, err)
				}
				if _, says := got.Metadata[task.Omitted]; says {
					t.Error("a task says that it lacks artifacts that nobody asked for")
				}
			}
			w.restart()
		}
		// Nothing of it is lost for who asks.
		for i, id := range ids {
			got := w.get(a2a.TaskID(id))
			if len(got.Artifacts) != 1 || len(got.Artifacts[0].Parts) != 12+i {
				t.Errorf("task %d has not the artifact that was streamed", i)
			}
		}
	})
}

// A page has no more than its bytes. A task over it comes without artifacts and says so;
// when even that does not fit, it begins the next page.
func TestPageOfBytes(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Page = 100 << 10
		w.startTools(pours(false /* holds */))
		want := map[string]bool{} // id → has its artifacts on a page that asks for them
		for i := range 3 {
			want[string(w.pour(alice, 1, 20<<10))] = true
			if i == 1 {
				want[string(w.pour(alice, 3, 60<<10))] = false
			}
		}
		pages, tasks := 0, 0
		for q := (engine.Query{Artifacts: true}); ; pages++ {
			list, err := w.engine.List(w.ctx(), alice, q)
			w.must(err)
			for _, v := range list.Tasks {
				tasks++
				got := w.task(v)
				whole, known := want[string(got.ID)]
				if lacks := omitted(got); !known || whole != (len(got.Artifacts) == 1) || whole == slices.Contains(lacks, "artifacts") {
					t.Errorf("a task has %d artifacts and says it lacks %v; want it whole: %t", len(got.Artifacts), lacks, whole)
				}
			}
			if q.Cursor = list.NextCursor; q.Cursor == "" {
				break
			}
		}
		if tasks != 4 || pages != 0 {
			t.Errorf("%d tasks on %d pages, want 4 on one", tasks, pages+1)
		}
		// Messages are no artifacts: of these a page takes as many as fit.
		w.stop()
		w.cfg.Planner = &stepper{n: 1, inline: true, step: func(int) *task.Step {
			return &task.Step{Output: []task.Output{{Status: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("done"))}}}
		}}
		w.restart()
		seen := map[string]int{}
		for range 5 {
			w.begin(w.message(a2a.NewTextPart(strings.Repeat("y", 40<<10))))
		}
		pages = 0
		for q := (engine.Query{}); ; {
			list, err := w.engine.List(w.ctx(), alice, q)
			if err != nil || len(list.Tasks) == 0 {
				t.Fatalf("List() = %d tasks, %v; want at least one", len(list.Tasks), err)
			}
			pages++
			size := 0
			for _, v := range list.Tasks {
				seen[v.TaskID()]++
				size += v.Size()
			}
			if size > 120<<10 {
				t.Errorf("a page has %d KiB, want at most about 100", size>>10)
			}
			if q.Cursor = list.NextCursor; q.Cursor == "" {
				break
			}
		}
		if len(seen) != 9 || pages < 3 {
			t.Errorf("%d tasks on %d pages, want 9 on at least 3", len(seen), pages)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("task %s is listed %d times", id, n)
			}
		}
	})
}

// An answer that was released begins again, also when what it was made from was free.
func TestReleasedAnswerBeginsAnew(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.startTools(pours(false /* holds */))
		w.pour(alice, 1, 40<<10)
		a := w.engine.ReserveRead(alice)
		for range 3 {
			if _, err := a.List(w.ctx(), engine.Query{Artifacts: true}); err != nil {
				t.Fatal(err)
			}
			if n := w.engine.Taken(); n != 0 {
				t.Errorf("%d bytes are taken for a list of 40 KiB, want none", n)
			}
			a.Release()
		}
	})
}

// Without room for its artifacts, the task with which the stream of an answer begins says so,
// and what comes after it has no gap.
func TestStreamOfAnAnswerWithoutRoom(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Answers = 1 << 20
		w.startTools(pours(false /* holds */))
		got := w.send(w.calls("pour", args{"n": 10, "size": 60 << 10}, "transfer", args{"amount": 1, "to": "x"}))
		hog, err := w.unread(alice, got.ID)
		w.must(err)
		defer hog.Release()
		sent := w.sent(w.decision(got.ID, approve(w.pending(got)[0])))
		w.must(w.engine.Follow(w.ctx(), alice, sent.Task, 0, engine.UntilInput, func([]engine.Event) error { return nil }))
		first, kinds := w.streamed(sent)
		w.wantState(first, a2a.TaskStateWorking)
		if len(first.Artifacts) > 0 || !slices.Contains(omitted(first), "artifacts") {
			t.Errorf("the stream begins with %d artifacts and says that it lacks %v", len(first.Artifacts), omitted(first))
		}
		if want := []string{"artifactUpdate", "statusUpdate"}; !slices.Equal(kinds, want) {
			t.Errorf("then come %v, want %v", kinds, want)
		}
	})
}

// listing is a store in which something happens while a list is read.
type listing struct {
	store.Handle
	then func()
}

func (s *listing) Tasks(ctx context.Context, scope store.Scope, q store.Query) (store.TaskPage, error) {
	p, err := s.Handle.Tasks(ctx, scope, q)
	s.then()
	return p, err
}

// A task that grows while a page of a list is made takes no more of the memory for
// answers than was taken for it, and no more of the page; when it is large then, it is
// read by who has a processor for that.
func TestTaskThatGrowsWhileItIsListed(t *testing.T) {
	t.Parallel()
	for _, page := range []int64{100 << 10, 16 << 20} {
		runInMemory(t, fmt.Sprintf("page of %d KiB", page>>10), func(t *testing.T, w *world) {
			w.cfg.Page = page
			grow, then := make(chan struct{}), func() {}
			w.wrap = func(h store.Handle) store.Handle { return &listing{h, func() { then() }} }
			w.startTools(&streamer{fake: fake{name: "grow"}, stream: func(_ tool.Context, _ map[string]any, yield func(*tool.Result, error) bool) {
				<-grow
				for range 40 {
					if !yield(piece(strings.Repeat("x", 60<<10)), nil) {
						return
					}
				}
				yield(&tool.Result{}, nil) // a result, so that the text is not one
			}})
			sent := w.sent(w.calls("grow", args{}))
			w.engine.Processors(1)
			var once sync.Once
			var end func()
			then = func() {
				once.Do(func() {
					close(grow)
					a := w.engine.ReserveRead(alice)
					_, err := a.Await(w.ctx(), sent)
					a.Release()
					if err == nil {
						end, err = w.engine.Processor(w.ctx(), bob)
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			a := w.engine.ReserveRead(alice)
			defer a.Release()
			var list *engine.TaskPage
			listed := make(chan error, 1)
			go func() {
				var err error
				list, err = a.List(w.ctx(), engine.Query{Artifacts: true})
				listed <- err
			}()
			if page > 100<<10 {
				w.until("the list waits for a processor", func() bool { return w.engine.AtProcessors() == 2 })
				end()
			}
			if err := <-listed; err != nil || len(list.Tasks) != 1 {
				t.Fatalf("List() = %v, want one task", err)
			}
			size := len(list.Tasks[0].AppendTask(nil, task.ViewOptions{HistoryLength: -1}))
			if uint64(size) > w.engine.Taken() && size > 100<<10 {
				t.Errorf("a page of at most 100 KiB has a task of %d KiB, for which %d bytes are taken", size>>10, w.engine.Taken())
			}
		})
	}
}

// A task that grows while its answer waits for a processor takes what it needs then of
// the memory for answers, or gets no answer.
func TestTaskThatGrowsWhileItsAnswerWaits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		answers int64
		fits    bool
	}{{"into what there is", 32 << 20, true}, {"beyond what there is", 1 << 20, false}} {
		runInMemory(t, c.name, func(t *testing.T, w *world) {
			w.cfg.Answers = c.answers
			grow := make(chan struct{})
			w.startTools(pours(false /* holds */), &streamer{fake: fake{name: "grow"}, stream: func(_ tool.Context, _ map[string]any, yield func(*tool.Result, error) bool) {
				for i := range 40 {
					if i == 2 {
						<-grow
					}
					if !yield(piece(strings.Repeat("x", 60<<10)), nil) {
						return
					}
				}
			}})
			w.engine.Processors(1)
			id := w.begun(alice, w.calls("grow", args{}))
			synctest.Wait()
			other := w.engine.ReserveRead(bob) // keeps a task that is larger than all from going alone
			defer other.Release()
			if _, err := other.Get(w.ctx(), string(w.pour(bob, 2, 40<<10))); err != nil {
				t.Fatal(err)
			}
			other.Made()
			end, err := w.engine.Processor(w.ctx(), carol)
			w.must(err)
			a, before := w.engine.ReserveRead(alice), w.engine.Taken()
			defer a.Release()
			got := make(chan error, 1)
			var v *task.View
			go func() {
				var err error
				v, err = a.Get(w.ctx(), string(id))
				got <- err
			}()
			synctest.Wait()
			close(grow)
			synctest.Wait()
			end()
			err = <-got
			if c.fits != (err == nil) {
				t.Fatalf("Get() = %v, want one: %t", err, c.fits)
			}
			if err != nil {
				wantFull(t, err, false)
				return
			}
			if size, taken := v.Size(), w.engine.Taken()-before; uint64(size)*4 > taken {
				t.Errorf("an answer from %d KiB has taken %d KiB", size>>10, taken>>10)
			}
		})
	}
}

// Lists reserve the memory for what they read at a time, before they read it.
func TestListReserves(t *testing.T) {
	t.Parallel()
	w := newMemory(t)
	w.cfg = engine.Config{Answers: 3 << 20}
	w.start()
	list := func(by auth.Principal) (*engine.ReadReservation, error) {
		r := w.engine.ReserveRead(by)
		err := r.Reserve(256 << 10)
		return r, err
	}
	first, err := list(alice)
	w.must(err)
	second, err := list(carol)
	w.must(err)
	defer second.Release()
	if got := w.engine.Taken(); got != 2<<20 {
		t.Errorf("%d bytes are reserved, want 2 MiB", got)
	}
	var full *engine.AnswersError
	if _, err := list(alice); !errors.As(err, &full) || !full.Own {
		t.Errorf("a second list of a caller is %v, want no memory", err)
	}
	first.Release()
	third, err := list(alice)
	w.must(err)
	third.Release()
}
