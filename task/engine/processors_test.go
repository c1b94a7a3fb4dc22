package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"a2a-server/approval"
	"a2a-server/auth"
	"a2a-server/task/engine"
)

// What takes a processor for long is done by as many as there are processors for it, and
// by one caller on half of them; who has had enough of waiting leaves, and nothing stays.
func TestHeavyWorkIsShared(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		w.engine.Processors(4)
		var ends []func()
		begin := func(by auth.Principal) {
			t.Helper()
			end, err := w.engine.Processor(t.Context(), by)
			w.must(err)
			ends = append(ends, end)
		}
		begin(alice)
		begin(alice)
		gone := errors.New("the client is gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		waits := make(chan error, 2)
		wait := func(by auth.Principal) {
			go func() {
				end, err := w.engine.Processor(ctx, by)
				if err == nil {
					end()
				}
				waits <- err
			}()
			synctest.Wait()
			select {
			case err := <-waits:
				t.Fatalf("%s did not wait: %v", by.Subject, err)
			default:
			}
		}
		wait(alice) // has her half
		begin(bob)
		begin(bob)
		wait(carol) // there is none left
		cancel(gone)
		for range 2 {
			if err := <-waits; !errors.Is(err, gone) {
				t.Errorf("who is gone got %v, want %v", err, gone)
			}
		}
		for _, end := range ends {
			end()
		}
		begin(carol)
		ends[len(ends)-1]()
		if n := w.engine.AtProcessors(); n != 0 {
			t.Errorf("%d callers are kept who do nothing", n)
		}
	})
}

// Small requests of a caller wait for the same caller's heavy work, and for no other's;
// callers without names have nothing to do with each other.
func TestSmallRequestsFollowHeavyOnes(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		w.engine.Processors(2)
		small := func(ctx context.Context, by auth.Principal) chan error {
			done := make(chan error, 1)
			go func() { done <- w.engine.Process(ctx, by, 100, func() error { return nil }) }()
			synctest.Wait()
			return done
		}
		for _, by := range []auth.Principal{alice, auth.Anonymous()} {
			end, err := w.engine.Processor(t.Context(), by)
			w.must(err)
			if done := small(t.Context(), bob); len(done) == 0 {
				t.Errorf("a small request of bob's waits for heavy work of %s's", by.Subject)
			}
			done := small(t.Context(), by)
			if waits := len(done) == 0; waits == by.IsAnonymous() {
				t.Errorf("a small request of %s's waits for heavy work of the same: %v", by.Subject, waits)
			}
			ctx, cancel := context.WithCancel(t.Context())
			gone := small(ctx, by)
			cancel()
			if err := <-gone; !by.IsAnonymous() && !errors.Is(err, context.Canceled) {
				t.Errorf("who is gone got %v", err)
			}
			end()
			if err := <-done; err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if n := w.engine.AtProcessors(); n != 0 {
				t.Errorf("%d callers are kept who do nothing", n)
			}
		}
	})
}

// Who has had enough of waiting for a processor gives back what of its share it had for
// that, also while the same caller waits for another.
func TestHeavyWorkThatIsGivenUp(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		w.engine.Processors(4)
		begin := func(ctx context.Context, by auth.Principal) chan func() {
			begun := make(chan func(), 1)
			go func() {
				if end, err := w.engine.Processor(ctx, by); err == nil {
					begun <- end
				}
			}()
			synctest.Wait()
			return begun
		}
		var others []chan func()
		for _, by := range []auth.Principal{bob, bob, carol, carol} {
			others = append(others, begin(t.Context(), by))
		}
		ctx, cancel := context.WithCancel(t.Context())
		begin(ctx, alice)
		first := begin(t.Context(), alice)
		cancel()
		second := begin(t.Context(), alice)
		for _, other := range others {
			(<-other)()
		}
		synctest.Wait()
		if len(first) != 1 || len(second) != 1 {
			t.Fatalf("of two that a caller may have, %d have a processor", len(first)+len(second))
		}
		(<-first)()
		(<-second)()
	})
}

// A list that has to look at tasks which are not on its page, of which there may be any
// number, does so when it has a processor; every other goes at once.
func TestFilteredListsAreMadeInTurn(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.start()
		w.engine.Processors(1)
		w.begun(alice, w.calls("echo", args{}))
		end, err := w.engine.Processor(w.ctx(), bob)
		w.must(err)
		list := func(q engine.Query) chan error {
			listed := make(chan error, 1)
			go func() {
				_, err := w.engine.List(w.ctx(), alice, q)
				listed <- err
			}()
			synctest.Wait()
			return listed
		}
		for _, q := range []engine.Query{{}, {State: a2a.TaskStateWorking}, {Context: "c"}, {Artifacts: true}} {
			if listed := list(q); len(listed) == 0 {
				t.Errorf("a list of %+v waits for a processor", q)
			} else if err := <-listed; err != nil {
				t.Error(err)
			}
		}
		var waits []chan error
		for _, q := range []engine.Query{{Since: time.Unix(1, 0)}, {Context: "c", State: a2a.TaskStateWorking}} {
			listed := list(q)
			if len(listed) > 0 {
				t.Errorf("a list of %+v was made without a processor", q)
			}
			waits = append(waits, listed)
		}
		end()
		for _, listed := range waits {
			if err := <-listed; err != nil {
				t.Error(err)
			}
		}
		if n := w.engine.AtProcessors(); n != 0 {
			t.Errorf("%d callers are kept who do nothing", n)
		}
	})
}

// A large task is folded for its caller in turn with other long computations, so that many
// requests about it at once hold neither all processors nor memory for each; a small one,
// and what the server itself does to a large one, waits for nothing.
func TestLargeTasksAreChangedInTurn(t *testing.T) {
	inMemory(t, func(t *testing.T, w *world) {
		w.cfg.Policy = policy(t, approval.Gate{Tool: "deadline", Terms: approval.Terms{Expires: 5 * time.Second, OnExpiry: approval.ExpiryCancels}})
		w.start()
		w.engine.Processors(1)
		large, expires, small := w.ask(alice, 1), w.begun(alice, w.calls("deadline", args{})), w.ask(carol, 2)
		for _, id := range []a2a.TaskID{large, expires} {
			for range 6 {
				if _, err := w.sendAs(alice, w.remark(id, 60_000)); err != nil {
					t.Fatal(err)
				}
			}
		}
		end, err := w.engine.Processor(w.ctx(), bob)
		w.must(err)
		change := func(ctx context.Context, by auth.Principal, id a2a.TaskID) chan error {
			done := make(chan error, 1)
			m := w.remark(id, 10)
			go func() {
				_, err := w.engine.Send(ctx, engine.Send{By: by, Message: m})
				done <- err
			}()
			synctest.Wait()
			return done
		}
		ctx, cancel := context.WithCancel(w.ctx())
		waits, gone := change(w.ctx(), alice, large), change(ctx, alice, large)
		if len(waits)+len(gone) > 0 {
			t.Error("a large task is folded without a processor")
		}
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("who is gone got %v", err)
		}
		if err := <-change(w.ctx(), carol, small); err != nil {
			t.Error(err)
		}
		pass(5 * time.Second)
		if a := w.asked(expires)[0]; a.State != approval.Expired {
			t.Errorf("the deadline of a large task has waited: its approval is %s", a.State)
		}
		if len(waits) > 0 {
			t.Error("a large task is folded without a processor")
		}
		end()
		if err := <-waits; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if n := w.engine.AtProcessors(); n != 0 {
			t.Errorf("%d callers are kept who do nothing", n)
		}
	})
}
