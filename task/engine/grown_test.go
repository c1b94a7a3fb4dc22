package engine_test

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"

	"a2a-server/store"
	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// listing is a store in which something happens behind a list.
type listing struct {
	store.Handle
	then func()
}

func (s *listing) Tasks(ctx context.Context, scope store.Scope, q store.Query) (store.Page, error) {
	p, err := s.Handle.Tasks(ctx, scope, q)
	s.then()
	return p, err
}

// A task that grows while a page of a list is made takes no more of the memory for
// answers than was taken for it, and no more of the page.
func TestTaskThatGrowsWhileItIsListed(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		w.cfg.Page = 100 << 10
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
			}
		}}}
		w.start()
		sent, err := w.engine.Send(w.ctx(), engine.Send{By: alice, Message: w.calls("grow", args{})})
		if err != nil {
			t.Fatal(err)
		}
		var once sync.Once
		then = func() {
			once.Do(func() {
				close(grow)
				a := w.engine.Answer(alice)
				defer a.Release()
				if _, err := a.Await(w.ctx(), sent); err != nil {
					t.Error(err)
				}
			})
		}
		a := w.engine.Answer(alice)
		defer a.Release()
		list, err := a.List(w.ctx(), engine.Query{Artifacts: true})
		if err != nil || len(list.Tasks) != 1 {
			t.Fatalf("List() = %v, want one task", err)
		}
		size := len(list.Tasks[0].AppendTask(nil, task.ViewOptions{HistoryLength: -1}))
		if uint64(size) > w.engine.Taken() && size > 100<<10 {
			t.Errorf("a page of at most 100 KiB has a task of %d KiB, for which %d bytes are taken", size>>10, w.engine.Taken())
		}
	})
}
