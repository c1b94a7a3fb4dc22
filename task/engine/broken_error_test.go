package engine_test

import (
	"fmt"
	"testing"

	"a2a-server/approval"
)

// An error that panics when it is asked what it says harms the call that returned it,
// and nobody else: neither when the call ends with it, nor when it comes late.
func TestErrorThatPanics(t *testing.T) {
	t.Parallel()
	for _, gated := range []bool{false, true} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("gated %t late %t", gated, late), func(t *testing.T) {
				t.Parallel()
				w := newMemory(t)
				b := &brittle{world: w, runs: newCounted(), gated: gated}
				t.Cleanup(b.runs.open)
				b.broken.Store(part(""))
				w.wrap = b.kill.wrap
				w.start(b.config)
				if !late {
					b.play(t, returning, errorText, 1)
					return
				}
				b.breaks = errorText
				id := b.begin(b.calls("brittle", args{}))
				if gated {
					if err := b.decide(alice, id, approval.Answer{ID: b.onlyOne(id).ID, Verb: approval.Approve}); err != nil {
						t.Fatal(err)
					}
				}
				b.until("the tool is entered", func() bool { return b.runs.count() == 1 })
				if err := b.engine.Cancel(b.ctx(), alice, mustID(id)); err != nil {
					t.Fatal(err)
				}
				b.until("the late error is recorded", func() bool { return b.audit("finished_late") > 0 })
				b.broken.Store(part(""))
				b.works(t)
			})
		}
	}
}
