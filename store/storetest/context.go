package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"a2a-server/store"
)

func contextCases() []testCase {
	return []testCase{
		{"ended before", testContextEnded},
		{"ends afterwards", testContextEndsLater},
		{"ends meanwhile", testContextRace},
	}
}

func testContextEnded(t *testing.T, f *fixture) {
	b := rich(alice(), store.Live)
	f.append(t, b)
	before := dump(t, f.h[0], []string{"kind"}, []string{"index"})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithTimeout(t.Context(), 0)
	defer cancelLate()
	for _, h := range f.h {
		write := change(b.Task, 1, public("never"))
		write.Rows = []store.RowChange{put("kind", "key", store.Any, "never")}
		for _, batch := range []*store.Batch{write, chunks(b.Task, 1, public("never")), create(alice()), scopeRows(alice(), put("kind", "key", 0, ""))} {
			if _, err := do(ended, h, batch); !errors.Is(err, context.Canceled) {
				t.Errorf("Append() = %v, want %v", err, context.Canceled)
			}
			if _, err := do(late, h, batch); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Append() = %v, want %v", err, context.DeadlineExceeded)
			}
		}
	}
	if d := diff(before, dump(t, f.h[1], []string{"kind"}, []string{"index"})); d != "" {
		t.Errorf("contents after batches of an ended context (-want +got)\n%s", d)
	}
	// Beside good ones it fails alone.
	var log history
	log.add(b.Events...)
	for n := range 20 {
		e := public("%d", n)
		log.add(e)
		good, bad := f.h[0].Append(t.Context(), chunks(b.Task, 1, e)), f.h[0].Append(ended, chunks(b.Task, 1, public("never")))
		if _, err := await(bad); !errors.Is(err, context.Canceled) {
			t.Errorf("Append() = %v, want %v", err, context.Canceled)
		}
		if _, err := await(good); err != nil {
			t.Errorf("Append() = %v, want nil", err)
		}
	}
	f.checkLog(t, b.Task, log.events)
}

func testContextEndsLater(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	var log history
	for n := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		c := f.h[n%2].Append(ctx, chunks(b.Task, 1, public("%d", n)))
		want, err := await(c)
		cancel()
		if err != nil {
			t.Fatalf("Append() = %v, want nil", err)
		}
		if got, err := c.Wait(); err != nil || got != want {
			t.Errorf("Wait() again = %+v, %v, want %+v", got, err, want)
		}
		log.add(public("%d", n))
	}
	f.checkLog(t, b.Task, log.events)
}

// Either outcome is legal, but it must be what is on disk.
func testContextRace(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	const writers, batches = 8, 60
	outcomes := make([][batches]bool, writers)
	parallel(t, writers, func(i int) error {
		for n := range batches {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				cancel()
			}()
			_, err := do(ctx, f.h[i%2], chunks(b.Task, 1, public("%d %d", i, n)))
			<-ended
			if err != nil && !errors.Is(err, context.Canceled) {
				return fmt.Errorf("Append() = %w, want nil or %w", err, context.Canceled)
			}
			outcomes[i][n] = err == nil
		}
		return nil
	})
	want := map[string]bool{}
	for i := range outcomes {
		for n, ok := range outcomes[i] {
			if ok {
				want[fmt.Sprintf("%d %d", i, n)] = true
			}
		}
	}
	f.reopen(t)
	view, err := readLog(t.Context(), f.h[0], alice(), b.Task, store.After(0), store.Limit{})
	if err != nil {
		t.Fatalf("Read() = %v, want nil", err)
	}
	got := map[string]bool{}
	for _, e := range view.Events {
		if got[string(e.Data)] {
			t.Errorf("event %q is there twice", e.Data)
		}
		got[string(e.Data)] = true
	}
	if d := diff(want, got); d != "" {
		t.Errorf("acknowledged events (-want +got)\n%s", d)
	}
}
