package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"a2a-server/auth"
)

// What takes a processor for long is done by as many as there are processors for it, and
// by one caller on half of them; who has had enough of waiting leaves, and nothing stays.
func TestHeavyWorkIsShared(t *testing.T) {
	t.Parallel()
	eachDisk(t, func(t *testing.T, w *world) {
		w.start()
		synctest.Test(t, func(t *testing.T) {
			w.engine.Processors(4)
			var ends []func()
			begin := func(by auth.Principal) {
				t.Helper()
				end, err := w.engine.Heavy(t.Context(), by)
				if err != nil {
					t.Fatal(err)
				}
				ends = append(ends, end)
			}
			begin(alice)
			begin(alice)
			gone := errors.New("the client is gone")
			ctx, cancel := context.WithCancelCause(t.Context())
			waits := make(chan error)
			wait := func(by auth.Principal) {
				go func() {
					end, err := w.engine.Heavy(ctx, by)
					if err == nil {
						end()
					}
					waits <- err
				}()
				synctest.Wait()
				select {
				case err := <-waits:
					t.Errorf("%s did not wait: %v", by.Subject, err)
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
			if n := w.engine.AtHeavyWork(); n != 0 {
				t.Errorf("%d callers are kept who do nothing", n)
			}
		})
	})
}
