//go:build linux

package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// refusals are the errors of a disk, and what a server says of each in its first words.
var refusals = map[string]struct {
	errno syscall.Errno
	says  string
}{
	"ENOSPC": {syscall.ENOSPC, "the disk is full"},
	"EDQUOT": {syscall.EDQUOT, "the quota of the disk is used up"},
	"EIO":    {syscall.EIO, "the disk cannot be written"},
}

// A disk that refuses a commit before its end: callers are told why, what was shown is
// read, and all continues by itself when the disk takes commits again.
func TestDiskRefuses(t *testing.T) {
	t.Parallel()
	for _, point := range []string{atWrite, atSync, atWriteMeta} {
		for name, refusal := range refusals {
			t.Run(point+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				s := w.start()
				l := w.load()
				w.reached(20)
				w.fault(point, refusal.errno, 0, false)
				w.refuses(refusal.says)
				blind := l.blind.Load()
				w.elapses(2 * time.Second)
				if n := l.blind.Load(); n != blind {
					t.Errorf("%d reads were not answered while the disk refused to be written", n-blind)
				}
				w.mend()
				w.recovers()
				w.reached(20)
				struck(t, w.strikes())
				if s.dead() {
					t.Fatalf("the server has ended: %v\n%s", s.err, s.said())
				}
				w.settle(l)
			})
		}
	}
}

// refuses waits until the server says that it cannot write, why first, to probes and to
// who sends a message.
func (w *world) refuses(says string) {
	w.Helper()
	var status int
	var text string
	eventually(w.T, "the server becomes unready", func() bool {
		status, text = w.live.probe(w.to().http)
		return status == http.StatusServiceUnavailable
	})
	if !strings.HasPrefix(text, says) {
		w.Errorf("/readyz says %q, want %q first", text, says)
	}
	// A message that fits what is left may still be taken; its answer may wait for room, then.
	var err error
	eventually(w.T, "a message is refused", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), askBound/10)
		defer cancel()
		err = w.errand().send(ctx, w.to())
		return err != nil && ctx.Err() == nil
	})
	if !strings.Contains(err.Error(), "UNAVAILABLE: "+says) {
		w.Errorf("a message was answered with %q, want UNAVAILABLE and %q first", err, says)
	}
}

// recovers waits until the server is ready.
func (w *world) recovers() {
	w.Helper()
	eventually(w.T, "the server becomes ready", func() bool {
		status, _ := w.live.probe(w.to().http)
		return status == http.StatusOK
	})
}

// elapses lets a fault last.
func (w *world) elapses(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.live.exited:
		w.Errorf("the server has ended: %v\n%s", w.live.err, w.live.said())
	}
}

// A sync of the meta page that fails leaves the outcome of its commit unknown: nobody is
// told that it succeeded, the process ends, and the next one serves what the disk has.
func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	rounds := 2
	if *long {
		rounds = 20
	}
	w := newWorld(t)
	for range rounds {
		s := w.start()
		w.ending.Store(false)
		l := w.load()
		w.reached(15)
		before := w.strikes()
		w.ending.Store(true)
		w.fault(atSyncMeta, syscall.EIO, 0, false)
		if !s.ends(endBound) {
			t.Fatalf("the server continues although it does not know what the disk has:\n%s", s.said())
		}
		l.stop()
		if s.err == nil {
			t.Error("the server ended with 0")
		}
		if n := w.strikes() - before; n != 1 {
			t.Errorf("%d commits were tried on a disk of which nobody knows what it has, want 1", n)
		}
		if said := s.said(); !strings.Contains(said, "outcome is unknown") {
			t.Errorf("the server does not say why it ended:\n%s", said)
		}
		s.sound()
		w.mend()
	}
	struck(t, w.strikes())
	w.ending.Store(false)
	w.again()
}

// A disk that takes long for one commit: the server says so after five seconds, what the
// disk has is read, what it does not have is not shown, and nothing is lost.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	type slow struct {
		point string
		takes time.Duration
		blind bool // reads are not answered in time
	}
	cases := []slow{{atSync, 12 * time.Second, false}, {atSyncMeta, 20 * time.Second, true}}
	if *long {
		cases = append(cases, slow{atSyncMeta, 8 * time.Second, false}, slow{atSync, time.Minute, false}, slow{atSyncMeta, time.Minute, true})
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s/%v", c.point, c.takes), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.start()
			l := w.load()
			w.reached(20)
			blind := l.blind.Load()
			w.fault(c.point, 0, c.takes, true)
			var says string
			eventually(t, "the server becomes unready", func() bool {
				status, text := s.probe(w.to().http)
				says = text
				return status == http.StatusServiceUnavailable
			})
			if !strings.HasPrefix(says, "the disk has been taking") {
				t.Errorf("/readyz says %q, want first that a commit takes long", says)
			}
			if c.blind {
				eventually(t, "a read is refused", func() bool { return l.blind.Load() > blind })
			}
			w.recoversWithin(c.takes)
			if n := l.blind.Load(); n != blind && !c.blind {
				t.Errorf("%d reads were not answered", n-blind)
			}
			w.reached(20)
			struck(t, w.strikes())
			eventually(t, "the log says that the store cannot write, and can again", func() bool {
				said := s.said()
				return strings.Contains(said, "the store cannot write") && strings.Contains(said, "the store can write again")
			})
			w.settle(l)
		})
	}
}

func (w *world) recoversWithin(d time.Duration) {
	w.Helper()
	over := time.After(d)
	for {
		if status, _ := w.live.probe(w.to().http); status == http.StatusOK {
			return
		}
		select {
		case <-over:
			w.recovers()
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}
