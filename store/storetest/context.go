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
		{"ends afterwards or meanwhile", testContextEndsLater},
	}
}

func testContextEnded(t *testing.T, f *fixture) {
	b := rich(alice(), store.Live)
	f.append(t, b)
	before := dump(t, f.h[0])
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithTimeout(t.Context(), 0)
	defer cancelLate()
	for _, h := range f.h {
		for _, batch := range []*store.Batch{with(change(b.Task, 1, public("never")), put("kind", "key", store.Any, "never")), chunks(b.Task, 1, public("never")), create(alice()), scopeRows(alice(), put("kind", "key", 0, ""))} {
			if _, err := do(ended, h, batch); !errors.Is(err, context.Canceled) {
				t.Errorf("Append() = %v, want %v", err, context.Canceled)
			}
			if _, err := do(late, h, batch); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Append() = %v, want %v", err, context.DeadlineExceeded)
			}
		}
	}
	same(t, before, dump(t, f.h[1]), "contents after batches of an ended context")
}

// Either outcome is legal while the batch is under way, but the disk must have the same.
func testContextEndsLater(t *testing.T, f *fixture) {
	b := create(alice())
	f.append(t, b)
	const writers, batches = 8, 60
	outcomes := make([][batches]bool, writers)
	parallel(t, writers, func(i int) error {
		for n := range batches {
			ctx, cancel := context.WithCancel(t.Context())
			c := f.h[i%2].Append(ctx, chunks(b.Task, 1, public("%d %d", i, n)))
			if n%3 == 0 {
				<-c.Done()
			}
			cancel()
			_, err := await(c)
			if err != nil && (n%3 == 0 || !errors.Is(err, context.Canceled)) {
				return fmt.Errorf("Append() = %w, want nil or %w", err, context.Canceled)
			}
			outcomes[i][n] = err == nil
		}
		return nil
	})
	want, got := map[string]bool{}, map[string]bool{}
	for i := range outcomes {
		for n, ok := range outcomes[i] {
			if ok {
				want[fmt.Sprintf("%d %d", i, n)] = true
			}
		}
	}
	f.reopen(t)
	for _, e := range mustLog(t, f.h[0], alice(), b.Task, store.After(0), store.Limit{}).Events {
		if got[string(e.Data)] {
			t.Errorf("event %q is there twice", e.Data)
		}
		got[string(e.Data)] = true
	}
	same(t, want, got, "acknowledged events")
}
