package engine_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

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
		t.Run(fmt.Sprintf("page of %d KiB", page>>10), func(t *testing.T) {
			t.Parallel()
			eachDisk(t, func(t *testing.T, w *world) {
				w.cfg.Page = page
				grow, then := make(chan struct{}), func() {}
				w.wrap = func(h store.Handle) store.Handle { return &listing{h, func() { then() }} }
				w.tools.extra = []tool.Tool{&streamer{fake: fake{name: "grow"}, stream: func(tool.Context, map[string]any) iter.Seq2[*tool.Result, error] {
					return func(yield func(*tool.Result, error) bool) {
						<-grow
						for range 40 {
							if !yield(&tool.Result{Content: strings.Repeat("x", 60<<10), Streaming: true}, nil) {
								return
							}
						}
						yield(&tool.Result{}, nil) // a result, so that the text is not one
					}
				}}}
				w.start()
				sent, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.calls("grow", args{})})
				if err != nil {
					t.Fatal(err)
				}
				w.engine.Processors(1)
				var once sync.Once
				var end func()
				then = func() {
					once.Do(func() {
						close(grow)
						a := w.engine.Answer(alice)
						_, err := a.Await(w.ctx(), sent)
						a.Release()
						if err == nil {
							end, err = w.engine.Heavy(w.ctx(), bob)
						}
						if err != nil {
							t.Error(err)
						}
					})
				}
				a := w.engine.Answer(alice)
				defer a.Release()
				var list *engine.TaskPage
				listed := make(chan error, 1)
				go func() {
					var err error
					list, err = a.List(w.ctx(), engine.Query{Artifacts: true})
					listed <- err
				}()
				if page > 100<<10 {
					w.until("the list waits for a processor", func() bool { return w.engine.AtHeavyWork() == 2 })
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
		t.Run(c.name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				w.cfg.Answers = c.answers
				grow := make(chan struct{})
				w.tools.extra = []tool.Tool{pours(false /* holds */), &streamer{fake: fake{name: "grow"}, stream: func(tool.Context, map[string]any) iter.Seq2[*tool.Result, error] {
					return func(yield func(*tool.Result, error) bool) {
						for i := range 40 {
							if i == 2 {
								<-grow
							}
							if !yield(&tool.Result{Content: strings.Repeat("x", 60<<10), Streaming: true}, nil) {
								return
							}
						}
					}
				}}}
				w.start()
				w.engine.Processors(1)
				id := w.begun(alice, w.calls("grow", args{}))
				synctest.Wait()
				other := w.engine.Answer(bob) // keeps a task that is larger than all from going alone
				defer other.Release()
				if _, err := other.Get(w.ctx(), string(w.pour(bob, 2, 40<<10))); err != nil {
					t.Fatal(err)
				}
				other.Made()
				end, err := w.engine.Heavy(w.ctx(), carol)
				if err != nil {
					t.Fatal(err)
				}
				a, before := w.engine.Answer(alice), w.engine.Taken()
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
		})
	}
}
