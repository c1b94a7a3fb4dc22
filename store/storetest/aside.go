package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"a2a-server/store"
)

// A turn streams and changes while the other handle puts asides: neither ever conflicts,
// and nothing of either is lost.
func testAsideTurn(t *testing.T, f *fixture) {
	for i, h := range f.h {
		b := create(alice())
		mustAppend(t, h, b)
		running := make(chan struct{})
		var turn history
		halt := background(t, func(stop <-chan struct{}) error {
			for n := 0; n < 20 || !stopped(stop); n++ {
				for _, part := range []*store.Batch{
					chunks(b.Task, 1, mixed(2, fmt.Sprint("chunk ", n))...),
					with(change(b.Task, uint64(n)+1, private("step %d", n)), fence(1), put("kinds", "key", store.Any, fmt.Sprint(n))),
				} {
					if _, err := do(context.Background(), h, part); err != nil {
						return fmt.Errorf("a turn next to asides: %w", err)
					}
					turn.add(part.Events...)
				}
				if n == 0 {
					close(running)
				}
			}
			return nil
		})
		receive(t, "the turn", running)
		const asides = 50
		for n := range uint64(asides) {
			mustAppend(t, f.h[1-i], aside(b.Task, put("kind", "key", n, fmt.Sprint(n))))
		}
		halt()
		f.checkLog(t, b.Task, turn.events)
		f.checkRows(t, alice(), store.RowQuery{Kind: "kind", Task: b.Task}, row(b.Task, "kind", "key", asides, fmt.Sprint(asides-1)))
	}
}

// Asides race with the deletion of their task, which is also interrupted. In any order, none
// of their rows is left, and a late aside gets ErrNotFound.
func testAsideDeleting(t *testing.T, f *fixture) {
	for n := range 20 {
		b := createIn(store.Final, alice(), mixed(3, "event")...)
		f.append(t, b)
		running := make(chan struct{})
		ended := background(t, func(<-chan struct{}) error {
			for i := 0; ; i++ {
				_, err := do(context.Background(), f.h[i%2], aside(b.Task, put("kind", fmt.Sprint(i%3), store.Any, "", indexed("index", "1"))))
				if i == 0 {
					close(running)
				}
				if errors.Is(err, store.ErrNotFound) {
					return nil
				} else if err != nil {
					return err
				}
			}
		})
		receive(t, "the first aside", running)
		err := f.h[n%2].Delete(newCountdown(t.Context(), n), alice(), b.Task, nil)
		for errors.Is(err, context.Canceled) {
			if err = f.h[n%2].Delete(t.Context(), store.System(), b.Task, nil); errors.Is(err, store.ErrNotFound) {
				err = nil
			}
		}
		if err != nil {
			t.Fatalf("Delete() = %v, want nil", err)
		}
		ended()
		f.checkGone(t, b.Task)
		f.checkRows(t, store.System(), store.RowQuery{Kind: "kind"})
		f.checkRows(t, store.System(), store.RowQuery{Kind: "kind", Index: "index"})
	}
	f.checkNothing(t)
}
