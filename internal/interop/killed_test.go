package interop

import (
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// streamed is what the tool stream says, over and over.
const streamed = "every event is on the disk before anybody sees it; "

// playKilled kills the server while every client follows a stream, and has each come back
// to the next server on the same data: it subscribes to its task and misses nothing. What
// waited for a decision still does.
func playKilled(parent *testing.T, worlds map[official]world, s *server, again func() *server) {
	ctx, cancel := deadline(parent)
	defer cancel()
	type left struct {
		before *follower
		parked *a2a.Task
		asked  question
	}
	var mu sync.Mutex
	were := map[official]left{}
	all := parent.Run("before", func(t *testing.T) {
		// All at once, however few tests run in parallel: what a stream says until the last one
		// has begun, its tool has to say again.
		var began sync.WaitGroup
		defer began.Wait()
		for o, w := range worlds {
			began.Go(func() {
				t.Run(o.id(), func(t *testing.T) {
					var l left
					l.parked, l.asked = park(ctx, t, w.client, 8, "killed")
					if o.gap("server killed in a stream") == "" {
						m := call("stream", map[string]any{"chunks": 100000, "size": 16, "interval": "50ms"})
						l.before = follow(parent, w.stream(ctx, &a2a.SendMessageRequest{Message: m}))
						l.before.until(t, "the tenth chunk", func() bool { return l.before.chunks == 10 })
					}
					mu.Lock()
					defer mu.Unlock()
					were[o] = l
				})
			})
		}
	})
	if !all {
		return
	}
	s.kill(parent)
	s = again()
	s.recovers = true
	parent.Run("after", func(t *testing.T) {
		for o, w := range worlds {
			l := were[o]
			t.Run(o.id(), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := deadline(t)
				defer cancel()
				w.server = s
				if l.before != nil {
					l.before.untilGone(t)
				}
				if err := w.move(ctx, s.url); err != nil {
					t.Fatal(err)
				}
				done := send(ctx, t, w.client, answer(l.parked, decision(l.asked.ID, "approve", map[string]any{"digest": l.asked.Digest})))
				wantState(t, done, a2a.TaskStateCompleted)
				w.checkRuns(t, l.parked, transfer{8, "killed"})
				if l.before == nil {
					return
				}
				after := follow(t, w.subscribe(ctx, &a2a.SubscribeToTaskRequest{ID: l.before.task}))
				// The tool only reads, so it runs again, from its beginning.
				after.until(t, "all that was seen before, and more", func() bool { return after.chunks > 0 && len(after.text()) > len(l.before.text()) })
				if _, err := w.cancel(ctx, &a2a.CancelTaskRequest{ID: l.before.task}); err != nil {
					t.Fatal(err)
				}
				for after.step(t) {
				}
				if after.state() != a2a.TaskStateCanceled {
					t.Errorf("the subscription ends with the task %s", after.state())
				}
				got := artifactText(t, get(ctx, t, w.client, l.before.task))
				if got != after.text() || !strings.HasPrefix(strings.Repeat(streamed, len(got)/len(streamed)+1), got) {
					t.Errorf("the task says %q, snapshot and events together %q", got, after.text())
				}
			})
		}
	})
}
