package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/task"
	"a2a-server/task/engine"
	"a2a-server/tool"
)

// slowPresenter presents as another does, after a pause.
type slowPresenter struct {
	task.Presenter
	pause func()
}

func (p *slowPresenter) Metadata() json.RawMessage {
	p.pause()
	return p.Presenter.Metadata()
}

// worker is a tool that has work running elsewhere, which it says whenever it is told to.
type worker struct {
	fake
	mu   sync.Mutex
	told []string
}

func (a *worker) StopJob(_ tool.Context, state json.RawMessage) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = append(a.told, string(state))
	return nil
}

// A checkpoint that becomes durable while a cancel is on its way to the disk is what the
// tool is told of; a call that has kept nothing by then is not told.
func TestCancelOvertakenByACheckpoint(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ before, during, want string }{
		"the first one": {"", `"job 1"`, `["job 1"]`},
		"a newer one":   {`"job 1"`, `"job 2"`, `["job 2"]`},
		"none":          {`"job 1"`, "", `["job 1"]`},
		"none at all":   {"", "", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			inMemory(t, func(t *testing.T, w *world) {
				keep, kept := make(chan string), make(chan error)
				works := &worker{fake: fake{name: "away", call: func(ctx tool.Context, _ map[string]any) (map[string]any, error) {
					for {
						select {
						case state := <-keep:
							kept <- tool.Checkpoint(ctx, json.RawMessage(state))
						case <-ctx.Done():
							return nil, context.Cause(ctx)
						}
					}
				}}}
				now := func(state string) {
					if state == "" {
						return
					}
					keep <- state
					if err := <-kept; err != nil {
						t.Errorf("Checkpoint(%s) = %v", state, err)
					}
				}
				w.tools.extra = []tool.Tool{works}
				p := &slowPresenter{pause: func() {}}
				w.start(func(c *engine.Config) {
					p.Presenter, c.Presenter = c.Presenter, p
				})
				id := w.begin(w.calls("away", args{}))
				synctest.Wait()
				now(tc.before)
				p.pause = sync.OnceFunc(func() { now(tc.during) })
				if err := w.engine.Cancel(w.ctx(), alice, mustID(id)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				w.wantState(w.get(id), a2a.TaskStateCanceled)
				if got := fmt.Sprint(works.told); got != tc.want {
					t.Errorf("the tool is told of %s, want %s", got, tc.want)
				}
				if due := w.dueOf(id); len(due) != 0 {
					t.Errorf("%d due rows remain", len(due))
				}
			})
		})
	}
}
